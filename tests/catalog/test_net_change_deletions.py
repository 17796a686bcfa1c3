"""Deletions of users, groups and roles: their net change is asking before and after the deletion itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.access.facet_source import OrmFacetSource
from policies.authoring.services import net_change, preview
from policies.authoring.services.proposed_changes import Change
from policies.engine.evaluate import decide
from policies.engine.model import Question
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from policies.errors import Forbidden
from policies.identity.services import groups, roles, staged_people, users
from policies.identity.services.staged_people import StagedPeople
from policies.models import Membership, User
from policies.pdp import actor_resolution, authorizer
from tests import stored, strategies
from tests.catalog.conftest import undone
from tests.catalog.test_net_change import BY_SYSTEM, Pairs, add_roles, check_difference, list_allowed, with_database
from tests.worlds import World

pytestmark = pytest.mark.django_db


@with_database
@given(
    world=strategies.worlds(),
    kind=st.sampled_from(["user", "group"]),
    user=st.sampled_from(strategies.USERS),
    group=st.sampled_from(strategies.GROUPS),
    is_external=st.booleans(),
)
def test_deleting_takes_what_the_preview_says(
    world: World, kind: str, user: str, group: str, is_external: bool
) -> None:
    snapshot = world.snapshot()
    with undone():
        stored.store(world.having([]))
        add_roles()
        if is_external:
            Membership.objects.filter(group__profile__urn=group).update(is_external=True)
        staged = StagedPeople(authorizer.SYSTEM)
        if kind == "user":
            staged.delete_user(user=user)
        else:
            staged.delete_group(group=group)
        change = net_change.compare_snapshots(
            before=snapshot,
            after=snapshot,
            policies=(),
            by=authorizer.SYSTEM,
            people=staged.load_actors(),
            privileges=strategies.PRIVILEGES,
            limit=1000,
        )
        was, facts = list_allowed(snapshot), load_facts(snapshot, user if kind == "user" else group)
        if kind == "user":
            users.remove(urn=user, **BY_SYSTEM)
        else:
            groups.remove(urn=group, **BY_SYSTEM)
        now = list_allowed(snapshot) | list_allowed_on(snapshot, facts)
    check_difference(change, was, now)


def load_facts(snapshot: Snapshot, urn: str) -> Resource:
    """Return the facts of what will be deleted, as they are before."""
    return OrmFacetSource().load(urns=[urn], fields=snapshot.tested_fields(strategies.PRIVILEGES))[urn]


def list_allowed_on(snapshot: Snapshot, resource: Resource) -> Pairs:
    """Return every pair of a person and what is deleted, as if its facts were still there."""
    people = User.objects.filter(state=User.State.ACTIVE, is_removed=False).values_list("urn", flat=True)
    return {
        (actor.urn, privilege, resource.urn)
        for actor in actor_resolution.load_actors(urns=list(people)).values()
        for privilege in strategies.PRIVILEGES
        if decide(snapshot, Question(actor, privilege, resource)).is_allowed
    }


@pytest.fixture
def crew() -> None:
    for name in ("ann", "ben"):
        users.create(username=name, **BY_SYSTEM)
    members = [f"urn:li:corpuser:{name}" for name in ("ann", "ben")]
    groups.create(identifier="crew", name="Crew", members=members, **BY_SYSTEM)


def preview_deletion(kind: str, urn: str) -> preview.Preview:
    return preview.preview_changes(changes=[Change(kind, urn)], by=authorizer.SYSTEM, limit=100)


@pytest.mark.usefixtures("crew")
def test_a_group_with_very_many_members_is_no_exact_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert preview_deletion("delete_group", "urn:li:corpGroup:crew").change.is_exact
    monkeypatch.setattr(staged_people, "MAX_AFFECTED", 1)
    assert not preview_deletion("delete_group", "urn:li:corpGroup:crew").change.is_exact
    roles.create(identifier="sailor", name="Sailor", **BY_SYSTEM)
    sailor = "urn:li:dataHubRole:sailor"
    assert preview_deletion("delete_role", sailor).change.is_exact
    roles.grant(urn=sailor, actors=["urn:li:corpGroup:crew"], **BY_SYSTEM)
    assert not preview_deletion("delete_role", sailor).change.is_exact


@pytest.mark.usefixtures("crew")
def test_what_cannot_be_deleted_is_refused_alike() -> None:
    people = StagedPeople(authorizer.SYSTEM)
    users.create(username="datahub", **BY_SYSTEM)
    with pytest.raises(Forbidden):
        people.delete_user(user="urn:li:corpuser:datahub")
    assert people.is_complete
    assert not people.deleted_urns
