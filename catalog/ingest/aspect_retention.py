"""Deletes versions of aspects that were replaced long enough ago, a batch at a time."""

from django.db.models import Exists, F, OuterRef

from catalog.models import Aspect


def delete_old_versions(*, retained_versions: int, batch_size: int) -> int:
    """Delete up to `batch_size` versions beyond the last `retained_versions` that were replaced; return how many.

    Version 0, which is in force, is none of these. A version is beyond them when there is one whose number is larger by
    `retained_versions` or more: the newest is never deleted, so this holds in whatever order the batches take the old
    ones.
    """
    later_versions = Aspect.objects.filter(
        entity=OuterRef("entity"), name=OuterRef("name"), version__gte=OuterRef("lowest_kept_number")
    )
    replaced_versions = Aspect.objects.filter(version__gt=0).annotate(
        lowest_kept_number=F("version") + retained_versions
    )
    old_ids = replaced_versions.filter(Exists(later_versions)).order_by().values_list("pk", flat=True)
    deleted_count, _ = Aspect.objects.filter(pk__in=list(old_ids[:batch_size])).delete()
    return deleted_count
