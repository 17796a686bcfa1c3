"""The one row that orders all changes.

Both counters advance under this row's lock, which a write takes last (`policies.models.writes`): a number that was read
is never reused, and a change is committed before the next number is assigned.
"""

from collections.abc import Collection
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q

from policies.propagation import invalidation
from policies.propagation.invalidating_cache import Invalidation

#: Connection → the outermost transaction block in which policies were last written.
_policy_write_blocks: WeakKeyDictionary[BaseDatabaseWrapper, Any] = WeakKeyDictionary()


class _TouchedFacts:
    """The facts touched by the transaction of one outermost block; `urns` None if the transaction declared none."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.urns: set[str] | None = None
        self.dependency_urns: set[str] = set()
        self.is_everything = False

    def take_invalidation(self, number: int) -> Invalidation:
        """Return the invalidation for the write with this number, and start anew for a second number."""
        urns = None if self.is_everything or self.urns is None else frozenset(self.urns)
        message = Invalidation(number - 1, number, urns, frozenset(self.dependency_urns))
        self.urns, self.dependency_urns, self.is_everything = set(), set(), False
        return message


#: Connection → the facts touched by its open transaction.
_touched_facts: WeakKeyDictionary[BaseDatabaseWrapper, _TouchedFacts] = WeakKeyDictionary()


class VersionNumbers(NamedTuple):
    """The version of all policies, the number of the last change, and the next boundary in ms since 1970, if any."""

    version: int
    change_number: int
    next_boundary: int | None


class _DatabaseTime(models.Func):
    """The Unix time of the clock of the database, and not of the beginning of a transaction; null in SQLite."""

    function = "clock_timestamp"
    template = "extract(epoch FROM %(function)s())::float8"
    output_field = models.FloatField(null=True)

    def as_sqlite(self, *_: Any, **__: Any) -> tuple[str, list[Any]]:  # type: ignore[override]  # nothing of it is used
        """Return null: a database in a file has the clock of whoever reads it."""
        return "NULL", []


class PolicyVersion(models.Model):
    """The version of all policies together, and the number of the last change to anything that decisions use."""

    ROW = 1

    version = models.PositiveBigIntegerField(default=1)
    change_seq = models.PositiveBigIntegerField(default=1)
    #: Milliseconds since 1970 at which something begins or ends at the earliest; null if nothing does.
    next_boundary = models.PositiveBigIntegerField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="policy_version_is_one_row")]

    def __str__(self) -> str:
        return f"version {self.version}, change {self.change_seq}"

    @classmethod
    def take_number(cls, *, versions: int = 0, **columns: Any) -> int:
        """Advance the change number by one and the version by `versions`, and return the change number.

        `columns` are further columns to be set.

        The last statement of a write (`policies.models.writes`): until the commit all other writes wait for this row,
        so numbers have the order of the commits. After the commit every process drops the facts declared by `touch`, or
        all facts if nothing was declared. Raises TransactionManagementError outside of a transaction.
        """
        if not transaction.get_connection().in_atomic_block:
            raise transaction.TransactionManagementError("A number is taken inside the transaction that writes.")
        counters = {"version": F("version") + versions, "change_seq": F("change_seq") + 1, **columns}
        if cls.objects.filter(pk=cls.ROW).update(**counters) != 1:
            raise cls.DoesNotExist("The row of the policy version is gone; run the migrations.")
        number = cls.load_last_change()
        transaction.on_commit(partial(_broadcast, _get_touched_facts(), number), robust=True)
        return number

    @classmethod
    def mark_moving(cls) -> None:
        """Declare that the open transaction writes policies; they are not facts, so no fact is touched."""
        cls.touch()
        connection = transaction.get_connection()
        _policy_write_blocks[connection] = outermost_block(connection)

    @classmethod
    def touch(cls, urns: Collection[str] = (), dependency_urns: Collection[str] = ()) -> None:
        """Declare facts touched by the open transaction: of `urns`, and those known through `dependency_urns`."""
        facts = _get_touched_facts()
        facts.urns = (facts.urns or set()) | set(urns)
        facts.dependency_urns |= set(dependency_urns)

    @classmethod
    def touch_everything(cls) -> None:
        """Declare that the open transaction may touch any fact."""
        _get_touched_facts().is_everything = True

    @classmethod
    def load_version(cls) -> int:
        """Return the version of the policies."""
        return cls.load_numbers().version

    @classmethod
    def load_numbers(cls) -> VersionNumbers:
        """Return the numbers of the row, read together."""
        return VersionNumbers(*cls.objects.values_list("version", "change_seq", "next_boundary").get(pk=cls.ROW))

    @classmethod
    def load_numbers_and_time(cls) -> tuple[VersionNumbers, float | None]:
        """Return the numbers of the row, and the Unix time of the database that has a clock of its own, else None."""
        columns = ("version", "change_seq", "next_boundary", _DatabaseTime())
        *numbers, database_time = cls.objects.values_list(*columns).get(pk=cls.ROW)
        return VersionNumbers(*numbers), database_time

    @classmethod
    def is_moving(cls) -> bool:
        """Whether the transaction that is open on this connection writes policies itself.

        Its reads may be rolled back, so no other caller may be answered from them.
        """
        connection = transaction.get_connection()
        return any(block is _policy_write_blocks.get(connection) for block in connection.atomic_blocks)

    @classmethod
    def load_last_change(cls) -> int:
        """Return the number of the last change."""
        return cls.load_numbers().change_number


def _get_touched_facts() -> _TouchedFacts:
    connection = transaction.get_connection()
    block = outermost_block(connection)
    facts = _touched_facts.get(connection)
    if facts is None or facts.block is not block:
        facts = _touched_facts[connection] = _TouchedFacts(block)
    return facts


def outermost_block(connection: BaseDatabaseWrapper) -> Any:
    """Return the outermost transaction block, the one that commits, ignoring those of Django's test cases."""
    blocks: list[Any] = connection.atomic_blocks
    return next((block for block in blocks if not block._from_testcase), None)


def _broadcast(facts: _TouchedFacts, number: int) -> None:
    invalidation.broadcast(facts.take_invalidation(number))
