"""Conditions on properties: how they are written and checked, what they mean, and how they are explained."""

import pytest

from policies.engine import actor_conditions, explain, near_misses
from policies.engine.errors import InvalidPolicy
from policies.engine.evaluate import decide
from policies.engine.families import datahub
from policies.engine.model import Actor, Question
from policies.engine.property_conditions import MAX_VALUE_LENGTH, ActorCondition, property_prefix, to_facets, to_texts
from policies.engine.selectors import Condition, Resource
from tests.worlds import World, criterion, document, matching_all, name_actors, urn

TAGGING = "EDIT_ENTITY_TAGS"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, set()),
        ("", set()),
        ([], set()),
        (["", None, []], set()),
        ("x", {"x"}),
        (True, {"true"}),
        (False, {"false"}),
        (7, {"7"}),
        (7.0, {"7"}),
        (7.5, {"7.5"}),
        (["a", ["b", 1]], {"a", "b", "1"}),
        ({"b": 1, "a": "é"}, {'{"a":"\\u00e9","b":1}'}),
        ("\ud800", {"\ud800"}),
    ],
)
def test_values_of_json(value, expected):
    assert to_texts(value) == expected


def test_long_values_are_told_apart_and_keep_their_beginning():
    one, other = "x" * 600, "x" * 599 + "y"
    (first,), (second,) = to_texts(one), to_texts(other)
    assert first != second
    assert len(first) == len(second) == MAX_VALUE_LENGTH
    assert first[:400] == one[:400]
    assert to_texts("x" * MAX_VALUE_LENGTH) == {"x" * MAX_VALUE_LENGTH}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("PROPERTY.a", "PROPERTY."),
        ("PROPERTY.a b/c", "PROPERTY."),
        ("ACTOR.PROPERTY.a", "ACTOR.PROPERTY."),
        ("ACTION.PROPERTY.PROPERTY.a", "ACTION.PROPERTY."),
        *((field, "") for field in ("PROPERTY.", "PROPERTY. a", "property.a", "RESOURCE.PROPERTY.a", "PROPERTY", "")),
        ("PROPERTY.\x00", ""),
        ("PROPERTY.\ud800", ""),
        ("PROPERTY." + "x" * 55, "PROPERTY."),
        ("PROPERTY." + "x" * 56, ""),
    ],
)
def test_names(field, expected):
    assert property_prefix(field) == expected


def test_names_that_nobody_can_ask_for_are_no_facts():
    assert to_facets({"a": 1, "": 2, "x" * 60: 3, " b": 4}, "PROPERTY.") == {"PROPERTY.a": {"1"}}


def problems(*criteria, constraints=None):
    with pytest.raises(InvalidPolicy) as caught:
        datahub.parse(document(resources=matching_all(*criteria, constraints=constraints)))
    return [(one.code, one.pointer) for one in caught.value.problems]


def test_every_problem_is_named_at_its_place():
    at = "/resources/filter/criteria"
    found = problems(
        criterion("PROPERTY."),
        criterion("ACTOR.PROPERTY." + "x" * 56, "v"),
        criterion("PROPERTY.a", "ok", "${PROPERTY.b}", "${ACTOR.b}", "${ACTOR.PROPERTY.b", "x" * 501),
        criterion("ACTOR.PROPERTY.a", "${ACTOR.PROPERTY.b}", "${ACTION.PROPERTY.b}"),
        criterion("PROPERTY.a", "x", condition="LIKE"),
        criterion("OTHER.a", "x"),
        constraints=[criterion("PROPERTY.a", "x")],
    )
    assert found == [
        ("property.name", f"{at}/0/field"),
        ("property.name", f"{at}/1/field"),
        *(("property.reference", f"{at}/2/values/{place}") for place in (1, 2, 3)),
        ("property.value", f"{at}/2/values/4"),
        ("property.reference", f"{at}/3/values/0"),
        ("choice", f"{at}/4/condition"),
        ("choice", f"{at}/5/field"),
        ("choice", "/resources/privilegeConstraints/criteria/0/field"),
    ]


@pytest.mark.parametrize("values", [7, ["x", 7], None])
def test_values_of_another_kind_are_refused(values):
    found = problems({"field": "PROPERTY.a", "values": values})
    assert [code for code, _ in found] == [
        "required" if values is None else "type.list" if values == 7 else "type.text"
    ]


def test_a_document_is_stored_as_it_came():
    raw = document(resources=matching_all(criterion("PROPERTY.a", "${ACTOR.PROPERTY.b}", "x", condition="NOT_EQUALS")))
    assert datahub.parse(raw) == raw


KNOWN = {"ACTOR.PROPERTY.a": frozenset({"x", "xy"})}
HERE, NONE = "ACTOR.PROPERTY.a", "ACTION.PROPERTY.a"


@pytest.mark.parametrize(
    ("field", "condition", "values", "references", "expected"),
    [
        (HERE, "EQUALS", {"x"}, set(), True),
        (HERE, "EQUALS", {"y"}, set(), False),
        (HERE, "STARTS_WITH", {"xy"}, set(), True),
        (HERE, "NOT_EQUALS", {"y"}, set(), True),
        (HERE, "NOT_EQUALS", {"x"}, set(), False),
        (HERE, "NOT_EQUALS", set(), {NONE}, False),
        (HERE, "EQUALS", {"x"}, {NONE}, True),
        (HERE, "EQUALS", set(), {NONE}, False),
        *((NONE, condition, {"x"}, set(), False) for condition in Condition),
        *((NONE, condition, set(), {HERE}, False) for condition in Condition),
    ],
)
def test_what_is_not_known_makes_a_proviso_false_for_an_allow_and_true_for_a_deny(
    field, condition, values, references, expected
):
    proviso = ActorCondition(field, Condition(condition), frozenset(values), frozenset(references))
    assert proviso.bind(KNOWN, is_deny=False) is expected
    assert proviso.holds(KNOWN, None, is_deny=False) is expected
    is_denied = expected or NONE in (field, *references)
    assert proviso.bind(KNOWN, is_deny=True) is is_denied
    assert proviso.holds(KNOWN, None, is_deny=True) is is_denied


@pytest.mark.parametrize(
    ("condition", "found", "reference", "expected"),
    [
        ("EQUALS", {"x"}, HERE, True),
        ("EQUALS", set(), HERE, False),
        ("EQUALS", {"x"}, NONE, False),
        ("NOT_EQUALS", {"z"}, HERE, True),
        ("NOT_EQUALS", set(), HERE, True),
        ("NOT_EQUALS", {"xy"}, HERE, False),
        ("NOT_EQUALS", {"z"}, NONE, False),
        ("STARTS_WITH", {"xyz"}, HERE, True),
        ("STARTS_WITH", {"xyz"}, NONE, False),
    ],
)
def test_a_property_of_the_resource_is_compared(condition, found, reference, expected):
    resource = Resource("urn:li:dataset:a", "dataset", {"PROPERTY.b": frozenset(found)})
    proviso = ActorCondition("PROPERTY.b", Condition(condition), frozenset(), frozenset({reference}))
    assert proviso.holds(KNOWN, resource, is_deny=False) is expected
    assert proviso.holds(KNOWN, None, is_deny=False) is False
    assert proviso.holds(KNOWN, resource, is_deny=True) is (expected or reference == NONE)


def world() -> World:
    found = World()
    found.user("jo")
    found.knows("jo", department="sales", role="manager")
    found.entity("dataset:a")
    found.describe("dataset:a", department="sales", status="active")
    found.raw["action"] = {"soft": ["true"]}
    criteria = matching_all(
        criterion("PROPERTY.department", "${ACTOR.PROPERTY.department}"),
        criterion("PROPERTY.status", "archived", condition="NOT_EQUALS"),
        criterion("ACTOR.PROPERTY.role", "manager", "boss"),
        criterion("ACTION.PROPERTY.soft", "true"),
    )
    found.policy("p", document(privileges=[TAGGING], actors={"allUsers": True}, resources=criteria))
    return found


def asked(found: World, **known: str) -> Question:
    actor = actor_conditions.override_attributes(
        found.actor(urn("jo")), {name.replace("_", "."): to_texts(one) for name, one in known.items()}
    )
    return Question(actor, TAGGING, found.resource(urn("dataset:a")))


def test_a_reason_says_every_condition():
    found = world()
    question = asked(found)
    decision = decide(found.snapshot(), question)
    (reason,) = explain.list_reasons(decision, question, lambda one: one.rpartition(":")[2])
    assert reason.explanation == (
        "It is for all users; the dataset's status is not archived; the dataset's department is jo's department; "
        "jo's role is boss or manager; the action's soft is true."
    )


def test_a_near_miss_says_what_was_lacking():
    found = world()
    question = asked(found, ACTOR_PROPERTY_role="clerk", ACTOR_PROPERTY_department="legal", ACTION_PROPERTY_soft="")
    assert not decide(found.snapshot(), question).is_allowed
    (miss,) = near_misses.list_near_misses(found.snapshot(), question)
    near = miss.to_near_match(lambda one: one.rpartition(":")[2])
    assert miss.missing_count == 3
    assert [lack.sentence for lack in near.failed_conditions] == [
        "The dataset's department is not jo's department.",
        "Jo's role is not boss or manager.",
        "The action's soft is not known.",
    ]
    assert {lack.part for lack in near.failed_conditions} == {near_misses.ConditionPart.PROPERTY}


def test_a_question_loads_what_is_compared():
    assert world().snapshot().tested_fields([TAGGING]) == {"PROPERTY.department", "PROPERTY.status"}


def test_who_leaves_out_whom_a_proviso_may_leave_out():
    found = world()
    assert not name_actors(found.snapshot(), TAGGING, found.resource(urn("dataset:a")))["all_users"]


def test_a_policy_comes_and_goes_with_its_provisos():
    found = world()
    snapshot = found.snapshot()
    without = snapshot.replace(2, {"urn:li:dataHubPolicy:p": ()})
    assert without.tested_fields([TAGGING]) == frozenset()
    assert not decide(without, asked(found)).is_allowed
    assert decide(snapshot, asked(found)).is_allowed
    assert decide(without.replace(3, dict(found.statements())), asked(found)).is_allowed
    assert not decide(snapshot, Question(Actor(urn("jo")), TAGGING, asked(found).resource)).is_allowed
