"""Wider selectors cover all that the many cover, in as few tests as they may take."""

from hypothesis import given
from hypothesis import strategies as st

from policies.engine.selectors import (
    DOMAIN,
    EVERYTHING,
    OWNER,
    TAG,
    TYPE,
    URN,
    Condition,
    Criterion,
    Selector,
)
from policies.engine.wider_selectors import count_tests, widen_selectors
from tests import strategies, worlds_datazone
from tests.worlds import World


@given(world=strategies.worlds(), limit=st.integers(0, 40))
def test_what_one_of_the_selectors_covers_a_wider_one_covers(world: World, limit: int) -> None:
    selectors = [one.resources for _, statements in world.statements() for one in statements]
    wider = widen_selectors(selectors, limit)
    for name in world.raw["entities"]:
        resource = world.resource(name)
        if any(selector.covers(resource) for selector in selectors):
            assert any(selector.covers(resource) for selector in wider)
    assert count_tests(wider) <= max(limit, count_tests(selectors))


@given(world=worlds_datazone.worlds(), limit=st.integers(0, 40))
def test_objects_that_patterns_cover_are_covered_by_wider_ones(world: worlds_datazone.World, limit: int) -> None:
    selectors = [one.resources for one in world.snapshot().statements]
    wider = widen_selectors(selectors, limit)
    for urn in world.raw["objects"]:
        resource = world.resource({"urn": urn})
        if any(selector.covers(resource) for selector in selectors):
            assert any(selector.covers(resource) for selector in wider)


def equal(field: str, *values: str) -> Criterion:
    return Criterion(field, Condition.EQUALS, frozenset(values))


def select(*criteria: Criterion) -> Selector:
    return Selector(criteria, needs_resource=True)


def test_thousands_of_selectors_become_a_few() -> None:
    datasets, charts = equal(TYPE, "dataset"), equal(TYPE, "chart")
    holders = equal(OWNER, "urn:li:corpGroup:crew")
    selectors = [select(datasets, equal(TAG, f"t{number}"), equal(DOMAIN, f"d{number}")) for number in range(900)]
    selectors += [select(charts, equal(DOMAIN, f"d{number}"), holders) for number in range(900)]
    assert set(widen_selectors(selectors, 1_000)) == {
        select(datasets, equal(TAG, *(f"t{number}" for number in range(900)))),
        select(charts, holders),
    }
    # One without a bound, of a type, covers what the others bound in it.
    assert set(widen_selectors([*selectors, select(charts)], 1_000)) == {
        select(datasets, equal(TAG, *(f"t{number}" for number in range(900)))),
        select(charts),
    }
    # Too many types: these no longer count.
    typed = [select(equal(TYPE, f"type{number}"), equal(URN, f"u{number}")) for number in range(900)]
    assert widen_selectors(typed, 1_000) == (select(equal(URN, *(f"u{number}" for number in range(900)))),)


def test_what_bounds_nothing_is_everything() -> None:
    excluding = select(Criterion(TAG, Condition.NOT_EQUALS, frozenset({"t"})))
    (everything,) = widen_selectors([excluding, *(select(equal(TAG, f"t{number}")) for number in range(9))], 5)
    assert everything.criteria == EVERYTHING.criteria
    assert not widen_selectors([select(equal(TAG)), select(equal(TYPE, "dataset"), equal(URN))], 2)
