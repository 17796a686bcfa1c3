"""Writing transactions: the gates at which writers queue, and the number that each takes last (docs/adr/0020).

A write passes the gate of its kind when it begins and keeps it until it commits, so writers of one kind see one
another's rows and never work on the same ones at once. The row that orders all writes is taken at the very end, for
milliseconds: who takes a membership away does not wait for who stores ten thousand documents.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from django.db import OperationalError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from policies.models.event import ChangeEvent, ChangeSet
from policies.models.version import PolicyVersion, outermost_block

Arguments = ParamSpec("Arguments")
WriteResult = TypeVar("WriteResult")

_EVENT_BATCH_SIZE = 500

#: Keeps the locks of the gates apart from those of other programs in the same database.
_LOCK_SPACE = 0x617A7369

#: What PostgreSQL calls a deadlock, and a write that could not be put in order with another.
_RETRYABLE_SQLSTATES = frozenset({"40P01", "40001"})


class Gate(IntEnum):
    """What a write is about. Who passes both gates passes them in this order, so that two writers never wait in a ring.

    CATALOG: entities, their documents and facts. PEOPLE: policies, users, groups, roles, tokens and grants; whatever
    takes access away is such a write, unless it is a document.
    """

    CATALOG = 1
    PEOPLE = 2


class WriteTransaction:
    """A writing transaction that is open on a connection."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self._connection = connection
        self.gates: set[Gate] = set()
        self.is_numbered = False
        self._change_set: int | None = None
        self._version_before = 0
        self._versions = 0
        self.depth = 0

    def pass_gates(self, gates: Sequence[Gate]) -> None:
        """Wait until no other write is behind these gates.

        Raises TransactionManagementError for a gate that comes before one that was passed.
        """
        new_gates = set(gates) - self.gates
        if new_gates and self.gates and min(new_gates) < max(self.gates):
            message = f"The gate {min(new_gates).name} is passed before {max(self.gates).name}."
            raise transaction.TransactionManagementError(message)
        if new_gates and self.is_numbered:
            raise transaction.TransactionManagementError("No gate is passed once a write has its number.")
        for gate in sorted(gates):
            # SQLite has one writer at a time: the transaction began by becoming that one. Asked again where it was
            # passed already: a savepoint that was taken back gave it up.
            if self._connection.vendor == "postgresql":
                with self._connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK_SPACE, gate.value])
            self.gates.add(gate)

    def bump_version(self) -> int:
        """Return the version of all policies that this write makes; each call makes one more.

        Only who passed the gate PEOPLE moves the version, so what it will be is known before the row is taken.
        """
        if Gate.PEOPLE not in self.gates:
            raise transaction.TransactionManagementError("Who writes policies passes the gate PEOPLE.")
        if not self._versions:
            self._version_before = PolicyVersion.load_version()
        self._versions += 1
        PolicyVersion.mark_moving()
        return self._version_before + self._versions

    def record(self, events: Sequence[ChangeEvent]) -> None:
        """Store what was done, in the change set of this write, whose number is set when it is known."""
        if not events:
            return
        # A savepoint that was taken back took the change set with it.
        if self._change_set is None or not ChangeSet.objects.filter(pk=self._change_set).exists():
            self._change_set = ChangeSet.objects.create().pk
        for event in events:
            event.change_set_id = self._change_set
        ChangeEvent.objects.bulk_create(events, batch_size=_EVENT_BATCH_SIZE)

    def finish(self) -> None:
        """Take the number of this write, which holds up every other one until the commit.

        What follows the row is as short for ten thousand events as for one.
        """
        if self._connection.vendor == "postgresql":
            # References are checked now and not by the commit, when everybody waits.
            self._connection.check_constraints()
        number = PolicyVersion.take_number(versions=self._versions)
        if self._change_set is not None:
            ChangeSet.objects.filter(pk=self._change_set).update(change_seq=number)


_open_writes: WeakKeyDictionary[BaseDatabaseWrapper, WriteTransaction] = WeakKeyDictionary()
#: The last write that took its number, with the outermost block it did so in.
_numbered_writes: WeakKeyDictionary[BaseDatabaseWrapper, tuple[Any, WriteTransaction]] = WeakKeyDictionary()


@contextmanager
def open_write(*gates: Gate) -> Iterator[WriteTransaction]:
    """Open a writing transaction behind these gates, or go on in the one that is open, and yield it.

    The outermost one takes the number of the write when it ends well; nothing should follow but the commit. Raises
    TransactionManagementError for a gate that is passed out of order, or after the transaction took a number: to wait
    there could be to wait for each other.
    """
    connection = transaction.get_connection()
    with transaction.atomic():
        write = _open_writes.get(connection)
        if write is None:
            write = _open_writes[connection] = _begin(connection)
        write.depth += 1
        try:
            write.pass_gates(gates)
            yield write
            if write.depth == 1:
                write.finish()
                _numbered_writes[connection] = (outermost_block(connection), write)
        finally:
            write.depth -= 1
            if not write.depth:
                del _open_writes[connection]


def _begin(connection: BaseDatabaseWrapper) -> WriteTransaction:
    """Return a new write; a second one in the same transaction stands where the first one did."""
    write = WriteTransaction(connection)
    block, earlier_write = _numbered_writes.get(connection, (None, None))
    if earlier_write is not None and block is not None and block is outermost_block(connection):
        write.gates, write.is_numbered = set(earlier_write.gates), True
    return write


def retry_deadlock(write: Callable[Arguments, WriteResult]) -> Callable[Arguments, WriteResult]:
    """Return a function that writes once more when the database ended its transaction in favour of another.

    Inside a transaction it does not: what came before would be lost.
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
