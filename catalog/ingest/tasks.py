"""What workers do for the catalog: old versions of aspects are deleted."""

from typing import Any

from celery import shared_task
from django.conf import settings

from catalog.ingest import aspect_retention
from policies.pdp.tasks import FORGOTTEN_AT_ONCE, delete_all


@shared_task(name="catalog.forget_aspect_versions", ignore_result=True)
def forget_aspect_versions(**_: Any) -> int:
    """Delete the versions of aspects beyond ASPECT_VERSIONS_KEPT, in batches; return how many. 0 keeps all of them."""
    kept = settings.ASPECT_VERSIONS_KEPT
    return delete_all(lambda: aspect_retention.delete_old_versions(kept=kept, batch=FORGOTTEN_AT_ONCE)) if kept else 0
