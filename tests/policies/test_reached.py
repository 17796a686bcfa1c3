"""Whom actor clauses speak to, in SQL, is whom the engine would let pass: everybody whose tokens they name."""

from itertools import chain, combinations

import pytest

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.engine.selectors import EVERYONE, IN_ANY_GROUP
from policies.models import User
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import actor_resolution, users_by_actor_clause

pytestmark = pytest.mark.django_db

CLAUSES = [
    EVERYONE,
    IN_ANY_GROUP,
    f"{USER_PREFIX}jo",
    f"{USER_PREFIX}bea",
    f"{GROUP_PREFIX}eng",
    f"{GROUP_PREFIX}gone",
    f"{ROLE_PREFIX}Reader",
    f"{ROLE_PREFIX}Admin",
    "*owner",
    f"{USER_PREFIX}a\x00",
]


@pytest.fixture
def crowd(system, user, group, role):
    for name in ("Admin", "Reader"):
        role(name)
    jo, ann = user("jo", roles=[f"{ROLE_PREFIX}Admin"]).urn, user("ann").urn
    bea, alone = user("bea", state="SUSPENDED").urn, user("alone", roles=[f"{ROLE_PREFIX}Reader"]).urn
    group("eng", members=[jo, bea], roles=[f"{ROLE_PREFIX}Reader"])
    group("gone", members=[ann], roles=[f"{ROLE_PREFIX}Reader"])
    group("ops", members=[jo, ann], roles=[f"{ROLE_PREFIX}Admin"])
    removed = {"removed": True}
    aspect_services.apply(changes=[AspectChange(f"{GROUP_PREFIX}gone", "corpGroup", "status", removed)], by=system)
    return [jo, ann, bea, alone]


def meant(tokens: tuple[str, ...]) -> set[str]:
    actors = actor_resolution.load_actors(urns=User.objects.values_list("urn", flat=True)).values()
    in_groups = {actor.urn for actor in actors if actor.groups}
    return {
        actor.urn
        for actor in actors
        if actor.is_active
        and (
            EVERYONE in tokens
            or (IN_ANY_GROUP in tokens and actor.urn in in_groups)
            or not {actor.urn, *actor.groups, *actor.roles}.isdisjoint(tokens)
        )
    }


def test_reached_is_whom_the_tokens_mean(crowd) -> None:
    some = list(chain.from_iterable(combinations(CLAUSES, size) for size in (0, 1, 2)))
    expected = {tokens: meant(tokens) for tokens in some}
    assert expected[(f"{GROUP_PREFIX}eng",)] == {f"{USER_PREFIX}jo"}
    for tokens in some:
        assert (
            set(users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens).values_list("urn", flat=True))
            == expected[tokens]
        )


def test_the_people_of_any_number_of_tokens_are_one_query(crowd, django_assert_num_queries) -> None:
    tokens = [*CLAUSES[1:], *(f"{GROUP_PREFIX}g{number}" for number in range(500))]
    with django_assert_num_queries(1):
        assert users_by_actor_clause.list_users_by_actor_tokens(tokens=tokens)[:5]
