"""The snapshot tests few candidates one by one and many by sets: both ways find the same statements."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.engine.errors import MissingFact
from policies.engine.model import Actor, Question, Statement
from policies.engine.selectors import TYPE, URN, Resource, resource_tokens
from policies.engine.snapshot import Snapshot
from tests import strategies
from tests.properties.asking import question
from tests.spec.tables import Asked
from tests.worlds import World

EVERY_QUESTION = strategies.every_question()
FIELDS = sorted(
    field
    for field in strategies.FIELD_VALUES
    if not field.startswith(("ACTOR.", "ACTION.")) and field not in (TYPE, URN, "RESOURCE_TYPE", "RESOURCE_URN")
)


@contextmanager
def limit_single_tests(number: int) -> Iterator[None]:
    """Let the snapshot test no more than so many candidates one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("policies.engine.snapshot._MAX_SINGLE_TESTS", number)
        yield


def matched(snapshot: Snapshot, put: Question, number: int) -> int | None:
    """Return what matches, None if a facet is missing."""
    with limit_single_tests(number):
        try:
            return snapshot.match(put)
        except MissingFact:
            return None


@given(world=strategies.worlds())
def test_one_by_one_equals_by_sets(world: World):
    snapshot = world.snapshot()
    puts = [question(world, asked) for asked in EVERY_QUESTION]
    with limit_single_tests(0):
        by_sets = [snapshot.match(put) for put in puts]
    with limit_single_tests(1_000):
        assert [snapshot.match(put) for put in puts] == by_sets


@given(
    world=strategies.worlds(),
    questions=st.lists(strategies.questions(), min_size=1, max_size=10),
    fields=st.frozensets(st.sampled_from(FIELDS)),
)
def test_a_missing_facet_never_changes_what_matches(world: World, questions: list[Asked], fields: frozenset[str]):
    snapshot = world.snapshot()
    for asked in questions:
        full, fewer = question(world, asked), question(world, asked, fields)
        if full.resource is not None and full.resource.owners and "OWNER" not in fields:
            continue  # owners come with their facet: without it they are not known to be missing
        one_by_one, by_sets = matched(snapshot, fewer, 1_000), matched(snapshot, fewer, 0)
        assert one_by_one in (None, snapshot.match(full))
        assert by_sets in (None, one_by_one)


@given(
    world=strategies.worlds(),
    questions=st.lists(strategies.questions(), min_size=1, max_size=10),
    fields=st.frozensets(st.sampled_from(FIELDS)),
)
def test_a_facet_may_be_missing_only_if_no_candidate_tests_it(
    world: World, questions: list[Asked], fields: frozenset[str]
):
    snapshot = world.snapshot()
    for asked in questions:
        put = question(world, asked, fields)
        if put.resource is None or not put.actor.is_active:
            continue
        testing = [
            len([one for one in statement.resources.criteria if one.field != TYPE])
            for statement in snapshot.statements
            if asked.privilege in statement.privileges
            and is_candidate(statement, put.actor, put.resource)
            and not statement.resources.fields <= put.resource.facets.keys() | {TYPE}
        ]
        with limit_single_tests(0):
            if 1 in testing:  # the only criterion of one: whether it matches depends on the facet alone
                with pytest.raises(MissingFact):
                    snapshot.match(put)
            elif not testing and not any(one.actor_conditions for one in snapshot.statements):
                snapshot.match(put)


def is_candidate(statement: Statement, actor: Actor, resource: Resource) -> bool:
    """Whether a statement is about the actor and the resource's type."""
    tokens = actor.tokens | resource_tokens(actor.urn, actor.holders, resource)
    types = [criterion for criterion in statement.resources.criteria if criterion.field == TYPE]
    is_of_type = all(criterion.holds(resource.values(TYPE)) for criterion in types)
    return is_of_type and not statement.actors.tokens.isdisjoint(tokens)


@given(world=strategies.worlds(), bits=st.integers(min_value=0, max_value=2**8 - 1))
def test_statements_are_named_in_the_order_of_their_origin(world: World, bits: int):
    snapshot = world.snapshot()
    every = snapshot.select(snapshot.everything)
    bits &= snapshot.everything
    chosen = snapshot.select(bits)
    assert list(every) == sorted(every, key=lambda one: (one.origin.policy, one.origin.index))
    assert list(chosen) == [one for one in every if one in set(chosen)]
    assert len(chosen) == bits.bit_count()
