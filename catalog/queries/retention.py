"""Deletes versions of aspects that were replaced long enough ago, a batch at a time."""

from django.db.models import Exists, F, OuterRef

from catalog.models import Aspect


def delete_old_versions(*, kept: int, batch: int) -> int:
    """Delete up to `batch` versions beyond the last `kept` that were replaced; return how many were deleted.

    Version 0, which is in force, is none of these. Numbers have no gaps above the oldest one, so a version is beyond
    them when there is one whose number is larger by `kept`.
    """
    later = Aspect.objects.filter(
        entity=OuterRef("entity"), name=OuterRef("name"), version=OuterRef("number_of_a_kept_one")
    )
    replaced = Aspect.objects.filter(version__gt=0).annotate(number_of_a_kept_one=F("version") + kept)
    old = replaced.filter(Exists(later)).order_by().values_list("pk", flat=True)
    deleted, _ = Aspect.objects.filter(pk__in=list(old[:batch])).delete()
    return deleted
