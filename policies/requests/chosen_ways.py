"""Ways of items as JSON, and which of them is chosen (contract-requests.md section 3)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from policies.changes.comparison import EffectQuestion
from policies.changes.net_change import find_net_change
from policies.changes.shapes import load_changes
from policies.changes.staging import stage_changes
from policies.engine.errors import Problem
from policies.engine.families import vocabulary
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.models import RoleAssignment
from policies.pdp import actor_resolution, authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests.errors import RequestInvalid
from policies.requests.items import ItemKind, RequestedItem
from policies.requests.rules.terms import find_platform_privileges as find_platform_names
from policies.requests.ways.asked_items import AskedAccess
from policies.requests.ways.finding import describe_way, find_ways
from policies.requests.ways.named import find_named_ways
from policies.writes import delegation

#: Most people who are looked at, of those whom a way gives something.
_MAX_GAINING = 100_000

#: A way as the API shows it.
WayJson = Mapping[str, Any]

#: Kinds of ways whose write changes documents of the catalog.
CATALOG_KINDS = frozenset({"owner", "external_role"})

#: Items that name their way themselves: who decides about a group or role decides about being in it.
_NAMED_KINDS = frozenset({ItemKind.ROLE, ItemKind.GROUP, ItemKind.EXTERNAL_ROLE, ItemKind.POLICY, ItemKind.SCOPE})


def list_ways(item: RequestedItem, *, actor: str, until: datetime | None, by: Actor) -> list[WayJson]:
    """Return the ways to an item as of this moment, the best first, for this reader.

    Raises Busy while the reader has another preview.
    """
    person = actor_resolution.load_actor(urn=actor)
    if item.kind in _NAMED_KINDS:
        found_ways = find_named_ways(item=item, actor=person, by=by, until=until)
    else:
        resource = ResourceRef(item.entity) if item.entity else None
        request = AccessRequest(any_of_requirement(item.alternatives), resource)
        asked_item = AskedAccess.load_until(actor=person, request=request, until=until)
        found_ways = find_ways(item=asked_item, by=by, until=until)
    return [describe_way(way) for way in found_ways.ways]


def find_way(ways: Sequence[WayJson], name: str) -> WayJson:
    """Return the way with this id; raises RequestInvalid for an unknown one, and for one that is forbidden."""
    way = next((way for way in ways if way["id"] == name), None)
    if way is None or not is_selectable(way):
        detail = "There is no way with this id that can be chosen. Work the ways out again."
        raise RequestInvalid([Problem("way.unknown", "/way", detail)])
    return way


def find_best(ways: Sequence[WayJson]) -> WayJson | None:
    """Return the best way that can be chosen; None without any."""
    return next((way for way in ways if is_selectable(way)), None)


def is_selectable(way: WayJson) -> bool:
    """Return whether no guardrail forbids a way."""
    return not any(guardrail["mode"] == "enforce" for guardrail in way["guardrails"])


def gives_only(way: WayJson, item: RequestedItem) -> bool:
    """Return whether everything that a way gives lies on what its item is about."""
    if item.kind in _NAMED_KINDS:
        return True
    gains = way["gains"]
    if not way["is_exact"] or gains["people"] > 1:
        return False
    if item.entity:
        return gains["entities"] <= 1 and not gains["platform"]
    # What the item implies may come with it, and nothing else: on the platform everybody would decide for everything.
    widen = vocabulary.load_datahub().widen
    return not gains["pairs"] and gains["platform"] <= max(len(widen(names)) for names in item.alternatives)


def find_platform_privileges(way: WayJson) -> frozenset[str]:
    """Return the privileges of the platform that a way gives by what it names: groups, roles and policies."""
    values = [(kind, value) for change in way["changes"] for kind, value in change.items()]
    documents = [value["document"] for kind, value in values if kind == "put_policy"]
    named = frozenset[str]().union(*(document.get("privileges") or () for document in documents))
    groups = {value["group"] for kind, value in values if kind == "add_members"}
    roles = {value["role"] for kind, value in values if kind == "assign_roles"}
    rows = RoleAssignment.objects.order_by().filter(group__profile__urn__in=sorted(groups)) if groups else None
    roles |= set(() if rows is None else rows.values_list("role__urn", flat=True))
    given = delegation.find_given_privileges(groups=sorted(groups), roles=sorted(roles))
    return given | (named & find_platform_names())


def is_gaining(way: WayJson, person: str, *, actor: str) -> bool:
    """Return whether a way gives this person anything, who is not the actor."""
    is_for_one = way["is_exact"] and way["gains"]["people"] <= 1 and way["kind"] != "owner"
    if is_for_one or way["source"] or way.get("is_renewal"):
        return person == actor
    world = stage_changes(changes=load_changes(way["changes"]), by=authorizer.SYSTEM)
    change = find_net_change(world, EffectQuestion(_MAX_GAINING))
    people = {item.actor for item in change.gained.items} | {item.actor for item in change.platform_gained}
    return person in people or len(people) >= _MAX_GAINING


def keep(way: WayJson) -> dict[str, Any]:
    """Return a way as it is stored, for all who read the request: without examples, which name people and entities."""
    return {**way, "gives_only_this": {**way["gives_only_this"], "example": None}}


def build_cost(way: WayJson) -> tuple[Any, ...]:
    """Return what is compared when a way is worked out again: what it is, gives and takes, and if that is all."""
    return (way["id"], dict(way.get("gains") or {}), dict(way.get("losses") or {}), way.get("is_exact"))


def measure_again(way: WayJson, item: RequestedItem, *, actor: str, until: datetime | None) -> WayJson | None:
    """Return a way as it is now, worked out by the system; in place of one that is none any more the best, if any."""
    ways = [_word_neutrally(one) for one in list_ways(item, actor=actor, until=until, by=authorizer.SYSTEM)]
    return next((renewed for renewed in ways if renewed["id"] == way["id"]), None) or find_best(ways)


def _word_neutrally(way: WayJson) -> dict[str, Any]:
    """Return a way without what the system may know and its readers may not: guardrails keep their names."""
    guardrails = [{**guardrail, "sentence": ""} for guardrail in way["guardrails"]]
    return {**way, "guardrails": guardrails}


def build_renewal(way: WayJson, granted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the way that moves the end of what was given: the changes as they were written."""
    return {**way, "changes": granted.get("changes", way.get("changes", [])), "is_renewal": True}
