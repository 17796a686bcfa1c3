"""The folders that a killed worker leaves behind, and their removal.

An attempt of a run has one in REPORTS_DIR. A program of Spark has one on the machine of its worker, which also holds
what a killed Java program would leave in the usual folder for temporary files.
"""

import logging
from contextlib import suppress
from uuid import UUID

from django.conf import settings

from catalog.models import Report
from catalog.reports import storage
from catalog.reports.run import run_state, spark_pool, spark_process
from catalog.reports.storage import StorageFolder

log = logging.getLogger(__name__)

_ATTEMPT_PREFIX = "attempt-"


def remove_spark_folders() -> int:
    """Remove the folders of Spark on this machine whose programs were killed; return their number."""
    return spark_process.remove_lost_folders(spark_pool.find_folder())


def remove_attempt_folders() -> int:
    """Remove the folders of attempts in REPORTS_DIR that no worker works on; return their number.

    Folders of runs that are not in this database are left alone.
    """
    try:
        attempts = _list_attempts()
    except (OSError, storage.BadAddress) as error:
        # What starts a worker, or lets others begin, does not wait for storage.
        log.warning("leftovers_not_listed", extra={"error": str(error)})
        return 0
    ids = {report_id for report_id, _ in attempts}
    reports = Report.objects.only("status", "attempts").in_bulk(ids) if ids else {}
    removed_folders = [
        run_state.report_folder(report_id) / f"{_ATTEMPT_PREFIX}{attempt}"
        for report_id, attempt in attempts
        if report_id in reports and _is_over(reports[report_id], attempt)
    ]
    for folder in removed_folders:
        remove_folder(folder)
    return len(removed_folders)


def remove_ended_runs() -> None:
    """Remove folders and rows of runs that failed or were cancelled.

    Their workers have done so, unless they were killed before: a run that is cancelled then is not lost, but over.
    """
    for report in run_state.list_ended_lately():
        run_state.drop_rows(report.pk)
        with suppress(storage.BadAddress):
            remove_folder(run_state.report_folder(report.pk))


def remove_folder(folder: StorageFolder) -> None:
    """Remove a folder of reports; one that cannot be removed is logged and stays."""
    try:
        folder.delete()
    except OSError as error:
        log.warning("folder_not_removed", extra={"folder": str(folder), "error": str(error)})


def _is_over(report: Report, attempt: int) -> bool:
    """Whether nothing of this attempt of a run is needed any more: it neither works nor has the results."""
    return report.status not in (Report.Status.RUNNING, Report.Status.READY) or attempt != report.attempts


def _list_attempts() -> list[tuple[UUID, int]]:
    """Return run and number of every attempt that has a folder. Raises OSError."""
    reports_folder = storage.parse_address(settings.REPORTS_DIR)
    attempts: list[tuple[UUID, int]] = []
    for report_name in reports_folder.list_names():
        with suppress(ValueError):
            report_id = UUID(report_name)
            names = (reports_folder / report_name).list_names()
            numbers = (name.removeprefix(_ATTEMPT_PREFIX) for name in names if name.startswith(_ATTEMPT_PREFIX))
            attempts += [(report_id, int(number)) for number in numbers]
    return attempts
