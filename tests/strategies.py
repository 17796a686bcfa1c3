"""Hypothesis strategies: small worlds with colliding names.

Everything is drawn from tiny alphabets in which names begin one another (`a`, `ab`), so that policies, facts and
questions meet. Nothing is filtered away: every draw is a case. What the strategies reach is proved by
`tests/properties/test_strategies.py`.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

from tests.oracle import SYSTEM_ACTOR
from tests.spec.tables import Asked
from tests.worlds import ANY_SUBRESOURCE, World, denying, document, urn, urns

USERS = urns(["a", "ab", "b"])
STRANGER = urn("stranger")
GROUPS = urns(["group:a", "group:ab"])
ROLES = urns(["role:a", "role:b"])
OWNER_TYPES = urns(["ownership:a", "ownership:b"])

DOMAINS = urns(["domain:a", "domain:ab", "domain:b"])
CONTAINERS = urns(["container:a", "container:ab", "container:b"])
GLOSSARY = urns(["term:a", "term:b", "node:a", "node:b"])
TAGS = urns(["tag:a", "tag:ab"])
INSTANCES = urns(["instance:a", "instance:ab"])
ASSETS = urns(["dataset:a", "dataset:ab", "chart:a"])
NODES = [*DOMAINS[:2], *CONTAINERS[:2], GLOSSARY[0], GLOSSARY[2], INSTANCES[0]]
ENTITIES = [*ASSETS, *NODES, TAGS[0], USERS[0], USERS[1]]
UNKNOWN_ENTITY = urn("dataset:b")
#: Nodes that others name and nobody registered: each is a value of itself all the same.
UNKNOWN_NODES = [DOMAINS[2], CONTAINERS[2], GLOSSARY[3], GLOSSARY[1], INSTANCES[1]]
TYPES = ["dataset", "chart", "domain", "corpuser"]

#: The first two are connected by an implication; the third is one of those everybody has on itself.
PRIVILEGES = ["VIEW_ENTITY_PAGE", "VIEW_ENTITY", "EDIT_ENTITY", "EDIT_ENTITY_TAGS"]

FIELD_VALUES = {
    "TYPE": TYPES,
    "RESOURCE_TYPE": TYPES,
    "URN": [*ENTITIES, UNKNOWN_ENTITY],
    "RESOURCE_URN": ENTITIES,
    "OWNER": [*USERS, *GROUPS],
    "DOMAIN": DOMAINS,
    "CONTAINER": CONTAINERS,
    "GLOSSARY": GLOSSARY,
    "TAG": TAGS,
    "DATA_PLATFORM_INSTANCE": INSTANCES,
    "GROUP_MEMBERSHIP": GROUPS,
}
#: Names and values of properties, and what criteria on them want: texts, or what another party has there.
PROPERTIES, TEXTS = ["a", "b"], ["x", "xy", "y"]
FIELD_VALUES |= {
    "PROPERTY.a": [*TEXTS, "${ACTOR.PROPERTY.a}", "${ACTION.PROPERTY.a}"],
    "ACTOR.PROPERTY.a": [*TEXTS, "${ACTION.PROPERTY.a}"],
    "ACTION.PROPERTY.a": [*TEXTS, "${ACTOR.PROPERTY.b}"],
}
CONDITIONS = ["EQUALS", "STARTS_WITH", "NOT_EQUALS"]


T = TypeVar("T")

_FACT_BYTES, _POLICY_BYTES, _MOST_POLICIES = 460, 74, 6


class Dice:
    """Choices made from drawn bytes, one byte a choice. Zero is the first choice, the simplest; so examples shrink.

    Drawing a world choice by choice would cost Hypothesis thousands of draws, more than it allows for one example.
    """

    def __init__(self, drawn: bytes) -> None:
        self._bytes = iter(drawn)

    def pick(self, *values: T) -> T:
        """Choose one."""
        return values[next(self._bytes, 0) % len(values)]

    def some(self, values: Sequence[T], most: int = 2) -> list[T]:
        """Choose up to `most`, seldom none."""
        number = self.pick(0, *[1 + size for size in range(most) for _ in range(3)])
        return list(dict.fromkeys(self.pick(*values) for _ in range(number)))

    def seldom(self) -> bool:
        """Choose True once in five times."""
        return self.pick(False, False, False, False, True)

    def absent_or(self, values: list[T]) -> list[T] | None:
        """Choose a list, or null."""
        return self.pick(values, values, values, None)


def rolled(bytes_needed: int, make: Callable[[Dice], T]) -> st.SearchStrategy[T]:
    """Return the strategy of what `make` chooses."""
    return st.binary(min_size=bytes_needed, max_size=bytes_needed).map(lambda drawn: make(Dice(drawn)))


def few(values: list[str], most: int = 2) -> st.SearchStrategy[list[str]]:
    """Draw up to `most` of the values, seldom none."""
    return rolled(1 + most, lambda dice: dice.some(values, most))


# -- facts ------------------------------------------------------------------------------------------------------------


def facts() -> st.SearchStrategy[dict]:
    """Draw the raw world without policies: people, entities and hierarchies, cycles among them."""
    return rolled(_FACT_BYTES, _facts)


def _facts(dice: Dice) -> dict:
    return {
        "users": USERS,
        "suspended": [USERS[2]] if dice.seldom() else [],
        "groups": GROUPS,
        "memberships": [[user, group] for user in USERS for group in dice.some(GROUPS) if dice.pick(False, True)],
        "roles": [[holder, role] for holder in [*USERS, *GROUPS] for role in dice.some(ROLES, 1)],
        "entities": {name: _entity(dice, name) for name in ENTITIES},
        "parents": _parents(dice),
        "known": {user: _properties(dice) for user in USERS},
        "action": _properties(dice),
    }


def _entity(dice: Dice, name: str) -> dict:
    """Assets have all kinds of facts, other entities owners and tags; nodes also name others, which must not count."""
    is_asset = name in ASSETS
    number_of_owners = dice.pick(0, 1, 2)
    return {
        "type": name.split(":")[2],
        "owners": [[dice.pick(*USERS, *GROUPS), dice.pick("", *OWNER_TYPES)] for _ in range(number_of_owners)],
        "domains": dice.some(DOMAINS) if is_asset or name in NODES else [],
        "containers": dice.some(CONTAINERS, 1) if is_asset else [],
        "terms": dice.some(GLOSSARY[:2]) if is_asset or name in NODES else [],
        "tags": dice.some(TAGS),
        "instances": dice.some(INSTANCES, 1) if is_asset or name in NODES else [],
        "subjects": [],
        "properties": _properties(dice) if is_asset or name in USERS else {},
    }


def _properties(dice: Dice) -> dict[str, list[str]]:
    return {name: found for name in PROPERTIES if (found := dice.some(TEXTS))}


def _parents(dice: Dice) -> dict[str, str]:
    """Who is under whom. A node may be above itself, directly or not."""
    above = {}
    for nodes, places in ((DOMAINS, DOMAINS), (CONTAINERS, CONTAINERS), (GLOSSARY, GLOSSARY[2:])):
        for node in nodes:
            parent = dice.pick(None, *places)
            if parent is not None:
                above[node] = parent
    return above


# -- policies ---------------------------------------------------------------------------------------------------------


def documents(odd: bool = False) -> st.SearchStrategy[dict]:
    """Draw a published policy; an odd one may hold criteria that `parse` refuses."""
    return rolled(_POLICY_BYTES, lambda dice: _document(dice, odd))


def policies(denies: bool = True) -> st.SearchStrategy[dict]:
    """Draw a policy of a generated world: mostly an allow, now and then a deny, seldom with an odd criterion.

    Without `denies` none denies or excludes anybody.
    """
    return rolled(_POLICY_BYTES, lambda dice: _policy(dice, denies))


def _policy(dice: Dice, denies: bool) -> dict:
    is_deny = dice.seldom() and denies
    drawn = _document(dice, odd=dice.pick(*[False] * 9, True), exclusions=denies)
    return denying(drawn) if is_deny else drawn


def _document(dice: Dice, odd: bool, exclusions: bool = True) -> dict:
    return document(
        displayName=dice.pick("a", "ab"),
        state=dice.pick(*["ACTIVE"] * 8, "INACTIVE", "DRAFT"),
        type=dice.pick("METADATA", "METADATA", "METADATA", "PLATFORM"),
        privileges=dice.some(PRIVILEGES, 3),
        actors=_actors(dice) | (_exclusions(dice) if exclusions else {}),
        resources=_resources(dice, odd),
    )


def _actors(dice: Dice) -> dict:
    """Whom a policy is for: one form alone, or several; a form that is not meant is absent, null or empty."""
    filled = {
        "users": dice.some(USERS),
        "groups": dice.some(GROUPS),
        "roles": dice.some(ROLES),
        "allUsers": True,
        "allGroups": True,
        "resourceOwners": True,
    }
    meant = {dice.pick(*filled), dice.pick(*filled)}
    clause: dict = {}
    for form, value in filled.items():
        if form in meant:
            clause[form] = value
        elif dice.pick(False, True):
            clause[form] = False if value is True else dice.pick([], None)
    if dice.pick(False, True):
        clause["resourceOwnersTypes"] = dice.absent_or(dice.some(OWNER_TYPES))
    return clause


def _exclusions(dice: Dice) -> dict:
    """Whom a policy never reaches: mostly nobody."""
    if dice.pick(True, True, True, False):
        return {}
    excluded = {
        "excludedUsers": USERS,
        "excludedGroups": GROUPS,
        "excludedRoles": ROLES,
        "excludedResourceOwnersTypes": OWNER_TYPES,
    }
    form = dice.pick(*excluded)
    return {form: dice.absent_or(dice.some(excluded[form]))}


def _resources(dice: Dice, odd: bool) -> dict | None:
    """Choose a resources block in the old form, the new form, both, or none."""
    form = dice.pick("absent", "blank", "old", "old", "new", "new", "new", "new", "both")
    if form == "absent":
        return None
    block: dict = {}
    if form in ("old", "both"):
        old = {"type": dice.pick(*TYPES), "resources": dice.absent_or(dice.some(ENTITIES, 3)), "allResources": True}
        block |= {key: value for key, value in old.items() if dice.pick(True, False)} or {"allResources": False}
    if form in ("new", "both"):
        block["filter"] = {"criteria": [_criterion(dice, odd) for _ in range(dice.pick(0, 1, 1, 1, 2, 2))]}
    if dice.seldom():
        spelling = dice.pick("privilegeConstraints", "policyConstraints")
        fields = ("URN", "TAG", "TYPE", "DOMAIN", "OWNER")
        block[spelling] = {"criteria": [_criterion(dice, False, fields) for _ in range(dice.pick(0, 1, 1, 2))]}
    return block


def _criterion(dice: Dice, odd: bool, fields: Sequence[str] = tuple(FIELD_VALUES)) -> dict:
    about_properties = [one for one in fields if "PROPERTY." in one]
    is_property = dice.pick(False, False, False, True)
    if about_properties and is_property:
        name = dice.pick(*about_properties)
    else:
        name = dice.pick(*(one for one in fields if one not in about_properties))
    condition = dice.pick(*CONDITIONS)
    values = dice.some(FIELD_VALUES[name])
    if condition == "STARTS_WITH":
        values = [_beginning(dice, value) for value in values]
    said = {} if condition == "EQUALS" and dice.pick(True, False) else {"condition": condition}
    item = {"field": name, **said, "values": values}
    return _made_odd(dice, item) if odd else item


def _beginning(dice: Dice, value: str) -> str:
    """Cut a value off, but for what stands for another one."""
    return value[: dice.pick(len(value), len(value) - 1, 10, 0)] if not value.startswith("${") else value


def _made_odd(dice: Dice, item: dict) -> dict:
    """Change a criterion so that `parse` refuses it; an old stored document may still hold it (a.4)."""
    return dice.pick(
        item | {"field": item["field"].lower()},
        item | {"field": "COLOUR"},
        item | {"condition": "GREATER_THAN"},
        item | {"field": "COLOUR", "condition": "NOT_EQUALS"},
        item | {"field": "PROPERTY.a", "values": ["${PROPERTY.b}"]},
        item | {"field": "ACTOR.PROPERTY.a", "values": ["${ACTOR.PROPERTY.b}"]},
        item | {"field": "ACTION.PROPERTY.a", "values": ["${ACTOR.PROPERTY.a", "x"]},
    )


_WORLD_BYTES = _FACT_BYTES + _MOST_POLICIES * _POLICY_BYTES + 1


def worlds(denies: bool = True) -> st.SearchStrategy[World]:
    """Draw a world with up to six policies, each from its own bytes, so that one can shrink without the others."""
    return st.binary(min_size=_WORLD_BYTES, max_size=_WORLD_BYTES).map(lambda drawn: _world(drawn, denies))


def make_world(dice: Random) -> World:
    """Make the world of a seed: for comparisons of which there are more than Hypothesis draws."""
    return _world(dice.randbytes(_WORLD_BYTES), denies=True)


def make_policy(dice: Random) -> dict:
    """Make the policy of a seed."""
    return _policy(Dice(dice.randbytes(_POLICY_BYTES)), denies=True)


def _world(drawn: bytes, denies: bool) -> World:
    number, rest = drawn[0] % (_MOST_POLICIES + 1), drawn[1 + _FACT_BYTES :]
    parts = [rest[index * _POLICY_BYTES :][:_POLICY_BYTES] for index in range(number)]
    found = [(f"p{index}", _policy(Dice(part), denies)) for index, part in enumerate(parts)]
    return World(_facts(Dice(drawn[1 : 1 + _FACT_BYTES])), found)


# -- questions --------------------------------------------------------------------------------------------------------

ACTORS = [*USERS, STRANGER, SYSTEM_ACTOR]
PLACES: list[tuple[str | None, str | None]] = [
    (None, None),
    *((None, kind) for kind in TYPES),
    *((name, None) for name in ENTITIES),
    (UNKNOWN_ENTITY, None),
    *((name, None) for name in UNKNOWN_NODES),
    (STRANGER, None),
]


def questions() -> st.SearchStrategy[Asked]:
    """Draw one question, about an entity, a type alone or nothing, with or without sub-resources."""
    return st.builds(
        lambda actor, privilege, place, subresources: Asked(
            "authorize", actor, privilege, resource=place[0], type=place[1], subresources=tuple(subresources)
        ),
        st.sampled_from([*USERS, *USERS, *ACTORS]),
        st.sampled_from(PRIVILEGES),
        st.one_of(st.sampled_from(PLACES), st.sampled_from([(name, None) for name in ASSETS])),
        st.one_of(st.just([]), few([*TAGS, ANY_SUBRESOURCE, *ASSETS[:1], DOMAINS[0]])),
    )


def every_question() -> list[Asked]:
    """Return every question without sub-resources that can be asked in a generated world."""
    return [
        Asked("authorize", actor, privilege, resource=name, type=kind)
        for actor in ACTORS
        for privilege in PRIVILEGES
        for name, kind in PLACES
    ]
