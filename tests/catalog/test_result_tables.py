"""The open tables hold what the reports hold, once for each READY run, and nothing of any other."""

import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from django.db import connection
from django.utils import timezone

from catalog.models import Report, ReportRow
from catalog.reports import tasks as report_tasks
from catalog.reports.registry import KINDS
from catalog.reports.run import pruning, run_state, table_publishing
from catalog.reports.spec import ReportSpec
from tests import finished, result_tables

pytestmark = pytest.mark.django_db(transaction=True)

DIFFERENCE = {"type": "EXTRA_GRANT", "severity": "HIGH", "export": "snow", "role": "READERS", "level": 1, "wanted": 0}


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.REPORTS_DIR = str(tmp_path / "reports")


def made(kind: str = "policy_hygiene", count: int = 3) -> Report:
    """Return a published run with so many rows in each of its tables."""
    return result_tables.ready(kind, rows_of(KINDS[kind], count))


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


def test_every_kind_publishes_its_tables_as_they_are_and_the_earlier_ones_are_views():
    reports = {kind: made(kind) for kind in KINDS}
    for kind, report in reports.items():
        expected = rows_of(KINDS[kind], 3)
        runs = {row["table"]: row for row in result_tables.rows("runs") if row["run"] == str(report.pk)}
        assert {name: (row["kind"], row["rows"], row["left_out"]) for name, row in runs.items()} == dict.fromkeys(
            expected, (kind, 3, 0)
        )
        for table in KINDS[kind].tables:
            rows = sorted(result_tables.rows(f"{kind}/{table.name}"), key=lambda row: row["position"])
            names = [column.name for column in table.columns]
            assert not {*names} & {*table_publishing.RUN_COLUMNS.names}
            stored = ReportRow.objects.filter(report=report, table=table.name).order_by("position")
            assert [[row[name] for name in names] for row in rows] == list(stored.values_list("values", flat=True))
            assert {(row["run"], row["attempt"], row["as_of"], row["policy_version"]) for row in rows} == {
                (str(report.pk), 1, report.as_of, 1)
            }
    views = result_tables.VIEWS.read_text(encoding="utf-8")
    counted = result_tables.ask_duckdb(
        result_tables.define_tables(),
        views,
        'SELECT kind, "table", measure, count(*), count(subject), min(value) FROM counts GROUP BY ALL ORDER BY ALL',
    )
    assert ["policy_hygiene", "policies", "findings", 3, 3, 1234] in counted
    assert len(counted) == 41
    for view, expected_rows in {
        "SELECT kind, count(*) FROM findings GROUP BY ALL ORDER BY ALL": [
            [kind, 3] for kind in ("policy_hygiene", "role_mapping_check", "warehouse_usage")
        ],
        "SELECT DISTINCT type, role, role_name, level, declared_level FROM drift": [
            ["EXTRA_GRANT", None, "READERS", 1, 0]
        ],
        "SELECT privilege, count(*) FROM access_edges GROUP BY ALL": [["VIEW_ENTITY_PAGE", 3]],
        'SELECT "table", last_use, datasets, people, used_by, count("group") FROM usage GROUP BY ALL ORDER BY ALL': [
            ["grants", "2026-05-01 10:20:00", 1234, None, 1234, 0],
            ["memberships", "2026-05-01 10:20:00", None, None, None, 0],
            ["memberships", None, None, None, None, 3],
            ["people", None, None, None, None, 0],
            ["policies", "2026-05-01 10:20:00", None, 1234, 1234, 0],
            ["privileges", "2026-05-01 10:20:00", None, 1234, 1234, 0],
        ],
    }.items():
        assert result_tables.ask_duckdb(result_tables.define_tables(), views, view) == expected_rows


def test_failed_cancelled_and_repeated_attempts_leave_no_row():
    good = made()
    for end in (run_state.cancel, lambda pk: run_state.fail(Report.objects.get(pk=pk), problem="No.")):
        report = finished.running("policy_hygiene")
        assert end(report.pk)
        assert table_publishing.publish_pending() == 0
    report = finished.running("policy_hygiene")
    assert run_state.end_stopped(report)
    again = run_state.claim(report.pk)
    assert again is not None
    result_tables.finish(again, rows_of(KINDS["policy_hygiene"], 1))
    assert result_tables.runs() == {str(good.pk), str(report.pk)}
    rows = result_tables.rows("policy_hygiene/findings")
    assert Counter((row["run"], row["attempt"]) for row in rows) == {(str(good.pk), 1): 3, (str(report.pk), 2): 1}


def test_a_run_is_published_once_the_tables_can_be_written():
    blocker = result_tables.folder() / "policy_hygiene"
    blocker.parent.mkdir(parents=True)
    blocker.touch()
    report = made()
    report.refresh_from_db()
    assert report.status == Report.Status.READY
    assert [table["table"] for table in report.unpublished_tables] == ["findings", "policies"]
    assert not result_tables.runs()
    blocker.unlink()
    report_tasks.watch_reports()
    assert result_tables.runs() == {str(report.pk)}
    report.refresh_from_db()
    assert report.unpublished_tables is None
    assert table_publishing.publish_pending() == 0


def test_a_run_is_not_deleted_before_it_is_published_and_not_published_twice(settings: Any):
    report, _ = made(), made()
    settings.REPORTS_KEPT = 1
    Report.objects.filter(pk=report.pk).update(unpublished_tables=[])
    assert pruning.delete_old() == 0
    assert table_publishing.publish_pending() == 1
    assert len(result_tables.rows("policy_hygiene/findings")) == len(result_tables.rows("policy_hygiene/policies")) == 6
    assert pruning.delete_old() == 1
    assert list(Report.objects.filter(pk=report.pk)) == []


def test_runs_that_end_at_once_are_all_published_and_a_run_by_two_workers_once():
    kinds = ("policy_hygiene", "unused_access", "policy_impact")
    barrier = threading.Barrier(len(kinds))

    def work(kind: str) -> None:
        try:
            report = finished.running(kind)
            barrier.wait()
            # Each publishes what it finds unpublished, so also the runs of the others.
            result_tables.finish(report, rows_of(KINDS[kind], 5))
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    table_publishing.publish_pending()
    rows = result_tables.rows("runs")
    assert Counter(row["kind"] for row in rows) == {kind: len(KINDS[kind].tables) for kind in kinds}
    assert len(result_tables.rows("policy_hygiene/findings")) == len(result_tables.rows("unused_access/people")) == 5


def test_rows_outlive_runs_unless_days_are_set(settings: Any):
    report = made()
    old = made("unused_access", 1)
    settings.REPORTS_KEPT = 1
    kept = made()
    assert pruning.delete_old() == 1
    assert {str(report.pk), str(old.pk)} < result_tables.runs()
    table_publishing.delete_old()
    assert str(old.pk) in result_tables.runs()
    settings.RESULT_TABLES_DAYS = 30
    long_ago = finished.running("unused_access")
    run_state.record_snapshot(long_ago, policy_version=1, as_of=timezone.now() - timedelta(days=31))
    Report.objects.filter(pk=long_ago.pk).update(status=Report.Status.READY, finished_at=timezone.now())
    table_publishing.publish(long_ago, run_state.report_folder(old.pk) / "output")
    assert str(long_ago.pk) in result_tables.runs()
    table_publishing.delete_old()
    assert result_tables.runs() == {str(report.pk), str(old.pk), str(kept.pk)}
    assert {row["run"] for row in result_tables.rows("unused_access/policies")} == {str(old.pk)}


def test_a_table_gets_new_columns_and_keeps_old_ones():
    made()
    table = DeltaTable(result_tables.folder() / "policy_hygiene" / "policies")
    report = finished.running("policy_hygiene")
    target = Path(run_state.report_folder(report.pk).path) / "output" / "policies"
    target.mkdir(parents=True)
    pq.write_table(pa.table({"policy": ["p"], "score": [7]}), target / "part-0.parquet")
    finished.record_moment(report)
    table_publishing.publish(report, run_state.report_folder(report.pk) / "output")
    table.update_incremental()
    assert {"policy", "people", "position", "score"} < {field.name for field in table.schema().fields}
    assert {(row.get("score"), row.get("people")) for row in result_tables.rows("policy_hygiene/policies")} == {
        (None, 1234),
        (7, None),
    }


def test_the_document_describes_the_tables():
    text = result_tables.DOCUMENT.read_text(encoding="utf-8")
    section = result_tables.render_tables()
    assert f"<!-- tables -->\n\n{section}\n\n<!-- end -->" in text, section


def test_the_example_for_duckdb():
    report = made("role_mapping_check", 4)
    answer = result_tables.ask_duckdb(result_tables.read_example("duckdb"))
    assert answer == [[f"{report.as_of:%Y-%m-%d}", "HIGH", 4]]
