"""Celery tasks of the catalog: deletion of old aspect versions."""

from typing import Any

from celery import shared_task
from django.conf import settings

from catalog.ingest import aspect_retention
from policies.pdp.tasks import DELETE_BATCH_SIZE, delete_all


@shared_task(name="catalog.forget_aspect_versions", ignore_result=True)
def forget_aspect_versions(**_: Any) -> int:
    """Delete the aspect versions beyond ASPECT_VERSIONS_KEPT, in batches; return their number. 0 keeps all."""
    retained_versions = settings.ASPECT_VERSIONS_KEPT
    return (
        delete_all(
            lambda: aspect_retention.delete_old_versions(
                retained_versions=retained_versions, batch_size=DELETE_BATCH_SIZE
            )
        )
        if retained_versions
        else 0
    )
