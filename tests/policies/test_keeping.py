"""What follows from the policies is made once, and again when they change."""

import itertools

import pytest

from policies import bootstrap
from policies.authoring.services import policies
from policies.pdp import authorizer, snapshot_store
from policies.pdp.per_snapshot import kept
from tests.policies.test_store import DRAFT, FREE

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(snapshot_store, "LOOK_EVERY", 0.0)
    snapshot_store.drop()
    bootstrap.run()
    yield
    snapshot_store.drop()


def test_a_result_is_kept_for_its_key_until_the_policies_change():
    made = itertools.count(1)

    def named(key):
        return kept(key, lambda: next(made))

    assert [named("a"), named("a"), named("b"), named("a")] == [1, 1, 2, 1]
    policies.create(urn=FREE, draft=DRAFT, by=authorizer.SYSTEM, door="test")
    assert [named("a"), named("a"), named("b")] == [3, 3, 4]


def test_what_could_not_be_made_is_made_again():
    def fails():
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kept("x", fails)
    assert kept("x", lambda: 1) == 1


def test_the_number_of_results_is_bounded(monkeypatch):
    monkeypatch.setattr("policies.pdp.per_snapshot._MOST", 3)
    made: list[int] = []

    def ask(key):
        kept(key, lambda: made.append(key))

    for key in (1, 2, 3, 4, 4, 1):
        ask(key)
    assert made == [1, 2, 3, 4, 1]
