"""What a snapshot of the database saw, exactly: every change that is not in it can be asked for later.

Changes are marked by their transaction (`catalog.models.ChangeMarker`). A transaction that was open when a snapshot was
taken is not in it, although its number is smaller than those of others that are; so such numbers are kept as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Q, QuerySet

from catalog.models import ChangeMarker, TableMarker
from catalog.models.change_triggers import are_installed


@dataclass(frozen=True, slots=True)
class Horizon:
    """Changes from `upper` on, and those in `pending`, were not seen; `database` identifies who gave the numbers."""

    database: str
    upper: int
    pending: tuple[int, ...]

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> "Horizon":
        """Return the horizon of a manifest. Raises KeyError."""
        return cls(document["database"], document["upper"], tuple(document["pending"]))

    def select_changed(self) -> QuerySet[ChangeMarker, Any]:
        """Return the numbers of the entities that changed since, also of those that are deleted, sorted."""
        return ChangeMarker.objects.filter(self._is_later).order_by("entity").values_list("entity")

    def select_changed_tables(self) -> QuerySet[TableMarker, Any]:
        """Return the names of the tables that changed since, among those of which it is noted."""
        return TableMarker.objects.filter(self._is_later).order_by().values_list("name").distinct()

    def select_deletions(self) -> QuerySet[TableMarker, Any]:
        """Return the notes that markers of tables which changed since may be deleted."""
        return TableMarker.objects.filter(name=TableMarker.DELETED, marker__gt=self.oldest_marker).values_list("marker")

    @property
    def oldest_marker(self) -> int:
        """The first marker that later changes can have."""
        return min((self.upper, *self.pending))

    @property
    def _is_later(self) -> Q:
        return Q(marker__gte=self.upper) | Q(marker__in=self.pending)

    def is_before(self, other: "Horizon") -> bool:
        """Whether a later snapshot of the same database saw everything that this one saw."""
        return self.database == other.database and self.upper <= other.upper


def read_horizon(connection: BaseDatabaseWrapper, change_seq: int) -> Horizon | None:
    """Return the horizon of the open transaction, which sees the change `change_seq`.

    None if changes are not marked, or not marked by this server, so that nothing can be said about later ones.
    """
    if not are_installed(connection):
        return None
    if connection.vendor != "postgresql":
        return Horizon("", change_seq + 1, ())
    with connection.cursor() as cursor:
        # A replica knows no open transactions, and who runs a server may keep its identifier from its users.
        cursor.execute("SELECT NOT pg_is_in_recovery() AND has_function_privilege('pg_control_system()', 'EXECUTE')")
        if cursor.fetchone() != (True,):
            return None
        cursor.execute("SELECT pg_current_snapshot()::text, system_identifier::text FROM pg_control_system()")
        snapshot, database = cursor.fetchone()
    _, upper, pending = snapshot.split(":")
    return Horizon(database, int(upper), tuple(int(number) for number in pending.split(",") if number))
