"""Runs of reports whose folder is in a bucket: kept, cancelled, failed and forgotten as in a folder of this machine."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from django.utils import timezone

from catalog.models import Report
from catalog.reports.run import leftovers, pruning, run_state, runner, table_publishing
from catalog.reports.services import reports
from catalog.reports.storage import parse_address
from policies.pdp.authorizer import SYSTEM
from tests import s3
from tests.catalog.test_reports import KIND

pytestmark = pytest.mark.django_db(transaction=True)

READY, FAILED, CANCELLED = Report.Status.READY, Report.Status.FAILED, Report.Status.CANCELLED


@pytest.fixture(scope="module")
def server() -> Iterator[s3.S3Server]:
    with s3.serve_s3() as server:
        yield server


@pytest.fixture(autouse=True)
def _bucket(
    server: s3.S3Server, settings: Any, tmp_path: Path, program_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REPORTS_DIR, settings.VAR_DIR = f"s3a://{s3.BUCKET}/{tmp_path.name}", program_folder
    # What the next snapshot continues stays, whatever becomes of a run.
    settings.REPORTS_INCREMENTAL, settings.SPARK_IDLE_SECONDS = False, 600
    # What a run adds to the open tables stays, too.
    settings.RESULT_TABLES_DIR = str(tmp_path / "tables")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    for module in (runner, reports):
        monkeypatch.setattr(module, "KINDS", {"things": KIND})


@pytest.fixture(autouse=True)
def _nothing_is_left(_bucket: None, server: s3.S3Server) -> Iterator[None]:
    yield
    for report in Report.objects.all():
        run_state.report_folder(report.pk).delete()
    assert server.list_keys() == []


def request(wanted: str = "well") -> Report:
    return reports.request_report(kind="things", parameters={"wanted": wanted}, by=SYSTEM, is_queued=False)


def make(wanted: str = "well") -> Report:
    """Return a run that was made here."""
    report = request(wanted)
    runner.run_report(report.pk)
    report.refresh_from_db()
    return report


def test_a_run_that_ends_well_leaves_its_results_where_its_attempt_wrote_them(server: s3.S3Server):
    report = make()
    assert (report.status, report.problem, report.rows.count()) == (READY, "", 2)
    prefix = f"{run_state.attempt_folder(report).path[1:]}/output/"
    keys = server.list_keys()
    assert len(keys) == 3
    assert all(key.startswith(prefix) for key in keys)
    assert s3.SECRET not in report.log
    Report.objects.filter(pk=report.pk).update(finished_at=timezone.now() - timedelta(days=1))
    assert leftovers.remove_attempt_folders() == 0, "they are the results"
    assert server.list_keys() == keys


@pytest.mark.parametrize("wanted", ["refuse", "texts", "corrupt", "full"])
def test_a_run_that_fails_leaves_nothing(server: s3.S3Server, wanted: str):
    report = make(wanted)
    assert (report.status, report.rows.count()) == (FAILED, 0)
    assert s3.SECRET not in report.log + report.problem
    assert server.list_keys() == []


def test_a_run_that_is_cancelled_leaves_nothing(server: s3.S3Server, monkeypatch: pytest.MonkeyPatch):
    update_progress, seen_keys = run_state.update_progress, []

    def cancel(report: Report, **progress: Any) -> bool:
        if progress["stage"] == "Working":
            seen_keys.extend(server.list_keys())
            run_state.cancel(report.pk)
        return update_progress(report, **progress)

    monkeypatch.setattr(run_state, "update_progress", cancel)
    assert make("hang").status == CANCELLED
    assert any(key.endswith("input/manifest.json") for key in seen_keys)
    assert server.list_keys() == []


def test_a_second_attempt_keeps_its_own_results_alone(server: s3.S3Server):
    report = request()
    first = run_state.claim(report.pk)
    assert first is not None
    run_state.attempt_folder(first).write_text("half", "x")
    Report.objects.filter(pk=report.pk).update(seen_at=timezone.now() - 2 * run_state.lease_duration())
    assert run_state.expire() == 1
    assert runner.run_report(report.pk) == READY
    assert {key.split("/")[2] for key in server.list_keys()} == {"attempt-2"}


def test_what_a_lost_worker_left_is_removed(server: s3.S3Server):
    report = request()
    lost = run_state.claim(report.pk)
    assert lost is not None
    run_state.attempt_folder(lost).write_text("half", "x")
    other = parse_address(f"s3a://{s3.BUCKET}/other")
    other.write_text("file", "x")
    assert leftovers.remove_attempt_folders() == 0
    assert run_state.fail(lost, problem="Lost.")
    assert leftovers.remove_attempt_folders() == 1
    assert server.list_keys() == ["other/file"]
    other.delete()


def test_old_runs_are_forgotten(server: s3.S3Server, settings: Any):
    settings.REPORTS_KEPT = 1
    old, new = make(), make()
    Report.objects.filter(pk=old.pk).update(requested_at=timezone.now() - timedelta(days=1))
    assert pruning.delete_old() == 1
    assert {key.split("/")[1] for key in server.list_keys()} == {str(new.pk)}


def test_open_tables_in_a_bucket_have_the_runs_that_are_ready(server: s3.S3Server, settings: Any):
    settings.RESULT_TABLES_DIR = f"s3a://{s3.BUCKET}/tables of Zoë"
    tables = parse_address(settings.RESULT_TABLES_DIR)
    assert make("refuse").status == FAILED
    assert tables.list_names() == []
    ready = make()
    assert (ready.status, ready.unpublished_tables) == (READY, None)
    things = DeltaTable((tables / "things" / "things").url, storage_options=tables.read_s3_options())
    (file,) = things.get_add_actions().column("path").to_pylist()
    with (tables / "things" / "things").open_input(file) as stream:
        rows = pq.read_table(stream).to_pylist()
    assert [(row["run"], row["thing"]) for row in rows] == [(str(ready.pk), thing) for thing in "abc"]
    Report.objects.filter(pk=ready.pk).update(unpublished_tables=[])
    assert table_publishing.publish_pending() == 1
    things.update_incremental()
    assert things.get_add_actions().num_rows == 1
    tables.delete()


def test_a_snapshot_in_a_bucket_is_continued(server: s3.S3Server, settings: Any):
    settings.REPORTS_INCREMENTAL = True
    assert [make().status, make().status] == [READY, READY]
    folder = parse_address(settings.REPORTS_DIR) / "bases"
    (key,) = folder.list_names()
    (token,) = (folder / key).list_names()
    assert (folder / key / token).has_file("manifest.json")
    folder.delete()


def test_a_bucket_that_is_gone_in_mid_run_is_named(server: s3.S3Server, monkeypatch: pytest.MonkeyPatch):
    def lose_bucket(*_: Any, **__: Any) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    monkeypatch.setattr(run_state, "record_snapshot", lose_bucket)
    report = make()
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    assert report.status == FAILED
    assert report.problem.endswith("cannot be used: nothing answers at 127.0.0.1:1 (AWS_ENDPOINT_URL).")
