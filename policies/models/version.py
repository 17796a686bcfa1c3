"""The one row that orders all changes.

Both counters move under this row's lock, which a write takes last (`policies.models.writes`): a number that was seen is
never reused, and what has a number is committed before the next one is given.
"""

from collections.abc import Collection
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q

from policies.propagation import invalidation
from policies.propagation.invalidating_cache import Invalidation

#: On which connection policies were written last, and in which open block.
_policy_write_blocks: WeakKeyDictionary[BaseDatabaseWrapper, Any] = WeakKeyDictionary()


class _TouchedFacts:
    """What the transaction of one outermost block touched; nobody knows what as long as nobody said."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.urns: set[str] | None = None
        self.dependency_urns: set[str] = set()
        self.is_everything = False

    def take_invalidation(self, number: int) -> Invalidation:
        """Return the word about the write with this number; nothing is left to say about a second one."""
        urns = None if self.is_everything or self.urns is None else frozenset(self.urns)
        message = Invalidation(number - 1, number, urns, frozenset(self.dependency_urns))
        self.urns, self.dependency_urns, self.is_everything = set(), set(), False
        return message


#: What the transaction that is open on a connection touched.
_touched_facts: WeakKeyDictionary[BaseDatabaseWrapper, _TouchedFacts] = WeakKeyDictionary()


class PolicyVersion(models.Model):
    """The version of all policies together, and the number of the last change to anything that decisions read."""

    ROW = 1

    version = models.PositiveBigIntegerField(default=1)
    change_seq = models.PositiveBigIntegerField(default=1)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="policy_version_is_one_row")]

    def __str__(self) -> str:
        return f"version {self.version}, change {self.change_seq}"

    @classmethod
    def take_number(cls, *, versions: int = 0) -> int:
        """Advance the change number, and the version by so many, and return the number.

        The last statement of a write (`policies.models.writes`): until the commit every other one waits for this row,
        so numbers have the order of the commits. Once it is committed every process forgets what the write touched
        (`touch`); everything, if nothing of it said what that is. Raises TransactionManagementError outside of a
        transaction.
        """
        if not transaction.get_connection().in_atomic_block:
            raise transaction.TransactionManagementError("A number is taken inside the transaction that writes.")
        counters = {"version": F("version") + versions, "change_seq": F("change_seq") + 1}
        if cls.objects.filter(pk=cls.ROW).update(**counters) != 1:
            raise cls.DoesNotExist("The row of the policy version is gone; run the migrations.")
        number = cls.load_last_change()
        transaction.on_commit(partial(_broadcast, _get_touched_facts(), number), robust=True)
        return number

    @classmethod
    def mark_moving(cls) -> None:
        """Note that the open transaction writes policies; policies are no facts, so that touches none."""
        cls.touch()
        connection = transaction.get_connection()
        _policy_write_blocks[connection] = outermost_block(connection)

    @classmethod
    def touch(cls, urns: Collection[str] = (), dependency_urns: Collection[str] = ()) -> None:
        """Note which facts the open transaction touches: of these URNs, and what is known through the others."""
        facts = _get_touched_facts()
        facts.urns = (facts.urns or set()) | set(urns)
        facts.dependency_urns |= set(dependency_urns)

    @classmethod
    def touch_everything(cls) -> None:
        """Say that the open transaction may touch any fact."""
        _get_touched_facts().is_everything = True

    @classmethod
    def load_version(cls) -> int:
        """Return the version of the policies."""
        return cls.load_numbers()[0]

    @classmethod
    def load_numbers(cls) -> tuple[int, int]:
        """Return the version of the policies and the number of the last change, as they were at one moment."""
        version, number = cls.objects.values_list("version", "change_seq").get(pk=cls.ROW)
        return int(version), int(number)

    @classmethod
    def is_moving(cls) -> bool:
        """Whether the transaction that is open on this connection writes policies itself.

        What it reads then may be rolled back, so nobody else may be answered from it.
        """
        connection = transaction.get_connection()
        return any(block is _policy_write_blocks.get(connection) for block in connection.atomic_blocks)

    @classmethod
    def load_last_change(cls) -> int:
        """Return the number of the last change."""
        return cls.load_numbers()[1]


def _get_touched_facts() -> _TouchedFacts:
    connection = transaction.get_connection()
    block = outermost_block(connection)
    facts = _touched_facts.get(connection)
    if facts is None or facts.block is not block:
        facts = _touched_facts[connection] = _TouchedFacts(block)
    return facts


def outermost_block(connection: BaseDatabaseWrapper) -> Any:
    """Return the outermost block, which is the one that commits; a block around each test does not count."""
    blocks: list[Any] = connection.atomic_blocks
    return next((block for block in blocks if not block._from_testcase), None)


def _broadcast(facts: _TouchedFacts, number: int) -> None:
    invalidation.broadcast(facts.take_invalidation(number))
