"""Celery tasks of connections: one snapshot, and those of every night."""

from typing import Any
from uuid import UUID

from celery import shared_task

from catalog.connections import repairs, snapshots


@shared_task(name=snapshots.TAKE_TASK, ignore_result=True)
def take_snapshot(snapshot_id: str, **_: Any) -> str:
    """Take a snapshot and return how it ended. A message that arrives twice, or too late, changes nothing."""
    return snapshots.take(UUID(snapshot_id))


@shared_task(name="catalog.take_nightly_snapshots", ignore_result=True)
def take_nightly_snapshots(**_: Any) -> int:
    """Queue a snapshot of every connection, and return their number."""
    return snapshots.request_nightly()


@shared_task(name=repairs.PREVIEW_TASK, ignore_result=True)
def preview_repairs(change_id: str, **_: Any) -> None:
    """Preview a set of repairs. A message that arrives twice previews it once more, at most."""
    repairs.preview(UUID(change_id))


@shared_task(name=repairs.APPLY_TASK, ignore_result=True)
def apply_repairs(change_id: str, **_: Any) -> None:
    """Apply a set of repairs. A message that arrives twice, or too late, changes nothing."""
    repairs.apply(UUID(change_id))
