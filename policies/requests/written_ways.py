"""Ways as they are written: their changes, applied by the system, and what takes them back."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from policies.changes.applying import apply_changes
from policies.changes.shapes import dump_changes, load_changes
from policies.engine.families import datahub
from policies.engine.families.datahub_fields import VALID_UNTIL
from policies.models import Role
from policies.pdp import authorizer
from policies.requests.chosen_ways import WayJson
from policies.requests.errors import RequestConflict
from policies.requests.given_access import select_there

PUT_POLICY = "put_policy"

#: Kinds of changes that take back those without an end of their own.
_UNTIMED_INVERSES = frozenset({"remove_owners", "remove_exceptions", "unassign_external_role"})

#: Kinds of changes that have an end of their own.
ENDING_KINDS = frozenset({PUT_POLICY, "add_members", "assign_roles", "grant"})


def write(way: WayJson, *, request: str, until: datetime | None, channel: str) -> dict[str, Any]:
    """Write the changes of a way, and return what was written and what takes it back, to be stored.

    Raises GuardrailBroken, Conflict, Forbidden, and Invalid for what is no longer there; RequestConflict where a role
    that the way makes exists by now, since others may hold it. Whether the approver may give this has been judged
    before: the system writes it.
    """
    _refuse_taken_roles(way)
    changes = load_changes(set_end(way["changes"], until))
    applied = apply_changes(changes=changes, by=authorizer.SYSTEM, channel=channel, reason=request)
    inverses = None if applied.inverses is None else dump_changes(applied.inverses)
    return {"changes": dump_changes(applied.changes), "inverses": inverses}


def _refuse_taken_roles(way: WayJson) -> None:
    """Raise RequestConflict if a role that a way makes is stored; a renewal keeps the role that was made for it."""
    made_urns = [change["put_role"]["urn"] for change in way["changes"] if "put_role" in change]
    if made_urns and not way.get("is_renewal") and Role.objects.filter(urn__in=made_urns).exists():
        raise RequestConflict("request.no_way", "The role that this way makes exists by now: choose another way.")


def take_back(granted: Mapping[str, Any], *, actor: str, request: str, channel: str) -> None:
    """Take back what has no end of its own and is still there, when the end has come. Raises what its writes raise."""
    untimed = [change for change in granted.get("inverses") or () if not _UNTIMED_INVERSES.isdisjoint(change)]
    inverses = select_there(untimed, actor) if untimed else []
    if inverses:
        apply_changes(changes=load_changes(inverses), by=authorizer.SYSTEM, channel=channel, reason=request)


def set_end(changes: Sequence[Mapping[str, Any]], until: datetime | None) -> list[dict[str, Any]]:
    """Return changes in JSON with this end, where what they give can have one; None is for good."""
    end = None if until is None else until.isoformat()
    return [{kind: _set_end(kind, value, end) for kind, value in change.items()} for change in changes]


def _set_end(kind: str, value: Mapping[str, Any], end: str | None) -> dict[str, Any]:
    if kind not in ENDING_KINDS:
        return dict(value)
    if kind != PUT_POLICY:
        timeless = {name: member for name, member in value.items() if name != "valid_until"}
        return {**timeless, "valid_until": end} if end else timeless
    # DataHub's documents hold their own end; that of other families stands beside the document.
    is_inside = value["family"] == datahub.NAME
    holder, name = (value["document"], VALID_UNTIL) if is_inside else (value, "valid_until")
    if value.get("urn") and name not in holder:
        # A stored policy that somebody is added to keeps its own time.
        return dict(value)
    ended = {key: member for key, member in holder.items() if key != name} | ({name: end} if end else {})
    return {**value, "document": ended} if is_inside else ended
