"""Job of the role mapping check: differences between grants in source systems and external roles, with repairs.

The snapshot has `grants_exports.json`: {"folder": "exports"}, the folder of `exports.json`, relative or a URL.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from catalog.reports.kinds.role_mapping_check import declared, drift, row_accounts, tables
from catalog.reports.kinds.role_mapping_check.differences import (
    DifferenceSeverity,
    DifferenceType,
    Stage,
    render_names,
)
from catalog.reports.kinds.role_mapping_check.exports import LEVELS
from catalog.reports.kinds.role_mapping_check.findings import build_findings
from catalog.reports.kinds.role_mapping_check.forms import readers
from catalog.reports.kinds.role_mapping_check.protection import collect_policies
from catalog.reports.kinds.role_mapping_check.run_inputs import (
    check_headers,
    compute_in_stages,
    list_inputs,
    read_exports,
)
from catalog.reports.spark.frames import collect_table, iterate_stored
from catalog.reports.spark.job import Job, JobProgram, print_progress
from catalog.reports.summary import Bar, Chart, Number, Summary

_LEVEL_NAMES = {level: name for name, level in LEVELS.items()}


def compute_results(job: Job) -> Summary:
    """Compare, write every table and return the summary. Raises BadInput."""
    return compute_in_stages(job, _compare_exports)


def _compare_exports(job: Job, stage: Stage) -> Summary:
    print_progress("Reading the exports of grants")
    folder, export_list = read_exports(job)
    facts = stage("facts", readers.read_facts(job.spark, folder, export_list))
    check_headers(facts)
    print_progress("Comparing with the catalog", 1, 4)
    declared_access = declared.read(job.read_frame, export_list, tags=job.parameters["tags"], stage=stage)
    comparison = drift.compare(facts, declared_access, export_list, stage=stage)
    print_progress("Writing the findings", 2, 4)
    differences = stage("differences", comparison.differences)
    findings = build_findings(differences, {export.name: export for export in export_list})
    job.write_batches("differences", map(render_names, iterate_stored(differences)))
    job.write_rows(tables.FINDINGS, findings)
    print_progress("Who opens what is sensitive", 3, 4)
    job.write_rows(tables.COMPLIANCE, _build_compliance(comparison.reach))
    job.write_table(tables.POLICIES.name, collect_policies(comparison.policies))
    counts = row_accounts.count_rows(facts, comparison.grants)
    job.write_rows(tables.EXPORTS, [counts.describe_export(export) for export in export_list])
    job.write_rows(tables.PASSED, row_accounts.build_passed(facts, comparison.grants, counts))
    job.write_table(tables.QUARANTINE.name, row_accounts.collect_quarantine(facts))
    print_progress("Done", 4, 4)
    return _build_summary(findings, counts.count_quarantined())


def _iterate_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _build_compliance(reach: DataFrame) -> list[dict[str, Any]]:
    rows = sorted(_iterate_rows(collect_table(reach)), key=lambda row: (row["tag"], -row["opened"], row["role_urn"]))
    return [{**row, "role": row["role_urn"], "level": _LEVEL_NAMES.get(row["declared_level"])} for row in rows]


def _build_summary(findings: Sequence[Mapping[str, Any]], bad_row_count: int) -> Summary:
    severity_counts, type_counts, export_counts = (
        Counter(row[name] for row in findings) for name in ("severity", "type", "export")
    )
    type_bars = (Bar(item.replace("_", " ").capitalize(), type_counts[item]) for item in DifferenceType)
    export_bars = (Bar(name, number) for name, number in sorted(export_counts.items(), key=str) if name)
    return Summary(
        numbers=(
            Number("Findings", len(findings)),
            *(Number(item.capitalize(), severity_counts[item]) for item in DifferenceSeverity),
            Number("Rows not understood", bad_row_count),
        ),
        charts=(
            Chart("types", "Findings by type", tuple(type_bars), is_over_time=True),
            Chart("exports", "Findings by source", tuple(export_bars), is_over_time=True),
        ),
    )


PROGRAM = JobProgram("role_mapping_check", compute_results, has_joins=True, list_inputs=list_inputs)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
