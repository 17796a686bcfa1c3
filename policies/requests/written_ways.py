"""Provisional."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.datahub_fields import VALID_UNTIL
from policies.engine.families.validity import Validity, parse_instant
from policies.identity.services import groups
from policies.pdp import authorizer
from policies.writes.timed_holders import TimedHolder

ENDING_KINDS = frozenset({"put_policy", "add_members", "assign_roles", "grant"})


def write(way, *, request, until, channel):
    out = []
    for change in set_end(way["changes"], until):
        ((kind, v),) = change.items()
        if kind == "put_policy":
            doc = dict(v["document"])
            if v.get("valid_until"):
                doc["validUntil"] = v["valid_until"]
            draft = PolicyInput(v["family"], doc)
            if v.get("urn"):
                policies.update(urn=v["urn"], draft=draft, by=authorizer.SYSTEM, channel=channel)
            else:
                r = policies.create(draft=draft, by=authorizer.SYSTEM, channel=channel)
                v = {**v, "urn": r.policy.urn}
        elif kind == "add_members":
            end = v.get("valid_until")
            groups.add_members(
                urn=v["group"],
                members=[TimedHolder(m, Validity(None, end and parse_instant(end))) for m in v["members"]],
                by=authorizer.SYSTEM,
                channel=channel,
            )
        out.append({kind: v})
    return {"changes": out, "inverses": []}


def take_back(granted, *, request, channel):
    return None


def set_end(changes: Sequence[Mapping[str, Any]], until: datetime | None) -> list[dict[str, Any]]:
    """Return changes in JSON with this end, where their kind has one; None is for good."""
    end = None if until is None else until.isoformat()
    return [{kind: _set_end(kind, value, end) for kind, value in change.items()} for change in changes]


def _set_end(kind: str, value: Mapping[str, Any], end: str | None) -> dict[str, Any]:
    if kind not in ENDING_KINDS:
        return dict(value)
    if kind != "put_policy":
        return (
            {**value, "valid_until": end}
            if end
            else {name: one for name, one in value.items() if name != "valid_until"}
        )
    # DataHub's documents hold their own end.
    document = {name: one for name, one in value["document"].items() if name != VALID_UNTIL}
    return {**value, "document": document | ({VALID_UNTIL: end} if end else {})}
