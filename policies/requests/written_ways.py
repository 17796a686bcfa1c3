"""Ways as they are written: their changes, applied by the system, and what takes them back."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from policies.changes.applying import apply_changes
from policies.changes.shapes import dump_changes, load_changes
from policies.engine.families.datahub_fields import VALID_UNTIL
from policies.models import Policy
from policies.pdp import authorizer
from policies.requests.chosen_ways import WayJson

PUT_POLICY = "put_policy"

#: Kinds of changes that have an end of their own; the others are taken back by the product.
ENDING_KINDS = frozenset({PUT_POLICY, "add_members", "assign_roles", "grant"})


def write(way: WayJson, *, request: str, until: datetime | None, channel: str) -> dict[str, Any]:
    """Write the changes of a way, and return what was written and what takes it back, to be stored.

    Raises GuardrailBroken, Conflict, Forbidden, and Invalid for what is no longer there. Whether the approver may give
    this has been judged before: the system writes it.
    """
    changes = load_changes(set_end(way["changes"], until))
    applied = apply_changes(changes=changes, by=authorizer.SYSTEM, channel=channel, reason=request)
    inverses = None if applied.inverses is None else dump_changes(applied.inverses)
    return {"changes": dump_changes(applied.changes), "inverses": inverses}


def take_back(granted: Mapping[str, Any], *, actor: str, request: str, channel: str) -> None:
    """Take back what has no end of its own, when the end has come. Raises what its writes raise."""
    endless = [change for change in granted.get("changes", ()) if not _has_end(change)]
    exceptions = [change["put_policy"]["urn"] for change in endless if "put_policy" in change]
    taken_back = [change for urn in exceptions if (change := _remove_exception(urn, actor)) is not None]
    if len(endless) > len(exceptions):
        taken_back += [
            change for change in granted.get("inverses") or () if not {"put_policy", "delete_policy"} & change.keys()
        ]
    if taken_back:
        apply_changes(changes=load_changes(taken_back), by=authorizer.SYSTEM, channel=channel, reason=request)


def _remove_exception(urn: str, actor: str) -> dict[str, Any] | None:
    """Return the change that takes an actor out of the exceptions of a policy as it is now; None if it is in none."""
    policy = Policy.objects.filter(urn=urn).first()
    if policy is None:
        return None
    actors: Mapping[str, Any] = policy.document["actors"]
    excluded: Sequence[str] = actors.get("excludedUsers") or ()
    if actor not in excluded:
        return None
    document = {**policy.document, "actors": {**actors, "excludedUsers": [name for name in excluded if name != actor]}}
    return {"put_policy": {"urn": urn, "family": policy.family, "document": document}}


def _has_end(change: Mapping[str, Any]) -> bool:
    """Return whether what a change gives ends by itself; an exception from a stored policy does not."""
    ((kind, value),) = change.items()
    return kind in ENDING_KINDS and (kind != PUT_POLICY or VALID_UNTIL in value["document"])


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
    if value.get("urn") and VALID_UNTIL not in value["document"]:
        # A stored policy from which somebody is excepted keeps its own time.
        return dict(value)
    # DataHub's documents hold their own end.
    document = {name: member for name, member in value["document"].items() if name != VALID_UNTIL}
    return {**value, "document": document | ({VALID_UNTIL: end} if end else {})}
