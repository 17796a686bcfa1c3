"""Makes one report from end to end: snapshot, job, results. However it ends, the row says so."""

import errno
import json
import logging
import shutil
from pathlib import Path
from uuid import UUID

from django.db import Error as DatabaseError
from django.db import transaction
from django.utils import timezone

from catalog.models import Report
from catalog.reports.registry import KINDS
from catalog.reports.run import launcher, result_loader, run_state
from catalog.reports.run.launcher import JobCancelled, JobFailed, Progress
from catalog.reports.snapshot import writer
from catalog.reports.spec import Kind
from policies.errors import PolicyAppError

log = logging.getLogger(__name__)

PARAMETERS = "parameters.json"


class _Stopped(Exception):
    """Somebody else ended the run."""


def make(report_id: UUID, *, at_once: int | None = None) -> Report.Status:
    """Make a queued report, and return how it ended; one that is not queued any more is left alone.

    With `at_once` it stays queued while that many others run.
    """
    report = run_state.claim(report_id, at_once=at_once)
    if report is None:
        return Report.Status(Report.objects.values_list("status", flat=True).get(pk=report_id))
    attempt = run_state.attempt_folder_of(report)
    try:
        with run_state.kept_alive(report):
            _made(report, attempt)
    except (_Stopped, JobCancelled):
        pass
    except Exception as error:  # noqa: BLE001 - whatever goes wrong in it, the row must not say RUNNING for ever
        said = error.log if isinstance(error, JobFailed) else None
        run_state.fail(report, problem=_problem(report, error), log=said)
    if not run_state.is_mine(report):
        # This worker was taken for gone, and another one makes the report.
        shutil.rmtree(attempt, ignore_errors=True)
        return Report.Status(Report.objects.values_list("status", flat=True).get(pk=report_id))
    report.refresh_from_db()
    if report.status == Report.Status.READY:
        _keep(report, attempt)
    else:
        run_state.drop_rows(report_id)
        shutil.rmtree(run_state.folder_of(report_id), ignore_errors=True)
    return Report.Status(report.status)


def _keep(report: Report, attempt: Path) -> None:
    """Leave of the files of a run what is read later, and nothing of attempts before."""
    folder = run_state.folder_of(report.pk)
    for name in ("output", "input") if KINDS[report.kind].keeps_snapshot else ("output",):
        (attempt / name).rename(folder / name)
    for old in folder.glob("attempt-*"):
        shutil.rmtree(old, ignore_errors=True)


def _made(report: Report, folder: Path) -> None:
    kind = KINDS.get(report.kind)
    if kind is None:
        raise result_loader.Unreadable(f"There is no kind of report {report.kind!r}.")
    source, target = folder / "input", folder / "output"
    _snapshot(report, kind, source)
    said = launcher.run(module=kind.module, source=source, target=target, tell=lambda *it: _told(report, *it))
    _loaded(report, kind, target, said)


def _snapshot(report: Report, kind: Kind, source: Path) -> None:
    _go_on(run_state.tell(report, stage="Taking a snapshot of the catalog and the policies"))
    as_of = timezone.now()
    source.parent.mkdir(parents=True, exist_ok=True)
    manifest = writer.write(folder=source, as_of=as_of, unread=kind.unread)
    run_state.date(report, policy_version=manifest.policy_version, as_of=as_of)
    (source / PARAMETERS).write_text(json.dumps(report.parameters), encoding="utf-8")
    kind.prepare(report, source)


def _told(report: Report, progress: Progress, said: str) -> bool:
    return run_state.tell(report, stage=progress.stage, done=progress.done, total=progress.total, log=said)


def _loaded(report: Report, kind: Kind, target: Path, said: str) -> None:
    total = result_loader.count(kind, target)
    summary = result_loader.summary(target)
    stage = "Loading the results"
    _go_on(run_state.tell(report, stage=stage, total=total, log=said))
    result_loader.load(
        report, kind, target, tell=lambda done: _go_on(run_state.tell(report, stage=stage, done=done, total=total))
    )
    with transaction.atomic():
        kind.after_load(report)
        _go_on(run_state.ready(report, summary=summary, log=said))


def _go_on(may_go_on: bool) -> None:  # noqa: FBT001 - wraps a step that says so
    if not may_go_on:
        raise _Stopped


def _problem(report: Report, error: Exception) -> str:
    """Return the sentence about what ended a run; what nobody anticipated goes to the log of the worker."""
    match error:
        case JobFailed() | result_loader.Unreadable() | PolicyAppError():
            return str(error)
        case OSError(errno=errno.ENOSPC | errno.EDQUOT):
            return "There is no room left on the disk."
        case OSError():
            return f"A file could not be read or written: {error.strerror or error}."
        case _:
            log.error("report_broken", extra={"report": str(report.pk)}, exc_info=error)
            if isinstance(error, DatabaseError):
                return "The database refused; the details are in the log of the worker."
            return "This report failed with an unexpected error; the details are in the log of the worker."
