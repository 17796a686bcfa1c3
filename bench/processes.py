"""Processes of a program that is measured: where they run, how much they work, and what they have in memory."""

import ctypes
import os
import resource
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Memory:
    """MiB of one process: all that it has, its share of what several have, and what it has alone."""

    resident: float
    shared_out: float
    own: float


def family(number: int) -> list[int]:
    """Return a process and everything that it started."""
    children = Path(f"/proc/{number}/task/{number}/children").read_text(encoding="ascii").split()
    return [number, *(one for child in children for one in family(int(child)))]


def pin(number: int, cores: Collection[int]) -> None:
    """Have a process and everything that it started run on these cores only."""
    for one in family(number):
        for thread in Path(f"/proc/{one}/task").iterdir():
            os.sched_setaffinity(int(thread.name), cores)


def worked_seconds(number: int) -> float:
    """Return the seconds of processor time that a process took so far."""
    files = Path(f"/proc/{number}/task").glob("*/schedstat")
    return sum(int(file.read_text(encoding="ascii").split()[0]) for file in files) / 1e9


#: The option of prctl(2) that makes a process the parent of those whose parent has ended.
_SET_CHILD_SUBREAPER = 36


@dataclass
class Work:
    """Seconds of processor time."""

    seconds: float = 0.0


@contextmanager
def measure_work() -> Iterator[Work]:
    """Measure the processor time of all processes that begin and end in the block, at its end.

    Also of those that outlive who started them, as Java and the Python processes of Spark do: they become children of
    this process, which waits for their end.
    """
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    work, before = Work(), _children_seconds()
    try:
        yield work
    finally:
        try:
            while True:
                os.wait()
        except ChildProcessError:
            work.seconds = _children_seconds() - before
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory_of(number: int) -> Memory:
    """Return what a process has in memory."""
    lines = Path(f"/proc/{number}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    sizes = {name: int(size.split()[0]) / 1024 for name, size in (line.split(":") for line in lines)}
    return Memory(sizes["Rss"], sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"])
