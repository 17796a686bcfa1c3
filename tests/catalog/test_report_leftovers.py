"""What killed workers leave behind is removed, and nothing that somebody works on or reads."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from catalog.models import Report, ReportRow
from catalog.reports import tasks as report_tasks
from catalog.reports.registry import KINDS
from catalog.reports.run import leftovers, run_state, spark_process
from policies.pdp.authorizer import SYSTEM
from tests import finished

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folders(settings: Any, tmp_path: Path) -> None:
    settings.REPORTS_DIR, settings.VAR_DIR = tmp_path / "reports", tmp_path


def claim(kind: str) -> Report:
    """Return a run that a worker works on, with its folder."""
    queued = run_state.queue(spec=KINDS[kind], parameters={}, by=SYSTEM.urn)
    assert queued is not None
    return claim_again(queued)


def claim_again(report: Report) -> Report:
    """Return the next attempt of a queued run, with its folder."""
    claimed = run_state.claim(report.pk)
    assert claimed is not None
    folder = Path(run_state.attempt_folder(claimed).path)
    folder.mkdir(parents=True)
    (folder / "file").write_text("left")
    return claimed


def list_folders(tmp_path: Path) -> set[str]:
    """Return the folders of attempts that are there, below the folder of the installation."""
    return {str(folder.relative_to(tmp_path)) for folder in tmp_path.glob("reports/*/*")}


def test_folders_of_killed_workers_are_removed_and_those_in_use_stay(tmp_path: Path):
    running, lost = claim("policy_hygiene"), claim("unused_access")
    Report.objects.filter(pk=lost.pk).update(seen_at=timezone.now() - 2 * run_state.lease_duration())
    report_tasks.remove_leftovers()
    assert len(list_folders(tmp_path)) == 2, "until its lease ends the worker may be there"
    assert report_tasks.watch_reports() == 1
    in_use = {f"reports/{running.pk}/attempt-1"}
    assert list_folders(tmp_path) == in_use
    again = claim_again(lost)
    run_state.attempt_folder(lost).create()
    report_tasks.remove_leftovers()
    assert list_folders(tmp_path) == in_use | {f"reports/{again.pk}/attempt-2"}


def test_results_and_folders_of_others_stay(tmp_path: Path):
    ready = finished.ready(tmp_path, "effective_access", {"people": []})
    for name in (f"reports/{ready.pk}/attempt-1", "reports/other/attempt-1", "reports/other/attempt-x"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    before = list_folders(tmp_path)
    (tmp_path / f"reports/{ready.pk}/attempt-2").mkdir()
    assert leftovers.remove_attempt_folders() == 1
    assert list_folders(tmp_path) == before


def test_folders_of_killed_programs_of_spark_are_removed_and_those_in_use_stay(tmp_path: Path):
    process = spark_process.SparkProcess(tmp_path / "spark/runs/used", [sys.executable, "-c", "input()"], os.environ)
    try:
        for name in ("lost", "older"):
            (tmp_path / "spark/runs" / name / "local").mkdir(parents=True)
        (tmp_path / "spark/runs/lost.lock").touch()
        assert leftovers.remove_spark_folders() == 2
        names = {path.name for path in (tmp_path / "spark/runs").iterdir()}
        assert names == {"used", "used.lock"}
    finally:
        process.end()
    assert list((tmp_path / "spark/runs").iterdir()) == []


def test_what_a_killed_worker_left_of_a_run_that_was_cancelled_then_is_removed(tmp_path: Path):
    running, cancelled = claim("policy_hygiene"), claim("unused_access")
    ReportRow.objects.create(report=cancelled, table="policies", position=0, key="half", values=[])
    in_use = {folder for folder in list_folders(tmp_path) if str(running.pk) in folder}
    assert run_state.cancel(cancelled.pk)
    assert report_tasks.watch_reports() == 0
    assert list_folders(tmp_path) > in_use, "a worker that is there does that itself, once it notices"
    earlier = timezone.now() - 1.5 * run_state.lease_duration()
    Report.objects.filter(pk=cancelled.pk).update(finished_at=earlier)
    assert report_tasks.watch_reports() == 0
    assert {folder for folder in list_folders(tmp_path) if "attempt" in folder} == in_use
    assert not ReportRow.objects.exists()
