"""Ask only for the facets somebody tests; a facet that was not loaded is an error, never an empty set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.engine.errors import MissingFact
from policies.engine.evaluate import decide
from policies.engine.model import Question
from policies.engine.selectors import OWNER, TYPE, URN
from tests import strategies
from tests.properties.asking import question
from tests.spec.tables import Asked
from tests.worlds import World, criterion, document, matching_all, urn

#: What is tested of the actor and the action is no facet of anything.
ALL_FIELDS = frozenset(field for field in strategies.FIELD_VALUES if not field.startswith(("ACTOR.", "ACTION."))) - {
    TYPE,
    URN,
    "RESOURCE_TYPE",
    "RESOURCE_URN",
}


@given(world=strategies.worlds(), questions=st.lists(strategies.questions(), min_size=1, max_size=20), data=st.data())
def test_fewer_facets_asked_same_answer(world: World, questions: list[Asked], data: st.DataObject):
    snapshot = world.snapshot()
    for asked in questions:
        needed = snapshot.tested_fields([asked.privilege])
        more = needed | data.draw(st.sets(st.sampled_from(sorted(ALL_FIELDS)), max_size=3))
        full = decide(snapshot, question(world, asked))
        for fields in (needed, more):
            fewer = decide(snapshot, question(world, asked, frozenset(fields)))
            assert (fewer.is_allowed, fewer.statements) == (full.is_allowed, full.statements)


@given(world=strategies.worlds(), questions=st.lists(strategies.questions(), min_size=1, max_size=20))
def test_sub_resources_need_no_more_than_subfields(world: World, questions: list[Asked]):
    snapshot = world.snapshot()
    for asked in questions:
        put = question(world, asked)
        needed = snapshot.tested_subfields([asked.privilege])
        bare = tuple(world.resource(name, fields=needed) for name in asked.subresources)
        fewer = decide(snapshot, Question(put.actor, put.privilege, put.resource, bare))
        assert fewer.statements == decide(snapshot, put).statements


@given(world=strategies.worlds())
def test_fields_are_those_the_candidates_test(world: World):
    snapshot = world.snapshot()
    for privilege in strategies.PRIVILEGES:
        candidates = [one for one in snapshot.statements if privilege in one.privileges]
        tested = {field for statement in candidates for field in statement.resources.fields}
        tested |= {one.field for statement in candidates for one in statement.actor_conditions if one.is_about_resource}
        assert snapshot.tested_fields([privilege]) - {OWNER} == tested - {OWNER}


@pytest.mark.parametrize("field", sorted(ALL_FIELDS))
@pytest.mark.parametrize("condition", strategies.CONDITIONS)
def test_a_missing_facet_is_an_error(field: str, condition: str):
    world = World()
    value = strategies.FIELD_VALUES[field][0]
    world.policy(
        "tests-it",
        document(
            privileges=["EDIT_ENTITY_TAGS"],
            actors={"allUsers": True},
            resources=matching_all(criterion(field, value, condition=condition)),
        ),
    )
    snapshot = world.snapshot()
    actor = world.actor(urn("jo"))
    assert snapshot.tested_fields(["EDIT_ENTITY_TAGS"]) == {field}
    without = world.resource(urn("dataset:orders"), fields=ALL_FIELDS - {field})
    with pytest.raises(MissingFact) as raised:
        decide(snapshot, Question(actor, "EDIT_ENTITY_TAGS", without))
    assert (raised.value.field, raised.value.urn) == (field, urn("dataset:orders"))
    loaded = world.resource(urn("dataset:orders"), fields={field})
    assert decide(snapshot, Question(actor, "EDIT_ENTITY_TAGS", loaded)).is_allowed == (condition == "NOT_EQUALS")
