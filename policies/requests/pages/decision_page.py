"""The content of the page of one request: what is asked for, and for who decides ways, standing and peers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policies.engine.families import display_privilege
from policies.engine.model import Actor
from policies.engine.wording import join_words, word_count, word_time
from policies.errors import Busy
from policies.http.pages.ways import build_way
from policies.models import RequestItem, RequestStep, RequestTrail, SubmittedRequest
from policies.models.request import RequestState
from policies.pdp import actor_resolution, authorizer, database_clock
from policies.requests import chosen_ways
from policies.requests.items import RequestedItem, load_item
from policies.requests.pages import wording
from policies.requests.pages.requests import SECTION
from policies.requests.services import deciding
from policies.requests.standing import Peers, SharedHolding, Standing, find_peers, find_standing

#: Most ways that a page with one item offers.
_MAX_WAYS = 10
#: Most privileges, groups and roles of the actor that are named before the rest is counted.
_MAX_NAMED = 5


def build_context(request: SubmittedRequest, reader: Actor) -> dict[str, Any]:
    """Return the context of requests/detail.html for this reader."""
    is_own = reader.urn in (request.actor, request.by)
    is_hidden = request.is_blind and is_own
    items, steps, trail = list(request.items.all()), list(request.steps.all()), list(request.trail.all())
    can_decide = request.state == RequestState.OPEN and deciding.can_decide(request, reader)
    ways, is_busy = _list_ways(request, items, reader) if can_decide else ([], False)
    stored_ways = [] if is_hidden else [item.way for item in items if item.way]
    urns = {request.actor, request.by, *(line.by for line in trail), *(urn for step in steps for urn in step.urns)}
    urns.update(wording.list_item_urns(item.document for item in items), wording.list_way_urns([*ways, *stored_ways]))
    names = authorizer.load_names(urns=urns)
    label, kind = wording.STATES[request.state]
    return {
        "access_request": request,
        "title": wording.word_stored_items((item.document for item in items), names),
        "state_label": label,
        "state_kind": kind,
        "facts": [
            {"label": "For", "value": names.get(request.actor, request.actor)},
            {"label": "Asked by", "value": names.get(request.by, request.by)},
            {"label": "How long", "value": wording.word_end(request.until)},
            {"label": "Reason", "value": request.reason},
            {"label": "Ticket", "value": request.ticket, "url": request.ticket},
        ],
        "items": [_build_item(item, names, is_hidden=is_hidden) for item in items],
        "choices": build_choices(ways[:_MAX_WAYS], names, chosen={way["id"] for way in stored_ways}),
        "is_busy": is_busy,
        "steps": [] if is_hidden else [_build_step(step, names) for step in steps],
        "trail": [
            {
                "time": line.time,
                "sentence": wording.word_happened(line, names),
                "note": line.note,
                # Nobody types the note of this line: it is the address of a role, or a sentence of ours.
                "is_link": line.what == RequestTrail.What.SOURCE and line.note.startswith(("https://", "http://")),
            }
            for line in trail
            if not is_hidden or line.by in (request.by, request.actor)
        ],
        **(_build_standing(request, items, names, reader) if can_decide else {}),
        "can_decide": can_decide,
        "can_withdraw": is_own and request.state in (RequestState.OPEN, RequestState.WAITING_FOR_SOURCE),
        "can_renew": is_own and request.state == RequestState.DONE and request.until is not None,
        "breadcrumbs": SECTION.breadcrumbs("Request"),
    }


def build_choices(
    ways: Sequence[chosen_ways.WayJson], names: Mapping[str, str], *, chosen: Iterable[str]
) -> list[dict[str, Any]]:
    """Return ways side by side, each with how much more it gives than what was asked for."""
    chosen_ids = set(chosen)
    selectable_ids = [way["id"] for way in ways if chosen_ways.is_selectable(way)]
    first = next((way_id for way_id in selectable_ids if way_id in chosen_ids), next(iter(selectable_ids), ""))
    asked_size = min((_measure(way) for way in ways if _is_only_this(way)), default=1)
    return [
        {**wording.word_way(way, names), "more": _word_more(way, asked_size), "is_chosen": way["id"] == first}
        for way in ways
    ]


def _measure(way: chosen_ways.WayJson) -> int:
    """Return the size of what a way gives."""
    return int(way["gains"]["pairs"]) + int(way["gains"]["platform"])


def _is_only_this(way: chosen_ways.WayJson) -> bool:
    return str(way["gives_only_this"]["verdict"]) == "yes"


def _word_more(way: chosen_ways.WayJson, asked_size: int) -> str:
    if _is_only_this(way):
        return "Gives only this"
    more = max(_measure(way) - asked_size, 0)
    if not more:
        return "Gives only this today" if way["is_exact"] else "Gives more"
    return f"Gives {more:,} more" if way["is_exact"] else f"Gives at least {more:,} more"


def _list_ways(
    request: SubmittedRequest, items: Sequence[RequestItem], reader: Actor
) -> tuple[Sequence[chosen_ways.WayJson], bool]:
    """Return the ways among which an approver chooses, worked out now, and whether another preview is in the way.

    There are none of several items: each has its own; and none of a renewal.
    """
    if len(items) != 1 or request.renews_id is not None:
        return [], False
    item = load_item(items[0].document)
    try:
        return chosen_ways.list_ways(item, actor=request.actor, until=request.until, by=reader), False
    except Busy:
        return [], True


def _build_item(item: RequestItem, names: Mapping[str, str], *, is_hidden: bool) -> dict[str, Any]:
    label, kind = wording.STATES[item.state]
    return {
        "title": wording.word_stored_item(item.document, names),
        "way": None if is_hidden or not item.way else wording.word_way(item.way, names),
        "end": wording.word_end(item.ends_at) if item.state in (RequestState.DONE, RequestState.ENDED) else "",
        "times": build_way(now=database_clock.get_now(), until=item.ends_at),
        "state_label": label,
        "state_kind": kind,
    }


# -- what the actor has, and its peers --------------------------------------------------------------------------------


def _build_standing(
    request: SubmittedRequest, items: Sequence[RequestItem], names: Mapping[str, str], reader: Actor
) -> dict[str, Any]:
    asked_items = [load_item(item.document) for item in items]
    actor = actor_resolution.load_actor(urn=request.actor)
    standing = find_standing(items=asked_items, actor=actor, by=reader)
    peers = find_peers(items=asked_items, actor=actor, by=reader)
    urns = {urn for urn, _ in (*standing.groups, *standing.roles)}
    urns.update(urn for item_peers in peers if item_peers is not None for urn in item_peers.urns)
    all_names = {**names, **authorizer.load_names(urns=urns)} if urns else names
    return {
        "standing": [
            {
                "title": all_names.get(entity.entity, entity.entity) if entity.entity else "The platform",
                "holdings": [_word_holding(holding, asked_items) for holding in entity.holdings],
            }
            for entity in standing.entities
        ],
        "memberships": _word_memberships(standing, all_names),
        "peers": [
            {"title": wording.word_item(item, all_names), "sentence": _word_peers(item_peers, all_names)}
            for item, item_peers in zip(asked_items, peers, strict=True)
            if item_peers is not None
        ],
        "actor_name": all_names.get(request.actor, request.actor),
    }


def _word_holding(holding: SharedHolding, items: Sequence[RequestedItem]) -> dict[str, str]:
    """Return what one has through the same policies, what was asked for first."""
    asked_names = {name for item in items for name in item.privileges}
    privileges = sorted(holding.privileges, key=lambda name: name not in asked_names)
    shown_names = [display_privilege(name) for name in privileges[:_MAX_NAMED]]
    return {
        "privileges": join_words(shown_names, "and", len(privileges) - len(shown_names)),
        "through": join_words(holding.through[:_MAX_NAMED], "and", len(holding.through) - _MAX_NAMED),
        "until": "" if holding.until is None else f"until {word_time(holding.until)}",
    }


def _word_memberships(standing: Standing, names: Mapping[str, str]) -> list[str]:
    sentences = []
    for singular, plural, urns in (
        ("In the group", "In the groups", standing.groups),
        ("Holds the role", "Holds the roles", standing.roles),
    ):
        words = [
            names.get(urn, urn) + ("" if end is None else f" (until {word_time(end)})")
            for urn, end in urns[:_MAX_NAMED]
        ]
        label = singular if len(urns) == 1 else plural
        sentences += [f"{label} {join_words(words, 'and', len(urns) - len(words))}."] if words else []
    return sentences


def _word_peers(peers: Peers, names: Mapping[str, str]) -> str:
    people = word_count(peers.total, "other person", "other people")
    which = f"the {people}" if peers.is_all else f"the first {people}"
    named_people = [names.get(urn, urn) for urn in peers.urns]
    count = f"{peers.count:,}" if peers.count else "None"
    sentence = f"{count} of {which} in the same groups {'have' if peers.count > 1 else 'has'} it"
    return (
        f"{sentence}: {join_words(named_people, 'and', peers.count - len(named_people))}."
        if named_people
        else f"{sentence}."
    )


_STEP_STATES = {
    RequestStep.State.LATER: ("Later", "neutral"),
    RequestStep.State.WAITING: ("Waiting", "info"),
    RequestStep.State.AGREED: ("Agreed", "success"),
    RequestStep.State.DENIED: ("Denied", "danger"),
    RequestStep.State.EXPIRED: ("Not decided in time", "warning"),
    RequestStep.State.SKIPPED: ("Skipped", "neutral"),
}


def _build_step(step: RequestStep, names: Mapping[str, str]) -> dict[str, Any]:
    label, kind = _STEP_STATES[RequestStep.State(step.state)]
    return {
        "name": step.name,
        "people": [names.get(urn, urn) for urn in step.urns],
        "needs": step.needs,
        "due": step.due,
        "is_late": step.due is not None and step.due < database_clock.get_now(),
        "state_label": label,
        "state_kind": kind,
        "decisions": [
            {
                "by": names.get(decision.by, decision.by),
                "word": "agreed" if decision.is_agreement else "denied",
                "note": decision.note,
            }
            for decision in step.decisions.all()
        ],
    }
