"""Deletes versions of aspects that were replaced long enough ago, a batch at a time."""

from django.db.models import Exists, F, OuterRef

from catalog.models import Aspect


def delete_old_versions(*, kept: int, batch: int) -> int:
    """Delete up to `batch` versions beyond the last `kept` that were replaced; return how many were deleted.

    Version 0, which is in force, is none of these. A version is beyond them when there is one whose number is larger by
    `kept` or more: the newest is never deleted, so this holds in whatever order the batches take the old ones.
    """
    later = Aspect.objects.filter(
        entity=OuterRef("entity"), name=OuterRef("name"), version__gte=OuterRef("lowest_kept_number")
    )
    replaced = Aspect.objects.filter(version__gt=0).annotate(lowest_kept_number=F("version") + kept)
    old = replaced.filter(Exists(later)).order_by().values_list("pk", flat=True)
    deleted, _ = Aspect.objects.filter(pk__in=list(old[:batch])).delete()
    return deleted
