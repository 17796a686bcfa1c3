"""What follows from the policies is made once, and again when they change."""

import itertools

import pytest

from policies import bootstrap
from policies.authoring.services import policies
from policies.pdp import authorizer, snapshot_store
from policies.pdp.per_snapshot import memoize
from tests.policies.test_store import DRAFT, FREE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    snapshot_store.reset()
    bootstrap.run()
    yield
    snapshot_store.reset()


def test_a_result_is_kept_for_its_key_until_the_policies_change():
    made = itertools.count(1)

    def named(key):
        return memoize(key, lambda: next(made))

    assert [named("a"), named("a"), named("b"), named("a")] == [1, 1, 2, 1]
    policies.create(urn=FREE, draft=DRAFT, by=authorizer.SYSTEM, channel="test")
    assert [named("a"), named("a"), named("b")] == [3, 3, 4]


def test_what_could_not_be_made_is_made_again():
    def fails():
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            memoize("x", fails)
    assert memoize("x", lambda: 1) == 1


def test_the_number_of_results_is_bounded(monkeypatch):
    monkeypatch.setattr("policies.pdp.per_snapshot._MAX_RESULTS", 3)
    made: list[int] = []

    def ask(key):
        memoize(key, lambda: made.append(key))

    for key in (1, 2, 3, 4, 4, 1):
        ask(key)
    assert made == [1, 2, 3, 4, 1]
