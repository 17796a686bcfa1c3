"""Starts a job as a program of its own, follows what it says, and ends it when it is cancelled or takes too long.

The program is a child of this process, or spark-submit where SPARK_SUBMIT names it; either finds its cluster by
SPARK_MASTER. It says how far it is as JSON lines on its standard output; whatever else it says is its log.
"""

import io
import json
import os
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

#: Set when this process is told to end: jobs do not outlive it, so that it need not wait for them.
STOP_EVENT = threading.Event()

#: With what a job ends (catalog/reports/spark/job.py).
EXIT_DONE, EXIT_BAD_INPUT = 0, 10

#: How often somebody is told how far a job is, and so how soon a cancelled one ends.
PROGRESS_SECONDS = 1.0

#: How long a job may take to end by itself once it is told to.
_SHUTDOWN_SECONDS = 10

#: What Java says on every start of Spark, which asks for that module itself: no warning to whoever reads a report.
_IGNORED_LINES = frozenset({"WARNING: Using incubator modules: jdk.incubator.vector"})

#: The end of the log that is kept, in characters, and the longest line.
_MAX_LOG_LENGTH, _MAX_LINE_LENGTH = 64 * 1024, 4096


class JobFailed(Exception):
    """A job that did not end well; the sentence says why. `log` is the end of what it said."""

    def __init__(self, sentence: str, log: str) -> None:
        self.log = log
        super().__init__(sentence)


class JobCancelled(Exception):
    """A job that was ended because nobody wants its results any more."""


@dataclass(slots=True)
class Progress:
    """How far a job is. `total` 0: not known."""

    stage: str = "Starting Spark"
    done: int = 0
    total: int = 0


@dataclass(slots=True)
class _JobOutput:
    """What a job said so far, taken down by two threads."""

    progress: Progress = field(default_factory=Progress)
    lock: threading.Lock = field(default_factory=threading.Lock)
    lines: deque[str] = field(default_factory=deque)
    length: int = 0
    dropped_line_count: int = 0
    last_error: str = ""

    def take_output_line(self, line: str) -> None:
        """Take a line of standard output."""
        progress = _parse_progress(line)
        if progress is None:
            self.append_log(line)
        else:
            self.progress = progress

    def take_error_line(self, line: str) -> None:
        """Take a line of standard error, unless it is expected; the last one is the sentence of a job that fails."""
        if line.strip() in _IGNORED_LINES:
            return
        self.last_error = line.strip() or self.last_error
        self.append_log(line)

    def append_log(self, line: str) -> None:
        """Keep a line of the log, and let go of the oldest ones."""
        with self.lock:
            self.lines.append(line)
            self.length += len(line)
            while self.length > _MAX_LOG_LENGTH and len(self.lines) > 1:
                self.length -= len(self.lines.popleft())
                self.dropped_line_count += 1

    @property
    def log(self) -> str:
        """The end of the log."""
        with self.lock:
            notice = [f"({self.dropped_line_count} earlier lines were left out.)\n"] if self.dropped_line_count else []
            return "".join([*notice, *self.lines])


#: Takes how far a job is and its log, and returns whether it is to go on.
ProgressCallback = Callable[[Progress, str], bool]


def run(*, module: str, source: Path, target: Path, on_progress: ProgressCallback) -> str:
    """Run the job `module` on the snapshot at `source`, so that its results lie at `target`; return its log.

    Raises JobCancelled when `on_progress` says so, and JobFailed with a sentence for everything else that does not end
    well, a job that takes longer than REPORT_MINUTES among it. Nothing of the job is left running.
    """
    deadline = time.monotonic() + settings.REPORT_MINUTES * 60
    output = _JobOutput()
    try:
        process = _start_process(module, source, target)
    except OSError as error:
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
            reader.join()
    if code != EXIT_DONE:
        raise JobFailed(_failure_sentence(code, output), output.log)
    return output.log


def _start_process(module: str, source: Path, target: Path) -> subprocess.Popen[str]:
    arguments = ["--input", source.as_uri(), "--output", target.as_uri()]
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
    # A group of its own, so that whatever the job starts can be ended with it.
    return subprocess.Popen(
        command,
        cwd=settings.BASE_DIR,
        env=_build_environment(),
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


def _build_environment() -> dict[str, str]:
    """Return the environment of the job: without what is secret here, which it has no use for."""
    inherited_variables = {key: value for key, value in os.environ.items() if key not in _SECRET_VARIABLES}
    path = os.pathsep.join(filter(None, (str(settings.BASE_DIR), os.environ.get("PYTHONPATH"))))
    job_variables = {"SPARK_MASTER": settings.SPARK_MASTER, "VAR_DIR": str(settings.VAR_DIR), "PYTHONPATH": path}
    return {
        **inherited_variables,
        **job_variables,
        "PYTHONUNBUFFERED": "1",
        "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable),
    }


_SECRET_VARIABLES = frozenset(
    {"SECRET_KEY", "SECRET_KEY_FALLBACKS", "DATABASE_URL", "REDIS_URL", "AUTHZ_ROOT_PASSWORD"}
)


def _wait_for_exit(
    process: subprocess.Popen[str], output: _JobOutput, on_progress: ProgressCallback, deadline: float
) -> int:
    """Wait for the end of the job and return its code, telling how far it is meanwhile."""
    while True:
        try:
            return process.wait(PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            if not on_progress(output.progress, output.log):
                raise JobCancelled from None
            if STOP_EVENT.is_set():
                sentence = "The worker was stopped before this report was finished. Start it again."
                raise JobFailed(sentence, output.log) from None
            if time.monotonic() > deadline:
                minutes = settings.REPORT_MINUTES
                raise JobFailed(f"The job was ended after {minutes} minutes (REPORT_MINUTES).", output.log) from None


def _end_process(process: subprocess.Popen[str]) -> None:
    """End what is left of the job: it sees its input end; then its whole group is told, and at last killed."""
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
    """Return why a job failed: what it said last, unless it could say nothing any more."""
    if code < 0:
        return f"The job was killed from outside ({signal.Signals(-code).name})."
    return output.last_error or f"The job ended with code {code} and said nothing."


def _parse_progress(line: str) -> Progress | None:
    """Return what a line says about the progress, or None when it is a line of the log."""
    if not line.startswith("{"):
        return None
    try:
        document = json.loads(line)
        return Progress(str(document["stage"]), int(document.get("done", 0)), int(document.get("total", 0)))
    except (ValueError, TypeError, KeyError):
        return None


class _LineReader(threading.Thread):
    """Hands on the lines of a stream until it ends."""

    def __init__(self, stream: IO[str] | None, on_line: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self._stream = stream or io.StringIO()
        self._on_line = on_line
        self.start()

    def run(self) -> None:
        """Read to the end. A line without end is cut."""
        with self._stream as lines:
            for line in lines:
                self._on_line(line if len(line) <= _MAX_LINE_LENGTH else f"{line[:_MAX_LINE_LENGTH]}…\n")
