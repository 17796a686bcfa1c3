"""Runs one report from end to end: snapshot, job, results. However it ends, the row has its final status."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.conf import settings
from django.db import Error as DatabaseError
from django.utils import timezone

from catalog.models import Report
from catalog.reports import finding_writer, storage_problems
from catalog.reports.registry import KINDS
from catalog.reports.run import (
    launcher,
    leftovers,
    lineage_events,
    result_loader,
    run_state,
    table_publishing,
)
from catalog.reports.run.job_output import Progress
from catalog.reports.run.launcher import JobCancelled, JobFailed, WorkerStopping
from catalog.reports.snapshot import bases
from catalog.reports.spec import ReportSpec
from catalog.reports.storage import BadAddress, StorageFolder, parse_address
from policies.errors import Invalid, PolicyAppError
from policies.models import open_event_write
from policies.outages import STORAGE_FULL, find_outage

log = logging.getLogger(__name__)

PARAMETERS_FILE = "parameters.json"


class _RunCancelled(Exception):
    """The run was ended by another process."""


def run_report(report_id: UUID, *, max_running: int | None = None) -> Report.Status:
    """Run a queued report and return its final status; a run that is not queued is left alone.

    With `max_running` it stays queued while that many others run; when this worker is stopped in the middle, it is
    queued again for another one.
    """
    report = run_state.claim(report_id, max_running=max_running)
    if report is None:
        return Report.Status(Report.objects.values_list("status", flat=True).get(pk=report_id))
    with lineage_events.send_events(report):
        return _run_claimed(report)


def _run_claimed(report: Report) -> Report.Status:
    try:
        attempt_folder = run_state.attempt_folder(report)
    except BadAddress as error:
        run_state.fail(report, problem=f"REPORTS_DIR: {error}")
        return Report.Status.FAILED
    _run_attempt(report, attempt_folder)
    if not run_state.is_current_attempt(report):
        # Another worker makes the run: this one is being stopped, or its lease expired.
        leftovers.remove_folder(attempt_folder)
        return Report.Status(Report.objects.values_list("status", flat=True).get(pk=report.pk))
    report.refresh_from_db()
    if report.status == Report.Status.READY:
        _keep_results(report, attempt_folder)
        table_publishing.publish_pending()
    else:
        run_state.drop_rows(report.pk)
        leftovers.remove_folder(run_state.report_folder(report.pk))
    return Report.Status(report.status)


def _run_attempt(report: Report, attempt_folder: StorageFolder) -> None:
    """Run every step; whatever ends them early, the row says so."""
    try:
        with run_state.heartbeat(report):
            _run_steps(report, attempt_folder)
    except (_RunCancelled, JobCancelled):
        pass
    except WorkerStopping:
        run_state.end_stopped(report)
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in it, the row must not say RUNNING for ever
        # First, since the sentence about a full disk may have to be stored on it.
        leftovers.remove_folder(attempt_folder)
        job_log = error.log if isinstance(error, JobFailed) else None
        if isinstance(error, JobFailed):
            bases.forget_base(KINDS[report.kind].excluded_fields)
        run_state.fail(report, problem=_describe_problem(report, error), log=job_log)


def _keep_results(report: Report, attempt_folder: StorageFolder) -> None:
    """Keep the retained folders of the attempt that became the results, and delete everything else of the run."""
    folder = run_state.report_folder(report.pk)
    kept_names = ("input", "output") if KINDS[report.kind].keeps_snapshot else ("output",)
    removed_folders = [folder / name for name in folder.list_names() if name != attempt_folder.name]
    removed_folders += [attempt_folder / name for name in attempt_folder.list_names() if name not in kept_names]
    for removed_folder in removed_folders:
        leftovers.remove_folder(removed_folder)


def _run_steps(report: Report, folder: StorageFolder) -> None:
    spec = KINDS.get(report.kind)
    if spec is None:
        raise result_loader.UnreadableResults(f"There is no kind of report {report.kind!r}.")
    if problem := spec.find_problem():
        raise JobFailed(problem, "")
    source, target = folder / "input", folder / "output"
    _write_snapshot(report, spec, source)
    job_log = launcher.run(
        module=spec.module,
        source=source,
        target=target,
        on_progress=lambda *arguments: _on_progress(report, *arguments),
    )
    _load_results(report, spec, target, job_log)


def _write_snapshot(report: Report, spec: ReportSpec, source: StorageFolder) -> None:
    stage = "Taking a snapshot of the catalog and the policies"
    _check_not_cancelled(run_state.update_progress(report, stage=stage))
    as_of = timezone.now()
    manifest = bases.take_snapshot(
        folder=source,
        as_of=as_of,
        excluded_fields=spec.excluded_fields,
        on_progress=lambda done, total: _check_not_cancelled(
            run_state.update_progress(report, stage=stage, done=done, total=total)
        ),
    )
    run_state.record_snapshot(report, policy_version=manifest.policy_version, as_of=as_of)
    source.write_text(PARAMETERS_FILE, json.dumps(report.parameters))
    spec.prepare(report, source)


def _on_progress(report: Report, progress: Progress, job_log: str) -> bool:
    return run_state.update_progress(
        report, stage=progress.stage, done=progress.done, total=progress.total, log=job_log
    )


def _load_results(report: Report, spec: ReportSpec, target: StorageFolder, job_log: str) -> None:
    total = result_loader.count_rows(spec, target)
    summary = result_loader.read_summary(target)
    tables = table_publishing.describe_tables(target)
    stage = "Loading the results"
    _check_not_cancelled(run_state.update_progress(report, stage=stage, total=total, log=job_log))
    result_loader.load(
        report,
        spec,
        target,
        on_progress=lambda done: _check_not_cancelled(
            run_state.update_progress(report, stage=stage, done=done, total=total)
        ),
    )
    with _merge_findings(report, spec):
        if not run_state.mark_ready(report, summary=summary, tables=tables, log=job_log):
            raise _RunCancelled


@contextmanager
def _merge_findings(report: Report, spec: ReportSpec) -> Iterator[None]:
    """Merge the findings of a loaded run in the transaction of what follows."""
    with (
        finding_writer.stage(
            report,
            spec,
            on_progress=lambda done: _check_not_cancelled(
                run_state.update_progress(report, stage="Comparing the findings with earlier ones", done=done)
            ),
        ) as staged_findings,
        open_event_write(),
    ):
        finding_writer.merge(
            report, spec, staged_findings, on_batch=lambda: _check_not_cancelled(run_state.is_running(report))
        )
        yield


def _check_not_cancelled(is_active: bool) -> None:  # noqa: FBT001 - wraps a step that says so
    if not is_active:
        raise _RunCancelled
    launcher.check_worker()


def _describe_problem(report: Report, error: Exception) -> str:
    """Return the sentence about an error that ended a run; unexpected errors are logged in the worker."""
    match error:
        case Invalid():
            # What is wrong is no part of a request: most problems have no position.
            return "; ".join(": ".join(filter(None, (item.pointer, item.detail))) for item in error.problems)
        case JobFailed() | result_loader.UnreadableResults() | PolicyAppError() | BadAddress():
            return str(error)
        case OSError(filename=None) if not (folder := parse_address(settings.REPORTS_DIR)).is_local:
            return storage_problems.describe_error(folder, error)
        case OSError():
            return storage_problems.describe_local_error(error, parse_address(settings.REPORTS_DIR))
        case _:
            log.error("report_broken", extra={"report": str(report.pk)}, exc_info=error)
            if find_outage(error) == STORAGE_FULL:
                return "There is no room left on the disk of the database. Free some, and start the report again."
            if isinstance(error, DatabaseError):
                return "The database refused; the details are in the log of the worker."
            return "This report failed with an unexpected error; the details are in the log of the worker."
