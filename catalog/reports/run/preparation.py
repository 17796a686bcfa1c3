"""Has a program of low priority make the archive of Java's classes, with which Spark starts sooner."""

import atexit
import sys
import threading
from contextlib import suppress

from django.conf import settings

from catalog.reports.job_protocol import EXIT_DONE
from catalog.reports.run import spark_pool
from catalog.reports.run.spark_process import SparkProcess, build_environment

_PROGRAM_MODULE = "catalog.reports.spark.preparation"

#: Seconds that the program has, on a machine whose processors do something else meanwhile.
_MAX_SECONDS = 1200

_lock = threading.Lock()
_background_processes: list[SparkProcess] = []


class ArchiveFailed(Exception):
    """The archive could not be made; the message says why."""


def make_archive() -> str:
    """Make the archive unless it is there, and return a sentence about it. Raises ArchiveFailed."""
    try:
        process = _start()
    except OSError as error:
        raise ArchiveFailed(f"{error.filename or settings.VAR_DIR}: {error.strerror or error}.") from error
    try:
        has_ended = process.wait_for_end(_MAX_SECONDS)
    finally:
        process.end()
    if not has_ended:
        raise ArchiveFailed(f"The archive was not there after {_MAX_SECONDS // 60} minutes.")
    if process.wait_for_job(0) != EXIT_DONE:
        raise ArchiveFailed(process.output.log)
    return process.output.log.strip()


def make_in_background() -> None:
    """Have the archive made, at the first call in this process, if workers of this site make it.

    A failure changes nothing but the time that Spark needs to start.
    """
    if settings.SPARK_SUBMIT or not settings.SPARK_MAKES_ARCHIVE:
        return
    with _lock, suppress(OSError):
        if not _background_processes:
            _background_processes.append(_start())


def end() -> None:
    """End what was started in the background."""
    with _lock:
        for process in _background_processes:
            process.end()


def _start() -> SparkProcess:
    """Start the program. Raises OSError."""
    command = [sys.executable, "-m", _PROGRAM_MODULE]
    return SparkProcess(spark_pool.create_folder_path(), command, build_environment())


# Whoever runs a report, a worker or a command, leaves nothing of Spark behind.
atexit.register(end)
