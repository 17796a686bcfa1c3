"""Names of what was deleted: users, groups, roles, and entities of the catalog that others carry."""

from collections.abc import Collection

from django.db import models
from django.utils import timezone

from policies.models.fields import UrnField


class Tombstone(models.Model):
    """The URN of something that was registered and then deleted (docs/adr/0045-deleted-names.md).

    It stays until something of that name is created again. `is_pending`: the task has not yet removed what names it.
    `is_revived`: an entity of that name exists again while documents still refer to the former one.
    """

    urn = UrnField(unique=True)
    deleted_at = models.DateTimeField(default=timezone.now)
    is_pending = models.BooleanField(default=True)
    is_revived = models.BooleanField(default=False)

    class Meta:
        # Nearly all are done with.
        indexes = [models.Index(fields=["urn"], condition=models.Q(is_pending=True), name="tombstone_pending")]

    def __str__(self) -> str:
        return f"{self.urn} was deleted"

    @classmethod
    def mark(cls, urns: Collection[str]) -> None:
        """Mark these URNs as deleted now."""
        now = timezone.now()
        Tombstone.objects.bulk_create(
            [Tombstone(urn=urn, deleted_at=now) for urn in dict.fromkeys(urns)],
            batch_size=500,
            update_conflicts=True,
            unique_fields=["urn"],
            update_fields=["deleted_at", "is_pending", "is_revived"],
        )

    @classmethod
    def find(cls, urns: Collection[str]) -> frozenset[str]:
        """Return those of these URNs that name something deleted; one query, none without URNs."""
        if not urns:
            return frozenset()
        return frozenset(cls.objects.filter(urn__among=list(urns), is_revived=False).values_list("urn", flat=True))

    @classmethod
    def remove(cls, urns: Collection[str]) -> None:
        """Remove the marks of these URNs."""
        cls.objects.filter(urn__among=list(urns)).delete()
