"""The decision log of this process: answers are noted beside the request and written by one thread, in batches.

A process keeps a log from `start` to `stop`, and only of what is asked through a door (`through`): management commands
and tasks ask for themselves. A refusal is always kept, of what is allowed every nth (settings.DECISION_LOG_SAMPLE). A
request never waits for the log: when the database is away for long, what no longer fits is dropped, counted and said.
"""

import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from multiprocessing.util import Finalize
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from policies.engine.model import Decision
from policies.engine.requirements import Requirement
from policies.models import LoggedDecision
from policies.models.decision import WANTED_LENGTH
from policies.models.fields import URN_LENGTH, is_storable, json_text
from policies.outages import find_outage
from policies.pdp import bulk_insert
from policies.propagation import metrics

log = logging.getLogger(__name__)

#: How many answers may wait; a batch of the API has up to 10,000.
CAPACITY = 50_000
#: How many rows one statement writes.
BATCH = 500
#: Seconds for which answers are collected before they are written.
COLLECT = 0.5
#: Seconds until a database that was away is tried again, and how often that is done once the process is to end.
RETRY, LAST_TRIES = 1.0, 5
#: Of longer lists only the beginning is kept.
LISTED = 20

_COLUMNS = (
    "at",
    "actor",
    "by",
    "door",
    "request_id",
    "operation",
    "wanted",
    "resource",
    "resource_type",
    "sub_resources",
    "is_allowed",
    "code",
    "policy_version",
    "statements",
    "milliseconds",
)


class Door(NamedTuple):
    """How a call came in; looked up when there is something to note, since signing in comes after the middleware."""

    name: Callable[[], str]
    by: Callable[[], str]
    request_id: Callable[[], str]


class Call(NamedTuple):
    """When, by whom and how questions were asked."""

    at: datetime
    door: str
    by: str
    request_id: str


class Entry(NamedTuple):
    """An answer as it waits: what was asked, and what was decided."""

    call: Call
    actor: str
    operation: str
    requirement: Requirement
    resource: str
    resource_type: str
    subresources: tuple[str, ...]
    decision: Decision
    milliseconds: float


_THROUGH: ContextVar[Door | None] = ContextVar("through", default=None)


class Keeper:
    """What waits to be written, and the thread that writes it; the thread begins with the first answer."""

    def __init__(self, *, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._waiting: deque[Entry] = deque()
        self._dropped = 0
        self._allowed = itertools.count(1)
        self._lock = threading.Lock()
        self._awake = threading.Event()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def wants(self, decision: Decision) -> bool:
        """Whether this answer is kept: every refusal, and of the others the share that the setting names, evenly."""
        share = settings.DECISION_LOG_SAMPLE
        if not decision.is_allowed or share >= 1:
            return True
        number = next(self._allowed)
        return int(number * share) > int((number - 1) * share)

    def note(self, entry: Entry) -> None:
        """Let an answer wait to be written; never blocks."""
        if len(self._waiting) >= self._capacity:
            with self._lock:
                self._dropped += 1
        else:
            self._waiting.append(entry)
        if not self._awake.is_set():
            if self._thread is None:
                self._begin()
            self._awake.set()

    def stop(self) -> None:
        """Write everything that waits, and end the thread."""
        self._ending.set()
        self._awake.set()
        if self._thread is not None:
            self._thread.join()
        self._say_dropped()

    def _begin(self) -> None:
        with self._lock:
            if self._thread is None and not self._ending.is_set():
                thread = threading.Thread(target=self._run, name="decision-log", daemon=True)
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                self._awake.wait()
                self._ending.wait(COLLECT)
                self._awake.clear()
                self._write_all()
                # A connection that lies idle is one less for requests.
                connection.close()
            # What came in between the last look and the end.
            self._write_all()
        finally:
            connection.close()

    def _write_all(self) -> None:
        self._say_dropped()
        while self._waiting:
            count = min(BATCH, len(self._waiting))
            self._write(_rows([self._waiting.popleft() for _ in range(count)]))

    def _write(self, values: Sequence[tuple[Any, ...]]) -> None:
        """Write rows, however long the database is away; once the process is to end, that is given up some time."""
        tries_left = LAST_TRIES
        while True:
            try:
                bulk_insert.store(LoggedDecision, _COLUMNS, values)
            except (DatabaseError, InterfaceError) as error:
                if find_outage(error) is None:
                    log.exception("decisions_refused")
                    self._lose(len(values))
                    return
                tries_left -= self._ending.is_set()
                connection.close()
                log.warning("decisions_wait", extra={"error": str(error), "waiting": len(values) + len(self._waiting)})
                if not tries_left:
                    self._lose(len(values))
                    return
                time.sleep(RETRY) if self._ending.is_set() else self._ending.wait(RETRY)
            else:
                return

    def _lose(self, count: int) -> None:
        with self._lock:
            self._dropped += count

    def _say_dropped(self) -> None:
        with self._lock:
            dropped, self._dropped = self._dropped, 0
        if dropped:
            metrics.not_logged(dropped)
            log.warning("decisions_not_logged", extra={"count": dropped})


class _Kept:
    """The one log of this process."""

    def __init__(self) -> None:
        self.keeper: Keeper | None = None
        self.at_end: Finalize | None = None


_kept = _Kept()


def start(*, capacity: int = CAPACITY) -> None:
    """Keep a log from now on; what waits when the process ends is written before it does."""
    stop()
    _kept.keeper = Keeper(capacity=capacity)
    # Not atexit: the processes that granian forks end like those of multiprocessing, which do not look there.
    _kept.at_end = Finalize(None, stop, exitpriority=0)


def stop() -> None:
    """Write what waits and keep no log any more."""
    keeper, _kept.keeper = _kept.keeper, None
    at_end, _kept.at_end = _kept.at_end, None
    if at_end is not None:
        at_end.cancel()
    if keeper is not None:
        keeper.stop()


@contextmanager
def through(door: Door) -> Iterator[None]:
    """Note, while this lasts, what is answered as asked through this door."""
    token = _THROUGH.set(door)
    try:
        yield
    finally:
        _THROUGH.reset(token)


def wanted(decisions: Sequence[Decision]) -> list[int]:
    """Return the places of those of the answers given now that are kept; none where no log is."""
    keeper = _kept.keeper
    if keeper is None or _THROUGH.get() is None:
        return []
    return [place for place, decision in enumerate(decisions) if keeper.wants(decision)]


def here() -> tuple[Keeper, Call] | None:
    """Return where answers given now are noted and how they were asked for; None where they are not."""
    keeper, door = _kept.keeper, _THROUGH.get()
    if keeper is None or door is None:
        return None
    return keeper, Call(timezone.now(), door.name(), door.by(), door.request_id())


def _rows(entries: Iterable[Entry]) -> list[tuple[Any, ...]]:
    # Many answers belong to one call, and their time is written in the database's own way.
    at = cache(connection.ops.adapt_datetimefield_value)
    return [_row(entry, at(entry.call.at)) for entry in entries]


def _row(entry: Entry, at: Any) -> tuple[Any, ...]:
    """Return the values of _COLUMNS."""
    call, decision = entry.call, entry.decision
    return (
        at,
        _fit(entry.actor, URN_LENGTH),
        _fit(call.by, URN_LENGTH),
        call.door,
        _fit(call.request_id, 64),
        _fit(entry.operation, 255),
        _fit(in_words(entry.requirement), WANTED_LENGTH),
        _fit(entry.resource, URN_LENGTH),
        _fit(entry.resource_type, 64),
        json_text([_fit(urn, URN_LENGTH) for urn in entry.subresources[:LISTED]]),
        decision.is_allowed,
        decision.code.value,
        decision.version,
        json_text(
            [
                {
                    "policy": one.origin.policy,
                    "name": one.origin.name,
                    "statement": one.origin.index,
                    "effect": one.effect.value,
                }
                for one in decision.statements[:LISTED]
            ]
        ),
        round(entry.milliseconds, 3),
    )


def in_words(requirement: Requirement) -> str:
    """Return the privileges of a requirement, each between blanks: "A and B | C or D", where | binds closest.

    On which relative each is needed is the operation's to say.
    """
    return " or ".join(" and ".join(" | ".join(need.privileges) for need in one) for one in requirement.any_of)


def _fit(text: str, length: int) -> str:
    """Return a text that its column can hold: one that nobody can look for must not cost the rows beside it."""
    if not is_storable(text):
        text = text.replace("\x00", "�").encode(errors="replace").decode()
    return text if len(text) <= length else f"{text[: length - 1]}…"
