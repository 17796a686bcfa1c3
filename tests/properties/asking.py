"""Puts one question of a generated world to the engine and to the oracle, in the same words."""

from policies.engine.evaluate import decide
from policies.engine.model import Decision, Question
from policies.engine.snapshot import Snapshot
from tests import oracle
from tests.spec.tables import Asked
from tests.worlds import World, short

#: What both answer: yes or no, and the short ids of the policies that decided.
Answer = tuple[bool, list[str]]


def question(world: World, asked: Asked, fields: frozenset[str] | None = None) -> Question:
    """Return the engine's question; `fields` are the facets of the resource that are loaded (None: all)."""
    resource = None
    if asked.resource is not None or asked.type is not None:
        resource = world.resource(asked.resource or "", asked.type, fields)
    subresources = tuple(world.resource(name) for name in asked.subresources)
    return Question(world.actor(asked.actor), asked.privilege, resource, subresources)


def engine_decision(snapshot: Snapshot, world: World, asked: Asked) -> Decision:
    """Return the engine's decision."""
    return decide(snapshot, question(world, asked))


def by_engine(snapshot: Snapshot, world: World, asked: Asked) -> Answer:
    """Return the engine's answer."""
    decision = engine_decision(snapshot, world, asked)
    return decision.is_allowed, short(decision.statements)


def by_oracle(world: World, asked: Asked) -> Answer:
    """Return the oracle's answer."""
    answer: Answer = oracle.authorize(
        world.raw,
        world.policies,
        asked.actor,
        asked.privilege,
        asked.resource,
        asked.subresources,
        asked.type,
    )
    return answer


def is_allowed(world: World, asked: Asked) -> bool:
    """Return the engine's yes or no, from a snapshot of its own."""
    return engine_decision(world.snapshot(), world, asked).is_allowed
