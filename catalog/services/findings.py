"""What people do about findings: accept, assign, close, open again. All of it needs MANAGE_POLICIES, as reports do.

Each takes any number of findings at once and returns how many there were; those that are gone are passed over.
"""

from collections.abc import Collection
from typing import Any

from django.utils import timezone

from catalog.models import Finding
from catalog.services.reports import NEEDED
from policies import authority
from policies import queries as people
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models.people import GROUP_PREFIX, USER_PREFIX


def accept(*, ids: Collection[int], note: str, by: Actor) -> int:
    """Say that it is meant to be so, and why. Raises Forbidden, and Invalid without a reason."""
    if not note.strip():
        raise Invalid([Problem("required", "/note", "Say why this is meant to be so.")])
    return _decide(ids, by, state=Finding.State.ACCEPTED, assignee="", note=note.strip())


def assign(*, ids: Collection[int], assignee: str, by: Actor, note: str | None = None) -> int:
    """Give it to a user or group to see to; without a note the old one stays. Raises Forbidden, and Invalid."""
    is_somebody = assignee.startswith((USER_PREFIX, GROUP_PREFIX))
    if not is_somebody or assignee not in people.names(urns=[assignee]):
        raise Invalid([Problem("unknown", "/assignee", f"There is no user or group {assignee}.")])
    said = {} if note is None else {"note": note.strip()}
    return _decide(ids, by, state=Finding.State.ASSIGNED, assignee=assignee, **said)


def close(*, ids: Collection[int], by: Actor, note: str | None = None) -> int:
    """Say that it is done; the next run opens it again when it finds it still. Raises Forbidden."""
    said = {} if note is None else {"note": note.strip()}
    return _decide(ids, by, state=Finding.State.CLOSED, assignee="", **said)


def reopen(*, ids: Collection[int], by: Actor) -> int:
    """Take back whatever was decided. Raises Forbidden."""
    return _decide(ids, by, state=Finding.State.OPEN, assignee="")


def _decide(ids: Collection[int], by: Actor, **said: Any) -> int:
    authority.require(by=by, any_of=[[NEEDED]])
    return Finding.objects.filter(pk__among=ids).update(decided_by=by.urn, decided_at=timezone.now(), **said)
