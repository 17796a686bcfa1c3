"""Small worlds before and after a change, and everything asked of them: each person, privilege, entity and time.

The product has no part in the answers: they follow from the documents of policies, as sets of entities, each a number
with one bit for each entity. `Drawn.list_uses` says what somebody may use, `adds` whether a change adds to what breaks
a rule.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import combinations, product
from typing import Any, NamedTuple

from policies.engine.model import Actor
from policies.engine.selectors import OWNER, TAG, TYPE, Owner, Resource
from policies.pdp.later_actors import LaterActor

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TIMES = [NOW + timedelta(days=number) for number in (1, 2)]
INSTANTS = (NOW, *TIMES)
USERS = [f"urn:li:corpuser:u{number}" for number in range(3)]
SOMEBODY = "urn:li:corpuser:somebody"
GROUPS = ["urn:li:corpGroup:a", "urn:li:corpGroup:b"]
ROLE, OWNER_TYPE = "urn:li:dataHubRole:r", "urn:li:ownershipType:t"
TAGS, UMBRELLA, OTHER = "EDIT_ENTITY_TAGS", "EDIT_ENTITY", "EXECUTE_ENTITY"
#: Privileges of rules and of policies; EDIT_ENTITY is accepted in place of EDIT_ENTITY_TAGS.
ASKED, HELD = [TAGS, OTHER], [TAGS, UMBRELLA, OTHER]
#: Privileges of promises.
PROMISED = ["MANAGE_TAGS", "MANAGE_SECRETS"]
#: Tags of policies and rules, and two more: one begins with the first alone, one with both.
TAG_URNS = ["urn:li:tag:a", "urn:li:tag:ab"]
EVERY_TAG = [*TAG_URNS, "urn:li:tag:ac", "urn:li:tag:abc"]
TYPES = ["dataset", "chart", "dashboard"]

_Document = dict[str, Any]


# -- drawing ----------------------------------------------------------------------------------------------------------


def draw_block(draw: random.Random) -> _Document | None:
    """Return the resources of a policy or a rule."""
    criteria = []
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        field, values = draw.choice([(TAG, TAG_URNS), (TYPE, TYPES[:2]), (OWNER, [USERS[0], GROUPS[0]])])
        conditions = ["EQUALS", "EQUALS", "NOT_EQUALS", *(["STARTS_WITH"] if field == TAG else [])]
        condition = draw.choice(conditions)
        criteria.append({"field": field, "condition": condition, "values": draw.sample(values, draw.randint(1, 2))})
    return {"filter": {"criteria": criteria}} if criteria or draw.random() < 0.5 else None


def draw_people(draw: random.Random) -> _Document:
    """Return the actors of a policy."""
    named: _Document = {"users": draw.sample(USERS, 1), "groups": draw.sample(GROUPS, draw.randrange(2))}
    owners: _Document = {"resourceOwners": True} | draw.choice([{}, {"resourceOwnersTypes": [OWNER_TYPE]}])
    choices: list[_Document] = [named, {"roles": [ROLE]}, {"allUsers": True}, {"allGroups": True}, owners, owners]
    actors = draw.choice(choices)
    exclusion: _Document = draw.choice(
        [
            {},
            {},
            {"excludedUsers": [USERS[1]]},
            {"excludedGroups": [GROUPS[0]]},
            {"excludedResourceOwnersTypes": [OWNER_TYPE]},
        ]
    )
    return actors | exclusion


class DrawnPolicy(NamedTuple):
    """A policy, from when and until when it counts."""

    document: _Document
    begins: datetime | None
    ends: datetime | None

    def is_current(self, at: datetime) -> bool:
        """Whether it counts at an instant."""
        return (self.begins is None or self.begins <= at) and (self.ends is None or at < self.ends)


def draw_policy(draw: random.Random, *, is_platform: bool = False) -> DrawnPolicy:
    """Return a policy, about entities or the platform."""
    document = {
        "displayName": "p",
        "type": "METADATA",
        "state": "ACTIVE",
        "effect": draw.choice(["ALLOW", "ALLOW", "DENY"]),
        "actors": draw_people(draw),
        "privileges": draw.sample(HELD, draw.randint(1, 2)),
        "resources": draw_block(draw),
    }
    if is_platform:
        document |= {"type": "PLATFORM", "privileges": draw.sample(PROMISED, draw.randint(1, 2)), "resources": None}
    times = draw.choice([(None, None)] * 4 + [(TIMES[0], None), (None, TIMES[0]), (None, TIMES[1]), tuple(TIMES)])
    return DrawnPolicy(document, *times)


def draw_actor(draw: random.Random, urn: str) -> Actor:
    """Return somebody in groups and with the role, or gone."""
    groups = frozenset(draw.sample(GROUPS, draw.randrange(3)))
    return Actor(urn, groups, frozenset({ROLE} if draw.random() < 0.3 else ()), is_active=draw.random() < 0.9)


def draw_states(draw: random.Random, urn: str) -> tuple[Actor, tuple[LaterActor, ...]]:
    """Return an actor now, and perhaps others from later times on."""
    begins = draw.choice([(), (), (), (TIMES[0],), (TIMES[1],), tuple(TIMES)])
    return draw_actor(draw, urn), tuple(LaterActor(at, draw_actor(draw, urn)) for at in begins)


def draw_rule(draw: random.Random) -> _Document:
    """Return a rule of a kind about every catalog."""
    scopes = [{"privileges": [name], "resources": draw_block(draw)} for name in ASKED]
    kind = draw.choice(["never", "never", "not_both", "no_policy"])
    if kind == "not_both":
        excepted = draw.choice([{}, {}, {"except": {"groups": GROUPS[:1]}}])
        return {"not_both": {"first": scopes[0], "second": scopes[1], **excepted}}
    people: list[_Document] = [
        {"users": USERS[:1]},
        {"groups": GROUPS[:1]},
        {"roles": [ROLE]},
        {"users": USERS[:1], "groups": GROUPS[1:]},
        {"allUsers": True},
        {"everybody_except": {"groups": GROUPS[:1]}},
    ]
    return {kind: {"actors": draw.choice(people), **draw.choice(scopes)}}


def draw_promise(draw: random.Random) -> _Document:
    """Return a rule about what people hold on the platform."""
    privileges = draw.sample(PROMISED, draw.randint(1, 2))
    if draw.random() < 0.5:
        return {"always": {"actors": {"users": draw.sample(USERS, draw.randint(1, 2))}, "privileges": privileges}}
    return {"at_least": {"number": draw.randint(1, 3), "privileges": privileges}}


class Drawn:
    """Both states of a small world: 0 is before the change, 1 after it."""

    def __init__(self, draw: random.Random, *, is_promise: bool = False) -> None:
        self.rule = draw_promise(draw) if is_promise else draw_rule(draw)
        self.people: list[dict[str, tuple[Actor, tuple[LaterActor, ...]]]] = [{}, {}]
        self.policies: list[dict[str, DrawnPolicy]] = [{}, {}]
        for urn in USERS:
            before = draw_states(draw, urn)
            self.people[0][urn] = before
            self.people[1][urn] = draw_states(draw, urn) if draw.random() < 0.25 else before
        for number in range(draw.randint(1, 4)):
            policy = draw_policy(draw, is_platform=is_promise) if draw.random() < 0.85 else None
            changed = policy
            if draw.random() < 0.4:
                changed = draw_policy(draw, is_platform=is_promise) if draw.random() < 0.8 else None
            for side, version in enumerate((policy, changed)):
                if version is not None:
                    self.policies[side][f"urn:li:dataHubPolicy:p{number}"] = version

    def find_actor(self, side: int, urn: str, at: datetime) -> Actor:
        """Return somebody as they are at an instant."""
        actor, later = self.people[side][urn]
        return [actor, *(state.actor for state in later if state.begins <= at)][-1]

    def list_current(self, side: int, at: datetime) -> list[_Document]:
        """Return the policies that count at an instant."""
        return [policy.document for policy in self.policies[side].values() if policy.is_current(at)]

    def list_uses(self, side: int, at: datetime, urn: str) -> list[int]:
        """Return what somebody whom the rule is about may use, one set for each part of the rule."""
        ((kind, body),) = self.rule.items()
        actor = self.find_actor(side, urn, at)
        policies = self.list_current(side, at)
        scopes = [body["first"], body["second"]] if kind == "not_both" else [body]
        if not actor.is_active or not _is_concerned(body, actor):
            return [0 for _ in scopes]
        return [_find_uses(policies, actor, scope) for scope in scopes]


# -- asking everything ------------------------------------------------------------------------------------------------


@cache
def list_entities(urn: str) -> tuple[Resource, ...]:
    """Return every entity that differs for a user: of each type, with any tags and owners.

    An owner with a type and without one is an owner as with the type alone.
    """
    choices: list[Sequence[tuple[Owner, ...]]] = [
        [(), (Owner(holder, ""),), (Owner(holder, OWNER_TYPE),)] for holder in (urn, *GROUPS)
    ]
    choices += [[(), (Owner(USERS[0], ""),)]] if urn != USERS[0] else []
    tag_sets = [frozenset(chosen) for size in range(5) for chosen in combinations(EVERY_TAG, size)]
    return tuple(
        Resource(f"urn:li:{kind}:(x)", kind, {TAG: tags, OWNER: frozenset(o.actor for o in owners)}, owners)
        for kind, tags in product(TYPES, tag_sets)
        for owners in (frozenset(owner for part in parts for owner in part) for parts in product(*choices))
    )


@cache
def count_entities(urn: str) -> int:
    """Return how many entities there are; the bit of this number is a question without an entity."""
    return len(list_entities(urn))


@cache
def _find_criterion(urn: str, field: str, condition: str, values: frozenset[str]) -> int:
    """Return the entities that meet a criterion."""
    found = 0
    for number, entity in enumerate(list_entities(urn)):
        held = {entity.type} if field == TYPE else set(entity.facets[field])
        is_met = any(value.startswith(tuple(values)) for value in held) if condition == "STARTS_WITH" else held & values
        if bool(is_met) != (condition == "NOT_EQUALS"):
            found |= 1 << number
    return found


@cache
def _find_owned(urn: str, holders: frozenset[str], owner_type: str | None) -> int:
    """Return the entities that one of these owns, with a type of ownership, if one is given."""
    return sum(
        1 << number
        for number, entity in enumerate(list_entities(urn))
        if any(owner.actor in holders and owner_type in (None, owner.type) for owner in entity.owners)
    )


def _find_covered(urn: str, block: _Document | None) -> int:
    """Return what a block covers; without one also the question without an entity."""
    covered = (1 << count_entities(urn)) - 1
    if block is None:
        return covered | 1 << count_entities(urn)
    for criterion in block["filter"]["criteria"]:
        covered &= _find_criterion(urn, criterion["field"], criterion["condition"], frozenset(criterion["values"]))
    return covered


def _is_named(actors: _Document, actor: Actor, beginning: str = "") -> bool:
    """Whether a clause names an actor, or excludes it."""

    def get(name: str) -> Any:
        return actors.get(f"{beginning}{name.capitalize()}" if beginning else name) or ()

    return any(
        (
            actor.urn in get("users"),
            not actor.groups.isdisjoint(get("groups")),
            not actor.roles.isdisjoint(get("roles")),
        )
    )


def _find_matched(document: _Document, actor: Actor) -> int:
    """Return where a policy matches an actor."""
    actors, urn = document["actors"], actor.urn
    holders = actor.groups | {urn}
    covered = _find_covered(urn, document["resources"])
    is_for_all = actors.get("allUsers") or (actors.get("allGroups") and actor.groups)
    if _is_named(actors, actor, "excluded"):
        return 0
    if not is_for_all and not _is_named(actors, actor):
        if not actors.get("resourceOwners"):
            return 0
        covered &= _unite(_find_owned(urn, holders, kind) for kind in actors.get("resourceOwnersTypes") or [None])
    for kind in actors.get("excludedResourceOwnersTypes") or ():
        covered &= ~_find_owned(urn, holders, kind)
    return covered


def find_allowed(policies: Iterable[_Document], actor: Actor, privilege: str) -> tuple[int, int]:
    """Return where a privilege is allowed, and where it is denied."""
    sides = {"ALLOW": 0, "DENY": 0}
    for document in policies:
        if privilege in document["privileges"]:
            sides[document["effect"]] |= _find_matched(document, actor)
    return sides["ALLOW"] & ~sides["DENY"], sides["DENY"]


def _find_uses(policies: Sequence[_Document], actor: Actor, scope: _Document) -> int:
    """Return where an actor may use the privilege of a scope, as an interface asks."""
    (asked,) = scope["privileges"]
    allowed, denied = find_allowed(policies, actor, asked)
    if asked == TAGS:
        # Beside the privilege itself: its umbrella, unless the privilege is denied.
        allowed |= find_allowed(policies, actor, UMBRELLA)[0] & ~denied
    return allowed & _find_covered(actor.urn, scope["resources"])


def _is_concerned(body: _Document, actor: Actor) -> bool:
    clause = body.get("actors") or ({"everybody_except": body["except"]} if body.get("except") else {"allUsers": True})
    if "everybody_except" in clause:
        return not _is_named(clause["everybody_except"], actor)
    return bool(clause.get("allUsers")) or _is_named(clause, actor)


def adds(drawn: Drawn) -> bool:
    """Whether at some time somebody may after the change what breaks the rule and could not be done before.

    Or may not what is promised, and could before.
    """
    ((kind, body),) = drawn.rule.items()
    for at in INSTANTS:
        if kind in ("always", "at_least"):
            before, after = (_list_held(drawn, body, side, at) for side in (0, 1))
            if _is_unkept(body, after, before):
                return True
        for before_and_after in _list_sides(drawn, kind, body, at):
            gains = [now & ~was for was, now in before_and_after]
            if any(gains) and all(now for _, now in before_and_after):
                return True
    return False


def find_break(drawn: Drawn) -> datetime | None:
    """Return the first instant at which the rule is broken after the change; None if there is none."""
    ((kind, body),) = drawn.rule.items()
    for at in INSTANTS:
        if kind in ("always", "at_least"):
            if _is_unkept(body, _list_held(drawn, body, 1, at), None):
                return at
        elif any(all(now for _, now in both) for both in _list_sides(drawn, kind, body, at)):
            return at
    return None


def _list_sides(drawn: Drawn, kind: str, body: _Document, at: datetime) -> Iterator[list[tuple[int, int]]]:
    """Yield for each person, of each part of a rule, where they use it before the change and after it."""
    if kind == "no_policy":
        yield from ([pair] for pair in _list_spoken(drawn, body, at))
    elif kind not in ("always", "at_least"):
        for urn in USERS:
            yield list(zip(*(drawn.list_uses(side, at, urn) for side in (0, 1)), strict=True))


def _list_held(drawn: Drawn, body: _Document, side: int, at: datetime) -> dict[str, frozenset[str]]:
    """Return by user which of the promised privileges they hold at an instant."""
    policies, held = drawn.list_current(side, at), {}
    for urn in USERS:
        actor, platform = drawn.find_actor(side, urn, at), 1 << count_entities(urn)
        held[urn] = frozenset(
            name for name in body["privileges"] if actor.is_active and find_allowed(policies, actor, name)[0] & platform
        )
    return held


def _is_unkept(body: _Document, after: dict[str, frozenset[str]], before: dict[str, frozenset[str]] | None) -> bool:
    """Whether a promise is not kept, by fewer than before, if that is given."""
    promised = frozenset(body["privileges"])
    if "actors" in body:
        return any((promised if before is None else before[urn]) - after[urn] for urn in body["actors"]["users"])
    counts = [sum(names == promised for names in held.values()) for held in (after, before or {})]
    return counts[0] < body["number"] and (before is None or counts[0] < counts[1])


def _list_spoken(drawn: Drawn, body: _Document, at: datetime) -> Iterator[tuple[int, int]]:
    """Yield for each person where a policy speaks to them, before the change and after it."""
    policies = [
        [document for document in drawn.list_current(side, at) if document["effect"] == "ALLOW"] for side in (0, 1)
    ]
    if body["actors"].get("allUsers"):
        policies = [[_widen(one) for one in listed if one["actors"].get("allUsers")] for listed in policies]
    for was, now in _list_people(drawn, body["actors"], at):
        before, after = (
            _find_uses(listed, actor, body) if actor is not None and actor.is_active else 0
            for listed, actor in zip(policies, (was, now), strict=True)
        )
        yield before, after


def _list_people(drawn: Drawn, clause: _Document, at: datetime) -> Iterator[tuple[Actor | None, Actor | None]]:
    """Yield to whom a policy may not speak, before and after the change."""
    if clause.get("allUsers"):
        yield Actor(SOMEBODY), Actor(SOMEBODY)
    for holder in (*clause.get("groups", ()), *clause.get("roles", ())):
        groups = frozenset({holder} if holder in GROUPS else ())
        actor = Actor(SOMEBODY, groups, frozenset({holder}) - groups)
        yield actor, actor
    excepted = clause.get("everybody_except")
    for urn in clause.get("users", ()) if excepted is None else USERS:
        actors = [drawn.find_actor(side, urn, at) for side in (0, 1)]
        is_meant = [excepted is None or not _is_named(excepted, actor) for actor in actors]
        yield actors[0] if is_meant[0] else None, actors[1] if is_meant[1] else None


def _widen(document: _Document) -> _Document:
    """Return a policy for all users without those whom it leaves out."""
    return {**document, "actors": {"allUsers": True}}


def _unite(sets: Iterable[int]) -> int:
    united = 0
    for entities in sets:
        united |= entities
    return united
