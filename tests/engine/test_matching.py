"""Criteria, selectors and tokens: plain set tests."""

import pytest

from policies.engine.errors import MissingFact
from policies.engine.model import Actor
from policies.engine.selectors import (
    EVERYONE,
    EVERYTHING,
    IN_ANY_GROUP,
    NEVER_CRITERION,
    ONESELF,
    OWNER_OF_ANY_TYPE,
    TAG,
    TYPE,
    URN,
    Condition,
    Criterion,
    Owner,
    Resource,
    Selector,
    owner_token,
    resource_tokens,
)

EQUALS, STARTS_WITH, NOT_EQUALS = Condition.EQUALS, Condition.STARTS_WITH, Condition.NOT_EQUALS


@pytest.mark.parametrize(
    ("condition", "wanted", "found", "holds"),
    [
        (EQUALS, {"a"}, {"a", "b"}, True),
        (EQUALS, {"a"}, {"ab"}, False),
        (EQUALS, {"a"}, set(), False),
        (EQUALS, set(), {"a"}, False),
        (EQUALS, {"a"}, {"A"}, False),
        (STARTS_WITH, {"a"}, {"ab"}, True),
        (STARTS_WITH, {"ab"}, {"a"}, False),
        (STARTS_WITH, {"x", "a"}, {"b", "ab"}, True),
        (STARTS_WITH, {""}, {"a"}, True),
        (STARTS_WITH, {""}, set(), False),
        (STARTS_WITH, set(), {"a"}, False),
        (NOT_EQUALS, {"a"}, {"a", "b"}, False),
        (NOT_EQUALS, {"a"}, {"b"}, True),
        (NOT_EQUALS, {"a"}, set(), True),
        (NOT_EQUALS, set(), {"a"}, True),
    ],
)
def test_conditions(condition: Condition, wanted: set[str], found: set[str], holds: bool):
    assert Criterion(TAG, condition, frozenset(wanted)).holds(frozenset(found)) is holds


def test_nothing_passes_never():
    resource = Resource("urn:li:dataset:a", "dataset", {})
    assert not Selector((NEVER_CRITERION,)).covers(resource)
    assert not Selector((NEVER_CRITERION,)).covers(Resource("", "dataset", {}))


def test_type_and_urn_come_with_the_question():
    resource = Resource("urn:li:dataset:a", "dataset", {})
    assert resource.values(TYPE) == {"dataset"}
    assert resource.values(URN) == {"urn:li:dataset:a"}
    assert Resource("", "dataset", {}).values(URN) == frozenset()
    assert Resource("urn:li:dataset:a", "", {}).values(TYPE) == frozenset()


def test_a_facet_that_was_not_loaded_is_an_error():
    with pytest.raises(MissingFact) as raised:
        Resource("urn:li:dataset:a", "dataset", {}).values(TAG)
    assert (raised.value.field, raised.value.urn, raised.value.code) == (TAG, "urn:li:dataset:a", "fact.missing")
    assert Resource("urn:li:dataset:a", "dataset", {TAG: frozenset()}).values(TAG) == frozenset()


def test_selectors():
    resource = Resource("urn:li:dataset:a", "dataset", {TAG: frozenset({"t"})})
    tagged, chart = Criterion(TAG, EQUALS, frozenset({"t"})), Criterion(TYPE, EQUALS, frozenset({"chart"}))
    assert EVERYTHING.covers(resource)
    assert EVERYTHING.covers(None)
    assert Selector(needs_resource=True).covers(resource)
    assert not Selector(needs_resource=True).covers(None)
    assert Selector((tagged,)).covers(resource)
    assert not Selector((tagged, chart)).covers(resource)
    assert Selector((tagged, chart)).fields == {TAG}


def test_tokens_of_an_actor():
    alone = Actor("u")
    grouped = Actor("u", groups=frozenset({"g"}), roles=frozenset({"r"}))
    assert alone.tokens == {"u", EVERYONE}
    assert grouped.tokens == {"u", "g", "r", EVERYONE, IN_ANY_GROUP}
    assert grouped.holders == {"u", "g"}


def test_tokens_towards_a_resource():
    owners = frozenset({Owner("u", "tech"), Owner("u", ""), Owner("g", "business"), Owner("other", "steward")})
    resource = Resource("e", "dataset", {}, owners)
    holders = frozenset({"u", "g"})
    assert resource_tokens("u", holders, None) == frozenset()
    assert resource_tokens("e", frozenset({"e"}), resource) == {ONESELF}
    assert resource_tokens("u", frozenset({"u"}), resource) == {OWNER_OF_ANY_TYPE, owner_token("tech")}
    assert resource_tokens("u", holders, resource) == {OWNER_OF_ANY_TYPE, owner_token("tech"), owner_token("business")}
    assert resource_tokens("x", frozenset({"x"}), resource) == frozenset()
    assert resource_tokens("", frozenset({""}), Resource("", "dataset", {})) == frozenset()


def test_an_entry_without_a_type_is_no_owner_of_a_type():
    untyped = Resource("e", "dataset", {}, frozenset({Owner("u", "")}))
    assert resource_tokens("u", frozenset({"u"}), untyped) == {OWNER_OF_ANY_TYPE}
    assert owner_token("") not in resource_tokens("u", frozenset({"u"}), untyped)
