"""The exact extent of a snapshot of the database: every change that is not in it can be asked for later.

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

#: Open transactions of other databases of the server, and of its own vacuum, mark nothing here. One that is not found
#: may have been of this database: it has ended since, or it is prepared for a second phase.
_READ_SNAPSHOT = """
SELECT pg_current_snapshot()::text, system_identifier::text, ARRAY(
    SELECT backend_xid::text::bigint FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND (
        datid <> (SELECT oid FROM pg_database WHERE datname = current_database()) OR backend_type = 'autovacuum worker'
    )
) FROM pg_control_system()
"""
_SELECT_NOT_ABORTED = """
SELECT number FROM unnest(%s::bigint[]) number WHERE pg_xact_status(number::text::xid8) IS DISTINCT FROM 'aborted'
"""
#: Of the number of a transaction PostgreSQL's tables of processes have the last 32 bits.
_SHORT_NUMBERS = 2**32


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
        cursor.execute(_READ_SNAPSHOT)
        snapshot, database, foreign = cursor.fetchone()
        _, upper, pending = snapshot.split(":")
        open_numbers = [int(number) for number in pending.split(",") if number]
        unknown_numbers = [number for number in open_numbers if number % _SHORT_NUMBERS not in foreign]
        # One that has ended since, and was rolled back, marked nothing in any database.
        cursor.execute(_SELECT_NOT_ABORTED, [unknown_numbers])
        return Horizon(database, int(upper), tuple(number for (number,) in cursor.fetchall()))
