"""The open tables hold what the reports hold, once for each READY run, and nothing of any other."""

import sys
import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from django.db import connection
from django.utils import timezone

from catalog.models import Report, ReportRow
from catalog.reports import storage
from catalog.reports import tasks as report_tasks
from catalog.reports.registry import KINDS
from catalog.reports.result_tables import delta_log
from catalog.reports.result_tables.feeds import KIND_FEEDS
from catalog.reports.result_tables.run_files import write_files
from catalog.reports.result_tables.schemas import SCHEMA_VERSION, TABLES
from catalog.reports.run import pruning, run_state, storage_check, table_publishing
from catalog.reports.spec import ReportSpec
from catalog.reports.tables import ColumnKind
from tests import finished, result_tables

pytestmark = pytest.mark.django_db(transaction=True)

#: The names and types of all columns of version 1, which no later version may change.
VERSION_1 = {
    "access_edges": "privilege entity crowd person",
    "counts": "table measure privilege subject object value:number",
    "findings": "key severity type sentence policy other role entity actor export members:number repair",
    "drift": "type severity export role role_name entity actor grantee object via level:number declared_level:number "
    "count:number rule",
    "usage": "table state last_use:time policy privilege person group export grantee role held object datasets:number "
    "used_datasets:number people:number used_by:number",
}

DIFFERENCE = {"type": "EXTRA_GRANT", "severity": "HIGH", "export": "snow", "role": "READERS", "level": 1, "wanted": 0}


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.REPORTS_DIR = str(tmp_path / "reports")


def made(tmp_path: Path, kind: str = "policy_hygiene", count: int = 3) -> Report:
    """Return a published run with so many rows in each of its tables."""
    return result_tables.ready(tmp_path, kind, rows_of(KINDS[kind], count))


def rows_of(spec: ReportSpec, count: int) -> dict[str, finished.Rows]:
    tables: dict[str, finished.Rows] = {
        table.name: [
            {name: f"{name} {number}" for name in table.keys if not is_number(spec, table.name, name)}
            | ({"last": "2026-05-01 10:20"} if any(column.name == "last" for column in table.columns) else {})
            for number in range(count)
        ]
        for table in spec.tables
    }
    if spec.name == "role_mapping_check":
        tables["differences"] = [DIFFERENCE] * count
    if spec.name == "effective_access":
        tables["edges"] = [{"privilege": "VIEW_ENTITY_PAGE", "crowd": "c", "person": "p"}] * count
    return tables


def is_number(spec: ReportSpec, table: str, column: str) -> bool:
    columns = next(item for item in spec.tables if item.name == table).columns
    return next(item for item in columns if item.name == column).is_number


def test_every_kind_has_its_feeds():
    assert KIND_FEEDS.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KIND_FEEDS)
def test_every_kind_writes_what_it_promises(kind: str, tmp_path: Path):
    report = made(tmp_path, kind)
    (entry,) = result_tables.entries().values()
    assert (entry["run"], entry["kind"], entry["schema_version"]) == (str(report.pk), kind, SCHEMA_VERSION)
    written = {item["table"]: item for item in entry["tables"]}
    assert written.keys() == {feed.table.name for feed in KIND_FEEDS[kind]}
    for name, item in written.items():
        feeds = [feed for feed in KIND_FEEDS[kind] if feed.table.name == name]
        stored_rows = ReportRow.objects.filter(report=report)
        expected = sum(
            (3 if feed.source in result_tables.SCHEMAS_WITHOUT_PAGE else stored_rows.filter(table=feed.source).count())
            * max(len(feed.measures), 1)
            for feed in feeds
        )
        rows = result_tables.rows(name)
        assert (item["rows"], item["left_out"], item["is_complete"], len(rows)) == (expected, 0, True, expected)
        assert {(row["run"], row["kind"], row["policy_version"]) for row in rows} == {(str(report.pk), kind, 1)}
        assert {row["as_of"] for row in rows} == {report.as_of}
        for feed in feeds:
            sources = {feed.columns.get(column.name, column.name) for column in feed.table.own_columns}
            columns = {
                column.name for table in KINDS[kind].tables if table.name == feed.source for column in table.columns
            }
            if feed.source not in result_tables.SCHEMAS_WITHOUT_PAGE:
                assert sources & columns, f"{feed.source} feeds no column"
                assert {*feed.columns.values(), *feed.measures} - {""} <= columns


def test_rows_are_those_of_the_report(tmp_path: Path):
    report = made(tmp_path, "policy_hygiene", 2)
    findings = result_tables.rows("findings")
    assert [(row["key"], row["severity"], row["actor"]) for row in findings] == [
        ("key 0", "HIGH", "urn:li:corpuser:otto"),
        ("key 1", "HIGH", "urn:li:corpuser:otto"),
    ]
    counts = {(row["subject"], row["measure"]): row["value"] for row in result_tables.rows("counts")}
    stored = report.rows.filter(table="policies").values_list("values", flat=True)
    names = [column.name for column in KINDS["policy_hygiene"].tables[1].columns]
    assert counts == {
        (values[0], name): value for values in stored for name, value in zip(names[1:], values[1:], strict=True)
    }


def test_times_are_times(tmp_path: Path):
    made(tmp_path, "warehouse_usage", 1)
    (grant,) = (row for row in result_tables.rows("usage") if row["table"] == "grants")
    assert f"{grant['last_use']:%Y-%m-%d %H:%M %Z}" == "2026-05-01 10:20 UTC"
    assert (grant["used_by"], grant["people"], grant["datasets"]) == (1234, None, 1234)


def test_failed_cancelled_and_repeated_attempts_leave_no_row(tmp_path: Path):
    good = made(tmp_path)
    paths = result_tables.files()
    for end in (run_state.cancel, lambda pk: run_state.fail(Report.objects.get(pk=pk), problem="No.")):
        report = finished.running("policy_hygiene")
        write(report, tmp_path)
        assert result_tables.files() > paths
        assert end(report.pk)
        table_publishing.publish_pending()
        assert table_publishing.delete_abandoned("policy_hygiene") == 2
        assert result_tables.files() == paths
    report = finished.running("policy_hygiene")
    write(report, tmp_path)
    assert run_state.end_stopped(report)
    again = run_state.claim(report.pk)
    assert again is not None
    result_tables.finish(again, tmp_path, rows_of(KINDS["policy_hygiene"], 1))
    assert table_publishing.delete_abandoned("policy_hygiene") == 2
    assert result_tables.entries().keys() == {str(good.pk), str(report.pk)}
    assert [row["run"] for row in result_tables.rows("findings")].count(str(report.pk)) == 1


def write(report: Report, work: Path) -> None:
    """Write what the job of a run writes."""
    target = work / f"{report.pk}-{report.attempts}-unfinished"
    finished.write(KINDS[report.kind], rows_of(KINDS[report.kind], 3), target)
    finished.record_moment(report)
    results = storage.parse_address(target)
    write_files(table_publishing.plan_files(report), KIND_FEEDS[report.kind], results)


def test_a_run_is_published_once_the_manifest_can_be_written(tmp_path: Path):
    blocker = result_tables.folder() / "manifest"
    blocker.parent.mkdir(parents=True)
    blocker.touch()
    report = made(tmp_path)
    report.refresh_from_db()
    assert (report.status, report.unpublished_tables["run"]) == (Report.Status.READY, str(report.pk))
    blocker.unlink()
    report_tasks.watch_reports()
    assert result_tables.entries().keys() == {str(report.pk)}
    report.refresh_from_db()
    assert report.unpublished_tables is None
    assert table_publishing.publish_pending() == 0


def test_a_run_is_not_deleted_before_it_is_published(tmp_path: Path, settings: Any):
    report, _ = made(tmp_path), made(tmp_path)
    settings.REPORTS_KEPT = 1
    entry = result_tables.entries()[str(report.pk)]
    Report.objects.filter(pk=report.pk).update(unpublished_tables=entry)
    assert pruning.delete_old() == 0
    assert table_publishing.publish_pending() == 1
    assert pruning.delete_old() == 1
    assert list(Report.objects.filter(pk=report.pk)) == []


def test_runs_that_end_at_once_are_both_in_the_manifest(tmp_path: Path):
    kinds = ("policy_hygiene", "unused_access", "policy_impact")
    barrier = threading.Barrier(len(kinds))

    def work(kind: str) -> None:
        try:
            report = finished.running(kind)
            barrier.wait()
            result_tables.finish(report, tmp_path, rows_of(KINDS[kind], 5))
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table_publishing.publish_pending()
    assert sorted(entry["kind"] for entry in result_tables.entries().values()) == sorted(kinds)
    assert len(result_tables.rows("findings")) == 5


def test_rows_outlive_runs_unless_days_are_set(tmp_path: Path, settings: Any):
    report = made(tmp_path)
    old = made(tmp_path, "unused_access")
    settings.REPORTS_KEPT = 1
    made(tmp_path)
    assert pruning.delete_old() == 1
    assert str(report.pk) in result_tables.entries()
    assert table_publishing.delete_old() == 0
    settings.RESULT_TABLES_DAYS = 30
    entry_path = result_tables.folder() / "manifest" / f"{old.pk}.json"
    long_ago = f"{timezone.now() - timedelta(days=31):%Y-%m-%d}"
    entry_path.write_text(
        entry_path.read_text().replace(f'"day": "{old.as_of:%Y-%m-%d}"', f'"day": "{long_ago}"'), encoding="utf-8"
    )
    assert table_publishing.delete_old() == 1
    assert str(old.pk) not in result_tables.entries()
    assert not any(str(old.pk) in path for path in result_tables.files())


def test_tables_of_delta_lake_have_each_run_once(tmp_path: Path, settings: Any):
    settings.RESULT_TABLES_FORMAT = "delta"
    reports = [made(tmp_path, "policy_hygiene", 2), made(tmp_path, "unused_access", 1), made(tmp_path)]
    findings = DeltaTable(result_tables.folder() / "findings")
    assert findings.version() == 2
    entry = result_tables.entries()[str(reports[0].pk)]
    delta_log.commit_entry(storage.parse_address(result_tables.folder()), entry)
    write(finished.running("policy_hygiene"), tmp_path)
    rows = read_delta("findings")
    assert Counter(row["run"] for row in rows) == {str(reports[0].pk): 2, str(reports[2].pk): 3}
    assert {(row["report"], f"{row['day']}", row["key"][:3]) for row in rows} == {
        ("policy_hygiene", entry["day"], "key")
    }
    assert len(read_delta("usage")) == len(result_tables.rows("usage")) > 0
    delta_log.delete_entry(storage.parse_address(result_tables.folder()), entry)
    assert {row["run"] for row in read_delta("findings")} == {str(reports[2].pk)}


def test_a_missing_library_is_said_before_the_run(settings: Any, monkeypatch: pytest.MonkeyPatch):
    settings.RESULT_TABLES_FORMAT = "delta"
    assert storage_check.find_problem(KINDS["policy_hygiene"]) == ""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    assert "deltalake" in storage_check.find_problem(KINDS["policy_hygiene"])


def test_a_table_of_delta_lake_gets_new_columns(tmp_path: Path, settings: Any):
    settings.RESULT_TABLES_FORMAT = "delta"
    schema = TABLES["findings"].build_arrow_schema()
    older_schema = pa.schema([*list(schema)[:-1], ("report", pa.string()), ("day", pa.date32())])
    folder = result_tables.folder() / "findings"
    folder.mkdir(parents=True)
    DeltaTable.create(folder, older_schema, partition_by=["report", "day"])
    made(tmp_path)
    assert {row["repair"] for row in read_delta("findings")} == {finished.VALUES[ColumnKind.SQL]}


def read_delta(table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(result_tables.folder() / table).to_pyarrow_table().to_pylist()
    return rows


def test_columns_are_only_added():
    for name, text in VERSION_1.items():
        first = [column for column in TABLES[name].own_columns if column.since == 1]
        assert [f"{column.name}:{column.type}".removesuffix(":text") for column in first] == text.split()
        assert [column.since for column in TABLES[name].own_columns] == sorted(
            column.since for column in TABLES[name].own_columns
        )
    for table in TABLES.values():
        assert all(column.since <= SCHEMA_VERSION for column in table.columns)
        assert isinstance(table.build_arrow_schema(), pa.Schema)


def test_the_document_describes_the_tables():
    text = result_tables.DOCUMENT.read_text(encoding="utf-8")
    for name, section in result_tables.render_sections().items():
        assert f"<!-- {name} -->\n\n{section}\n\n<!-- end -->" in text, section
    assert f"<!-- version -->{SCHEMA_VERSION}<!-- end -->" in text


def test_the_example_for_duckdb(tmp_path: Path):
    report = made(tmp_path, "policy_hygiene", 4)
    abandoned = finished.running("policy_hygiene")
    write(abandoned, tmp_path)
    assert result_tables.ask_duckdb("duckdb") == [["policy_hygiene", f"{report.as_of:%Y-%m-%d}", "HIGH", 4]]
