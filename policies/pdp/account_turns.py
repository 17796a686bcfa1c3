"""Turns of accounts: costly work of which each account has one piece at a time, over all processes.

A turn is an entry in the cache that all processes share (Redis, or a table of the database). It ends with the work, or
by its deadline if the process ends before. Threads of one process wait for each other first, so that only one of them
asks the cache. While Redis is away each process counts alone.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from uuid import uuid4

import structlog
from django.core.cache import cache

from policies import deadlines
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Busy
from policies.propagation.pubsub import list_connection_errors

log = structlog.get_logger(__name__)

#: Seconds for which a second piece of work waits for the first.
WAIT_SECONDS = 10.0
#: Seconds after which the turn of a process that ended is over; longer than the work takes.
LEASE_SECONDS = 60
#: Seconds between two looks at the turn of another process.
_POLL_SECONDS = 0.1

_DETAIL = "Another preview of this account is still running. Ask again when it has ended."


class _LocalTurns:
    """The accounts that have a turn in this process."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._accounts: set[str] = set()

    def take(self, account: str, ends_at: float) -> None:
        """Wait until no thread has the turn of the account, and take it. Raises Busy."""
        with self._condition:
            seconds_left = max(ends_at - time.monotonic(), 0.0)
            if not self._condition.wait_for(lambda: account not in self._accounts, seconds_left):
                raise Busy(_DETAIL)
            self._accounts.add(account)

    def put_back(self, account: str) -> None:
        """Let the next thread have the turn."""
        with self._condition:
            self._accounts.discard(account)
            self._condition.notify_all()


_local_turns = _LocalTurns()


@contextmanager
def hold_turn(account: str) -> Iterator[None]:
    """Hold the turn of an account (a URN) during the block; the system needs none.

    Raises Busy if other work of the account does not end within WAIT_SECONDS, or while the request may wait.
    """
    if account == SYSTEM_ACTOR:
        yield
        return
    seconds_left = deadlines.find_seconds_left()
    ends_at = time.monotonic() + (WAIT_SECONDS if seconds_left is None else min(WAIT_SECONDS, seconds_left))
    with deadlines.spend():
        _local_turns.take(account, ends_at)
    try:
        with _hold_shared(account, ends_at):
            yield
    finally:
        _local_turns.put_back(account)


@contextmanager
def _hold_shared(account: str, ends_at: float) -> Iterator[None]:
    key, secret = _build_key(account), uuid4().hex
    is_over_at = time.monotonic() + LEASE_SECONDS
    try:
        with deadlines.spend():
            _take_shared(key, secret, ends_at)
    except list_connection_errors():
        log.warning("turn_not_shared")
        yield
        return
    try:
        yield
    finally:
        # One that cannot be given back ends by its deadline; after that it may be somebody else's.
        with suppress(*list_connection_errors()):
            if time.monotonic() < is_over_at or cache.get(key) == secret:
                cache.delete(key)


def _take_shared(key: str, secret: str, ends_at: float) -> None:
    while not cache.add(key, secret, timeout=LEASE_SECONDS):
        # Reading is cheaper than trying, where the cache is a table.
        while cache.get(key) is not None:
            if time.monotonic() >= ends_at:
                raise Busy(_DETAIL)
            time.sleep(_POLL_SECONDS)


def _build_key(account: str) -> str:
    return f"preview-turn:{blake2b(account.encode(), digest_size=16).hexdigest()}"
