"""The folders of runs that a killed worker leaves behind, and their removal.

A run has two: the one of its attempt in REPORTS_DIR, and the one of Spark's own files on the machine of its worker,
which also holds what a killed Java program would leave in the usual folder for temporary files.
"""

import shutil
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.conf import settings
from django.utils import timezone

from catalog.models import Report
from catalog.reports.run import run_state


def find_spark_folder(report: Report) -> Path:
    """Return the folder of Spark's files of this attempt, which is deleted when its job has ended."""
    return _spark_runs_folder() / f"{report.pk}-{report.attempts}"


def remove_spark_folders() -> int:
    """Remove the folders of Spark on this machine whose runs no worker works on; return their number."""
    # Listed before the runs are read: a folder is made after its run is stored as running.
    folders = list(_spark_runs_folder().glob("*"))
    if not folders:
        return 0
    running_reports = Report.objects.filter(status=Report.Status.RUNNING)
    kept_names = {f"{pk}-{attempts}" for pk, attempts in running_reports.values_list("pk", "attempts")}
    return _remove_folders(folder for folder in folders if folder.name not in kept_names)


def remove_attempt_folders() -> int:
    """Remove the folders of attempts in REPORTS_DIR that no worker works on; return their number.

    Folders of runs that are not in this database are left alone.
    """
    folders = {folder: _parse_attempt(folder) for folder in Path(settings.REPORTS_DIR).glob("*/attempt-*")}
    ids = {attempt[0] for attempt in folders.values() if attempt is not None}
    reports = Report.objects.only("status", "attempts", "finished_at").in_bulk(ids) if ids else {}
    return _remove_folders(
        folder
        for folder, attempt in folders.items()
        if attempt is not None and attempt[0] in reports and _is_over(reports[attempt[0]], attempt[1])
    )


def _is_over(report: Report, attempt: int) -> bool:
    """Whether nothing of this attempt of a run is needed any more."""
    if report.status == Report.Status.RUNNING:
        return attempt != report.attempts
    if report.status == Report.Status.READY:
        # Its worker may be moving the results out of it right now.
        is_settled = report.finished_at is not None and timezone.now() - report.finished_at > timedelta(hours=1)
        return is_settled and (run_state.report_folder(report.pk) / "output").exists()
    return True


def _parse_attempt(folder: Path) -> tuple[UUID, int] | None:
    """Return run and number of the attempt whose folder this is, or None for another folder."""
    try:
        return UUID(folder.parent.name), int(folder.name.removeprefix("attempt-"))
    except ValueError:
        return None


def _remove_folders(folders: Iterable[Path]) -> int:
    count = 0
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        count += 1
    return count


def _spark_runs_folder() -> Path:
    return Path(settings.VAR_DIR) / "spark" / "runs"
