"""Runs of reports that have ended, made as a worker makes them but for the job: its Parquet is written here."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from django.utils import timezone

from catalog.models import Finding, Report, ReportRow
from catalog.reports import finding_writer
from catalog.reports.registry import KINDS
from catalog.reports.run import result_loader, run_state
from catalog.reports.spec import ReportSpec
from catalog.reports.storage import parse_address
from catalog.reports.tables import ColumnKind, ReportColumn
from policies.models import open_event_write
from policies.pdp.authorizer import SYSTEM

Rows = Sequence[Mapping[str, Any]]

#: What stands in a column of a kind where a test does not say.
VALUES: Mapping[ColumnKind, Any] = {
    ColumnKind.TEXT: "Some words",
    ColumnKind.LINES: "grants.csv:2, granted 2026-05-01 by BOSS\ngrants.csv:3",
    ColumnKind.NUMBER: 1234,
    ColumnKind.ENTITY: "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.orders,PROD)",
    ColumnKind.ENTITIES: "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.orders,PROD)\n"
    "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.people,PROD)",
    ColumnKind.ACTOR: "urn:li:corpuser:otto",
    ColumnKind.POLICY: "urn:li:dataHubPolicy:view-entity-page-all",
    ColumnKind.PRIVILEGE: "VIEW_ENTITY_PAGE",
    ColumnKind.SEVERITY: "HIGH",
    ColumnKind.STATE: "OPEN",
    ColumnKind.SQL: "GRANT SELECT ON shop.orders TO ROLE reader",
}


def running(kind: str, *, by: str = SYSTEM.urn, **parameters: Any) -> Report:
    """Return a run that a worker has just begun."""
    queued = run_state.queue(spec=KINDS[kind], parameters=KINDS[kind].validate(parameters), by=by)
    assert queued is not None
    found = run_state.claim(queued.pk)
    assert found is not None
    return found


def failed(kind: str, problem: str, *, log: str = "") -> Report:
    """Return a run that ended with a sentence."""
    found = running(kind)
    run_state.fail(found, problem=problem, log=log)
    found.refresh_from_db()
    return found


def ready(
    folder: Path,
    kind: str,
    tables: Mapping[str, Rows] | None = None,
    *,
    summary: Mapping[str, Any] | None = None,
    by: str = SYSTEM.urn,
    **parameters: Any,
) -> Report:
    """Return a run that came through with these rows; a table that is not named has none, a column its usual value."""
    found = running(kind, by=by, **parameters)
    target = folder / str(found.pk)
    write(KINDS[kind], tables or {}, target)
    result_loader.load(found, KINDS[kind], parse_address(target), on_progress=lambda _: None)
    end(found, summary or {})
    return found


def complete(folder: Path, kind: str, rows: Rows, *, by: str = SYSTEM.urn) -> Report:
    """Return a run that came through with these findings, which are merged in the transaction that makes it READY."""
    found = running(kind, by=by)
    target = folder / str(found.pk)
    write(KINDS[kind], {"findings": rows}, target)
    result_loader.load(found, KINDS[kind], parse_address(target), on_progress=lambda _: None)
    with open_event_write():
        merge(found)
        end(found, {})
    return found


def merge(found: Report) -> None:
    """Merge the findings of a run that is loaded."""
    with (
        finding_writer.stage(found, KINDS[found.kind], on_progress=lambda _: None) as staged,
        open_event_write(),
    ):
        finding_writer.merge(found, KINDS[found.kind], staged, on_batch=lambda: None)


def record_moment(found: Report) -> None:
    """Store that the snapshot of a run was taken now."""
    run_state.record_snapshot(found, policy_version=1, as_of=timezone.now())


def end(found: Report, summary: Mapping[str, Any]) -> None:
    """End a run well."""
    record_moment(found)
    assert run_state.mark_ready(found, summary=summary, log="Done")
    found.refresh_from_db()


def write(kind: ReportSpec, tables: Mapping[str, Rows], target: Path) -> None:
    """Write what a job would."""
    assert tables.keys() <= {table.name for table in kind.tables}
    for table in kind.tables:
        (target / table.name).mkdir(parents=True)
        rows = [
            {column.name: VALUES[column.kind] for column in table.columns}
            | dict(row)
            | {result_loader.POSITION_COLUMN: place}
            for place, row in enumerate(tables.get(table.name, ()))
        ]
        columns = [*table.columns, ReportColumn(result_loader.POSITION_COLUMN, "", ColumnKind.NUMBER)]
        schema = pa.schema([(one.name, _type(one)) for one in columns])
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), target / table.name / "part-0.parquet")


def _type(column: ReportColumn) -> pa.DataType:
    return pa.int64() if column.kind is ColumnKind.NUMBER else pa.string()


#: A finding that is there, as the number of its row.
FOUND = 10_001

#: Runs that are there under known addresses, for the tables of URLs.
READY, EARLIER, FAILED, RUNNING, NONE = (UUID(int=number) for number in range(1, 6))
KIND, TABLE = "effective_access", "people"

_BARS = [
    {"label": "Sales", "urn": "urn:li:domain:sales", "value": 1200},
    {"label": "Nothing of the catalog", "value": 30},
]
SUMMARY = {
    "numbers": [{"title": "People", "value": 1234}, {"title": "Entities", "value": 20}],
    "charts": [{"name": "domains", "title": "Access by domain", "over_time": True, "bars": _BARS}],
}


def shelve() -> None:
    """Store a run of each status, a few rows of those that came through, and a finding."""
    now = timezone.now()
    about = {"kind": KIND, "parameters": {"privileges": ["VIEW_ENTITY_PAGE"]}, "requested_by": SYSTEM.urn}
    ended = about | {"started_at": now, "finished_at": now, "log": "Some lines\nof a log"}
    dated = ended | {"policy_version": 1, "as_of": now, "summary": SUMMARY, "status": Report.Status.READY}
    Report.objects.create(pk=EARLIER, requested_at=now - timedelta(days=1), **dated)
    Report.objects.create(pk=READY, requested_at=now, **dated)
    Report.objects.create(pk=FAILED, status=Report.Status.FAILED, problem="There is no Java on this machine.", **ended)
    stage = {"stage": "Counting", "done": 5, "total": 10}
    Report.objects.create(pk=RUNNING, status=Report.Status.RUNNING, started_at=now, **about, **stage)
    table = next(one for one in KINDS[KIND].tables if one.name == TABLE)
    for run, count in ((EARLIER, 3), (READY, 4)):
        values = [[VALUES[column.kind] for column in table.columns] for _ in range(count)]
        ReportRow.objects.bulk_create(
            ReportRow(report_id=run, table=TABLE, position=place, key=f"key {place}", text="some words", values=value)
            for place, value in enumerate(values)
        )
    Finding.objects.create(
        pk=FOUND,
        kind="role_mapping_check",
        key="grant_missing x",
        type="grant_missing",
        severity=Finding.Severity.HIGH,
        sentence="reader cannot read shop.orders, as the catalog says it may.",
        repair=VALUES[ColumnKind.SQL],
        values={"entity": VALUES[ColumnKind.ENTITY], "actor": VALUES[ColumnKind.ACTOR]},
        first_seen_id=EARLIER,
        last_seen_id=READY,
    )
