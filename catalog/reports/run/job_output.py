"""The output of a job's program: progress, log, and how the job ended."""

import io
import json
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from catalog.reports.job_protocol import END_LINE

#: Java prints these on a start, for what Spark and its options request; they are not part of the log.
_IGNORED_LINES = frozenset(
    {"WARNING: Using incubator modules: jdk.incubator.vector", "1 compiler directives added"},
)

#: Lines of a stack of Java.
_STACK_PATTERN = re.compile(r"at [\w.$/@<>-]+\(.*\)$|\.\.\. \d+ (?:more|common frames omitted)$")

#: Length of the retained end of the log and of a line, in characters.
MAX_LOG_LENGTH, MAX_LINE_LENGTH = 64 * 1024, 4096


@dataclass(slots=True)
class Progress:
    """The progress of a job; a `total` of 0 is unknown."""

    stage: str = "Starting Spark"
    done: int = 0
    total: int = 0


@dataclass(slots=True)
class JobOutput:
    """The output of a job so far, written by two reader threads.

    `accepted` is set when the program begins with it, and `ended` when all of its output was read and the exit code is
    there; a program that ends by itself sets neither.
    """

    progress: Progress = field(default_factory=Progress)
    accepted: threading.Event = field(default_factory=threading.Event)
    exit_code: int | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    #: Why the job failed, as it says itself.
    problem: str = ""
    #: The last line of its standard error that is none of a stack.
    last_error: str = ""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _lines: deque[str] = field(default_factory=deque)
    _length: int = 0
    _dropped_line_count: int = 0
    _has_error_end: bool = False

    def take_output_line(self, line: str) -> None:
        """Handle a line of standard output: progress, beginning or end of the job, or log."""
        message = _parse_message(line)
        if message is None:
            self.append_log(line)
        elif "stage" in message:
            self.progress = Progress(str(message["stage"]), int(message.get("done", 0)), int(message.get("total", 0)))
        elif "is_accepted" in message:
            self.accepted.set()
        elif "problem" in message:
            self.problem = str(message["problem"])
        else:
            with self._lock:
                self.exit_code = int(message["exit_code"])
            self._check_end()

    def take_error_line(self, line: str) -> None:
        """Log a line of standard error, unless it is expected.

        It is no reason of a failure by itself: lines of Java stand between and after those of the job.
        """
        text = line.strip()
        if text == END_LINE:
            self._has_error_end = True
            self._check_end()
        elif text not in _IGNORED_LINES:
            if text and not _STACK_PATTERN.match(text):
                self.last_error = text
            self.append_log(line)

    def append_log(self, line: str) -> None:
        """Append a line to the log and drop the oldest lines beyond MAX_LOG_LENGTH."""
        with self._lock:
            self._lines.append(line)
            self._length += len(line)
            while self._length > MAX_LOG_LENGTH and len(self._lines) > 1:
                self._length -= len(self._lines.popleft())
                self._dropped_line_count += 1

    @property
    def log(self) -> str:
        """The retained end of the log."""
        with self._lock:
            count = self._dropped_line_count
            return "".join([*([f"({count} earlier lines were left out.)\n"] if count else []), *self._lines])

    def _check_end(self) -> None:
        if self._has_error_end and self.exit_code is not None:
            self.ended.set()


def _parse_message(line: str) -> dict[str, Any] | None:
    """Return the message of a job in a line, or None for a line of the log."""
    if not line.startswith("{"):
        return None
    try:
        message = json.loads(line)
        is_message = not message.keys().isdisjoint(("stage", "is_accepted", "problem", "exit_code"))
        int(message.get("done", 0)), int(message.get("total", 0)), int(message.get("exit_code", 0))
    except (ValueError, TypeError, AttributeError):
        return None
    return message if is_message else None


class LineReader(threading.Thread):
    """Thread that passes the lines of a stream to a callback until the stream ends."""

    def __init__(self, stream: IO[str] | None, on_line: Callable[[str], None]) -> None:
        super().__init__(daemon=True)
        self._stream = stream or io.StringIO()
        self._on_line = on_line
        self.start()

    def run(self) -> None:
        """Read to the end; longer lines are cut to MAX_LINE_LENGTH and are never in memory as a whole."""
        with self._stream as stream:
            is_new_line = True
            while part := stream.readline(MAX_LINE_LENGTH):
                is_whole = part.endswith("\n") or len(part) < MAX_LINE_LENGTH
                if is_new_line:
                    self._on_line(part if is_whole else f"{part}…\n")
                is_new_line = part.endswith("\n")
