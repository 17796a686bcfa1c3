"""Waiting has an end: for a lock, for the database, and for a connection of the pool."""

import os
import threading
from time import monotonic, sleep

import psycopg
import pytest
from django.db import OperationalError, connection

from authzsite.postgresql.base import BoundedPool
from policies import deadlines
from policies.errors import Unavailable
from policies.pdp import snapshot_store

ON_POSTGRESQL = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no server to wait for.")


def test_only_waiting_is_taken_from_a_budget() -> None:
    with deadlines.open_budget(5) as budget:
        sleep(0.05)
        assert budget.seconds_left == 5
        with deadlines.spend(), deadlines.spend():
            sleep(0.05)
        assert 4.8 < budget.seconds_left < 4.96


def test_a_wait_inside_another_one_has_what_that_left() -> None:
    with deadlines.open_budget(5), deadlines.spend():
        sleep(0.05)
        seconds_left = deadlines.find_seconds_left()
        assert seconds_left is not None
        assert 4.8 < seconds_left < 4.96


def test_a_budget_inside_another_one_is_the_smaller_and_counts_for_both() -> None:
    with deadlines.open_budget(5) as outer:
        with deadlines.open_budget(9) as inner:
            assert inner.seconds_left == 5
        with deadlines.open_budget(1) as inner:
            with deadlines.spend():
                sleep(0.05)
            assert inner.seconds_left < 1
        assert outer.seconds_left < 5
        outer.subtract(6)
        assert deadlines.find_seconds_left() == 0


def test_a_lock_that_stays_taken_is_given_up() -> None:
    lock = threading.Lock()
    with lock, deadlines.open_budget(0.05), pytest.raises(Unavailable), deadlines.hold_lock(lock):
        pytest.fail("The lock was taken twice.")
    with deadlines.open_budget(0.05), deadlines.hold_lock(lock):
        assert lock.locked()
    assert not lock.locked()


@pytest.mark.django_db(transaction=True)
def test_a_question_does_not_wait_for_ever_for_another_that_looks() -> None:
    with snapshot_store._slot.lock, deadlines.open_budget(0.05), pytest.raises(Unavailable):
        snapshot_store.refresh()
    assert snapshot_store.refresh() >= 1


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
def test_a_statement_that_takes_longer_ends_with_its_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (first,) = cursor.fetchone()
    begin = monotonic()
    with (
        deadlines.open_budget(0.2),
        pytest.raises(OperationalError, match=r"did not answer within 0\.\d seconds"),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(30)")
    assert monotonic() - begin < 5
    # Nobody gets a connection that is in the middle of an answer.
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (second,) = cursor.fetchone()
        # It sleeps on, and what it sees could not be vacuumed by the tests that follow.
        cursor.execute("SELECT pg_terminate_backend(%s)", [first])
    assert second != first


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
def test_without_time_left_no_connection_is_taken_and_none_is_broken() -> None:
    connection.close()
    with deadlines.open_budget(0), pytest.raises(OperationalError), connection.cursor():
        pytest.fail("There was no time left.")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


@ON_POSTGRESQL
@pytest.mark.django_db(transaction=True)
def test_the_check_of_a_connection_has_what_waiting_for_the_connection_left() -> None:
    seconds = []

    def check(checked_connection: psycopg.Connection[object]) -> None:
        seconds.append(deadlines.find_seconds_left())

    with BoundedPool(
        str(os.environ["DATABASE_URL"]),
        connection_class=deadlines.BoundedConnection,
        max_size=1,
        min_size=1,
        check=check,
    ) as pool:
        pool.wait()
        taken = pool.getconn()
        threading.Timer(0.3, pool.putconn, [taken]).start()
        with deadlines.open_budget(5):
            pool.putconn(pool.getconn())
    (_, seconds_left) = seconds
    assert seconds_left is not None
    assert 4.0 < seconds_left < 4.75
