"""The snapshot this process answers from, and when to look whether a newer one exists.

The truth is the version row in the database. A process holds one snapshot, looks at the row when the last look is older
than a second, and then swaps one reference; it never goes back to an older version. Only what changed is read and
compiled again. Nothing of it comes from the shared cache (docs/adr/0014).
"""

import json
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from policies import deadlines
from policies.engine import families
from policies.engine.errors import UnknownFamily
from policies.engine.gc_pause import uncollected
from policies.engine.model import Origin, Statement
from policies.engine.snapshot import Snapshot
from policies.errors import Unavailable
from policies.models import Policy, PolicyEvent, PolicyVersion
from policies.propagation import metrics
from policies.propagation.invalidating_cache import memory

log = logging.getLogger(__name__)

#: Seconds after which a process looks at the version row again.
LOOK_EVERY = 1.0

#: Seconds a question that demands a version is held back before it is refused.
WAIT_AT_MOST = 1.0

_CHUNK = 500

#: Row number and own version of a policy: together they never come again, not even when a URN is used a second time.
Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds: the snapshot, the stamp of each policy in it, and when it was last compared.

    `event` is the number of the last write that is in it; 0 for none. `since` is when the process went over to it from
    an earlier one, in Unix time; None for the first.
    """

    snapshot: Snapshot
    stamps: Mapping[str, Stamp]
    event: int
    looked_at: float = float("-inf")
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A stored policy as it is compiled."""

    urn: str
    family: str
    name: str
    stamp: Stamp
    document: Mapping[str, Any]


class _Holder:
    """The one reference of this process."""

    def __init__(self) -> None:
        self.held: Held | None = None
        self.lock = threading.Lock()


_holder = _Holder()


def current(*, at_least: int = 0) -> Snapshot:
    """Return the newest snapshot this process knows of, looking at the version row at most once a second.

    With `at_least` it is that version or a later one. Raises Unavailable when that version does not exist within
    WAIT_AT_MOST seconds. A database that cannot be asked raises the database's own error: nothing is answered from a
    snapshot that may be stale for longer than promised.
    """
    held = _holder.held
    now = time.monotonic()
    if held is not None and now - held.looked_at < LOOK_EVERY and held.snapshot.version >= at_least:
        return held.snapshot
    deadline = now + WAIT_AT_MOST
    while True:
        snapshot = _look()
        if snapshot.version >= at_least:
            return snapshot
        if time.monotonic() >= deadline:
            raise Unavailable(f"Policy version {at_least} is not known here; the newest is {snapshot.version}.")
        time.sleep(0.05)


def forget() -> None:
    """Make this process look again at its next question, so that an editor sees the change at once."""
    held = _holder.held
    if held is not None:
        _holder.held = replace(held, looked_at=float("-inf"))


def drop() -> None:
    """Let go of the snapshot altogether, and of all that is kept of facts; the next question builds one anew."""
    _holder.held = None
    memory.reset()


def age() -> float | None:
    """Return the seconds since this process last compared its snapshot with the database; None when it has none."""
    held = _holder.held
    return None if held is None else time.monotonic() - held.looked_at


def held() -> Held | None:
    """Return what this process holds, without looking; None for nothing."""
    return _holder.held


def refresh() -> int:
    """Compare with the database now, whenever this process did so last, and return the version it answers from."""
    forget()
    return current().version


def _look() -> Snapshot:
    """Compare with the database and load what changed.

    Inside a transaction that moved the version itself the snapshot stays as it is, and one that is loaded there is not
    kept: what is not committed yet is nobody's policy. A load that a commit overtook is repeated, so version and
    policies always belong together.
    """
    with deadlines.locked(_holder.lock):
        held = _holder.held
        is_moving = PolicyVersion.is_moving()
        if held is not None and is_moving:
            return held.snapshot
        while True:
            looked_at = time.monotonic()
            version, number = PolicyVersion.numbers()
            if not transaction.get_connection().in_atomic_block:
                memory.compared(number, looked_at)
            if held is not None and version <= held.snapshot.version:
                _holder.held = replace(held, looked_at=looked_at)
                metrics.compared(at=time.time())
                return held.snapshot
            fresh = _load(version) if held is None else _catch_up(held, version)
            if PolicyVersion.current() == version:
                break
        if is_moving:
            return fresh.snapshot
        _holder.held = replace(fresh, looked_at=looked_at, since=None if held is None else time.time())
        metrics.loaded(
            version=version,
            statements=len(fresh.snapshot),
            seconds=time.monotonic() - looked_at,
            kind="all" if held is None else "changes",
        )
        metrics.compared(at=time.time())
        log.info("policies_loaded", extra={"policy_version": version, "policies": len(fresh.stamps)})
        return fresh.snapshot


def _load(version: int) -> Held:
    event = _last_event()
    with uncollected():
        documents = list(_documents(_active()))
        snapshot = Snapshot.build(version, [*families.implicit(), *_compiled(documents)])
    return Held(snapshot, {one.urn: one.stamp for one in documents}, event)


def _catch_up(held: Held, version: int) -> Held:
    """Read and compile only the policies that were written since; a vanished or inactive one has no statements."""
    written = _written_since(held, version)
    event, urns = written if written is not None else (_last_event(), _moved(held))
    wanted = list(urns)
    changed: dict[str, tuple[Statement, ...]] = dict.fromkeys(wanted, ())
    stamps = {urn: stamp for urn, stamp in held.stamps.items() if urn not in changed}
    for start in range(0, len(wanted), _CHUNK):
        documents = list(_documents(_active().filter(urn__in=wanted[start : start + _CHUNK])))
        changed.update(_compiled(documents))
        stamps.update((one.urn, one.stamp) for one in documents)
    return Held(held.snapshot.replace(version, changed), stamps, event)


def _written_since(held: Held, version: int) -> tuple[int, frozenset[str]] | None:
    """Return the number of the last event and the policies written since, as the events tell.

    None when they are too many, or do not tell of every version in between: then the policies have to be compared.
    Writers of policies queue (`policies.models.writes`), so events have the order of their versions.
    """
    later = PolicyEvent.objects.filter(id__gt=held.event).order_by("id")
    events = list(later.values_list("id", "policy_version", "policy_urn")[:_CHUNK])
    told = {number for _, number, _ in events}
    if len(events) == _CHUNK or any(number not in told for number in range(version, held.snapshot.version, -1)):
        return None
    return events[-1][0], frozenset(urn for _, _, urn in events)


def _last_event() -> int:
    return PolicyEvent.objects.order_by("-id").values_list("id", flat=True).first() or 0


def _moved(held: Held) -> frozenset[str]:
    """Return the policies whose stamp moved, and those that came or went."""
    stored = {urn: (key, own) for urn, key, own in _active().values_list("urn", "pk", "version")}
    return frozenset(urn for urn, _ in stored.items() ^ held.stamps.items())


def _active() -> QuerySet[Policy]:
    return Policy.objects.filter(state=Policy.State.ACTIVE)


def _documents(policies: QuerySet[Policy]) -> Iterable[Document]:
    """Yield stored policies; raises Unavailable, with its URN, for one that is no JSON object."""
    text = Cast("document", TextField())
    rows = policies.order_by("urn").values_list("urn", "family", "name", "pk", "version", text)
    for urn, family, name, key, own, written in rows.iterator(chunk_size=2000):
        try:
            document = json.loads(written)
        except ValueError as error:
            raise _illegible(urn, error) from error
        yield Document(urn, family, name, (key, own), document)


def _compiled(documents: Iterable[Document]) -> list[tuple[str, tuple[Statement, ...]]]:
    """Compile stored policies. One that cannot be read may be the one that forbids, so nothing is answered without it.

    Raises Unavailable with its URN.
    """
    found = []
    for one in documents:
        try:
            statements = families.get(one.family).compile(one.document, Origin(one.urn, one.name))
        except (UnknownFamily, AttributeError, LookupError, TypeError, ValueError) as error:
            raise _illegible(one.urn, error) from error
        found.append((one.urn, statements))
    return found


def _illegible(urn: str, error: Exception) -> Unavailable:
    log.error("policy_illegible", extra={"policy": urn, "error": repr(error)})
    return Unavailable(f"The stored policy {urn} cannot be read ({type(error).__name__}).")
