"""Tests about the tests: the generators reach every rule, and do so in cases where the rule decides."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests import oracle, strategies
from tests.properties.asking import by_oracle
from tests.spec.tables import Asked
from tests.worlds import ANY_SUBRESOURCE, World

ACTOR_FORMS = ["users", "groups", "roles", "allUsers", "allGroups", "resourceOwners"]
FIELDS = sorted(strategies.FIELD_VALUES)

REACHED = [
    *(f"{field} {condition} {outcome}" for field in FIELDS for condition in strategies.CONDITIONS for outcome in "+-"),
    *(f"actors {form} alone" for form in ACTOR_FORMS),
    *(f"constraint {outcome}" for outcome in "+-"),
    *(f"block {form}" for form in ("absent", "blank", "old", "new", "both")),
    *(f"deprecated {name}" for name in ("type", "resources", "allResources")),
    *(f"state {state} would have decided" for state in ("INACTIVE", "DRAFT")),
    *(f"place {place} {answer}" for place in ("none", "type", "entity", "unknown") for answer in ("allow", "deny")),
    "constraint spelled policyConstraints",
    "constraint spelled privilegeConstraints",
    "constraint on any sub-resource",
    *(f"{field} compared {outcome}" for field in FIELDS if "PROPERTY." in field for outcome in "+-"),
    "odd field",
    "odd reference",
    "odd condition",
    "owner through a group",
    "owner of a type",
    "role through a group",
    "ancestor only",
    "cycle",
    "deny beats allow",
    "self policy alone",
    "implied privilege",
    "several reasons",
    "suspended",
    "system actor",
    "unknown actor",
    "PLATFORM",
    "deny",
    "excludedUsers",
    "excludedGroups",
    "excludedRoles",
    "excludedResourceOwnersTypes",
]


def seen_in_policy(world: World, asked: Asked, raw: dict) -> Iterator[str]:
    """Name the rules one policy exercises under a question; only rules that its answer hangs on."""
    document = raw
    if not oracle.lists(document, asked.privilege):
        return
    place = (asked.resource, asked.type)
    if not oracle.actor_matches(world.raw, document, asked.actor, asked.resource):
        yield from seen_in_exclusions(world, asked, document)
        return
    is_resource = oracle.resource_matches(world.raw, document, asked.resource, asked.type, asked.actor)
    if oracle.denies_access(document):
        if oracle.applies(world.raw, document, asked.actor, *place[:1], asked.subresources, place[1]):
            yield "deny"
        return
    is_sub = oracle.sub_resources_pass(world.raw, document, asked.subresources)
    block = document["resources"]
    if asked.subresources and is_resource and block is not None:
        yield from seen_in_constraints(asked, block, is_sub)
    if is_sub and document["type"] == "METADATA" and block is not None and any(place):
        yield from seen_in_criteria(world, block, place, asked.actor)
    if is_resource and is_sub:
        yield from seen_in_match(world, asked, document)


def seen_in_exclusions(world: World, asked: Asked, document: dict) -> Iterator[str]:
    """Name the exclusions because of which alone a policy does not reach the actor."""
    bare = {key: value for key, value in document["actors"].items() if not key.startswith("excluded")}
    if oracle.actor_matches(world.raw, document | {"actors": bare}, asked.actor, asked.resource):
        yield from (name for name, value in document["actors"].items() if name.startswith("excluded") and value)


def seen_in_constraints(asked: Asked, block: dict, passes: bool) -> Iterator[str]:
    """Name the constraints that alone decide whether a policy answers."""
    spellings = {"privilegeConstraints", "policyConstraints"} & block.keys()
    if spellings:
        yield f"constraint {'+' if passes else '-'}"
        yield from (f"constraint spelled {spelling}" for spelling in spellings)
        if ANY_SUBRESOURCE in asked.subresources:
            yield "constraint on any sub-resource"


def seen_in_match(world: World, asked: Asked, document: dict) -> Iterator[str]:
    """Name what is special about a policy that matches (but for its state)."""
    if document["state"] != "ACTIVE":
        yield f"state {document['state']} would have decided"
        return
    yield f"block {form_of(document['resources'])}"
    if document["type"] == "PLATFORM":
        yield "PLATFORM"
    if asked.privilege not in document["privileges"]:
        yield "implied privilege"
    actors = document["actors"]
    forms = [form for form in ACTOR_FORMS if actors.get(form)]
    if len(forms) == 1:
        yield f"actors {forms[0]} alone"
        yield from seen_in_actors(world, asked, forms[0], actors)


def seen_in_actors(world: World, asked: Asked, form: str, actors: dict) -> Iterator[str]:
    """Name how the only form of an actor clause was met."""
    if form == "resourceOwners":
        owners = [owner for owner, _ in world.raw["entities"][asked.resource]["owners"]]
        if asked.actor not in owners:
            yield "owner through a group"
        if actors.get("resourceOwnersTypes"):
            yield "owner of a type"
    if form == "roles" and [asked.actor, actors["roles"][0]] not in world.raw["roles"] and len(actors["roles"]) == 1:
        yield "role through a group"


def seen_in_criteria(world: World, block: dict, place: tuple, actor: str) -> Iterator[str]:
    """Name the criteria that alone decide whether a block covers the place."""
    criteria = oracle.criteria_of(block)
    if block.get("filter") is None:
        yield from (f"deprecated {name}" for name in ("type", "resources", "allResources") if block.get(name))
    if len(criteria) != 1:
        return
    item = criteria[0]
    condition = item.get("condition", "EQUALS")
    passes = oracle.passes(world.raw, item, place[0], place[1], actor)
    references = [value for value in item["values"] if value.startswith("${")]
    if item["field"] not in FIELDS:
        yield "odd field"
    elif any(value not in strategies.FIELD_VALUES[item["field"]] for value in references):
        yield "odd reference"
    elif condition not in strategies.CONDITIONS:
        yield "odd condition"
    else:
        said = {condition, "compared"} if references == item["values"] else {condition}
        yield from (f"{item['field']} {one} {'+' if passes else '-'}" for one in said)
    if passes and item["field"] in ("DOMAIN", "CONTAINER", "GLOSSARY") and condition == "EQUALS" and place[0]:
        facts = world.raw["entities"].get(place[0], {})
        direct = {*facts.get("domains", []), *facts.get("containers", []), *facts.get("terms", []), place[0]}
        if direct.isdisjoint(item["values"]):
            yield "ancestor only"


def form_of(block: dict | None) -> str:
    """Name the form of a resources block."""
    if block is None:
        return "absent"
    is_old = bool(block.keys() & {"type", "resources", "allResources"})
    is_new = "filter" in block
    return {(True, True): "both", (True, False): "old", (False, True): "new", (False, False): "blank"}[is_old, is_new]


def seen(world: World, asked: Asked) -> Iterator[str]:
    """Name the rules a whole question exercises."""
    if asked.actor == oracle.SYSTEM_ACTOR:
        yield "system actor"
        return
    for _, raw in world.policies:
        yield from seen_in_policy(world, asked, raw)
    known = asked.resource in world.raw["entities"]
    place = "entity" if known else "unknown" if asked.resource else "type" if asked.type else "none"
    allowed, because = by_oracle(world, asked)
    yield f"place {place} {'allow' if allowed else 'deny'}"
    if asked.actor in world.raw["suspended"]:
        yield "suspended"
    if allowed and asked.actor == strategies.STRANGER:
        yield "unknown actor"
    if because == [oracle.SELF_POLICY]:
        yield "self policy alone"
    if len(because) > 1:
        yield "several reasons"
    allows = world.having([(name, raw) for name, raw in world.policies if raw.get("effect") != "DENY"])
    if not allowed and because and by_oracle(allows, asked)[0]:
        yield "deny beats allow"


@cache
def reached() -> Counter[str]:
    """Count in how many of a fixed number of generated worlds each rule decided something."""
    counts: Counter[str] = Counter()

    @settings(
        max_examples=6000,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(world=strategies.worlds(), questions=st.lists(strategies.questions(), min_size=10, max_size=10))
    def look(world: World, questions: list[Asked]) -> None:
        found: set[str] = set()
        for asked in [*questions, *strategies.every_question()[::3]]:
            found.update(seen(world, asked))
        parents = world.raw["parents"]
        if any(parents.get(parent) == child for child, parent in parents.items()):
            found.add("cycle")
        counts.update(found)

    look()
    return counts


@pytest.mark.deep
@pytest.mark.parametrize("rule", REACHED)
def test_the_generators_reach(rule: str):
    assert reached()[rule] >= 2
