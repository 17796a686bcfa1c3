"""Job of the role mapping check: differences between grants in source systems and external roles, with repairs.

The snapshot has `grants_exports.json`: {"folder": "exports"}, the folder of `exports.json`, relative or a URL.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import declared, drift, readers, tables
from catalog.reports.kinds.role_mapping_check.access_tables import write_access
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    DifferenceSeverity,
    DifferenceType,
    render_names,
)
from catalog.reports.kinds.role_mapping_check.evidence import collect_evidence
from catalog.reports.kinds.role_mapping_check.export_ages import (
    ExportAge,
    find_newest,
    list_notes,
    list_warnings,
    measure_ages,
)
from catalog.reports.kinds.role_mapping_check.findings import build_findings
from catalog.reports.kinds.role_mapping_check.protection import collect_policies
from catalog.reports.kinds.role_mapping_check.repairs import bind_exports
from catalog.reports.kinds.role_mapping_check.row_accounts import RowAccounts
from catalog.reports.kinds.role_mapping_check.run_inputs import (
    compare_readable,
    compute_in_stages,
    describe_uncompared,
    list_inputs,
    list_uncompared_files,
    list_unjudged,
    read_exports,
)
from catalog.reports.kinds.role_mapping_check.source_access import SourceAccess, find_source_access, read_surveyed_facts
from catalog.reports.kinds.role_mapping_check.stages import Stages
from catalog.reports.spark.frames import iterate_stored
from catalog.reports.spark.job import Job, JobProgram, print_progress
from catalog.reports.spark.job_threads import JobThreads
from catalog.reports.summary import Bar, Chart, Number, Summary
from catalog.warehouses.levels import LEVEL_NAMES
from catalog.warehouses.warehouse import Export


def compute_results(job: Job) -> Summary:
    """Compare, write every table and return the summary. Raises BadInput."""
    return compute_in_stages(job, _compare_exports)


def _compare_exports(job: Job, stages: Stages, threads: JobThreads) -> Summary:
    print_progress("Reading the exports of grants")
    folder, all_exports = read_exports(job)

    def read_facts(export: Export) -> DataFrame:
        facts = readers.read_facts(job.spark, folder, export)
        # Nothing is compared with the time of a grant, and with its many forms the plan is too large to compile as a
        # whole.
        return facts.withColumn("granted_at", f.expr("CAST(NULL AS timestamp)"))

    def read_access(exports: list[Export]) -> tuple[list[Export], SourceAccess, DeclaredAccess]:
        declared_task = threads.start(
            lambda: declared.read(
                job.read_frame, exports, tags=job.parameters["tags"], stage=stages.store, threads=threads
            )
        )
        facts, survey = read_surveyed_facts(read_facts, exports, stages)
        print_progress("Comparing with the catalog", 1, 3)
        access = find_source_access(facts, survey, declared_task.get_result, exports, stages=stages, threads=threads)
        return exports, access, declared_task.get_result()

    (export_list, source, declared_access), uncompared = compare_readable(job, all_exports, read_access)
    facts, survey = source.facts, source.survey
    uncompared_rows = describe_uncompared(all_exports, uncompared), list_uncompared_files(uncompared)
    accounts = RowAccounts(facts, survey, source.grants)
    ages_task = threads.start(lambda: measure_ages(job, all_exports, find_newest(facts, survey)))
    bad_row_count = threads.start(
        lambda: _write_accounts(job, accounts, export_list, ages_task.get_result(), *uncompared_rows)
    )
    circles = threads.start(lambda: tuple(accounts.describe_circles(source.inherited_roles.get_result())))
    policies_table = threads.start(
        lambda: job.write_table(tables.POLICIES.name, collect_policies(source.policies.get_result()))
    )
    access_tables = threads.start(lambda: write_access(job, source, declared_access))
    comparison = drift.compare(source, declared_access, export_list, stages=stages, threads=threads)
    print_progress("Writing the findings", 2, 3)
    exports_by_name = bind_exports(export_list, facts, survey, lambda: comparison.differences)
    findings = build_findings(comparison.differences, exports_by_name, partial(collect_evidence, facts, survey))
    job.write_batches("differences", map(render_names, iterate_stored(comparison.differences)))
    job.write_rows(tables.FINDINGS, findings)
    job.write_rows(tables.COMPLIANCE, _build_compliance(comparison.reach.get_result()))
    policies_table.get_result()
    # What is said of an export that is not compared is that it is not.
    ages = [age for age in ages_task.get_result() if age.export not in uncompared]
    listing = _describe_listing(access_tables.get_result(), declared_access)
    summary = replace(
        _build_summary(findings, bad_row_count.get_result(), uncompared_count=len(uncompared)),
        notes=tuple(filter(None, (*circles.get_result(), *list_notes(ages), listing))),
        unjudged=list_unjudged(uncompared),
        warnings=list_warnings(job, ages),
    )
    print_progress("Done", 3, 3)
    return summary


def _write_accounts(
    job: Job,
    accounts: RowAccounts,
    exports: Sequence[Export],
    ages: Sequence[ExportAge],
    uncompared_exports: Sequence[Mapping[str, Any]],
    uncompared_files: Sequence[Mapping[str, Any]],
) -> int:
    """Write what became of the rows of the exports, and return the number of those that were not understood."""
    cells = {age.export: age.list_cells() for age in ages}
    rows = [*map(accounts.describe_export, exports), *uncompared_exports]
    job.write_rows(tables.EXPORTS, [{**row, **cells[row["export"]]} for row in rows])
    job.write_rows(tables.PASSED, accounts.build_passed())
    job.write_rows(tables.QUARANTINE, [*uncompared_files, *accounts.collect_quarantine()])
    return accounts.count_quarantined()


def _iterate_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=10_000):
        yield from batch.to_pylist()


def _describe_listing(listed_count: int, declared_access: DeclaredAccess) -> str:
    """Return the sentence about datasets of which access is not listed, "" where all is."""
    total = declared_access.datasets.count()
    if listed_count >= total:
        return ""
    return f"Who can read what is listed for {listed_count:,} of {total:,} datasets, the sensitive ones first."


def _build_compliance(reach: pa.Table) -> list[dict[str, Any]]:
    rows = sorted(_iterate_rows(reach), key=lambda row: (row["tag"], -row["opened"], row["role_urn"]))
    return [{**row, "role": row["role_urn"], "level": LEVEL_NAMES.get(row["declared_level"])} for row in rows]


def _build_summary(findings: Sequence[Mapping[str, Any]], bad_row_count: int, *, uncompared_count: int) -> Summary:
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
            *((Number("Exports not compared", uncompared_count),) if uncompared_count else ()),
        ),
        charts=(
            Chart("types", "Findings by type", tuple(type_bars), is_over_time=True),
            Chart("exports", "Findings by source", tuple(export_bars), is_over_time=True),
        ),
    )


PROGRAM = JobProgram("role_mapping_check", compute_results, has_joins=True, list_inputs=list_inputs)

if __name__ == "__main__":
    sys.exit(PROGRAM.run_alone())
