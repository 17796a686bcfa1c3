"""Snapshots: asked for, taken by a worker, ended once, and deleted when they are old.

The first transition wins. A snapshot whose worker went away ends when its time is over.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from catalog.connections import sources
from catalog.connections.sources import WarehouseConnection
from catalog.models import WarehouseChange, WarehouseSnapshot
from catalog.reports.kinds.role_mapping_check import connected_exports
from catalog.reports.kinds.role_mapping_check.spec import SPEC
from catalog.reports.services import reports
from catalog.reports.storage import BadAddress, StorageFolder
from catalog.warehouses.connector import ConnectorProblem, Reading
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid, NotFound
from policies.pdp import authorizer
from policies.propagation import pubsub, task_queue

log = logging.getLogger(__name__)

#: Privilege required to see connections and take snapshots.
REQUIRED_PRIVILEGE = "MANAGE_WAREHOUSES"

#: The task that has a worker take a snapshot; its argument is the id.
TAKE_TASK = "catalog.take_snapshot"

_GRACE = timedelta(seconds=60)
#: How long one may wait for a worker.
_QUEUE_TIME = timedelta(minutes=30)
_LOST_WORKER = "The worker that took this snapshot went away before it was done. Take another one."
_STOPPED_WORKER = "The worker was stopped, or an error ended it; its log says which. Take another snapshot."
_NO_WORKER = "No worker took this snapshot in time. See whether workers run, and take another one."
_NO_QUEUE = "The queue could not be reached, so no worker knows of this snapshot. Take another one."

Status = WarehouseSnapshot.Status


def request_snapshot(*, name: str, by: Actor) -> WarehouseSnapshot:
    """Queue a snapshot of a connection. Raises Forbidden, NotFound, and Conflict while one is queued or running."""
    authorizer.require(by=by, any_of=[[REQUIRED_PRIVILEGE]])
    connection = sources.get_connection(name)
    snapshot = _queue(connection, by=by.urn)
    if snapshot is None:
        raise Conflict(f"A snapshot of {name} is queued or running already; one is taken at a time.")
    transaction.on_commit(lambda: _enqueue(snapshot))
    return snapshot


def request_nightly() -> int:
    """Queue a snapshot of each connection that has none open, and return their number."""
    snapshots = [_queue(connection, by=authorizer.SYSTEM.urn) for connection in sources.list_connections()]
    queued_snapshots = [snapshot for snapshot in snapshots if snapshot is not None]
    for snapshot in queued_snapshots:
        _enqueue(snapshot)
    return len(queued_snapshots)


def request_anew(name: str) -> None:
    """Queue a snapshot of a connection that was changed, unless one is open."""
    if (snapshot := _queue(sources.get_connection(name), by=authorizer.SYSTEM.urn)) is not None:
        _enqueue(snapshot)


def list_snapshots(*, name: str) -> QuerySet[WarehouseSnapshot]:
    """Return the snapshots of a connection, newest first. Raises NotFound."""
    sources.get_connection(name)
    expire()
    return WarehouseSnapshot.objects.filter(connection=name)


def find_last(names: Sequence[str], *statuses: Status) -> dict[str, WarehouseSnapshot]:
    """Return the newest snapshot of each connection, of those with one of the statuses if there are any."""
    expire()
    snapshots = WarehouseSnapshot.objects.filter(connection__in=names)
    if statuses:
        snapshots = snapshots.filter(status__in=statuses)
    newest: dict[str, WarehouseSnapshot] = {}
    for name in names:
        if (snapshot := snapshots.filter(connection=name).first()) is not None:
            newest[name] = snapshot
    return newest


def take(snapshot_id: UUID) -> str:
    """Take a queued snapshot and return how it ended; "" for one that is no longer queued."""
    if not _select(snapshot_id, Status.QUEUED).update(
        status=Status.RUNNING, started_at=timezone.now(), stage="Connecting"
    ):
        return ""
    snapshot = WarehouseSnapshot.objects.get(pk=snapshot_id)
    folder = connected_exports.find_folder(snapshot)
    taken_at = timezone.now()
    try:
        connection = sources.get_connection(snapshot.connection)
        address = connection.describe_address()
        reading = _read(connection, snapshot, folder)
    except ConnectorProblem as problem:
        return _fail(snapshot, str(problem), folder)
    except (OSError, BadAddress):
        return _fail(snapshot, "The files of the snapshot cannot be written where REPORTS_DIR says.", folder)
    except NotFound:
        return _fail(snapshot, f"The environment of this worker has no connection {snapshot.connection}.", folder)
    except BaseException:
        _fail(snapshot, _STOPPED_WORKER, folder)
        raise
    fields = {"host": address.host, **_describe_reading(reading)}
    earlier = find_last([snapshot.connection], Status.READY).get(snapshot.connection)
    is_ready = _end(snapshot.pk, Status.READY, taken_at=taken_at, reading=fields, stage="", done=0, total=0)
    if not is_ready:
        _remove(folder)
        return ""
    delete_old(snapshot.connection)
    _check_repairs(snapshot.connection, earlier)
    return Status.READY.value


def expire() -> int:
    """End the snapshots whose worker went away, or that no worker took; return their number."""
    now = timezone.now()
    open_snapshots = WarehouseSnapshot.objects
    last_start = now - timedelta(seconds=settings.SNAPSHOT_SECONDS) - _GRACE
    lost = open_snapshots.filter(status=Status.RUNNING, started_at__lt=last_start)
    waiting = open_snapshots.filter(status=Status.QUEUED, requested_at__lt=now - _QUEUE_TIME)
    return sum(
        snapshots.update(status=Status.FAILED, finished_at=now, problem=problem)
        for snapshots, problem in ((lost, _LOST_WORKER), (waiting, _NO_WORKER))
    )


def delete_old(name: str) -> int:
    """Delete the ended snapshots of a connection beyond the last SNAPSHOTS_KEPT, but for the last good one."""
    ended_snapshots = WarehouseSnapshot.objects.filter(connection=name).exclude(
        status__in=WarehouseSnapshot.OPEN_STATUSES
    )
    last_good = ended_snapshots.filter(status=Status.READY).values_list("pk", flat=True).first()
    old_snapshots = [snapshot for snapshot in ended_snapshots[settings.SNAPSHOTS_KEPT :] if snapshot.pk != last_good]
    for snapshot in old_snapshots:
        _remove(connected_exports.find_folder(snapshot))
        snapshot.delete()
    return len(old_snapshots)


def _check_repairs(name: str, earlier: WarehouseSnapshot | None) -> None:
    """Start the role mapping check where repairs were applied since the earlier snapshot, unless one runs already."""
    applied = WarehouseChange.objects.filter(connection=name, status=WarehouseChange.Status.APPLIED)
    if earlier is not None:
        applied = applied.filter(moved_at__gte=earlier.taken_at)
    if not applied.exists():
        return
    try:
        reports.request_report(kind=SPEC.name, parameters={}, by=authorizer.SYSTEM)
    except (Conflict, Invalid) as refusal:
        log.warning("repairs_not_checked", extra={"connection": name, "reason": str(refusal)})


def _queue(connection: WarehouseConnection, *, by: str) -> WarehouseSnapshot | None:
    expire()
    try:
        with transaction.atomic():
            return WarehouseSnapshot.objects.create(connection=connection.name, requested_by=by)
    except IntegrityError:
        return None


def _enqueue(snapshot: WarehouseSnapshot) -> None:
    try:
        pubsub.check_redis()
        task_queue.enqueue(TAKE_TASK, str(snapshot.pk), expires=_QUEUE_TIME.total_seconds())
    except pubsub.list_connection_errors() as error:
        log.warning("snapshot_not_queued", extra={"snapshot": str(snapshot.pk), "error": str(error)})
        _end(snapshot.pk, Status.FAILED, problem=_NO_QUEUE)


def _read(connection: WarehouseConnection, snapshot: WarehouseSnapshot, folder: StorageFolder) -> Reading:
    folder.create()

    def report_progress(table: str, done: int, total: int) -> None:
        _select(snapshot.pk, Status.RUNNING).update(stage=f"Reading {table}", done=done, total=total)

    return connection.connector.read_tables(
        sources.read_dsn(connection.read_variable),
        seconds=settings.SNAPSHOT_SECONDS,
        open_file=folder.open_output,
        report_progress=report_progress,
    )


def _describe_reading(reading: Reading) -> dict[str, Any]:
    return {
        **{name: getattr(reading, name) for name in ("database", "role", "version", "identity")},
        "rows": dict(reading.row_counts),
        "rights": [asdict(right) for right in reading.rights],
    }


def _fail(snapshot: WarehouseSnapshot, problem: str, folder: StorageFolder) -> str:
    _end(snapshot.pk, Status.FAILED, problem=problem)
    log.warning("snapshot_failed", extra={"connection": snapshot.connection, "problem": problem})
    _remove(folder)
    return Status.FAILED.value


def _end(snapshot_id: UUID, status: Status, **fields: Any) -> bool:
    open_snapshot = WarehouseSnapshot.objects.filter(pk=snapshot_id, status__in=WarehouseSnapshot.OPEN_STATUSES)
    return bool(open_snapshot.update(status=status, finished_at=timezone.now(), **fields))


def _select(snapshot_id: UUID, status: Status) -> QuerySet[WarehouseSnapshot]:
    return WarehouseSnapshot.objects.filter(pk=snapshot_id, status=status)


def _remove(folder: StorageFolder) -> None:
    with suppress(OSError, BadAddress):
        folder.delete()
