"""Tells OpenLineage when a run of a report starts and how it ends, with what it read and wrote.

Off unless OpenLineage's own variables say where events go. Nothing that goes wrong here ends a run: it is a line in
the log. The job does not wait for the event of its start, and the worker waits seconds at most for that of its end.
"""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid5

from django.conf import settings
from django.utils import timezone

from catalog.models import Report
from catalog.reports import storage
from catalog.reports.registry import KINDS
from catalog.reports.run import lineage_sender, table_publishing
from catalog.reports.run.lineage_sender import ABORT, COMPLETE, FAIL, START, LineageDataset, LineageEvent
from catalog.reports.run.spark_process import build_environment
from catalog.reports.storage import HADOOP, BadAddress, StorageFolder, UnknownScheme

log = logging.getLogger(__name__)

#: Kinds of reports whose jobs read the exports of grants and usage at GRANTS_EXPORTS.
EXPORT_KINDS = frozenset({"role_mapping_check", "warehouse_usage"})

#: What is the input of every run, below REPORTS_DIR: the snapshots of all runs have one name.
_SNAPSHOT = "snapshot"

#: Names of types that readers of OpenLineage know.
_TYPES = {
    "int64": "long",
    "int32": "int",
    "bool": "boolean",
    "timestamp[us, tz=UTC]": "timestamp",
    "date32[day]": "date",
}

_END_STATES = {Report.Status.READY: COMPLETE, Report.Status.FAILED: FAIL}

#: Seconds for the last event, of a program that may still be busy with loading its library.
_END_SECONDS = 2 * lineage_sender.ANSWER_SECONDS


@contextmanager
def send_events(report: Report) -> Iterator[None]:
    """Send that a claimed run starts, and at the end of the block, by the status that `report` has then, how it ended.

    A status that is no end says that this attempt ended before the run.
    """
    process = _start(report) if settings.IS_LINEAGE_SENT else None
    try:
        yield
    finally:
        if process is not None:
            _end(process, report)


def _start(report: Report) -> "subprocess.Popen[str] | None":
    """Return the program that sends the events of a run, and has begun with the first; None where it cannot be."""
    if problem := lineage_sender.find_library_problem():
        _log_problem(report, problem)
        return None
    try:
        event = build_event(report, START)
        process = subprocess.Popen(
            [sys.executable, "-m", lineage_sender.__name__],
            cwd=settings.BASE_DIR,
            env=build_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            # What ends the worker from its terminal leaves the program its last event.
            start_new_session=True,
        )
    except (OSError, BadAddress) as error:
        _log_problem(report, str(error))
        return None
    # A program that has ended already is noticed at the end.
    with suppress(OSError):
        if process.stdin is not None:
            process.stdin.write(event.serialize())
            process.stdin.flush()
    return process


def _end(process: "subprocess.Popen[str]", report: Report) -> None:
    """Have the last event of a run sent, and log what could not be."""
    try:
        event = build_event(report, _END_STATES.get(Report.Status(report.status), ABORT))
        output, _ = process.communicate(event.serialize(), timeout=_END_SECONDS)
    except (OSError, BadAddress, subprocess.TimeoutExpired) as error:
        process.kill()
        output, _ = process.communicate()
        output += f"{type(error).__name__}: {error}"
    if process.returncode and not output:
        output = f"The program that sends events ended with code {process.returncode}."
    for line in output.splitlines():
        _log_problem(report, line)


def _log_problem(report: Report, problem: str) -> None:
    log.warning("lineage_not_sent", extra={"report": str(report.pk), "error": problem})


def build_event(report: Report, state: str) -> LineageEvent:
    """Return an event of this attempt of a run. Raises BadAddress."""
    spec = KINDS.get(report.kind)
    return LineageEvent(
        state=state,
        time=timezone.now().isoformat(),
        run=str(uuid5(report.pk, str(report.attempts))),
        namespace=settings.OPENLINEAGE_NAMESPACE,
        job=report.kind,
        description=spec.description if spec is not None else "",
        inputs=tuple(_list_inputs(report)),
        outputs=tuple(_list_outputs(report)) if state == COMPLETE else (),
        problem=report.problem if state == FAIL else "",
    )


def _list_inputs(report: Report) -> Iterator[LineageDataset]:
    version = report.as_of.isoformat() if report.as_of is not None else ""
    yield LineageDataset(*_name_dataset(storage.parse_address(settings.REPORTS_DIR) / _SNAPSHOT), version)
    if report.kind in EXPORT_KINDS and settings.GRANTS_EXPORTS:
        try:
            yield LineageDataset(*_name_dataset(storage.parse_address(settings.GRANTS_EXPORTS)))
        except UnknownScheme:
            # Spark knows more kinds of storage.
            scheme, _, path = storage.redact_address(settings.GRANTS_EXPORTS).partition(":")
            yield LineageDataset(scheme, path.rstrip("/"))


def _list_outputs(report: Report) -> Iterator[LineageDataset]:
    """Yield the open tables that a READY run wrote."""
    folder = table_publishing.open_tables_folder() / report.kind
    run_columns = {column.name: str(column.type) for column in table_publishing.RUN_COLUMNS}
    for table in report.unpublished_tables or ():
        columns = (run_columns | table["columns"]).items()
        yield LineageDataset(
            *_name_dataset(folder / table["table"]),
            columns=tuple((name, _TYPES.get(type_, type_)) for name, type_ in columns),
            rows=table["rows"],
        )


def _name_dataset(folder: StorageFolder) -> tuple[str, str]:
    """Return namespace and name of a folder, as OpenLineage names what is in storage."""
    if folder.is_local:
        return "file", folder.path
    return f"{folder.scheme}://{folder.server}", folder.path if folder.scheme == HADOOP else folder.path.lstrip("/")
