"""Commands that run side by side, a few at a time; each gives its output, clock and processor seconds at its end.

A process that loses its parent becomes a child of this one, so that its processor seconds are counted as well: servers
that tests leave behind, Java, browsers.
"""

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from slowness import measure_slowness

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
#: Linux gives processes that lose their parent to the next one above that asked for them by this.
PR_SET_CHILD_SUBREAPER = 36
#: How often the ends of processes are looked for; looking costs microseconds.
PAUSE_SECONDS = 0.05
#: No job takes half as long. A test that hangs has said where by then (faulthandler_timeout).
MAX_JOB_SECONDS = 1800


@dataclass(frozen=True, slots=True)
class Job:
    """A command of the environment's programs.

    `seconds` is the time that it is expected to take: the longest begin first. `after` names a job that has
    to end before this one begins.
    """

    name: str
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0
    after: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that ended: its status, clock and processor seconds, what it printed, and how slow the machine was then."""

    job: Job
    status: int
    begin: float
    end: float
    processor_seconds: float
    output: str
    slowness: float

    @property
    def last_words(self) -> str:
        """The last line that is not empty."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[-1] if lines else ""


@dataclass(frozen=True, slots=True)
class _Running:
    job: Job
    slot: int
    process: subprocess.Popen[bytes]
    output: IO[str]
    begin: float

    def close(self, status: int, processor_seconds: float) -> Ended:
        """Return how it ended."""
        self.process.returncode = status
        self.output.seek(0)
        with self.output as output:
            text = output.read()
        return Ended(
            self.job, status, self.begin, time.monotonic(), processor_seconds, text.strip(), measure_slowness()
        )


def adopt_orphans() -> None:
    """Become the parent of processes below this one that lose theirs."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run_jobs(jobs: Iterable[Job], slots: int, on_end: Callable[[Ended], None]) -> None:
    """Run all jobs, at most `slots` at a time, and hand over each that ends. An interrupt ends those that are running.

    Each process gets TEST_PLACE, the number of its slot. A job that takes MAX_JOB_SECONDS is ended and has failed.
    """
    queue = sorted(jobs, key=lambda job: -job.seconds)
    names = {job.name for job in queue}
    running: dict[int, _Running] = {}
    free = list(range(slots))
    try:
        while queue or running:
            while free and (job := next((job for job in queue if job.after not in names), None)):
                queue.remove(job)
                one = _start(job, free.pop(0))
                running[one.process.pid] = one
            ended, status, seconds = _wait(running)
            free.append(ended.slot)
            names.discard(ended.job.name)
            on_end(ended.close(status, seconds))
    finally:
        for one in running.values():
            one.process.terminate()
            one.process.wait()
            one.output.close()


def _start(job: Job, slot: int) -> _Running:
    output = TemporaryFile("w+", errors="replace")  # noqa: SIM115  # open until the process has ended
    process = subprocess.Popen(
        [str(PROGRAMS / job.command[0]), *job.command[1:]],
        cwd=ROOT,
        env={**os.environ, "TEST_PLACE": str(slot), **job.variables},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    return _Running(job, slot, process, output, time.monotonic())


def _wait(running: dict[int, _Running]) -> tuple[_Running, int, float]:
    """Return the next job that ends, with its status and processor seconds; orphans end unseen."""
    while True:
        for one in running.values():
            if time.monotonic() - one.begin > MAX_JOB_SECONDS:
                one.process.kill()
        number, status, usage = os.wait4(-1, os.WNOHANG)
        if number in running:
            return running.pop(number), os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        if number == 0:
            time.sleep(PAUSE_SECONDS)
