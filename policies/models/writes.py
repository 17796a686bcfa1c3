"""Write transactions: gates at which writers queue, and the change number that each write takes last (docs/adr/0020).

A write passes the gate of its kind when it begins and holds it until it commits, so writers of one kind see each
other's rows and never run concurrently. The row that orders all writes is locked at the very end, for milliseconds:
removing a membership does not wait for a write of ten thousand documents.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import IntEnum
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

from django.db import DatabaseError, OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.functions import Coalesce, Least

from policies.engine.families.validity import to_milliseconds
from policies.models.event import ChangeEvent, ChangeSet, PolicyEvent
from policies.models.outbox import OutboxEvent
from policies.models.outbox_entries import derive_from_change, derive_from_policy
from policies.models.version import PolicyVersion, outermost_block

Arguments = ParamSpec("Arguments")
WriteResult = TypeVar("WriteResult")

log = logging.getLogger(__name__)

_EVENT_BATCH_SIZE = 500

#: Separates the advisory locks of the gates from those of other programs in the same database.
_LOCK_SPACE = 0x617A7369

#: PostgreSQL's codes for a deadlock and for a serialization failure.
_RETRYABLE_SQLSTATES = frozenset({"40P01", "40001"})


class Gate(IntEnum):
    """The kind of a write. A write that needs both gates passes them in this order, so that writers cannot deadlock.

    CATALOG: entities, their documents and facts. PEOPLE: policies, users, groups, roles, tokens and grants; every write
    that revokes access belongs here, unless it is to a document.
    """

    CATALOG = 1
    PEOPLE = 2


class WriteCheck(Protocol):
    """A check of a whole write."""

    def run(self) -> None:
        """Raise an error if the rows may not stay as they are."""


CheckT = TypeVar("CheckT", bound=WriteCheck)


class WriteTransaction:
    """A write transaction that is open on a connection."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self.gates: set[Gate] = set()
        self.is_numbered = False
        self._change_set: int | None = None
        #: The version of all policies after this write; None while it writes no policy.
        self._version: int | None = None
        self._boundary: int | None = None
        self._is_boundary_exact = False
        self._checks: dict[str, Any] = {}
        self.refusals: list[OutboxEvent] = []
        self._channel = ""
        self.depth = 0

    def pass_gates(self, gates: Sequence[Gate]) -> None:
        """Wait until no other write holds these gates, and pass them.

        Raises TransactionManagementError for a gate before one already passed, and for a new gate after the number.
        """
        new_gates = set(gates) - self.gates
        if new_gates and self.gates and min(new_gates) < max(self.gates):
            message = f"The gate {min(new_gates).name} is passed before {max(self.gates).name}."
            raise transaction.TransactionManagementError(message)
        if new_gates and self.is_numbered:
            raise transaction.TransactionManagementError("No gate is passed once a write has its number.")
        for gate in sorted(gates):
            # SQLite has one writer at a time, from the start of its transaction. On PostgreSQL a passed gate is locked
            # again, since a rollback to a savepoint releases locks taken after it.
            if self._connection.vendor == "postgresql":
                with self._connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_SPACE, gate.value])
            self.gates.add(gate)

    def bump_version(self) -> int:
        """Advance the version of all policies, and return it; it is written at the end.

        One write is one version, however many services write policies in it. Only writes behind the gate PEOPLE change
        the version, so it is known before its row is locked. Raises TransactionManagementError without that gate.
        """
        if Gate.PEOPLE not in self.gates:
            raise transaction.TransactionManagementError("Who writes policies passes the gate PEOPLE.")
        if self._version is None:
            self._version = PolicyVersion.load_version() + 1
        PolicyVersion.mark_moving()
        return self._version

    def announce_boundaries(self, boundaries: Iterable[datetime]) -> None:
        """Announce that something begins or ends at these instants, so that every process looks at that time."""
        for boundary in boundaries:
            milliseconds = to_milliseconds(boundary)
            self._boundary = milliseconds if self._boundary is None else min(self._boundary, milliseconds)

    def replace_boundaries(self, boundaries: Iterable[datetime]) -> None:
        """Announce that nothing begins or ends before these instants: everything that was due is written."""
        self._boundary, self._is_boundary_exact = None, True
        self.announce_boundaries(boundaries)

    def join_check(self, name: str, make: Callable[[], CheckT]) -> CheckT:
        """Return the check of this name, which runs before the write takes its number; `make` makes the first one.

        It looks at the rows as the whole write leaves them, and refuses the write by an error.
        """
        if name not in self._checks:
            self._checks[name] = make()
        check: CheckT = self._checks[name]
        return check

    def run_checks(self) -> None:
        """Run the checks that were joined. Raises what they raise."""
        for check in tuple(self._checks.values()):
            check.run()

    def record(self, rows: Sequence[ChangeEvent]) -> None:
        """Store rows of the change log in the change set of this write, and the events that follow from them."""
        if not rows:
            return
        change_set = self.ensure_change_set()
        for row in rows:
            row.change_set_id = change_set
        ChangeEvent.objects.bulk_create(rows, batch_size=_EVENT_BATCH_SIZE)
        self.emit([event for row in rows for event in derive_from_change(row)])

    def record_policies(self, rows: Sequence[PolicyEvent]) -> None:
        """Store rows of the history of policies, and the events that follow from them."""
        PolicyEvent.objects.bulk_create(rows, batch_size=_EVENT_BATCH_SIZE)
        self.emit([derive_from_policy(row) for row in rows])

    def emit(self, events: Sequence[OutboxEvent]) -> None:
        """Store events in the outbox: they become true, and get their place in the order, with the commit."""
        if not events:
            return
        change_set = self.ensure_change_set()
        for event in events:
            event.change_set_id = change_set
            self._channel = event.through = event.through or self._channel
        OutboxEvent.objects.bulk_create(events, batch_size=_EVENT_BATCH_SIZE)

    def emit_after_refusal(self, event: OutboxEvent) -> None:
        """Store an event if this write is undone by an error: a refusal is a fact, though nothing was written."""
        event.through = event.through or self._channel
        self.refusals.append(event)

    def ensure_change_set(self) -> int:
        """Return the id of the change set of this write, for statements that store many events at once."""
        # A rollback to a savepoint may have removed the change set.
        if self._change_set is None or not ChangeSet.objects.filter(pk=self._change_set).exists():
            self._change_set = ChangeSet.objects.create().pk
        return self._change_set

    def finish(self) -> None:
        """Take the number of this write, which blocks every other write until the commit.

        The work after that lock is the same for one event and for ten thousand.
        """
        if self._connection.vendor == "postgresql":
            # Check references here and not in the commit, for which all other writes wait.
            self._connection.check_constraints()
        columns: dict[str, Any] = {}
        if self._is_boundary_exact:
            columns = {"next_boundary": self._boundary}
        elif self._boundary is not None:
            columns = {"next_boundary": Least(Coalesce("next_boundary", self._boundary), self._boundary)}
        number = PolicyVersion.take_number(versions=0 if self._version is None else 1, **columns)
        if self._change_set is not None:
            ChangeSet.objects.filter(pk=self._change_set).update(change_seq=number)


_open_writes: WeakKeyDictionary[BaseDatabaseWrapper, WriteTransaction] = WeakKeyDictionary()
#: Connection → the last write that took its number, with its outermost transaction block.
_numbered_writes: WeakKeyDictionary[BaseDatabaseWrapper, tuple[Any, WriteTransaction]] = WeakKeyDictionary()


@contextmanager
def open_write(*gates: Gate) -> Iterator[WriteTransaction]:
    """Open a write transaction behind these gates, or join the open one, and yield it.

    The outermost one takes the number of the write if it ends without an error; only the commit should follow. Raises
    TransactionManagementError for a gate out of order, or after the transaction took a number: waiting there could
    deadlock.
    """
    connection = transaction.get_connection()
    write = _open_writes.get(connection)
    try:
        with transaction.atomic():
            if write is None:
                write = _open_writes[connection] = _begin(connection)
            write.depth += 1
            try:
                write.pass_gates(gates)
                yield write
                if write.depth == 1:
                    write.run_checks()
                    write.finish()
                    _numbered_writes[connection] = (outermost_block(connection), write)
            finally:
                write.depth -= 1
                if not write.depth:
                    del _open_writes[connection]
    except Exception:
        if write is not None and not write.depth:
            _store_refusals(write.refusals)
        raise


@contextmanager
def open_event_write() -> Iterator[WriteTransaction]:
    """Open a write transaction of what no decision reads, such as findings, and yield it to emit events.

    Unless the write declares facts itself, no process drops any.
    """
    with open_write() as write:
        PolicyVersion.touch()
        yield write


def _store_refusals(events: Sequence[OutboxEvent]) -> None:
    """Store the events of a write that was refused, in a transaction of their own; a failure is only logged."""
    if not events:
        return
    try:
        with open_event_write() as write:
            write.emit(events)
    except DatabaseError as error:
        # The caller is told of the refusal; the event is about that and changes nothing.
        log.error("refusal_not_recorded", extra={"type": events[0].type, "error": str(error)})


def get_open_write() -> WriteTransaction:
    """Return the write that is open on the connection; raises TransactionManagementError if none is."""
    write = _open_writes.get(transaction.get_connection())
    if write is None:
        raise transaction.TransactionManagementError("This belongs inside a write.")
    return write


def announce_boundaries(boundaries: Iterable[datetime]) -> None:
    """Announce boundaries (`WriteTransaction.announce_boundaries`) of the write that is open on the connection.

    Raises TransactionManagementError if none is.
    """
    get_open_write().announce_boundaries(boundaries)


def _begin(connection: BaseDatabaseWrapper) -> WriteTransaction:
    """Return a new write; a second one in the same transaction inherits the gates of the first and is numbered."""
    write = WriteTransaction(connection)
    block, earlier_write = _numbered_writes.get(connection, (None, None))
    if earlier_write is not None and block is not None and block is outermost_block(connection):
        write.gates, write.is_numbered = set(earlier_write.gates), True
    return write


def retry_deadlock(write: Callable[Arguments, WriteResult]) -> Callable[Arguments, WriteResult]:
    """Return the function, repeated once if the database aborts its transaction because of a deadlock.

    Not inside a transaction, whose earlier statements would be lost.
    """

    @wraps(write)
    def attempt(*args: Arguments.args, **kwargs: Arguments.kwargs) -> WriteResult:
        try:
            return write(*args, **kwargs)
        except OperationalError as error:
            is_lost = getattr(error.__cause__, "sqlstate", None) in _RETRYABLE_SQLSTATES
            if not is_lost or transaction.get_connection().in_atomic_block:
                raise
            return write(*args, **kwargs)

    return attempt
