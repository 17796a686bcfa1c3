"""Rows of Home and My access: ways, what ends, what somebody owns, and what ends in the house."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone

from catalog.entities.pages import type_labels
from catalog.home.queries import endings, held_entities, owned
from catalog.home.queries.endings import GrantEnding, HouseEnding
from catalog.home.queries.way_times import WayTimes
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine import families, wording
from policies.engine.model import Actor
from policies.engine.requirements import privilege_requirement
from policies.http.pages import ways as shown_ways
from policies.http.pages.ways import SOON, ShownWay
from policies.models import RequestItem
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest
from policies.pdp.held_ways import HeldWay, list_held_ways
from policies.requests.pages import wording as request_wording

#: Names of privileges that a row lists; the rest is counted.
_MAX_PRIVILEGES = 3

_HIDDEN = "something that you may not view"
_HIDDEN_HOLDER = "Somebody whom you may not view"


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who reads a page about itself: the actor, the pages that it may open, and the time of the page."""

    actor: Actor
    viewer: AnswerViewer
    now: datetime

    @classmethod
    def from_actor(cls, actor: Actor) -> "Reader":
        """Return the reader for an actor."""
        return cls(actor, AnswerViewer.from_actor(actor), timezone.now())

    @property
    def soon(self) -> datetime:
        """Until when something ends soon."""
        return self.now + SOON

    def list_ways(self) -> list[HeldWay]:
        """Return the ways by which the reader has access; one query."""
        return list_held_ways(actor=self.actor, owned_as=held_entities.list_owned_as(by=self.actor))


def build_way_rows(reader: Reader, ways: Sequence[HeldWay]) -> list[dict[str, Any]]:
    """Return the rows of ways; the number of queries does not grow with them."""
    selectors = [statement.resources for way in ways for statement in way.statements]
    urns = {urn for selector in selectors for urn in shown_ways.list_selector_urns(selector)}
    urns |= {urn for way in ways for urn in shown_ways.list_through_urns(way.through)}
    names, times = _load_visible_names(urns), WayTimes.load(actor=reader.actor, ways=ways)
    refused = _find_refused(reader, ways)
    return [
        {
            "title": _word_privileges(sorted(way.privileges - refused) or sorted(way.privileges)),
            "scope": _word_scope(way, names),
            "way": shown_ways.build_way(
                now=reader.now,
                policy=way.name,
                policy_url=reader.viewer.policy_url(way.policy),
                through=shown_ways.build_through(
                    way.through, names=names, get_url=reader.viewer.account_url, groups_by_role=times.groups_by_role
                ),
                since=times.find_beginning(way, reader.actor),
                until=way.ends,
            ),
            "caution": _word_denial(way, refused),
        }
        for way in ways
    ]


def _find_refused(reader: Reader, ways: Iterable[HeldWay]) -> frozenset[str]:
    """Return the privileges of the platform that the reader has by a way and is denied; one batch of decisions."""
    privileges = sorted({privilege for way in ways if way.is_platform for privilege in way.privileges & way.denied})
    requests = [(reader.actor, AccessRequest(privilege_requirement(privilege))) for privilege in privileges]
    decisions = authorizer.answer_many(requests=requests) if requests else []
    return frozenset(name for name, decision in zip(privileges, decisions, strict=True) if not decision.is_allowed)


def _word_denial(way: HeldWay, refused: frozenset[str]) -> str:
    if way.privileges <= refused:
        return "Another policy denies this."
    return "Another policy denies a part of this." if way.denied else ""


def _word_privileges(privileges: Sequence[str]) -> str:
    names = sorted(families.display_privilege(name) for name in privileges)
    return wording.join_words(names[:_MAX_PRIVILEGES], "and", len(names) - _MAX_PRIVILEGES)


def _word_scope(way: HeldWay, names: Mapping[str, str]) -> str:
    if way.is_platform:
        return "on the platform"
    phrases = dict.fromkeys(shown_ways.describe_selector(statement.resources, names) for statement in way.statements)
    return f"on {wording.join_words(list(phrases)[:2], 'and', len(phrases) - 2)}"


def _load_visible_names(urns: Collection[str]) -> dict[str, str]:
    """Return the names of those URNs that the reader may view; one without a name is called by its URN."""
    hidden_urns = authorizer.directory().find_hidden_urns(urns=sorted(urns))
    visible_urns = {urn for urn in urns if urn not in hidden_urns}
    return {**{urn: urn for urn in visible_urns}, **authorizer.load_names(urns=visible_urns)} if visible_urns else {}


# -- what ends ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OwnEnding:
    """One thing that ends: a way, a grant or an item of a request, and the item that gave it, if one did."""

    ends: datetime
    cause: HeldWay | GrantEnding | RequestItem
    item: RequestItem | None = None


def list_endings(reader: Reader, ways: Sequence[HeldWay]) -> list[OwnEnding]:
    """Return the access of the reader that ends soon, the earliest first; two queries beside the ways."""
    items = endings.list_granted_items(actor=reader.actor, until=reader.soon)
    item_by_urn = {urn: item for item in reversed(items) for urn in endings.list_given_urns(item)}
    own_endings: list[OwnEnding] = [
        OwnEnding(way.ends, way, _find_item(item_by_urn, (way.policy, *way.through), way.ends))
        for way in ways
        if way.ends is not None and way.ends <= reader.soon
    ]
    grants = endings.list_ending_grants(actor=reader.actor, until=reader.soon)
    own_endings += [
        OwnEnding(grant.ends, grant, _find_item(item_by_urn, (grant.entity,), grant.ends)) for grant in grants
    ]
    covered = {ending.item.pk for ending in own_endings if ending.item is not None}
    # Ownership, exceptions and external roles have no end of their own: the request alone knows it.
    own_endings += [OwnEnding(item.ends_at, item, item) for item in items if item.pk not in covered and item.ends_at]
    return sorted(own_endings, key=lambda ending: ending.ends)


def _find_item(item_by_urn: Mapping[str, RequestItem], urns: Iterable[str], ends: datetime) -> RequestItem | None:
    """Return the item of a request that gave one of these until this time."""
    items = (item_by_urn[urn] for urn in urns if urn in item_by_urn)
    # Documents keep times to the second.
    return next(
        (item for item in items if item.ends_at is not None and abs(item.ends_at - ends) < timedelta(seconds=1)), None
    )


def build_ending_rows(reader: Reader, own_endings: Sequence[OwnEnding]) -> list[dict[str, Any]]:
    """Return the rows of what ends; the number of queries does not grow with them."""
    ways = [ending.cause for ending in own_endings if isinstance(ending.cause, HeldWay)]
    way_rows = iter(build_way_rows(reader, ways))
    urns = {urn for ending in own_endings for urn in _list_urns(ending)}
    names = _load_visible_names(urns) if urns else {}
    renewed = endings.find_renewed(items=[ending.item for ending in own_endings if ending.item is not None])
    return [
        {
            **(next(way_rows) if isinstance(ending.cause, HeldWay) else _build_other_row(reader, ending.cause, names)),
            **_build_renewal(ending.item, renewed),
        }
        for ending in own_endings
    ]


def _list_urns(ending: OwnEnding) -> list[str]:
    if isinstance(ending.cause, GrantEnding):
        return [ending.cause.entity, ending.cause.holder]
    return request_wording.list_item_urns([ending.cause.document]) if isinstance(ending.cause, RequestItem) else []


def _build_other_row(reader: Reader, cause: GrantEnding | RequestItem, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the row of a grant, or of an item whose end only its request knows."""
    if isinstance(cause, RequestItem):
        way = shown_ways.build_way(now=reader.now, policy="Request", until=cause.ends_at)
        return {
            "title": request_wording.word_stored_item(cause.document, names),
            "scope": "",
            "way": way,
            "caution": "",
        }
    through = shown_ways.build_through([cause.holder], names=names, get_url=reader.viewer.account_url)
    return {
        "title": _word_privileges(cause.privileges),
        "scope": f"on {names.get(cause.entity, _HIDDEN)}",
        "way": shown_ways.build_way(now=reader.now, policy="Grant", through=through, until=cause.ends),
        "caution": "",
    }


def _build_renewal(item: RequestItem | None, renewed: frozenset[int]) -> dict[str, str]:
    """Return the page that asks for more time, or that of the request where more time is asked for already."""
    if item is None:
        return {"renew_url": "", "request_url": ""}
    urn = item.request.urn
    return {
        "renew_url": "" if item.request_id in renewed else reverse("request-renew", args=[urn]),
        "request_url": reverse("request", args=[urn]),
    }


# -- the rest ----------------------------------------------------------------------------------------------------------


def build_owned_rows(reader: Reader, entities: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of what the reader owns (`owned.list_owned`), with who reaches each."""
    reach_by_urn = owned.count_reach(urns=[entity["urn"] for entity in entities])
    return [
        {
            "name": entity["name"] or entity["urn"],
            "type": entity["type"],
            "word": type_labels.singular_label(entity["type"]),
            "url": reverse("entity", args=[entity["urn"]]),
            "reach": _word_reach(reach_by_urn[entity["urn"]]),
            "who_url": _build_who_url(entity["urn"]) if reader.viewer.may_ask_about_others else "",
            "waiting": entity["waiting"],
        }
        for entity in entities
    ]


def _build_who_url(urn: str) -> str:
    return reverse("why-who", query={"privilege": owned.REACHING_PRIVILEGE, "resource": urn})


def _word_reach(reach: owned.Reach) -> str:
    people = wording.word_count(reach.people, "person", "people")
    return people if reach.is_exact else f"about {people}"


def build_domain_rows(counts: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return the rows of domains with the number of entities in each."""
    names = authorizer.load_names(urns=[urn for urn, _ in counts]) if counts else {}
    return [
        {"name": names.get(urn, urn), "count": count, "url": reverse("catalog", query={"domain": urn})}
        for urn, count in counts
    ]


def build_house_rows(reader: Reader, house_endings: Sequence[HouseEnding]) -> list[dict[str, Any]]:
    """Return the rows of what ends in the house."""
    names = _load_visible_names({urn for ending in house_endings for urn in (ending.holder, ending.source)} - {""})
    return [
        {
            "title": _HOUSE_TITLES[ending.kind].format(what=names.get(ending.source, _HIDDEN)),
            "holder": names.get(ending.holder, _HIDDEN_HOLDER) if ending.holder else "",
            "holder_url": reader.viewer.account_url(ending.holder),
            "way": shown_ways.build_way(now=reader.now, until=ending.ends),
        }
        for ending in house_endings
    ]


_HOUSE_TITLES = {
    "membership": "Membership in {what}",
    "role": "The role {what}",
    "policy": "The policy {what}",
    "grant": "A grant on {what}",
}


def count_through(ways: Iterable[HeldWay], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the steps by which ways reach somebody, each with its number of policies, most first."""
    policies_by_token: dict[str, set[str]] = {}
    for way in ways:
        for token in way.through:
            policies_by_token.setdefault(token, set()).add(way.policy)
    rows = [
        {
            "way": ShownWay(through=tuple(shown_ways.build_through([token], names=names))),
            "count": len(policies),
        }
        for token, policies in policies_by_token.items()
    ]
    return sorted(rows, key=lambda row: -row["count"])


def load_through_names(ways: Iterable[HeldWay]) -> dict[str, str]:
    """Return the names of the groups, roles and types of owners by which ways reach somebody."""
    urns = {urn for way in ways for urn in shown_ways.list_through_urns(way.through)}
    return _load_visible_names(urns) if urns else {}
