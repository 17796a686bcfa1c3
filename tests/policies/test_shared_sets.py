"""Facts in memory: what many actors and entities have is held once, and sets have no more room than they need."""

import sys

import pytest
from django.contrib.auth.models import Group
from hypothesis import given
from hypothesis import strategies as st

from catalog.access.facet_source import OrmFacetSource
from catalog.models import Ancestry, Entity, Facet
from policies.engine.selectors import DOMAIN, OWNER, TAG
from policies.models import Role, RoleAssignment, User
from policies.pdp import actor_resolution, shared_sets

TEXTS = st.sampled_from([f"urn:li:tag:{number}" for number in range(9)])


@given(st.lists(TEXTS), st.lists(TEXTS))
def test_a_set_is_what_a_plain_one_would_be(some, others):
    assert shared_sets.make_set(some) == frozenset(some)
    assert shared_sets.deduplicate(frozenset(others)) == frozenset(others)
    assert sys.getsizeof(shared_sets.make_set(some)) <= sys.getsizeof(frozenset(some))


def test_few_sets_are_held_however_many_there_are():
    for number in range(3 * shared_sets.MAX_SETS):
        assert shared_sets.make_set([str(number)]) == {str(number)}
    assert len(shared_sets._sets) <= shared_sets.MAX_SETS


@pytest.mark.django_db
def test_actors_and_entities_of_different_questions_share_their_sets():
    group = Group.objects.create(name="r")
    role = Role.objects.create(identifier="r", urn="urn:li:dataHubRole:r", name="r", group=group)
    people = [User.objects.create(username=name, urn=f"urn:li:corpuser:{name}") for name in ("a", "b")]
    Ancestry.objects.create(node="urn:li:domain:d", ancestor="urn:li:domain:above")
    for person in people:
        RoleAssignment.objects.create(role=role, user=person)
        tag = Entity.objects.create(urn=f"urn:li:tag:{person.username}", type="tag")
        Facet.objects.create(entity=tag, field=DOMAIN, value="urn:li:domain:d")
    one, other = (actor_resolution.load_actor(urn=person.urn) for person in people)
    assert one.roles == {role.urn}
    assert (one.roles is other.roles, one.groups is other.groups, one.attributes is other.attributes) == (True,) * 3
    left, right = (
        OrmFacetSource().load(urns=[urn], fields={DOMAIN, TAG, OWNER})[urn] for urn in ("urn:li:tag:a", "urn:li:tag:b")
    )
    assert left.facets[DOMAIN] == {"urn:li:domain:d", "urn:li:domain:above"}
    assert [left.facets[field] is right.facets[field] for field in (DOMAIN, TAG, OWNER)] == [True] * 3
    assert left.owners is right.owners
