"""Threads of a job have its tags, and end with it."""

from contextlib import suppress
from functools import partial
from threading import Event, current_thread

import pytest
from pyspark.sql import SparkSession

from catalog.reports.spark.job_threads import JobEnded, JobThreads, open_threads
from catalog.reports.spark.session import add_tags, clear_tags, list_tags


@pytest.fixture(autouse=True)
def tagged(spark: SparkSession):
    add_tags(spark, ["of-this-test"])
    yield
    clear_tags(spark)


def test_threads_compute_with_the_tags_of_the_job(spark: SparkSession) -> None:
    def count_range(number: int) -> tuple[int, set[str]]:
        return spark.range(number).count(), list_tags(spark)

    with open_threads(spark) as threads:
        tasks = [threads.start(partial(count_range, number)) for number in range(5)]
        assert "of-this-test" in list_tags(spark)
        assert [task.get_result() for task in tasks] == [(number, list_tags(spark)) for number in range(5)]


def test_who_waits_computes_what_no_thread_has_begun(spark: SparkSession) -> None:
    may_end = Event()

    def start_inner(threads: JobThreads) -> str:
        # All threads wait for tasks that none of them is free for.
        return threads.start(lambda: current_thread().name).get_result()

    with open_threads(spark) as threads:
        blocked = [threads.start(lambda: may_end.wait(60)) for _ in range(3)]
        waiting = [threads.start(partial(start_inner, threads)) for _ in range(4)]
        assert [task.get_result() for task in waiting] == [current_thread().name] * 4
        may_end.set()
        assert [task.get_result() for task in blocked] == [True] * 3


def test_a_task_is_computed_once_whoever_asks(spark: SparkSession) -> None:
    computed: list[int] = []

    def compute() -> int:
        computed.append(1)
        return len(computed)

    def fail() -> int:
        computed.append(1)
        raise ZeroDivisionError

    with open_threads(spark) as threads:
        task = threads.start(compute)
        askers = [threads.start(task.get_result) for _ in range(5)]
        assert {task.get_result(), *(asker.get_result() for asker in askers)} == {1}
        computed.clear()
        failing = threads.start(fail)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                failing.get_result()
    assert computed == [1]


def test_an_error_of_a_thread_is_that_of_its_result(spark: SparkSession) -> None:
    with pytest.raises(ZeroDivisionError), open_threads(spark) as threads:
        threads.start(lambda: 1 // 0).get_result()


def test_after_an_error_of_the_job_threads_begin_nothing_more(spark: SparkSession) -> None:
    has_begun, may_go_on = Event(), Event()
    steps: list[str] = []

    def compute() -> None:
        steps.append("begun")
        has_begun.set()
        assert may_go_on.wait(60)
        threads.check_not_ended()
        steps.append("gone on")

    tasks = []
    with suppress(ZeroDivisionError), open_threads(spark) as threads:
        # Two of them wait for a thread.
        tasks = [threads.start(compute) for _ in range(5)]
        assert has_begun.wait(60)
        threads.end()
        may_go_on.set()
        raise ZeroDivisionError
    assert len(tasks) == 5
    for task in tasks:
        with pytest.raises(JobEnded):
            task.get_result()
    assert "gone on" not in steps
