"""Decisions about findings: accept, assign, close, reopen. They require MANAGE_POLICIES, as reports do.

Each takes any number of findings and returns the number that exist; unknown ids are ignored. Every decision is added to
the trail of its finding. The assignee may read the finding, without access to any other.
"""

from collections.abc import Collection
from datetime import date
from typing import Any

from django.utils import timezone

from catalog.models import Finding
from catalog.reports import finding_writer as recording
from catalog.reports.queries import findings as reading
from catalog.reports.services.reports import REQUIRED_PRIVILEGE
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models import open_event_write
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.pdp import authorizer, display_names


def read(*, id: int, by: Actor) -> Finding:
    """Return a finding to a caller who may view reports, or is its assignee, also as a member of a group.

    Raises Forbidden, for other callers also when the finding does not exist, and NotFound.
    """
    assignee = Finding.objects.filter(pk=id).values_list("assignee", flat=True).first()
    if not (assignee and by.is_active and assignee in by.holders):
        authorizer.require(by=by, any_of=[[REQUIRED_PRIVILEGE]])
    return reading.get_finding(id=id)


def accept(*, ids: Collection[int], note: str, by: Actor, channel: str = "", until: date | None = None) -> int:
    """Mark findings as intended, with the reason, through the day `until` (UTC) or without end.

    Raises Forbidden, and Invalid without a reason or for a day in the past.
    """
    problems = [] if note.strip() else [Problem("required", "/note", "Say why this is meant to be so.")]
    if until is not None and until < timezone.now().date():
        problems.append(Problem("date.past", "/until", "This day is over; give today or a later one."))
    if problems:
        raise Invalid(problems)
    return _decide(ids, by, channel, state=Finding.State.ACCEPTED, assignee="", note=note.strip(), accepted_until=until)


def assign(*, ids: Collection[int], assignee: str, by: Actor, channel: str = "", note: str | None = None) -> int:
    """Assign findings to a user or group; without a note the previous one stays. Raises Forbidden, and Invalid."""
    is_somebody = assignee.startswith((USER_PREFIX, GROUP_PREFIX))
    is_known = assignee in display_names.load_names(urns=[assignee])
    if not is_somebody or not is_known or display_names.find_removed(urns=[assignee]):
        raise Invalid([Problem("unknown", "/assignee", f"There is no user or group {assignee}.")])
    changes = {} if note is None else {"note": note.strip()}
    return _decide(ids, by, channel, state=Finding.State.ASSIGNED, assignee=assignee, **changes)


def close(*, ids: Collection[int], by: Actor, channel: str = "", note: str | None = None) -> int:
    """Close findings; the next run that finds one of them reopens it. Raises Forbidden."""
    changes = {} if note is None else {"note": note.strip()}
    return _decide(ids, by, channel, state=Finding.State.CLOSED, assignee="", **changes)


def reopen(*, ids: Collection[int], by: Actor, channel: str = "") -> int:
    """Reopen findings, whatever their state. Raises Forbidden."""
    return _decide(ids, by, channel, state=Finding.State.OPEN, assignee="")


def _decide(ids: Collection[int], by: Actor, channel: str, *, state: str, assignee: str, **changes: Any) -> int:
    authorizer.require(by=by, any_of=[[REQUIRED_PRIVILEGE]])
    now = timezone.now()
    decision = {"state": state, "assignee": assignee, "accepted_until": None, **changes}
    with open_event_write():
        findings = Finding.objects.filter(pk__among=ids)
        existing_ids = list(findings.values_list("pk", flat=True))
        findings.update(decided_by=by.urn, decided_at=now, **decision)
        recording.record_events(existing_ids, channel=channel, by=by.urn, at=now, **decision)
    return len(existing_ids)
