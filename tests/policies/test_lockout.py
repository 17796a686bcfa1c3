"""A change that leaves nobody who can manage policies is refused, whatever door it comes through."""

import pytest

from policies import queries, store
from policies.errors import Conflict
from policies.services import people, policies
from tests.policies.conftest import DOOR

PASSWORD = "correct horse battery"


@pytest.fixture
def manager(holding, system):
    """Somebody who holds MANAGE_POLICIES by the only policy that gives it, and has a password."""
    actor = holding("MANAGE_POLICIES", username="mia")
    people.set_password(urn=actor.urn, password=PASSWORD, by=system, door=DOOR)
    return actor


def the_policy():
    return queries.policies(privilege="MANAGE_POLICIES").get()


def changed(**changes):
    policy = the_policy()
    return policies.Draft("datahub", {**policy.document, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"state": "INACTIVE"},
        {"privileges": ["MANAGE_TAGS"]},
        {"actors": {"users": ["urn:li:corpuser:nobody"]}},
        {"type": "METADATA", "resources": {"filter": {"criteria": []}}},
    ],
)
def test_the_last_manager_stays(manager, changes):
    before = the_policy()
    with pytest.raises(Conflict, match="Nobody who can sign in could manage policies"):
        policies.update(urn=before.urn, draft=changed(**changes), by=manager, door=DOOR)
    assert the_policy().version == before.version
    assert the_policy().document == before.document


def test_deleting_and_deactivating_are_changes_too(manager):
    urn = the_policy().urn
    with pytest.raises(Conflict):
        policies.delete(urn=urn, by=manager, door=DOOR)
    with pytest.raises(Conflict):
        policies.set_state(urn=urn, state="INACTIVE", by=manager, door=DOOR)
    assert the_policy().state == "ACTIVE"


def test_another_manager_makes_it_possible(manager, holding, system):
    first = the_policy().urn
    second = holding("MANAGE_POLICIES", username="mo")
    people.set_password(urn=second.urn, password=PASSWORD, by=system, door=DOOR)
    policies.delete(urn=first, by=manager, door=DOOR)
    store.drop()
    with pytest.raises(Conflict):
        policies.delete(urn=the_policy().urn, by=queries.actor(urn=second.urn), door=DOOR)


@pytest.mark.parametrize("more", [{"state": "SUSPENDED"}, {"kind": "SERVICE"}, {}])
def test_who_cannot_sign_in_does_not_count(manager, user, system, more):
    other = user("other", **more)
    if more.get("state"):
        people.set_password(urn=other.urn, password=PASSWORD, by=system, door=DOOR)
    draft = changed(actors={"users": [other.urn]})
    with pytest.raises(Conflict):
        policies.update(urn=the_policy().urn, draft=draft, by=manager, door=DOOR)


def test_roles_and_groups_of_roles_count(manager, user, group, role, system):
    other = user("other")
    people.set_password(urn=other.urn, password=PASSWORD, by=system, door=DOOR)
    crew = group("crew", members=[other.urn])
    policies.update(urn=the_policy().urn, draft=changed(actors={"groups": [crew.urn]}), by=manager, door=DOOR)
    assert the_policy().version == 2


def test_what_gives_no_such_power_is_not_asked_about(manager, system):
    document = {**the_policy().document, "privileges": ["MANAGE_TAGS"], "displayName": "Tags"}
    written = policies.create(draft=policies.Draft("datahub", document), by=manager, door=DOOR)
    policies.delete(urn=written.policy.urn, by=manager, door=DOOR)


def test_the_system_may(manager, system):
    policies.delete(urn=the_policy().urn, by=system, door=DOOR)
    assert not queries.policies(privilege="MANAGE_POLICIES").exists()
