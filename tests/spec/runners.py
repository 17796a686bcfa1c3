"""Who can answer the questions of the tables. Each runner is judged by the same tables.

A runner says which kinds of question it answers and answers all questions of one world in a go, so that one that is
slow to set up (a database, Spark) is set up once per section. It may take what it needs from pytest's `request`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from policies.engine import reach_index
from policies.engine.evaluate import decide, decide_requirement
from policies.engine.families import datahub
from policies.engine.model import Decision, Question
from policies.engine.requirements import any_of_requirement
from tests import oracle, worlds
from tests.spec.doors import by_http
from tests.spec.tables import Asked, Cell
from tests.worlds import World

Answers = list[dict[str, Cell]]


@dataclass(frozen=True)
class Runner:
    """`able` says which questions it answers; `answer` gives for each of them its answer by column.

    An answer may leave out columns that the runner cannot fill.
    """

    able: Callable[[World, Asked], bool]
    answer: Callable[[World, Sequence[Asked], pytest.FixtureRequest], Answers]
    marks: tuple[pytest.MarkDecorator, ...] = ()


def _by_oracle(world: World, questions: Sequence[Asked], _request: pytest.FixtureRequest) -> Answers:
    return [_oracle_answer(world, asked) for asked in questions]


def _oracle_answer(world: World, asked: Asked) -> dict[str, Cell]:
    raw, policies = world.raw, world.policies
    place = (asked.resource, asked.subresources, asked.type)
    match asked.kind:
        case "any_of":
            return _decided(oracle.authorize_any_of(raw, policies, asked.actor, asked.any_of, *place))
        case "operation":
            return _decided(
                oracle.operation(raw, policies, asked.actor, asked.operation, asked.resource, asked.related)
            )
        case "granted":
            granted = oracle.granted_privileges(raw, policies, asked.actor, asked.resource, asked.type)
            return {"privileges": granted}
        case "details":
            return {"obstacles": oracle.obstacles(raw, policies, asked.actor, asked.resource, asked.type)}
        case "who":
            named = oracle.who(raw, policies, asked.privilege, asked.resource, asked.type)
            return {key.replace("_", " "): value for key, value in named.items()}
        case "what":
            return {"entities": oracle.what(raw, policies, asked.actor, asked.privilege, asked.type)}
        case _:
            is_allowed, because = oracle.authorize(raw, policies, asked.actor, asked.privilege, *place)
            return _decided(is_allowed) | {"because": because}


def _by_engine(world: World, questions: Sequence[Asked], _request: pytest.FixtureRequest) -> Answers:
    snapshot = world.snapshot()
    answers: Answers = []
    for asked in questions:
        actor = world.actor(asked.actor)
        subresources = tuple(world.resource(name) for name in asked.subresources)
        if asked.kind == "authorize":
            decision = decide(snapshot, Question(actor, asked.privilege, place(world, asked), subresources))
        elif asked.kind == "any_of":
            relatives = {"self": [place(world, asked)]}
            decision = decide_requirement(snapshot, actor, any_of_requirement(asked.any_of), relatives, subresources)
        else:
            requirement = datahub.load_operations()[asked.operation]
            decision = decide_requirement(
                snapshot, actor, requirement, world.relatives(asked.resource, asked.related), subresources
            )
        answers.append(_read(decision))
    return answers


def place(world: World, asked: Asked):
    """Return the resource a question is about, or None."""
    if asked.resource is None and asked.type is None:
        return None
    return world.resource(asked.resource or "", asked.type)


def _read(decision: Decision) -> dict[str, Cell]:
    return _decided(decision.is_allowed) | {"because": list(worlds.short(decision.statements))}


def _decided(is_allowed: bool) -> dict[str, Cell]:
    return {"decision": "ALLOW" if is_allowed else "DENY"}


def _by_bulk(world: World, questions: Sequence[Asked], _request: pytest.FixtureRequest) -> Answers:
    snapshot, postings = world.snapshot(), world.postings()
    answers: Answers = []
    for asked in questions:
        if asked.kind == "who":
            named = worlds.name_actors(snapshot, asked.privilege, place(world, asked))
            answers.append({name.replace("_", " "): value for name, value in named.items()})
            continue
        covered = reach_index.compute_extent(
            postings, snapshot.compute_coverage(world.actor(asked.actor), asked.privilege)
        )
        urns = [postings.urns[number] for number in covered.allowed]
        if asked.kind == "what":
            answers.append(
                {"entities": [urn for urn in urns if asked.type in (None, world.raw["entities"][urn]["type"])]}
            )
        else:
            answers.append(_decided(asked.resource in urns))
    return answers


def _bulk_is_able(world: World, asked: Asked) -> bool:
    """Bulk knows stored entities as they are; it is asked without sub-resources."""
    is_about_entity = asked.resource in world.raw["entities"] and not asked.subresources
    return asked.kind in ("who", "what") or (asked.kind == "authorize" and is_about_entity)


RUNNERS: dict[str, Runner] = {
    "oracle": Runner(lambda _world, _asked: True, _by_oracle),
    "engine": Runner(lambda _world, asked: asked.kind in ("authorize", "any_of", "operation"), _by_engine),
    "bulk": Runner(_bulk_is_able, _by_bulk),
    "http": Runner(lambda _world, _asked: True, by_http, (pytest.mark.django_db,)),
}
