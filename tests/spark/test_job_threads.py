"""Threads of a job have its tags, and end with it."""

from contextlib import suppress
from functools import partial
from threading import Event

import pytest
from pyspark.sql import SparkSession

from catalog.reports.spark.job_threads import JobEnded, open_threads
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
        futures = [threads.start(partial(count_range, number)) for number in range(5)]
        assert "of-this-test" in list_tags(spark)
        assert [future.result() for future in futures] == [(number, list_tags(spark)) for number in range(5)]


def test_an_error_of_a_thread_is_that_of_its_result(spark: SparkSession) -> None:
    with pytest.raises(ZeroDivisionError), open_threads(spark) as threads:
        threads.start(lambda: 1 // 0).result()


def test_after_an_error_of_the_job_threads_begin_nothing_more(spark: SparkSession) -> None:
    has_begun, may_go_on = Event(), Event()
    steps: list[str] = []

    def compute() -> None:
        steps.append("begun")
        has_begun.set()
        assert may_go_on.wait(60)
        threads.check_not_ended()
        steps.append("gone on")

    futures = []
    with suppress(ZeroDivisionError), open_threads(spark) as threads:
        # Two of them wait for a thread.
        futures = [threads.start(compute) for _ in range(5)]
        assert has_begun.wait(60)
        threads.end()
        may_go_on.set()
        raise ZeroDivisionError
    assert len(futures) == 5
    assert all(isinstance(future.exception(), JobEnded) for future in futures)
    assert "gone on" not in steps
