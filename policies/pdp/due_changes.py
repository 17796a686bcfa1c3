"""Changes that come due: what is valid from, or until, an instant begins and ends by a write like any other.

The row of the policy version says when something begins or ends next. Every process compares that with the clock
(`policies.pdp.database_clock`) before it answers, and writes what is due itself; so an end needs neither the task queue
nor messages, and everything that reads rows sees it. An end that has come is written, so that a clock that is set
back revives nothing.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Protocol, runtime_checkable

from django.db import transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from policies import registries
from policies.engine.families.validity import to_milliseconds
from policies.models import Gate, PolicyVersion, open_write
from policies.models.version import outermost_block
from policies.models.writes import WriteTransaction
from policies.pdp import database_clock


class DueChangeSource(Protocol):
    """One kind of thing that has a validity (the registry `due_changes`)."""

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:
        """Write what has begun and what has ended by now, inside this write, with its events.

        Errors that it raises undo the writes of all sources.
        """

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest instants at which something of this kind will begin or end; none if nothing will.

        It is asked after `apply_due_changes`, in the same write.
        """


@runtime_checkable
class GatedDueChangeSource(Protocol):
    """A kind of thing of which something may end behind the gate of the catalog, too."""

    def needs_catalog(self, *, now: datetime) -> bool:
        """Return whether something that is due changes documents of the catalog."""


def apply_due_changes(*, wait_seconds: float) -> None:
    """Write everything that has come due, if no other process has; several processes may try at once.

    Does nothing inside a transaction, which must not wait for other writes. The clock is that of the database, so that
    nothing begins early. Raises OperationalError when other writers do not let this one pass within `wait_seconds` (on
    SQLite within its own limit), and the error of a database that does not answer: an answer must not rely on what may
    have ended.
    """
    connection = transaction.get_connection()
    if outermost_block(connection) is not None or not _is_due():
        return
    with _limit_waits(connection, wait_seconds), open_write(*_find_gates()) as write:
        _write_due_changes(write)


def _find_gates() -> tuple[Gate, ...]:
    now = database_clock.get_now()
    gated_sources = (source for source in _load_sources() if isinstance(source, GatedDueChangeSource))
    needs_catalog = any(source.needs_catalog(now=now) for source in gated_sources)
    return (Gate.CATALOG, Gate.PEOPLE) if needs_catalog else (Gate.PEOPLE,)


@contextmanager
def _limit_waits(connection: BaseDatabaseWrapper, seconds: float) -> Iterator[None]:
    """Limit how long the transaction that begins in the block waits for other writers."""
    milliseconds = round(seconds * 1000)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with transaction.atomic():
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{milliseconds}ms"])
                yield
            return
        (usual_milliseconds,) = cursor.execute("PRAGMA busy_timeout").fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {milliseconds}")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual_milliseconds}")


def _write_due_changes(write: WriteTransaction) -> None:
    # Facts that are touched are declared below; without a declaration every process would drop all of them.
    PolicyVersion.touch()
    if not _is_due():
        return
    now, sources = database_clock.get_now(), _load_sources()
    for source in sources:
        source.apply_due_changes(write=write, now=now)
    write.replace_boundaries(boundary for source in sources for boundary in source.list_next_boundaries())


def _is_due() -> bool:
    """Whether something has begun or ended by the clock of the database, with which this one is compared."""
    asked_at = time.time()
    numbers, database_time = PolicyVersion.load_numbers_and_time()
    database_clock.note_time(database_time, asked_at=asked_at)
    return numbers.next_boundary is not None and numbers.next_boundary <= to_milliseconds(database_clock.get_now())


def _load_sources() -> list[DueChangeSource]:
    return [make_source() for make_source in registries.load_entries("due_changes").values()]
