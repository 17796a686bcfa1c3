"""Threads of a job: while one of them plans, which takes one core, another one's work is done by the others."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock
from typing import Generic, TypeVar

from pyspark.sql import SparkSession

from catalog.reports.spark.session import add_tags, list_tags

ResultT = TypeVar("ResultT")

#: Threads besides that of the job.
_THREADS = 3


class JobEnded(Exception):
    """The job ended with an error, so nobody wants what this thread computes."""


class JobTask(Generic[ResultT]):
    """A computation that a thread does, or who first asks for its result while no thread is free."""

    def __init__(self, compute: Callable[[], ResultT]) -> None:
        self._compute = compute
        self._has_begun = Lock()
        self._outcome: Future[ResultT] = Future()

    def run(self) -> None:
        """Compute, unless that has begun. Raises what the computation raises, which is raised for the result, too."""
        if not self._has_begun.acquire(blocking=False):
            return
        try:
            self._outcome.set_result(self._compute())
        except BaseException as error:
            self._outcome.set_exception(error)
            raise

    def get_result(self) -> ResultT:
        """Return the result. Tasks may wait for tasks that were started earlier: none of them waits for a thread."""
        self.run()
        return self._outcome.result()


class JobThreads:
    """Computes in other threads what does not depend on what the job does meanwhile."""

    def __init__(self, session: SparkSession, executor: Executor) -> None:
        self._session = session
        self._executor = executor
        self._tags = list_tags(session)
        self._has_ended = Event()

    def start(self, compute: Callable[[], ResultT]) -> JobTask[ResultT]:
        """Compute in another thread, with the tags of the job."""

        def run() -> ResultT:
            self.check_not_ended()
            add_tags(self._session, self._tags)
            return compute()

        task = JobTask(run)
        self._executor.submit(task.run)
        return task

    def check_not_ended(self) -> None:
        """Raise JobEnded after an error of the job. Spark cannot be asked to stop what a thread has asked for."""
        if self._has_ended.is_set():
            raise JobEnded

    def end(self) -> None:
        """Begin nothing more, and end the threads at their next check."""
        self._has_ended.set()


@contextmanager
def open_threads(session: SparkSession) -> Iterator[JobThreads]:
    """Yield threads, and wait at the end of the block for what they have begun."""
    with ThreadPoolExecutor(_THREADS) as executor:
        threads = JobThreads(session, executor)
        try:
            yield threads
        except BaseException:
            threads.end()
            raise
