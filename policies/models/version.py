"""The one row that orders all changes.

Both counters move under this row's lock, so that writers queue here and a number that was seen is never reused.
"""

from typing import Any
from weakref import WeakKeyDictionary

from django.db import models, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, Q

#: On which connection the version was advanced last, and in which open block.
_moved_in: WeakKeyDictionary[BaseDatabaseWrapper, Any] = WeakKeyDictionary()


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
        """Advance version and change number, and return the new version.

        Must be the first statement of a writing transaction: the lock it takes is what makes writers queue.
        Raises TransactionManagementError outside a transaction.
        """
        cls._advance(version=F("version") + 1, change_seq=F("change_seq") + 1)
        connection = transaction.get_connection()
        # The outermost block is the one that commits; a block around each test does not count.
        outermost = next((block for block in connection.atomic_blocks if not block._from_testcase), None)
        _moved_in[connection] = outermost
        return cls.current()

    @classmethod
    def advance(cls) -> int:
        """Advance the change number alone (people and facts), and return it. The rules of `bump` apply."""
        cls._advance(change_seq=F("change_seq") + 1)
        return cls.last_change()

    @classmethod
    def current(cls) -> int:
        """Return the version of the policies."""
        return int(cls.objects.values_list("version", flat=True).get(pk=cls.ROW))

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
        return int(cls.objects.values_list("change_seq", flat=True).get(pk=cls.ROW))

    @classmethod
    def _advance(cls, **counters: object) -> None:
        if not transaction.get_connection().in_atomic_block:
            raise transaction.TransactionManagementError("A version is advanced inside the transaction that writes.")
        if cls.objects.filter(pk=cls.ROW).update(**counters) != 1:
            raise cls.DoesNotExist("The row of the policy version is gone; run the migrations.")
