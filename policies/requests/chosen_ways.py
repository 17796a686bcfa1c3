"""Ways of items as JSON, and which of them is chosen (contract-requests.md section 3)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.pdp import actor_resolution, authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests.errors import RequestInvalid
from policies.requests.items import ItemKind, RequestedItem
from policies.requests.ways.asked_items import AskedAccess
from policies.requests.ways.finding import describe_way, find_ways
from policies.requests.ways.named import find_named_ways

#: What a way gives that no longer gives anything.
NO_GAINS: Mapping[str, int] = MappingProxyType({"pairs": 0, "people": 0, "entities": 0, "platform": 0})

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
        found_ways = find_ways(item=AskedAccess.load(actor=person, request=request), by=by, until=until)
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
    is_on_platform = not item.entity
    return (
        bool(way["is_exact"])
        and gains["entities"] <= 1
        and gains["people"] <= 1
        and (is_on_platform or not gains["platform"])
    )


def build_cost(way: WayJson) -> tuple[Any, ...]:
    """Return what is compared when a way is worked out again: what it gives and takes, and whether that is all."""
    return (dict(way.get("gains") or {}), dict(way.get("losses") or {}), way.get("is_exact"))


def measure_again(way: WayJson, item: RequestedItem, *, actor: str, until: datetime | None) -> WayJson:
    """Return a way as it is now, worked out by the system; the way without gains where it is no longer one.

    A renewal moves an end and gives nothing more.
    """
    if way.get("is_renewal"):
        return way
    ways = list_ways(item, actor=actor, until=until, by=authorizer.SYSTEM)
    return next(
        (renewed for renewed in ways if renewed["id"] == way["id"]), {**way, "gains": dict(NO_GAINS), "is_exact": False}
    )


def build_renewal(way: WayJson, granted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the way that moves the end of what was given: the changes as they were written."""
    return {**way, "changes": granted.get("changes", way.get("changes", [])), "is_renewal": True}
