"""Marks for the export of snapshots: which entities changed since the last one, and which one that was."""

from django.db import models

from policies.models.fields import BytewiseCharField


class ChangeMarker(models.Model):
    """The last change of one entity: of its row or its facets, also by its deletion.

    Only triggers of the database write it (`catalog.models.change_triggers`), in the transaction of the change, so no
    write is missing. `marker` is the number of that transaction on PostgreSQL; on SQLite, which has one writer at a
    time, the number of the change that it becomes. Entities without a row have not changed since there are triggers.
    """

    entity = models.BigIntegerField(primary_key=True)
    marker = models.BigIntegerField()

    def __str__(self) -> str:
        return f"entity {self.entity}, changed by {self.marker}"


class TableMarker(models.Model):
    """A transaction that changed a table about people or hierarchies, which a snapshot has whole.

    `marker` is as in `ChangeMarker`. Those that no `SnapshotBase` needs any more are deleted; one with the name DELETED
    says that all before it may be.
    """

    DELETED = ""

    name = BytewiseCharField(max_length=64)
    marker = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "marker"], name="table_marker_once")]

    def __str__(self) -> str:
        return f"table {self.name}, changed by {self.marker}"


class SnapshotBase(models.Model):
    """The snapshot that the next one of its kind begins from: `token` names its folder.

    It is stored here so that a database that was restored from a backup does not continue a snapshot that it never saw.
    Markers from `oldest_marker` on are of changes that it may not have.
    """

    key = BytewiseCharField(max_length=64, unique=True)
    token = models.UUIDField()
    oldest_marker = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.key}: {self.token}"
