"""Rows of the tables of warehouse usage, written in one order whatever the partitions were."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.blocks import PLACE_COLUMNS, Block, LineNumbers
from catalog.reports.kinds.role_mapping_check.evidence import Evidence
from catalog.reports.kinds.role_mapping_check.export_ages import (
    ExportAge,
    list_notes,
    list_warnings,
    measure_ages,
)
from catalog.reports.kinds.role_mapping_check.repairs import bind_exports
from catalog.reports.kinds.role_mapping_check.run_inputs import (
    UncomparedExports,
    describe_uncompared,
    list_uncompared_files,
    list_unjudged,
)
from catalog.reports.kinds.role_mapping_check.tables import MAX_EXAMPLE_LENGTH, MAX_REASON_LENGTH
from catalog.reports.kinds.warehouse_usage import tables, wording
from catalog.reports.kinds.warehouse_usage.catalog_policies import find_viewing_policies
from catalog.reports.kinds.warehouse_usage.findings import UsageFindingType, build_findings
from catalog.reports.kinds.warehouse_usage.proposals import GrantAction
from catalog.reports.kinds.warehouse_usage.results import (
    UsageResults,
    add_role,
    build_state,
    list_rows,
    render_actor_urn,
    select_taken,
)
from catalog.reports.kinds.warehouse_usage.uses import HistoryCoverage
from catalog.reports.spark.frames import run_query
from catalog.reports.spark.job import Job
from catalog.reports.spark.job_threads import JobThreads
from catalog.reports.summary import Bar, Chart, Number, Summary
from catalog.reports.warehouse_tables import MAX_ACCESS, USES
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.history import HistoryRowKind
from catalog.warehouses.levels import LEVEL_NAMES
from catalog.warehouses.principals import describe_principal
from catalog.warehouses.warehouse import Export

_USES_QUERY = Path(__file__).with_name("uses.sql")
_TIME_FORMAT = "yyyy-MM-dd HH:mm"
#: Example rows are cut by Spark: a row may be as long as a file.
_EXAMPLE = f"left(text, {MAX_EXAMPLE_LENGTH})"


def write_nothing(
    job: Job, exports: Sequence[Export], coverages: Sequence[HistoryCoverage], uncompared: UncomparedExports
) -> Summary:
    """Write empty tables, and the exports with the reason."""
    for table in (tables.FINDINGS, tables.GRANTS, tables.MEMBERSHIPS, tables.PROPOSALS, tables.LOSSES, tables.PASSED):
        job.write_rows(table, [])
    job.write_rows(USES, [])
    job.write_rows(tables.QUARANTINE, list_uncompared_files(uncompared))
    job.write_rows(tables.EXPORTS, _build_export_rows(exports, coverages, uncompared, []))
    return _build_summary([], coverages, uncompared)


def write_results(
    job: Job,
    results: UsageResults,
    exports: Sequence[Export],
    rows: DataFrame,
    blocks: Sequence[Block],
    threads: JobThreads,
    uncompared: UncomparedExports,
) -> Summary:
    """Write every table and return the summary.

    `rows` are those of the histories that count, `blocks` those of all rows, `exports` all of them, also those that are
    `uncompared`.
    """
    bound_exports = threads.start(
        lambda: bind_exports(
            results.exports, results.access.facts, results.access.survey, lambda: select_taken(results)
        )
    )
    writing = [
        threads.start(write)
        for write in (
            lambda: _write_grants(job, results),
            lambda: _write_memberships(job, results),
            lambda: _write_accounts(job, rows, blocks, uncompared),
            lambda: _write_uses(job, results),
            lambda: job.write_rows(tables.LOSSES, _build_loss_rows(results)),
            lambda: job.write_rows(tables.PROPOSALS, _build_proposal_rows(results, bound_exports.get_result())),
        )
    ]
    newest = {coverage.export: coverage.last_at for coverage in results.coverages}
    ages = measure_ages(job, results.exports, newest, is_history=True)
    job.write_rows(tables.EXPORTS, _build_export_rows(exports, results.coverages, uncompared, ages))
    findings = build_findings(
        results,
        bound_exports.get_result(),
        days=job.parameters["days"],
        find_policies=partial(find_viewing_policies, job),
        history=Evidence(LineNumbers(blocks)),
    )
    job.write_rows(tables.FINDINGS, findings)
    for table in writing:
        table.get_result()
    summary = _build_summary(findings, results.coverages, uncompared)
    return replace(summary, notes=list_notes(ages), warnings=list_warnings(job, ages, is_history=True))


def _write_grants(job: Job, results: UsageResults) -> None:
    rows = _build_grant_rows(results)
    job.write_rows(tables.GRANTS, rows, left_out=_count_left_out(rows, results.used_grants))


def _write_memberships(job: Job, results: UsageResults) -> None:
    rows = _build_member_rows(results)
    job.write_rows(tables.MEMBERSHIPS, rows, left_out=_count_left_out(rows, results.used_members.get_result()))


def _write_uses(job: Job, results: UsageResults) -> None:
    access = results.declared_access
    frames = {
        "uses": results.uses,
        "hits": results.hits,
        "grants": results.access.grants,
        "datasets": access.datasets,
        "people": access.people,
        "roles": access.roles,
    }
    rows = list_rows(run_query(job.spark, _USES_QUERY, frames).limit(MAX_ACCESS))
    levels = ({**row, "level": LEVEL_NAMES.get(row["level"]), "grantee": _name(row["grantee"])} for row in rows)
    job.write_rows(USES, [{**row, "person": _name(row["person"])} for row in levels])


def _name(name: str | None) -> str | None:
    return name if name is None or name.startswith("urn:li:") else describe_principal(name)


def _write_accounts(job: Job, rows: DataFrame, blocks: Sequence[Block], uncompared: UncomparedExports) -> None:
    """Write which rows were passed over, and which were not understood."""
    passed = rows.filter(f"what = '{HistoryRowKind.PASSED}'").groupBy("export", f.expr("reason AS rule"))
    passed_rows = passed.agg(*map(f.expr, ("count(*) AS count", f"min({_EXAMPLE}) AS sample"))).orderBy(
        "export", "rule"
    )
    job.write_rows(tables.PASSED, list_rows(passed_rows))
    job.write_rows(tables.QUARANTINE, [*list_uncompared_files(uncompared), *_collect_bad_rows(rows, blocks)])


def _collect_bad_rows(rows: DataFrame, blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Return the first rows that were not understood, in the order of the files."""
    if not any(block["what"] == HistoryRowKind.BAD for block in blocks):
        return []
    bad_rows = rows.filter(f"what = '{HistoryRowKind.BAD}'").orderBy(*PLACE_COLUMNS).limit(tables.MAX_ROWS)
    reason = f"left(reason, {MAX_REASON_LENGTH}) AS reason"
    bad_rows = bad_rows.selectExpr(*PLACE_COLUMNS, reason, f"{_EXAMPLE} AS `row`")
    return LineNumbers(blocks).number_rows(list_rows(bad_rows))


def _count_left_out(rows: Sequence[Mapping[str, Any]], frame: DataFrame) -> int:
    """Return how many rows of a frame are not among the first MAX_ROWS."""
    return frame.count() - len(rows) if len(rows) == tables.MAX_ROWS else 0


def _build_grant_rows(results: UsageResults) -> list[dict[str, Any]]:
    rows = _select_first(add_role(results.used_grants, results), results, "export", "grantee", "object")
    return [
        {
            **{name: row[name] for name in ("export", "tables", "people", "others", "state")},
            "grantee": describe_principal(row["grantee"]),
            "role": row["role_urn"],
            "object": wording.render_name(row),
            "used": row["used_tables"],
            "last": row["last"],
        }
        for row in list_rows(rows)
    ]


def _select_first(rows: DataFrame, results: UsageResults, *order: str) -> DataFrame:
    """Return the first MAX_ROWS rows, those without a use before others, with `state`, and `last` as a text."""
    rows = rows.orderBy(f.expr("last IS NOT NULL"), *order).limit(tables.MAX_ROWS)
    last = f"date_format(last, '{_TIME_FORMAT}')"
    return rows.withColumns({"state": f.expr(build_state(results.coverages)), "last": f.expr(last)})


def _build_member_rows(results: UsageResults) -> list[dict[str, Any]]:
    columns = ("export", "role_name AS held", "role AS grantee_key", "kind AS member_kind", "member_key")
    rows = results.used_members.get_result().selectExpr(
        *columns, f"'{Grantee.ROLE}' AS kind", "last", "is_young", "is_uncertain"
    )
    rows = _select_first(add_role(rows, results), results, "export", "held", "member_key")
    return [
        {
            **{name: row[name] for name in ("export", "held", "state")},
            "person": render_actor_urn(row["member_kind"], row["member_key"]),
            "role": row["role_urn"],
            "last": row["last"],
        }
        for row in list_rows(rows)
    ]


def _build_proposal_rows(results: UsageResults, exports_by_name: Mapping[str, Export]) -> list[dict[str, Any]]:
    proposed_grants = results.proposed_grants.get_result()
    changed = proposed_grants.filter(f"action <> '{GrantAction.KEEP}'").selectExpr("export", "grantee_key")
    rows = proposed_grants.join(changed.distinct(), ["export", "grantee_key"], "left_semi")
    rows = add_role(rows, results).withColumn("role", f.expr("grantee_key"))
    rows = rows.orderBy("export", "grantee", "action", "object", "name").limit(tables.MAX_ROWS)
    return [
        {
            **{name: row[name] for name in ("export", "action", "tables")},
            "grantee": describe_principal(row["grantee"]),
            "role": row["role_urn"],
            "object": wording.render_name(row),
            "used": row["used_tables"],
            "repair": wording.render_proposal(
                exports_by_name[row["export"]], row | {"entity": None if row["is_container"] else row["entity"]}
            ),
        }
        for row in list_rows(rows)
    ]


def _build_loss_rows(results: UsageResults) -> list[dict[str, Any]]:
    # Spark sorts all rows to find the least text of a group: these are few.
    grantees = results.used_grants.filter(f"kind = '{Grantee.ROLE}'")
    grantees = grantees.selectExpr("export", "kind", "grantee_key", "grantee").distinct()
    names = grantees.groupBy("export", "kind", "grantee_key").agg(f.expr("min(grantee) AS grantee"))
    rows = add_role(results.losses.get_result().join(names, ["export", "grantee_key"]), results)
    rows = rows.orderBy(f.desc("tables"), "export", "grantee", "person_key").limit(tables.MAX_ROWS)
    return [
        {
            **{name: row[name] for name in ("export", "tables")},
            "grantee": describe_principal(row["grantee"]),
            "role": row["role_urn"],
            "person": render_actor_urn(Grantee.USER, row["person_key"]),
        }
        for row in list_rows(rows)
    ]


def _build_export_rows(
    exports: Sequence[Export],
    coverages: Sequence[HistoryCoverage],
    uncompared: UncomparedExports,
    ages: Sequence[ExportAge],
) -> list[dict[str, Any]]:
    platforms = {export.name: export.platform for export in exports}
    cells = {age.export: age.list_cells() for age in ages}
    return [
        {
            **{name: getattr(coverage, name) for name in ("export", "rows", "compared", "passed", "quarantined")},
            **cells.get(coverage.export, {}),
            "platform": platforms.get(coverage.export),
            "first": _format_time(coverage.first_at),
            "last": _format_time(coverage.last_at),
            "gap": coverage.problem or None,
        }
        for coverage in coverages
    ] + describe_uncompared(exports, uncompared)


def _format_time(time: datetime | None) -> str | None:
    return f"{time:%Y-%m-%d %H:%M}" if time else None


def _build_summary(
    findings: Sequence[Mapping[str, Any]], coverages: Sequence[HistoryCoverage], uncompared: UncomparedExports
) -> Summary:
    counts = Counter(row["type"] for row in findings)
    by_export = Counter(row["export"] for row in findings)
    gaps = sum(1 for coverage in coverages if coverage.problem)
    return Summary(
        numbers=(
            Number("Unused", counts[UsageFindingType.UNUSED_GRANT]),
            Number("Used without declaration", counts[UsageFindingType.UNDECLARED_USE]),
            Number("Rows of history", sum(coverage.rows for coverage in coverages)),
            Number("Rows not understood", sum(coverage.quarantined for coverage in coverages)),
            Number("Exports with a gap in their history", gaps),
        ),
        charts=(
            Chart(
                "exports",
                "Findings by source",
                tuple(Bar(name, number) for name, number in sorted(by_export.items())),
                is_over_time=True,
            ),
        ),
        unjudged=list_unjudged(uncompared),
    )
