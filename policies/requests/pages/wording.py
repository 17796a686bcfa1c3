"""Requests in sentences: items, ways with their cost, ends, and what happened."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from policies.engine import families
from policies.engine.errors import InvalidPolicy
from policies.engine.wording import word_time
from policies.http.pages.ways import build_way
from policies.models import RequestTrail, SubmittedRequest
from policies.models.request import RequestState
from policies.pdp import authorizer
from policies.requests.items import ItemKind, RequestedItem, load_item

#: State of a request or an item → label and kind of its badge.
STATES: Mapping[str, tuple[str, str]] = {
    RequestState.OPEN: ("Waiting for a decision", "info"),
    RequestState.APPROVED: ("Approved", "info"),
    RequestState.DONE: ("Granted", "success"),
    RequestState.WAITING_FOR_SOURCE: ("Waiting for another system", "warning"),
    RequestState.FAILED: ("Failed", "danger"),
    RequestState.DENIED: ("Denied", "danger"),
    RequestState.WITHDRAWN: ("Withdrawn", "neutral"),
    RequestState.EXPIRED: ("Not decided in time", "neutral"),
    RequestState.ENDED: ("Ended", "neutral"),
    RequestState.PARTIAL: ("Granted in part", "warning"),
}

_HAPPENED: Mapping[str, str] = {
    RequestTrail.What.ASKED: "{by} asked for this.",
    RequestTrail.What.SOURCE: "The system that owns it has to give it.",
    RequestTrail.What.COMMENT: "{by} commented.",
    RequestTrail.What.AGREED: "{by} agreed.",
    RequestTrail.What.APPROVED: "Every step is decided.",
    RequestTrail.What.AUTO: "A rule approved this.",
    RequestTrail.What.DONE: "Access was granted.",
    RequestTrail.What.DENIED: "{by} denied this.",
    RequestTrail.What.WITHDRAWN: "{by} withdrew this.",
    RequestTrail.What.HANDED_OVER: "{by} handed the decision over.",
    RequestTrail.What.CHANGED: "The effect of the chosen way changed.",
    RequestTrail.What.ESCALATED: "The decision passed to administrators of policies.",
    RequestTrail.What.EXPIRED: "A step was not decided in time.",
    RequestTrail.What.ENDED: "Access ended, by {by}.",
}

_WAY_KINDS: Mapping[str, str] = {
    "policy": "A new policy for this alone",
    "membership": "Membership in {name}",
    "role": "The role {name}",
    "owner": "Ownership of {name}",
    "grant": "A grant of the privileges on {name}",
    "statement": "A Datazone statement",
    "exception": "An exception from the policy that denies it",
    "external_role": "The role in the warehouse",
}


def word_item(item: RequestedItem, names: Mapping[str, str]) -> str:
    """Return what an item is, such as `Edit Tags on orders`; `names` are by URN."""
    target = names.get(item.target, item.target)
    match item.kind:
        case ItemKind.ROLE:
            return f"The role {target}"
        case ItemKind.GROUP:
            return f"Membership in {target}"
        case ItemKind.EXTERNAL_ROLE:
            return f"The role {target} in the warehouse"
        case ItemKind.POLICY:
            return f"Access by the policy {target}"
        case _:
            return _word_privileges(item, names)


def _word_privileges(item: RequestedItem, names: Mapping[str, str]) -> str:
    words = " or ".join(
        ", ".join(families.display_privilege(name) for name in alternative) for alternative in item.alternatives
    )
    if item.kind is ItemKind.SCOPE:
        return f"{words} on everything that the filter matches"
    return f"{words} on {names.get(item.entity, item.entity)}" if item.entity else f"{words} on the platform"


def word_stored_item(document: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """Return what a stored item is; one that cannot be read any more as it was sent."""
    try:
        return word_item(load_item(document), names)
    except InvalidPolicy:
        return ", ".join(f"{name}: {value}" for name, value in document.items())


def word_stored_items(documents: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """Return the items of a request in their order."""
    return "; ".join(word_stored_item(document, names) for document in documents)


def load_title(request: SubmittedRequest) -> str:
    """Return the items of a request with the names that their reader may see; two queries."""
    documents = [item.document for item in request.items.all()]
    return word_stored_items(documents, authorizer.load_names(urns=list_item_urns(documents)))


def list_item_urns(documents: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the URNs that sentences about stored items name."""
    urns: list[str] = []
    for document in documents:
        resource = document.get("resource")
        urns += [resource["urn"]] if resource else []
        urns += [document[name] for name in ("role", "group", "external_role", "policy") if name in document]
    return urns


def list_way_urns(ways: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the URNs that sentences about ways name."""
    return [urn for way in ways if (urn := _find_way_urn(way))]


def _find_way_urn(way: Mapping[str, Any]) -> str:
    for change in way["changes"]:
        for value in change.values():
            for name in ("group", "role", "entity"):
                if name in value:
                    return str(value[name])
    return ""


def word_way(way: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return a way as templates draw it: title, cost, cautions, and whether it can be chosen."""
    urn = _find_way_urn(way)
    blocked = [guardrail["name"] for guardrail in way["guardrails"] if guardrail["mode"] == "enforce"]
    warned = [guardrail["name"] for guardrail in way["guardrails"] if guardrail["mode"] != "enforce"]
    cautions = [f"The guardrail {name} forbids it." for name in blocked]
    cautions += [f"It breaks the guardrail {name}, which only warns." for name in warned]
    if way["losses"].get("pairs") or way["losses"].get("platform"):
        cautions.append("It also takes some access away.")
    if way["source"]:
        cautions.append("Another system has to make this change.")
    return {
        "id": way["id"],
        "title": _WAY_KINDS.get(way["kind"], way["kind"]).format(name=names.get(urn, urn)),
        "cost": word_cost(way),
        "is_small": way["gives_only_this"]["verdict"] == "yes",
        "cautions": cautions,
        "is_selectable": not blocked,
    }


def word_cost(way: Mapping[str, Any]) -> str:
    """Return what a way gives: only this, or how much in numbers; what a warehouse gives is not known here."""
    if way["kind"] == "external_role":
        return "Gives what the role opens in the warehouse. Nothing changes in the catalog."
    if way["gives_only_this"]["verdict"] == "yes":
        return "Gives only this, whatever is added to the catalog later."
    gains = way["gains"]
    parts = []
    if gains["pairs"]:
        parts.append(f"{gains['pairs']:,} {_count('privilege', gains['pairs'])} on {gains['entities']:,} entities")
    if gains["platform"]:
        parts.append(f"{gains['platform']:,} platform {_count('privilege', gains['platform'])}")
    if not parts:
        return "Gives nothing that is not there already."
    prefix = "" if way["is_exact"] else "At least "
    text = " and ".join(parts)
    return f"Gives {prefix.lower()}{text} today."


def _count(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"


def word_happened(line: RequestTrail, names: Mapping[str, str]) -> str:
    """Return a line of the trail as a sentence."""
    sentence = _HAPPENED[line.what].format(by=names.get(line.by, line.by))
    return f"{sentence} Nobody else could decide." if line.is_alone else sentence


def word_end(until: datetime | None) -> str:
    """Return an end as a phrase."""
    return "without an end" if until is None else f"until {word_time(until)}"


def build_request_row(request: SubmittedRequest, names: Mapping[str, str], *, reader: str) -> dict[str, Any]:
    """Return a row of a list of requests; asker and actor of a blind one are not told who has it.

    `since` is when it came to those who have it now: comments move nothing.
    """
    label, kind = STATES[request.state]
    items: Sequence[Any] = list(request.items.all())
    is_hidden = request.is_blind and reader in (request.actor, request.by)
    moves = [line.time for line in request.trail.all() if line.what != RequestTrail.What.COMMENT]
    return {
        "urn": request.urn,
        "title": word_stored_items((item.document for item in items), names),
        "actor": names.get(request.actor, request.actor),
        "end": word_end(request.until),
        "way": build_way(now=timezone.now(), until=request.until),
        "asked": request.created_at,
        "state_label": label,
        "state_kind": kind,
        "due": request.due_at,
        "since": moves[-1] if moves else request.created_at,
        "waits_for": ""
        if is_hidden
        else ", ".join(
            ", ".join(names.get(urn, urn) for urn in step.urns) or step.name
            for step in request.steps.all()
            if step.state == "waiting"
        ),
    }
