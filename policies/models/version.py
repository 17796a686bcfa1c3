"""The one row that orders all changes.

Both counters move under this row's lock, so that writers queue here and a number that was seen is never reused.
"""

from collections.abc import Collection
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q

from policies import word
from policies.kept import Word

#: On which connection the version was advanced last, and in which open block.
_moved_in: WeakKeyDictionary[BaseDatabaseWrapper, Any] = WeakKeyDictionary()


class _Touched:
    """What the transaction of one outermost block touched; nobody knows what as long as nobody said."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.urns: set[str] | None = None
        self.through: set[str] = set()
        self.is_everything = False

    def word(self, number: int) -> Word:
        """Return the word about one advance of the number; what was touched is said with the first of them."""
        urns = None if self.is_everything or self.urns is None else frozenset(self.urns)
        found = Word(number - 1, number, urns, frozenset(self.through))
        self.urns, self.through, self.is_everything = set(), set(), False
        return found


#: What the transaction that is open on a connection touched.
_touched: WeakKeyDictionary[BaseDatabaseWrapper, _Touched] = WeakKeyDictionary()


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
    def bump(cls) -> int:
        """Advance version and change number, and return the new version; policies are no facts, so it touches none.

        Must be the first statement of a writing transaction: the lock it takes is what makes writers queue.
        Raises TransactionManagementError outside a transaction.
        """
        version, _ = cls._advance(version=F("version") + 1, change_seq=F("change_seq") + 1)
        cls.touch()
        connection = transaction.get_connection()
        _moved_in[connection] = _outermost(connection)
        return version

    @classmethod
    def advance(cls) -> int:
        """Advance the change number alone (people and facts), and return it. The rules of `bump` apply.

        Once the transaction is committed every process forgets what it touched (`touch`); everything, if none of it
        said what that is.
        """
        return cls._advance(change_seq=F("change_seq") + 1)[1]

    @classmethod
    def touch(cls, urns: Collection[str] = (), through: Collection[str] = ()) -> None:
        """Say which facts the open transaction touches: of these URNs, and all that is known through those (`Word`)."""
        found = _of_transaction()
        found.urns = (found.urns or set()) | set(urns)
        found.through |= set(through)

    @classmethod
    def touch_everything(cls) -> None:
        """Say that the open transaction may touch any fact."""
        _of_transaction().is_everything = True

    @classmethod
    def current(cls) -> int:
        """Return the version of the policies."""
        return cls.numbers()[0]

    @classmethod
    def numbers(cls) -> tuple[int, int]:
        """Return the version of the policies and the number of the last change, as they were at one moment."""
        version, number = cls.objects.values_list("version", "change_seq").get(pk=cls.ROW)
        return int(version), int(number)

    @classmethod
    def is_moving(cls) -> bool:
        """Whether the transaction that is open on this connection has advanced the version itself.

        What it reads then may be rolled back, so nobody else may be answered from it.
        """
        connection = transaction.get_connection()
        return any(block is _moved_in.get(connection) for block in connection.atomic_blocks)

    @classmethod
    def last_change(cls) -> int:
        """Return the number of the last change."""
        return cls.numbers()[1]

    @classmethod
    def _advance(cls, **counters: object) -> tuple[int, int]:
        if not transaction.get_connection().in_atomic_block:
            raise transaction.TransactionManagementError("A version is advanced inside the transaction that writes.")
        if cls.objects.filter(pk=cls.ROW).update(**counters) != 1:
            raise cls.DoesNotExist("The row of the policy version is gone; run the migrations.")
        version, number = cls.numbers()
        # One word for each advance: a savepoint that is taken back takes its word along with its number.
        transaction.on_commit(partial(_spread, _of_transaction(), number), robust=True)
        return version, number


def _of_transaction() -> _Touched:
    connection = transaction.get_connection()
    block = _outermost(connection)
    found = _touched.get(connection)
    if found is None or found.block is not block:
        found = _touched[connection] = _Touched(block)
    return found


def _outermost(connection: BaseDatabaseWrapper) -> Any:
    """Return the outermost block, which is the one that commits; a block around each test does not count."""
    blocks: list[Any] = connection.atomic_blocks
    return next((block for block in blocks if not block._from_testcase), None)


def _spread(touched: _Touched, number: int) -> None:
    word.spread(touched.word(number))
