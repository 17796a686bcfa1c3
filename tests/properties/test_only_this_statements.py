"""Proofs that a change of Datazone's roles and statements gives only this, against brute force.

An object is its type and id: the proof knows of the one that is asked for, and of no other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from policies.engine import families
from policies.engine.evaluate import decide
from policies.engine.proofs import prover
from policies.engine.proofs.known_states import KnownState
from policies.engine.proofs.verdicts import Verdict
from tests import worlds_datazone
from tests.strategies import Dice
from tests.worlds_datazone import ACTIONS, GROUPS, OBJECTS, ROLES, UNKNOWN, USERS, World

SECONDS = 60
OWN = "urn:li:dataHubRole:own"
ENTITIES = [*OBJECTS, UNKNOWN]
#: Every question, and those about columns and paths that a restriction may show.
ASKED = [
    *worlds_datazone.every_question(),
    *(
        {"actor": actor, "action": f"{urn.split(':')[2]}:read", "urn": urn, **part}
        for actor in USERS
        for urn in ENTITIES
        for part in ({"columns": ["a"]}, {"columns": ["b", "c"]}, {"path": "src/etl/a.py"}, {"path": "docs"})
        if ("path" in part) == (":project:" in urn)
    ),
]


@dataclass(frozen=True)
class Case:
    """A world before and after a change, and what the change may give."""

    before: World
    after: World
    actor: str
    action: str
    entity: str


def make_statement(dice: Random, entity: str, action: str) -> dict[str, Any]:
    """Return the statement of a way, or one that gives a little more."""
    kind, identifier = action.partition(":")[0], identify(entity)
    resource = dice.choice([f"{kind}:{identifier}"] * 4 + [f"{kind}:*"])
    actions = dice.choice([[action]] * 4 + [[f"{kind}:manage"]])
    return {"resource": resource, "actions": actions, "effect": "allow"}


def identify(entity: str) -> str:
    return entity[-24:] if entity[-24:].isalnum() else "d" * 24


def draw_case(dice: Random) -> Case:
    """A world, a change of policies and people, and an allowance that often is what the change gives."""
    before = worlds_datazone._world(Dice(dice.randbytes(800)))
    entity, actor = dice.choice(ENTITIES), dice.choice(USERS)
    action = dice.choice([name for name in ACTIONS if name.startswith(entity.split(":")[2])] or ["view:read"])
    raw, policies = dict(before.raw), list(before.policies)
    for change in dice.sample(["own", "own", "policy", "person"], dice.choice([1, 1, 2])):
        if change == "own":
            statement = make_statement(dice, entity, action)
            policies.append(("own", {"name": "own", "statements": [statement], "roles": [OWN]}))
            raw["roles"] = [*raw["roles"], [actor, OWN]]
        elif change == "policy":
            policies = [one for one in policies if dice.random() < 0.7]
            policies += [("new", worlds_datazone._policy(Dice(dice.randbytes(110))))] * dice.choice([0, 1])
        else:
            kind, pair = dice.choice(
                [("roles", [dice.choice([actor, *GROUPS]), dice.choice(ROLES)]), ("memberships", [actor, GROUPS[0]])]
            )
            raw[kind] = [one for one in raw[kind] if one != pair] if pair in raw[kind] else [*raw[kind], pair]
    policies = list(dict(policies).items())
    return Case(before, World(raw, policies), actor, action, entity)


def find_other_gain(case: Case) -> dict[str, Any] | None:
    """A question of the world that only the state after the change allows, and that is not what may be given."""
    before, after = case.before.snapshot(), case.after.snapshot()
    widened = families.widen([case.action])
    for question in ASKED:
        is_given = question["actor"] == case.actor and question["urn"] == case.entity and question["action"] in widened
        if is_given or not case.after.decide(after, question).is_allowed:
            continue
        if not case.before.decide(before, question).is_allowed:
            return question
    return None


def list_states(case: Case) -> Iterator[KnownState]:
    kind = case.entity.split(":")[2]
    for world in (case.before, case.after):
        people = {user: world.actor(user) for user in USERS}
        yield KnownState(world.snapshot(), people, objects={(kind, identify(case.entity)): case.entity})


def compare(number: int) -> Verdict:
    """Compare a proof with brute force; a difference fails."""
    case = draw_case(Random(number))
    states = list(list_states(case))
    proof = prover.gives_only_this(
        *states, actor=case.actor, privileges=[case.action], entity=case.entity, seconds=SECONDS
    )
    found = find_other_gain(case)
    if proof.verdict is Verdict.YES:
        assert found is None, (number, found)
    if proof.verdict is Verdict.NO:
        assert proof.question is not None
        assert proof.earlier is not None
        assert decide(states[1].snapshot, proof.question).is_allowed
        assert not decide(states[0].snapshot, proof.earlier).is_allowed
    return proof.verdict


@pytest.mark.parametrize("size", [40, pytest.param(10_000, marks=pytest.mark.deep)])
def test_a_statement_gives_only_this_as_brute_force_says(size: int) -> None:
    verdicts = [compare(number) for number in range(size)]
    assert min(verdicts.count(Verdict.YES), verdicts.count(Verdict.NO)) >= size // 10
