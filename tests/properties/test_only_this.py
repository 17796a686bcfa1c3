"""Proofs that a change gives only this, against brute force: every question is asked before and after the change.

A proof holds of all catalogs, so no question of this one may contradict it. An example of the opposite has to
be true for the engine and, made into a catalog of its own, for the oracle.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest

from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.model import Question
from policies.engine.proofs import prover
from policies.engine.proofs.known_states import KnownState
from policies.engine.proofs.verdicts import Proof, Verdict
from policies.engine.selectors import Owner, Resource
from tests import oracle, strategies
from tests.properties.test_proofs import TOUCHING, is_allowed_by_oracle, is_of_a_catalog
from tests.worlds import ANY_SUBRESOURCE, World

SECONDS = 60
PEOPLE = [*strategies.USERS, strategies.STRANGER]
ASKED = [one for one in strategies.every_question() if one.actor != oracle.SYSTEM_ACTOR]


@dataclass(frozen=True)
class Case:
    """A world before and after a change, and what the change may give."""

    before: World
    after: World
    actor: str
    privileges: frozenset[str]
    entity: str | None
    touching: tuple[str, ...]


def draw_case(dice: Random) -> Case:
    """A world, a change of policies, people or owners, and an allowance that often is what it gives."""
    drawn = strategies.make_world(dice)
    actor, entity = dice.choice(PEOPLE), dice.choice([*strategies.ENTITIES, None])
    privileges = frozenset(dice.sample(strategies.PRIVILEGES, dice.choice([1, 1, 2])))
    after = drawn
    for change in dice.sample(CHANGES, dice.choice([1, 1, 2, 3])):
        after = change(dice, after, Case(drawn, after, actor, privileges, entity, ()))
    return Case(drawn, after, actor, privileges, entity, dice.choice([(), *TOUCHING]))


def add_own_policy(dice: Random, world: World, case: Case) -> World:
    """A policy of its own for what may be given."""
    document: dict[str, Any] = {
        "displayName": "own",
        "description": "",
        "type": "METADATA" if case.entity else "PLATFORM",
        "state": "ACTIVE",
        "editable": True,
        "privileges": sorted(case.privileges),
        "actors": {"users": [case.actor]},
    }
    if case.entity:
        resources = {"filter": {"criteria": [{"field": "URN", "values": [case.entity], "condition": "EQUALS"}]}}
        document |= {"resources": resources}
    return world.having([*world.policies, ("own", document)])


def change_policy(dice: Random, world: World, case: Case) -> World:
    """Another policy, one policy less, or one in another's place."""
    kept = [one for one in world.policies if dice.random() < 0.8]
    return world.having([*kept, *dice.choice([[], [("new", strategies.make_policy(dice))]])])


def except_actor(dice: Random, world: World, case: Case) -> World:
    """The actor among the exceptions of one policy, or no longer."""
    if not world.policies:
        return world
    name, raw = dice.choice(world.policies)
    actors = dict(raw.get("actors") or {})
    excepted = set(actors.get("excludedUsers") or ()) ^ {case.actor}
    changed = raw | {"actors": actors | {"excludedUsers": sorted(excepted)}}
    return world.having([(one, changed if one == name else other) for one, other in world.policies])


def change_person(dice: Random, world: World, case: Case) -> World:
    """A membership, a role or a state more or less of the actor, or of somebody else."""
    person, raw = dice.choice([case.actor, *PEOPLE]), dict(world.raw)
    kind, values = dice.choice([("memberships", strategies.GROUPS), ("roles", strategies.ROLES), ("suspended", [])])
    pair: Any = [person, dice.choice(values)] if values else person
    raw[kind] = [one for one in raw[kind] if one != pair] if pair in raw[kind] else [*raw[kind], pair]
    return replace(world, raw=raw)


def add_owner(dice: Random, world: World, case: Case) -> World:
    """An owner more, or less, of an entity."""
    entities = dict(world.raw["entities"])
    names = [name for name in dict.fromkeys((case.entity, *entities)) if name in entities]
    if not names:
        return world
    entity = dice.choice([names[0], *names])
    pair = [dice.choice([case.actor, *PEOPLE, *strategies.GROUPS]), dice.choice(["", *strategies.OWNER_TYPES])]
    owners = entities[entity]["owners"]
    owners = [one for one in owners if one != pair] if pair in owners else [*owners, pair]
    entities[entity] = entities[entity] | {"owners": owners}
    return replace(world, raw=world.raw | {"entities": entities})


CHANGES = [add_own_policy, change_policy, except_actor, change_person, add_owner]


def state_of(world: World, entities: set[str]) -> KnownState:
    """The known state of a world: policies, people, and the owners of the entities whose owners a change concerns."""
    people = {name: replace(world.actor(name), attributes=frozenset()) for name in PEOPLE}
    owners = {name: frozenset(Owner(*pair) for pair in world.raw["entities"][name]["owners"]) for name in entities}
    return KnownState(world.snapshot(), people, owners)


def asked_twice(case: Case) -> Iterator[tuple[Question, Question]]:
    """Every question of the world before and after the change."""
    wide = [*case.before.policies, *case.after.policies]
    worlds = [one.having(wide) for one in (case.before, case.after)]
    places = [
        {
            place: None if place == (None, None) else world.resource(place[0] or "", place[1])
            for place in strategies.PLACES
        }
        for world in worlds
    ]
    actors = [{name: world.actor(name) for name in PEOPLE} for world in worlds]
    touched = [
        tuple(Resource(name, "", {}) if name == ANY_SUBRESOURCE else world.resource(name) for name in case.touching)
        for world in worlds
    ]
    for one in ASKED:
        was, now = (
            Question(actors[side][one.actor], one.privilege, places[side][one.resource, one.type], touched[side])
            for side in (0, 1)
        )
        yield was, now


def find_other_gain(case: Case) -> tuple[Question, Question] | None:
    """A question of the world that only the state after the change allows, and that is not what may be given."""
    before, after = case.before.snapshot(), case.after.snapshot()
    widened = vocabulary.load_datahub().widen(case.privileges)
    for was, now in asked_twice(case):
        place = None if now.resource is None else now.resource.urn
        if now.actor.urn == case.actor and now.privilege in widened and place == case.entity:
            continue
        if decide(after, now).is_allowed and not decide(before, was).is_allowed:
            return was, now
    return None


def prove(case: Case) -> Proof:
    entities = {
        name
        for name, entity in case.before.raw["entities"].items()
        if entity["owners"] != case.after.raw["entities"][name]["owners"]
    }
    return prover.gives_only_this(
        state_of(case.before, entities),
        state_of(case.after, entities),
        actor=case.actor,
        privileges=case.privileges,
        entity=case.entity,
        seconds=SECONDS,
    )


def assert_is_confirmed(case: Case, proof: Proof) -> None:
    """The example of another gain is one for the engine, and for the oracle where it can hold it."""
    was, now = proof.earlier, proof.question
    assert was is not None
    assert now is not None
    assert decide(case.after.snapshot(), now).is_allowed
    assert not decide(case.before.snapshot(), was).is_allowed
    place = None if now.resource is None else now.resource.urn
    widened = vocabulary.load_datahub().widen(case.privileges)
    assert (now.actor.urn, place) != (case.actor, case.entity) or now.privilege not in widened
    if is_of_a_catalog(now) and was.actor.is_active:
        assert is_allowed_by_oracle(case.after, now)
        assert not is_allowed_by_oracle(case.before, was)


def compare(number: int) -> Verdict:
    """Compare a proof with brute force; a difference fails."""
    case = draw_case(Random(number))
    proof = prove(case)
    found = find_other_gain(case)
    if proof.verdict is Verdict.YES:
        assert found is None, (number, found)
    elif proof.verdict is Verdict.NO:
        assert_is_confirmed(case, proof)
    return proof.verdict


@pytest.mark.parametrize(
    ("first", "size"), [(0, 150), *(pytest.param(block, 10_000, marks=pytest.mark.deep) for block in range(10))]
)
def test_a_change_gives_only_this_as_brute_force_says(first: int, size: int):
    verdicts = [compare(number) for number in range(first * size, (first + 1) * size)]
    assert verdicts.count(Verdict.UNKNOWN) <= len(verdicts) // 20
    assert {Verdict.YES, Verdict.NO} <= set(verdicts)
