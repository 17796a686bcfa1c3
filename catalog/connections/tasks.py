"""Celery tasks of connections: one snapshot, and those of every night."""

from typing import Any
from uuid import UUID

from celery import shared_task

from catalog.connections import snapshots


@shared_task(name=snapshots.TAKE_TASK, ignore_result=True)
def take_snapshot(snapshot_id: str, **_: Any) -> str:
    """Take a snapshot and return how it ended. A message that arrives twice, or too late, changes nothing."""
    return snapshots.take(UUID(snapshot_id))


@shared_task(name="catalog.take_nightly_snapshots", ignore_result=True)
def take_nightly_snapshots(**_: Any) -> int:
    """Queue a snapshot of every connection, and return their number."""
    return snapshots.request_nightly()
