"""Of every aspect the newest version stays, and as many of those it replaced as the setting says."""

from typing import Any

import pytest
from django.utils import timezone

from catalog.ingest import aspect_retention, tasks
from catalog.models import Aspect, Entity

pytestmark = pytest.mark.django_db

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"


def write_versions(name: str, count: int) -> None:
    """Store an aspect that was written so many times."""
    entity, _ = Entity.objects.get_or_create(urn=DATASET, defaults={"type": "dataset"})
    for version in range(count):
        Aspect.objects.create(
            entity=entity,
            name=name,
            version=version,
            document="{}",
            created_at=timezone.now(),
            created_by="urn:li:corpuser:jo",
        )


def list_versions(name: str) -> list[int]:
    rows = Aspect.objects.filter(entity__urn=DATASET, name=name).order_by("version")
    return list(rows.values_list("version", flat=True))


@pytest.mark.parametrize(
    ("kept", "deleted", "tags", "owners", "status"),
    [
        (0, 0, [0, 1, 2, 3, 4, 5], [0, 1, 2], [0]),
        (1, 5, [0, 5], [0, 2], [0]),
        (3, 2, [0, 3, 4, 5], [0, 1, 2], [0]),
        (9, 0, [0, 1, 2, 3, 4, 5], [0, 1, 2], [0]),
    ],
)
def test_versions_beyond_those_that_are_kept_are_deleted(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    kept: int,
    deleted: int,
    tags: list[int],
    owners: list[int],
    status: list[int],
) -> None:
    monkeypatch.setattr(tasks, "DELETE_BATCH_SIZE", 2)
    settings.ASPECT_VERSIONS_KEPT = kept
    write_versions("globalTags", 6)
    write_versions("ownership", 3)
    write_versions("status", 1)
    assert tasks.forget_aspect_versions() == deleted
    assert (list_versions("globalTags"), list_versions("ownership"), list_versions("status")) == (tags, owners, status)
    assert tasks.forget_aspect_versions() == 0


def test_the_order_of_batches_does_not_matter() -> None:
    write_versions("globalTags", 6)
    Aspect.objects.get(name="globalTags", version=2).delete()
    assert (aspect_retention.delete_old_versions(retained_versions=1, batch_size=9), list_versions("globalTags")) == (
        3,
        [0, 5],
    )
