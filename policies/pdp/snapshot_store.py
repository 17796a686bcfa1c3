"""The snapshot from which this process answers, and the check for a newer one.

The version row in the database is authoritative. A process holds one snapshot, compares the row if the last comparison
is older than a second, and then replaces one reference; it never goes back to an older version. Only changed policies
are read and compiled. Nothing comes from the shared cache (docs/adr/0014).
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import OperationalError, transaction

from policies import deadlines
from policies.engine import families
from policies.engine.gc_pause import pause_gc
from policies.engine.model import Statement
from policies.engine.snapshot import Snapshot
from policies.errors import Unavailable
from policies.models import PolicyEvent, PolicyVersion
from policies.models.version import outermost_block
from policies.pdp import database_clock, due_changes
from policies.pdp.active_policies import list_active_policies
from policies.pdp.stored_policies import Stamp, compile_document, read_documents
from policies.propagation import metrics
from policies.propagation.invalidating_cache import process_cache
from policies.propagation.pubsub import list_connection_errors

log = logging.getLogger(__name__)

#: Seconds after which a process compares the version row again.
VERSION_CHECK_SECONDS = 1.0

#: Seconds for which a question that demands a version waits before it is refused.
VERSION_WAIT_SECONDS = 1.0

#: Seconds for which a question waits for what has come due to be written.
DUE_WAIT_SECONDS = 1.0

#: Seconds after which a boundary that is not written yet refuses every question, whatever the machine does.
MAX_LATE_SECONDS = 30.0

#: Seconds after the last comparison in which a caller that waits for one is answered without it, at a boundary.
MAX_UNSEEN_SECONDS = 5.0

#: PostgreSQL's code of a lock that was not to be had in time.
_LOCK_TIMEOUT = "55P03"

_BATCH_SIZE = 500

#: Unix time of what never happens.
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class LoadedSnapshot:
    """The snapshot of a process, policy URN → stamp, and `looked_at`, the monotonic time of the last comparison.

    `last_event_id` is the number of the last policy event in it; 0 for none. `since` is the Unix time at which the
    process replaced an earlier snapshot by it; None for the first. `boundary` is the Unix time at which something
    begins or ends next; infinite if nothing does.
    """

    snapshot: Snapshot
    stamps: Mapping[str, Stamp]
    last_event_id: int
    looked_at: float = float("-inf")
    since: float | None = None
    boundary: float = _NEVER


class _SnapshotSlot:
    """Holder of the one snapshot reference of this process."""

    def __init__(self) -> None:
        self.current: LoadedSnapshot | None = None
        self.lock = threading.Lock()
        #: Held by the one thread that writes what has come due; in monotonic time, when it is tried again.
        self.due_lock = threading.Lock()
        self.due_retry_at = float("-inf")
        #: Monotonic time; comparisons that began earlier count no longer.
        self.stale_at = float("-inf")
        #: Seconds that the last load took.
        self.load_seconds = 0.0


_slot = _SnapshotSlot()


def get_current(*, at_least: int = 0) -> Snapshot:
    """Return the newest snapshot known to this process, comparing the version row at most once a second.

    With `at_least` it is that version or a later one: raises Unavailable if that does not exist within
    VERSION_WAIT_SECONDS. A database that does not answer raises its own error: nothing is decided on a snapshot that
    may be older than promised. Raises ClocksApart as long as the clock of this process is not that of the database.
    """
    current = _slot.current
    now = time.monotonic()
    if (
        current is not None
        and now - current.looked_at < VERSION_CHECK_SECONDS
        and current.looked_at > _slot.stale_at
        and current.snapshot.version >= at_least
        and database_clock.estimate_time() < current.boundary
    ):
        return current.snapshot
    deadline = now + VERSION_WAIT_SECONDS
    while True:
        snapshot = _refresh_if_changed()
        if snapshot.version >= at_least:
            return snapshot
        if time.monotonic() >= deadline:
            raise Unavailable(f"Policy version {at_least} is not known here; the newest is {snapshot.version}.")
        time.sleep(0.05)


def record_inherited() -> None:
    """Record the snapshot that this process inherited, if any, as the one that it answers from, in its metrics."""
    current = _slot.current
    if current is not None:
        metrics.record_load(
            version=current.snapshot.version,
            statements=len(current.snapshot),
            seconds=_slot.load_seconds,
            kind="all",
        )
        metrics.record_comparison(at=time.time() - (time.monotonic() - current.looked_at))


def mark_stale() -> None:
    """Make the next question of this process compare the version row, so that an editor sees its own change."""
    # Only a time: a snapshot written back here could replace one that is loaded meanwhile.
    _slot.stale_at = time.monotonic()


def is_boundary_passed() -> bool:
    """Whether something has begun or ended since this process last compared: then it may not use what it knows."""
    current = _slot.current
    return current is not None and database_clock.estimate_time() >= current.boundary


def reset() -> None:
    """Drop the snapshot and all cached facts; the next question loads everything."""
    _slot.current = None
    process_cache.clear()


def age() -> float | None:
    """Return the seconds since this process last compared its snapshot with the database; None if it has none."""
    current = _slot.current
    return None if current is None else time.monotonic() - current.looked_at


def is_load_error(error: Exception) -> bool:
    """Whether a part is away or a stored policy is illegible; any other error of a load is a fault of the program."""
    return isinstance(error, list_connection_errors(Unavailable, PolicyVersion.DoesNotExist))


def loaded_snapshot() -> LoadedSnapshot | None:
    """Return the snapshot of this process without comparing it; None if it has none."""
    return _slot.current


def refresh() -> int:
    """Compare the version row now, whenever that last happened, and return the version of the snapshot.

    Questions that need no comparison do not wait for this one.
    """
    return _refresh_if_changed().version


def _refresh_if_changed() -> Snapshot:
    """Compare the version row, write what has begun or ended by now, load what changed and return the snapshot."""
    if not is_boundary_passed():
        snapshot = _compare_and_load()
        if not is_boundary_passed():
            return snapshot
    return _pass_boundary()


def _pass_boundary() -> Snapshot:
    """Write what has begun or ended by now, if no other does, and return the snapshot after that.

    A caller for whom that takes too long, on a busy machine or while another write goes on, is answered from before:
    as long as the database answers, and not later than MAX_LATE_SECONDS after the boundary.
    """
    before = _slot.current
    seconds_left = deadlines.find_seconds_left()
    try:
        # The rest is for what the caller asks the database afterwards.
        with deadlines.open_budget(DUE_WAIT_SECONDS if seconds_left is None else seconds_left / 2):
            _write_due_changes()
            mark_stale()
            snapshot = _compare_and_load()
        if _find_lateness() > MAX_LATE_SECONDS and outermost_block(transaction.get_connection()) is None:
            raise Unavailable("A change that is due could not be written in time; ask again.")
        return snapshot
    except (OperationalError, Unavailable) as error:
        if (
            before is None
            or isinstance(error, database_clock.ClocksApart)
            or transaction.get_connection().in_atomic_block
        ):
            raise
        transaction.get_connection().close_if_unusable_or_obsolete()
        PolicyVersion.load_numbers()
        is_late = database_clock.estimate_time() - before.boundary > MAX_LATE_SECONDS
        if is_late or time.monotonic() - before.looked_at > MAX_UNSEEN_SECONDS:
            raise
        log.warning("due_change_waits", extra={"error": str(error)})
        return before.snapshot


def _write_due_changes() -> None:
    """Write what has come due, or wait until another thread has, as long as DUE_WAIT_SECONDS.

    Raises what `due_changes.apply_due_changes` raises, but for a wait at the gate of writers: the snapshot is compared
    all the same then.
    """
    if outermost_block(transaction.get_connection()) is not None:
        return
    seconds_left = deadlines.find_seconds_left()
    wait_seconds = DUE_WAIT_SECONDS if seconds_left is None else min(DUE_WAIT_SECONDS, seconds_left / 2)
    with deadlines.spend():
        is_acquired = _slot.due_lock.acquire(timeout=wait_seconds)
    if not is_acquired:
        return
    try:
        if is_boundary_passed() and time.monotonic() >= _slot.due_retry_at:
            due_changes.apply_due_changes(wait_seconds=wait_seconds)
    except OperationalError as error:
        if not _is_lock_timeout(error) or _find_lateness() > MAX_LATE_SECONDS:
            raise
        # Those who wait behind this thread do not wait at the gate, too.
        _slot.due_retry_at = time.monotonic() + DUE_WAIT_SECONDS
        log.warning("due_change_waits", extra={"error": str(error)})
    finally:
        _slot.due_lock.release()


def _find_lateness() -> float:
    """Return the seconds since the boundary of this process; negative before it."""
    current = _slot.current
    return float("-inf") if current is None else database_clock.estimate_time() - current.boundary


def _is_lock_timeout(error: OperationalError) -> bool:
    """Whether another write did not end in time, of a database that answers."""
    cause = error.__cause__
    is_locked = getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return is_locked or getattr(cause, "sqlstate", None) == _LOCK_TIMEOUT


def _compare_and_load() -> Snapshot:
    """Compare the version row, load what changed and return the snapshot.

    A comparison that another thread began while this one waited for it is not repeated. Inside a transaction that
    changes policies itself the current snapshot stays, and one that is loaded there is not kept, since it may hold
    uncommitted policies. A load during which another write commits is repeated, so version and policies always belong
    together.
    """
    asked_at = time.monotonic()
    with deadlines.hold_lock(_slot.lock):
        current = _slot.current
        if current is not None and current.looked_at > max(asked_at, _slot.stale_at):
            return current.snapshot
        is_moving = PolicyVersion.is_moving()
        if current is not None and is_moving:
            return current.snapshot
        while True:
            looked_at = time.monotonic()
            compared_at = time.time()
            (version, number, next_boundary), database_time = PolicyVersion.load_numbers_and_time()
            database_clock.note_time(database_time, asked_at=compared_at)
            boundary = _NEVER if next_boundary is None else next_boundary / 1000
            if not transaction.get_connection().in_atomic_block:
                process_cache.confirm_sequence(number, looked_at)
            if current is not None and version <= current.snapshot.version:
                _slot.current = replace(current, looked_at=looked_at, boundary=boundary)
                metrics.record_comparison(at=time.time())
                return current.snapshot
            refreshed = _load_all(version) if current is None else _catch_up(current, version)
            if PolicyVersion.load_version() == version:
                break
        if is_moving:
            return refreshed.snapshot
        since = None if current is None else time.time()
        _slot.current = replace(refreshed, looked_at=looked_at, since=since, boundary=boundary)
        _slot.load_seconds = time.monotonic() - looked_at
        metrics.record_load(
            version=version,
            statements=len(refreshed.snapshot),
            seconds=_slot.load_seconds,
            kind="all" if current is None else "changes",
        )
        metrics.record_comparison(at=time.time())
        log.info("policies_loaded", extra={"policy_version": version, "policies": len(refreshed.stamps)})
        return refreshed.snapshot


def _load_all(version: int) -> LoadedSnapshot:
    last_event_id = _load_last_event_id()
    # By URN and not in pairs: ten thousand pairs, dropped later, would leave as many gaps among the statements, and
    # what a worker process puts there copies the pages that it shares.
    statements_by_urn = dict(families.implicit_policies())
    stamps: dict[str, Stamp] = {}
    with pause_gc():
        # One at a time: all documents together would take more memory than the snapshot.
        for document in read_documents(list_active_policies()):
            statements_by_urn[document.urn] = compile_document(document)
            stamps[document.urn] = document.stamp
        snapshot = Snapshot.build(version, statements_by_urn.items())
    return LoadedSnapshot(snapshot, stamps, last_event_id)


def _catch_up(current: LoadedSnapshot, version: int) -> LoadedSnapshot:
    """Return the snapshot with the policies written since; a deleted or inactive policy has no statements."""
    changes = _find_changes_since(current, version)
    last_event_id, urns = changes if changes is not None else (_load_last_event_id(), _find_changed_urns(current))
    statements_by_urn, changed_stamps = _load_changed(list(urns))
    stamps = {urn: stamp for urn, stamp in current.stamps.items() if urn not in statements_by_urn}
    stamps |= changed_stamps
    return LoadedSnapshot(current.snapshot.replace(version, statements_by_urn), stamps, last_event_id)


def _load_changed(urns: Sequence[str]) -> tuple[dict[str, tuple[Statement, ...]], dict[str, Stamp]]:
    """Return the statements of these policies, none for one that does not count any more, and the others' stamps."""
    statements_by_urn: dict[str, tuple[Statement, ...]] = dict.fromkeys(urns, ())
    stamps: dict[str, Stamp] = {}
    for start in range(0, len(urns), _BATCH_SIZE):
        for document in read_documents(list_active_policies().filter(urn__in=urns[start : start + _BATCH_SIZE])):
            statements_by_urn[document.urn] = compile_document(document)
            stamps[document.urn] = document.stamp
    return statements_by_urn, stamps


def load_uncommitted() -> tuple[Snapshot, frozenset[str]]:
    """Return the policies as the open transaction leaves them, and the URNs of those that changed since `get_current`.

    For checks before the commit: the snapshot is not kept.
    """
    current = _slot.current
    last_event = PolicyEvent.objects.order_by("-id").values_list("policy_version", flat=True).first()
    version = max(last_event or 0, 0 if current is None else current.snapshot.version)
    if current is None:
        everything = _load_all(version)
        return everything.snapshot, frozenset(everything.stamps)
    pending = _catch_up(current, version)
    return pending.snapshot, frozenset(urn for urn, _ in pending.stamps.items() ^ current.stamps.items())


def _find_changes_since(current: LoadedSnapshot, version: int) -> tuple[int, frozenset[str]] | None:
    """Return the number of the last event and the URNs of the policies written since, according to the events.

    None if there are _BATCH_SIZE or more, or a version in between has no event: then all stamps have to be compared.
    Policy writes run one after another (`policies.models.writes`), so events have the order of their versions.
    """
    later_events = PolicyEvent.objects.filter(id__gt=current.last_event_id).order_by("id")
    events = list(later_events.values_list("id", "policy_version", "policy_urn")[:_BATCH_SIZE])
    event_versions = {number for _, number, _ in events}
    if len(events) == _BATCH_SIZE or any(
        number not in event_versions for number in range(version, current.snapshot.version, -1)
    ):
        return None
    return events[-1][0], frozenset(urn for _, _, urn in events)


def _load_last_event_id() -> int:
    return PolicyEvent.objects.order_by("-id").values_list("id", flat=True).first() or 0


def _find_changed_urns(current: LoadedSnapshot) -> frozenset[str]:
    """Return the URNs of policies whose stamp changed, and of those that were added or are gone."""
    current_stamps = {
        urn: (key, own_version) for urn, key, own_version in list_active_policies().values_list("urn", "pk", "version")
    }
    return frozenset(urn for urn, _ in current_stamps.items() ^ current.stamps.items())
