"""Processes of a program that is measured: where they run, how much they work, and what they have in memory."""

import ctypes
import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event


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


#: Seconds between two looks at the processes that are measured; the work of a process after the last one is missing.
_LOOK_SECONDS = 0.1

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Work:
    """Seconds of processor time."""

    seconds: float = 0.0


@contextmanager
def measure_work() -> Iterator[Work]:
    """Measure the processor time of all processes that begin in the block and end in it or soon after.

    Also of those that outlive who started them, as Java and the Python processes of Spark do: they become children of
    this process, which waits for their end. The system's sum for children leaves out those whose parent ignores their
    end, as the parent of Spark's Python processes does, so they are looked at while they work.
    """
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    work, seconds_by_process = Work(), dict[tuple[int, int], float]()
    known, is_over = set(family(os.getpid())), Event()

    def look() -> None:
        while not is_over.wait(_LOOK_SECONDS):
            seconds_by_process.update(_list_work(known))

    with ThreadPoolExecutor(1) as executor:
        looking = executor.submit(look)
        try:
            yield work
        finally:
            try:
                while True:
                    os.wait()
            except ChildProcessError:
                is_over.set()
                looking.result()
            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
            work.seconds = sum(seconds_by_process.values())


def _list_work(known: Collection[int]) -> Iterator[tuple[tuple[int, int], float]]:
    """Return the processor seconds of everything that this process started, but for known processes.

    The key is the number of a process with the moment of its start, since numbers are used again.
    """
    for status in Path("/proc").glob("[0-9]*/stat"):
        number = int(status.parent.name)
        if number in known:
            continue
        with suppress(OSError):
            words = status.read_text(encoding="utf-8").rpartition(")")[2].split()
            if _is_own(int(words[1])):
                yield (number, int(words[19])), (int(words[11]) + int(words[12])) / _TICKS


def _is_own(parent: int) -> bool:
    """Whether a process, or one that started it, is this one."""
    while parent > 1:
        if parent == os.getpid():
            return True
        parent = int(Path(f"/proc/{parent}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    return False


def memory_of(number: int) -> Memory:
    """Return what a process has in memory."""
    lines = Path(f"/proc/{number}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    sizes = {name: int(size.split()[0]) / 1024 for name, size in (line.split(":") for line in lines)}
    return Memory(sizes["Rss"], sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"])
