"""Deadlines: bounds on the time for which this thread may wait for the database, for a lock or for a request slot.

A request, a health check and a background step each have a budget of seconds (`open_budget`). Only waiting uses it, so
a question that computes for long is not refused. Every single wait has a limit too, with or without a budget
(`set_wait_limit`). PostgreSQL's own limits have no effect while its processes are stopped or its machine is gone: the
kernel goes on acknowledging packets, so the client has to end the wait.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen

from policies.errors import Unavailable

Result = TypeVar("Result")

#: Seconds between psycopg's checks for signals while it waits (psycopg's own default).
_POLL_SECONDS = 0.1


class WaitBudget:
    """Seconds that may still be spent waiting. Of nested waits only the outermost counts."""

    __slots__ = ("_seconds_left", "_waiting_since")

    def __init__(self, seconds: float) -> None:
        self._seconds_left = seconds
        self._waiting_since: float | None = None

    @property
    def seconds_left(self) -> float:
        """The rest of the budget, negative if it is overspent.

        A wait that has not ended counts as well: taking a connection of the pool contains the check of the connection,
        which must not begin with the whole budget again.
        """
        if self._waiting_since is None:
            return self._seconds_left
        return self._seconds_left - (time.monotonic() - self._waiting_since)

    def subtract(self, seconds: float) -> None:
        """Subtract seconds that were spent elsewhere."""
        self._seconds_left -= seconds

    @contextmanager
    def spend(self) -> Iterator[None]:
        """Subtract the duration of the block from the budget."""
        if self._waiting_since is not None:
            yield
            return
        self._waiting_since = time.monotonic()
        try:
            yield
        finally:
            self._seconds_left, self._waiting_since = self.seconds_left, None


class DeadlineExceeded(psycopg.OperationalError):
    """The database did not answer in time; its connection is closed, since the answer may still arrive."""


_budget: ContextVar[WaitBudget | None] = ContextVar("budget", default=None)


class _WaitLimits:
    """Longest single wait of this process, in seconds; None for no limit."""

    def __init__(self) -> None:
        self.wait_seconds: float | None = None


_limits = _WaitLimits()


def set_wait_limit(seconds: float | None) -> None:
    """Limit every single wait of this process from now on; None removes the limit."""
    _limits.wait_seconds = seconds


class BudgetScope:
    """A block with a budget of its own. A class, because a generator would take as long as the rest of a decision."""

    __slots__ = ("_budget", "_initial_seconds", "_outer_budget", "_token")

    def __init__(self, seconds: float) -> None:
        self._outer_budget = _budget.get()
        self._initial_seconds = seconds if self._outer_budget is None else min(seconds, self._outer_budget.seconds_left)
        self._budget = WaitBudget(self._initial_seconds)

    def __enter__(self) -> WaitBudget:
        """Begin the block; return its budget."""
        self._token = _budget.set(self._budget)
        return self._budget

    def __exit__(self, *_error: object) -> None:
        """End the block; what it has spent is missing from the surrounding budget."""
        _budget.reset(self._token)
        if self._outer_budget is not None:
            self._outer_budget.subtract(self._initial_seconds - self._budget.seconds_left)


def open_budget(seconds: float) -> BudgetScope:
    """Return a block with a budget in seconds, at most the rest of the surrounding one."""
    return BudgetScope(seconds)


def find_seconds_left() -> float | None:
    """Return the longest time that the next wait may take, in seconds, at least 0; None without any bound."""
    budget, limit = _budget.get(), _limits.wait_seconds
    if budget is None:
        return limit
    budget_left = max(budget.seconds_left, 0.0)
    return budget_left if limit is None else min(budget_left, limit)


@contextmanager
def spend() -> Iterator[None]:
    """Subtract the duration of the block from the budget of this thread, if it has one."""
    budget = _budget.get()
    if budget is None:
        yield
        return
    with budget.spend():
        yield


@contextmanager
def hold_lock(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock during the block; raises Unavailable if it is not free in time."""
    seconds_left = find_seconds_left()
    with spend():
        is_acquired = lock.acquire(timeout=-1 if seconds_left is None else seconds_left)
    if not is_acquired:
        raise Unavailable("The facts cannot be had in time; ask again.")
    try:
        yield
    finally:
        lock.release()


class BoundedConnection(psycopg.Connection[Any]):
    """A connection to PostgreSQL that ends a wait at its deadline and raises DeadlineExceeded.

    It is closed then, since it may be in the middle of an answer and must not be used again; the server rolls back a
    transaction that was open on it.
    """

    def wait(self, gen: PQGen[Result], interval: float = _POLL_SECONDS, timeout: float | None = None) -> Result:
        """Wait for an answer of the server. With `timeout` the caller handles the end of the wait itself."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        seconds_left = find_seconds_left()
        try:
            with spend():
                return super().wait(gen, interval, seconds_left)
        except psycopg.errors._WaitTimeout:
            self.pgconn.finish()
            raise DeadlineExceeded(f"PostgreSQL did not answer within {seconds_left:.1f} seconds.") from None
