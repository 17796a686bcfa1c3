"""Launches the job of a report as a separate program, follows its output, and ends it on cancellation or timeout.

The program is a child process, or spark-submit where SPARK_SUBMIT names it; both use the master SPARK_MASTER. It prints
its progress as JSON lines on standard output; all other output is its log.
"""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from django.conf import settings

from catalog.reports import spark_address
from catalog.reports.storage import StorageFolder

#: Set when this worker shuts down: running jobs then end instead of delaying the shutdown.
STOP_EVENT = threading.Event()

#: Exit codes of a job (catalog/reports/spark/job.py).
EXIT_DONE, EXIT_BAD_INPUT = 0, 10

#: Interval of progress reports, and so the delay of a cancellation.
PROGRESS_SECONDS = 1.0

#: Seconds that a job has to end after each signal.
_SHUTDOWN_SECONDS = 10

#: Java prints this on every start, since Spark requests the module; it is not part of the log.
_IGNORED_LINES = frozenset({"WARNING: Using incubator modules: jdk.incubator.vector"})

#: Length of the retained end of the log and of a line, in characters.
_MAX_LOG_LENGTH, _MAX_LINE_LENGTH = 64 * 1024, 4096


class JobFailed(Exception):
    """A job failed; the message says why. `log` is the end of its output."""

    def __init__(self, sentence: str, log: str) -> None:
        self.log = log
        super().__init__(sentence)


class JobCancelled(Exception):
    """A job was ended because its run was cancelled."""


class WorkerStopping(Exception):
    """What this worker does for a run ended because the worker shuts down."""


def check_worker() -> None:
    """Raise WorkerStopping when this worker shuts down."""
    if STOP_EVENT.is_set():
        raise WorkerStopping


@dataclass(slots=True)
class Progress:
    """The progress of a job; a `total` of 0 is unknown."""

    stage: str = "Starting Spark"
    done: int = 0
    total: int = 0


@dataclass(slots=True)
class _JobOutput:
    """The output of a job so far, written by two reader threads."""

    progress: Progress = field(default_factory=Progress)
    lock: threading.Lock = field(default_factory=threading.Lock)
    lines: deque[str] = field(default_factory=deque)
    length: int = 0
    dropped_line_count: int = 0
    last_error: str = ""

    def take_output_line(self, line: str) -> None:
        """Handle a line of standard output: progress or log."""
        progress = _parse_progress(line)
        if progress is None:
            self.append_log(line)
        else:
            self.progress = progress

    def take_error_line(self, line: str) -> None:
        """Log a line of standard error, unless it is expected; the last one describes a failure."""
        if line.strip() in _IGNORED_LINES:
            return
        self.last_error = line.strip() or self.last_error
        self.append_log(line)

    def append_log(self, line: str) -> None:
        """Append a line to the log and drop the oldest lines beyond `_MAX_LOG_LENGTH`."""
        with self.lock:
            self.lines.append(line)
            self.length += len(line)
            while self.length > _MAX_LOG_LENGTH and len(self.lines) > 1:
                self.length -= len(self.lines.popleft())
                self.dropped_line_count += 1

    @property
    def log(self) -> str:
        """The retained end of the log."""
        with self.lock:
            notice = [f"({self.dropped_line_count} earlier lines were left out.)\n"] if self.dropped_line_count else []
            return "".join([*notice, *self.lines])


#: Receives the progress and the log of a job; returns whether the job should continue.
ProgressCallback = Callable[[Progress, str], bool]


def run(
    *, module: str, source: StorageFolder, target: StorageFolder, spark_folder: Path, on_progress: ProgressCallback
) -> str:
    """Run the job `module` on the snapshot at `source`, with results at `target`, and return its log.

    All files of Spark lie in `spark_folder`, which is removed after the job, however it ended.

    Raises JobCancelled when `on_progress` returns False, WorkerStopping, and JobFailed for any other failure, among
    them a job that takes longer than REPORT_MINUTES. No process of the job is left running.
    """
    if problem := spark_address.find_problem(settings.SPARK_MASTER):
        raise JobFailed(problem, "")
    deadline = time.monotonic() + settings.REPORT_MINUTES * 60
    output = _JobOutput()
    try:
        process = _start_process(module, source, target, spark_folder)
    except OSError as error:
        shutil.rmtree(spark_folder, ignore_errors=True)
        raise JobFailed(f"The job cannot be started: {error.strerror or error}.", "") from error
    readers = [
        _LineReader(process.stdout, output.take_output_line),
        _LineReader(process.stderr, output.take_error_line),
    ]
    try:
        code = _wait_for_exit(process, output, on_progress, deadline)
    finally:
        _end_process(process)
        for reader in readers:
            # Ends when every process that writes there has ended, so that none of them uses the folder any more.
            reader.join()
        shutil.rmtree(spark_folder, ignore_errors=True)
    if code == -signal.SIGTERM:
        # Service managers signal every process of a service at once, and this one may not have noticed yet.
        STOP_EVENT.wait(PROGRESS_SECONDS)
        check_worker()
    if code != EXIT_DONE:
        raise JobFailed(_failure_sentence(code, output), output.log)
    return output.log


def _start_process(
    module: str, source: StorageFolder, target: StorageFolder, spark_folder: Path
) -> subprocess.Popen[str]:
    temporary_folder = spark_folder / "local"
    temporary_folder.mkdir(parents=True, exist_ok=True)
    arguments = ["--input", source.url, "--output", target.url]
    if settings.SPARK_SUBMIT:
        script = settings.BASE_DIR / Path(*module.split(".")).with_suffix(".py")
        command = [
            settings.SPARK_SUBMIT,
            *_master_arguments(),
            *settings.SPARK_SUBMIT_ARGUMENTS,
            str(script),
            *arguments,
        ]
    else:
        command = [sys.executable, "-m", module, *arguments, "--attended"]
    # A process group of its own, so that all processes of the job can be ended together.
    return subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        env=_build_environment(spark_folder, temporary_folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def _master_arguments() -> list[str]:
    return ["--master", settings.SPARK_MASTER] if settings.SPARK_MASTER else []


def _build_environment(spark_folder: Path, temporary_folder: Path) -> dict[str, str]:
    """Return the environment of the job, without the secrets of this process."""
    inherited_variables = {key: value for key, value in os.environ.items() if key not in _SECRET_VARIABLES}
    path = os.pathsep.join(filter(None, (str(settings.BASE_DIR), os.environ.get("PYTHONPATH"))))
    job_variables = {
        "SPARK_MASTER": settings.SPARK_MASTER,
        "SPARK_FOLDER": str(spark_folder),
        "TMPDIR": str(temporary_folder),
        "PYTHONPATH": path,
    }
    if settings.SPARK_SUBMIT:
        # Java is there before the job can say where its temporary files go.
        options = (os.environ.get("SPARK_SUBMIT_OPTS", ""), f'"-Djava.io.tmpdir={temporary_folder}"')
        job_variables["SPARK_SUBMIT_OPTS"] = " ".join(filter(None, options))
    return {
        **inherited_variables,
        **job_variables,
        "PYTHONUNBUFFERED": "1",
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }


_SECRET_VARIABLES = frozenset(
    {"SECRET_KEY", "SECRET_KEY_FALLBACKS", "DATABASE_URL", "REDIS_URL", "AUTHZ_ROOT_PASSWORD", "EMAIL_HOST_PASSWORD"}
)


def _wait_for_exit(
    process: subprocess.Popen[str], output: _JobOutput, on_progress: ProgressCallback, deadline: float
) -> int:
    """Wait for the end of the job, reporting progress, and return its exit code.

    Raises JobCancelled, WorkerStopping and JobFailed.
    """
    while True:
        try:
            return process.wait(PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            if not on_progress(output.progress, output.log):
                raise JobCancelled from None
            check_worker()
            if time.monotonic() > deadline:
                minutes = settings.REPORT_MINUTES
                raise JobFailed(f"The job was ended after {minutes} minutes (REPORT_MINUTES).", output.log) from None


def _end_process(process: subprocess.Popen[str]) -> None:
    """End the processes of the job: close its standard input, terminate its process group, then kill it."""
    if process.stdin is not None:
        process.stdin.close()
    for signal_ in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, signal_)
        except ProcessLookupError:
            break
        try:
            process.wait(_SHUTDOWN_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _failure_sentence(code: int, output: _JobOutput) -> str:
    """Return the reason of a failure: the signal that killed the job, else its last line of standard error."""
    if code < 0:
        return (
            f"The job was killed from outside ({signal.Signals(-code).name}), most likely because the machine had no "
            "memory left for it: give the machine more, or Spark less (SPARK_DRIVER_MEMORY)."
        )
    return output.last_error or f"The job ended with code {code} and said nothing."


def _parse_progress(line: str) -> Progress | None:
    """Return the progress in a line, or None for a line of the log."""
    if not line.startswith("{"):
        return None
    try:
        document = json.loads(line)
        return Progress(str(document["stage"]), int(document.get("done", 0)), int(document.get("total", 0)))
    except (ValueError, TypeError, KeyError):
        return None


class _LineReader(threading.Thread):
    """Thread that passes the lines of a stream to a callback until the stream ends."""

    def __init__(self, stream: IO[str] | None, on_line: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self._stream = stream or io.StringIO()
        self._on_line = on_line
        self.start()

    def run(self) -> None:
        """Read to the end; longer lines are cut to `_MAX_LINE_LENGTH` and are never in memory as a whole."""
        with self._stream as stream:
            is_new_line = True
            while part := stream.readline(_MAX_LINE_LENGTH):
                is_whole = part.endswith("\n") or len(part) < _MAX_LINE_LENGTH
                if is_new_line:
                    self._on_line(part if is_whole else f"{part}…\n")
                is_new_line = part.endswith("\n")
