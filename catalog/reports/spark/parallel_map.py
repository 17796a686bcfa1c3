"""Parallel map over parts in Spark's processes; each result is delivered as soon as its part is done.

`range(0, n, 1, n)` is one part a task, without a shuffle or a hash, on every Spark: classic and Connect, 3.5 and 4. A
function of one value spreads it, since `mapInArrow` refuses to be called without pandas (ADR 36). The shared data and
the results go through files, so that nothing waits for the slowest part, and only reduced results need memory.

Garbage collection of cycles is paused while a part is computed: partitions make millions of objects and no cycles, and
scanning them took half of the time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from catalog.reports.spark.session import add_tags, list_tags
from catalog.reports.spark.work_folder import WorkFolder, open_work_folder
from policies.engine.gc_pause import pause_gc

PartT = TypeVar("PartT")
ResultRowT = TypeVar("ResultRowT")

#: Seconds between two looks at which parts are done.
_POLL_SECONDS = 0.2

_TASK_FILE = "task"


@dataclass(frozen=True, slots=True)
class _Task:
    """The common needs of every process: the function, with all that it holds, and the parts."""

    compute: Callable[[Any], Iterable[Any]]
    parts: Sequence[Any]


def map_partitions_unordered(
    session: SparkSession,
    folder: str,
    parts: Sequence[PartT],
    compute: Callable[[PartT], Iterable[ResultRowT]],
    on_result: Callable[[int, list[ResultRowT]], None],
) -> None:
    """Compute each part; `on_result` is called in this thread with the number of a part and its rows, in any order.

    `folder` is the URL of a folder that all processes can read and write. `compute` and the parts are pickled. Raises
    the first exception of `on_result`, and Spark's exception when `compute` fails.
    """
    if not parts:
        return
    with open_work_folder(folder) as work_folder:
        work_folder.write(_TASK_FILE, _Task(compute, parts))
        with _start_action(session, work_folder, len(parts)) as action:
            for number in _iterate_done(work_folder, action, len(parts)):
                rows = work_folder.read(str(number))
                work_folder.delete(str(number))
                on_result(number, rows)


@contextmanager
def _start_action(session: SparkSession, work_folder: WorkFolder, count: int) -> Iterator[Future[None]]:
    """Let Spark compute so many parts while the block runs."""

    tags = list_tags(session)

    def run_action() -> None:
        add_tags(session, tags)
        # Not deterministic: the optimizer must neither repeat nor leave out what writes a file.
        compute_part = udf(_PartFunction(work_folder), "bigint", useArrow=False).asNondeterministic()
        session.range(0, count, 1, count).select(compute_part("id")).collect()

    executor = ThreadPoolExecutor(1)
    try:
        yield executor.submit(run_action)
    finally:
        # After an error nobody waits for Spark, which ends with the session.
        executor.shutdown(wait=False)


def _iterate_done(work_folder: WorkFolder, action: Future[None], count: int) -> Iterator[int]:
    """Yield the number of each part as soon as it is done."""
    pending_numbers = set(range(count))
    while pending_numbers:
        is_over = bool(wait([action], timeout=_POLL_SECONDS).done)
        if is_over:
            action.result()
        # The listing of a shared folder may be late, but everything has been written when the action is over.
        done_numbers = (
            set(pending_numbers)
            if is_over
            else {int(name) for name in work_folder.list_names() if name.isdigit()} & pending_numbers
        )
        pending_numbers -= done_numbers
        yield from sorted(done_numbers)
    action.result()


@dataclass(frozen=True, slots=True)
class _PartFunction:
    """The function that Spark's processes call with the number of a part."""

    work_folder: WorkFolder

    def __call__(self, number: int) -> int:
        with pause_gc():
            task = _load_task(self.work_folder)
            self.work_folder.write(str(number), list(task.compute(task.parts[number])))
        return number


@lru_cache(maxsize=1)
def _load_task(work_folder: WorkFolder) -> _Task:
    """Return the task, read once in each process."""
    task: _Task = work_folder.read(_TASK_FILE)
    return task
