"""Deletion of old aspect versions, in batches."""

from django.db.models import Exists, F, OuterRef

from catalog.models import Aspect


def delete_old_versions(*, retained_versions: int, batch_size: int) -> int:
    """Delete up to `batch_size` versions beyond the newest `retained_versions` replaced ones; return their number.

    Version 0, the current one, is not among them. A version is deleted when another has a number larger by at least
    `retained_versions`: the newest is never deleted, so the rule holds in any order of batches.
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
