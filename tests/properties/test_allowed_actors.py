"""Who may use a privilege on an entity: the answer about everybody is the answers about each one, for every type."""

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.engine.model import Actor
from policies.engine.requirements import privilege_requirement
from policies.pdp import actor_resolution, authorizer, inverse_queries, snapshot_store
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.inverse_queries import AllowedActors
from tests import stored, strategies
from tests.catalog.conftest import undone
from tests.worlds import World, denying, document, urn

PRIVILEGES = ("DELETE_ENTITY", *strategies.PRIVILEGES[:3])
DOCS = "EDIT_ENTITY_DOCS"
#: Registered people: `lone` is in no group and holds no role, `left` is suspended.
PEOPLE = [*strategies.USERS, urn("lone"), urn("left")]
#: One entity of each kind that owners, hierarchies and oneself treat in a way of their own, and some without a row.
RESOURCES = [
    *strategies.ASSETS,
    *strategies.NODES,
    strategies.TAGS[0],
    *PEOPLE,
    strategies.STRANGER,
    *strategies.GROUPS,
    *strategies.ROLES,
    urn("product:a"),
    urn("corpGroup:nobody"),
    strategies.UNKNOWN_ENTITY,
]
POLICIES = st.lists(strategies.documents() | strategies.documents().map(denying), max_size=5)


@pytest.fixture
def world(db: None) -> World:
    """People, groups and roles, and entities with owners of several types."""
    world = World()
    first, second, third = strategies.USERS
    group, other_group = strategies.GROUPS
    world.group(group, roles=[strategies.ROLES[1]])
    world.group(other_group)
    world.user(first, groups=[group, other_group], roles=[strategies.ROLES[0]])
    world.user(second, groups=[group])
    world.user(third, roles=strategies.ROLES)
    world.user(PEOPLE[-2])
    world.user(PEOPLE[-1], groups=[group], is_suspended=True)
    for number, name in enumerate(strategies.ENTITIES[:-2]):
        owner = (*strategies.USERS, *strategies.GROUPS)[number % 5]
        world.entity(name, owners=[f"{owner}/a" if number % 2 else owner], tags=[strategies.TAGS[number % 2]])
    world.knows(first, a="x")
    stored.store(world)
    return world


def test_who_is_complete_for_every_type(world: World) -> None:
    @settings(max_examples=12, deadline=None)
    @given(policies=POLICIES)
    def agree(policies: list[dict]) -> None:
        with undone():
            write(*policies)
            for privilege in PRIVILEGES:
                compare(privilege, RESOURCES)

    agree()


def compare(privilege: str, resources: Iterable[str]) -> None:
    """Assert that the answer about everybody lists those whom a single question lets through, and nobody else."""
    actors = [actor_resolution.load_actor(urn=who) for who in (*PEOPLE, strategies.STRANGER)]
    for resource in map(ResourceRef, resources):
        requests = [(actor, AccessRequest(privilege_requirement(privilege), resource)) for actor in actors]
        allowed = {
            actor.urn
            for actor, decision in zip(actors, authorizer.answer_many(requests=requests), strict=True)
            if decision.is_allowed
        }
        answer = inverse_queries.find_allowed_actors(privilege=privilege, resource=resource)
        listed = {actor.urn for actor in actors if actor.is_active and is_listed(answer, actor)}
        assert listed == allowed, (privilege, resource, answer)
        assert not answer.is_conditional
        assert answer.is_complete


def is_listed(answer: AllowedActors, actor: Actor) -> bool:
    """Whether the answer says that an active user may."""
    names = {*answer.users, *answer.groups, *answer.roles}
    exceptions = {*answer.exceptions.users, *answer.exceptions.groups, *answer.exceptions.roles}
    shared = actor.groups | actor.roles | {actor.urn}
    is_reached = answer.is_all_users or (answer.is_all_groups and bool(actor.groups))
    return bool(names & shared) or (is_reached and not exceptions & shared)


def test_oneself_is_a_user(world: World) -> None:
    for resource in RESOURCES:
        answer = inverse_queries.find_allowed_actors(privilege="DELETE_ENTITY", resource=ResourceRef(resource))
        is_active_user = resource.startswith("urn:li:corpuser:") and resource != PEOPLE[-1]
        assert (answer.users, answer.groups, answer.roles) == ((resource,) if is_active_user else (), (), ())


def test_members_who_are_spared_are_named(world: World) -> None:
    _, second, third = strategies.USERS
    write(
        document(privileges=[DOCS], actors={"groups": [strategies.GROUPS[0]], "roles": strategies.ROLES[:1]}),
        denying(document(privileges=[DOCS], actors={"allGroups": True, "excludedUsers": [second]})),
    )
    answer = inverse_queries.find_allowed_actors(privilege=DOCS, resource=ResourceRef(strategies.ASSETS[0]))
    assert (answer.users, answer.groups, answer.roles) == ((second, third), (), ())
    assert (answer.is_conditional, answer.is_complete) == (False, True)
    without_entity = inverse_queries.find_allowed_actors(privilege=DOCS, resource=None)
    assert (without_entity.users, without_entity.roles) == ((), (strategies.ROLES[0],))
    assert without_entity.is_conditional


def test_everybody_but_members_of_any_group(world: World) -> None:
    first, second, _ = strategies.USERS
    write(
        document(privileges=[DOCS], actors={"allUsers": True}),
        denying(document(privileges=[DOCS], actors={"allGroups": True})),
    )
    answer = inverse_queries.find_allowed_actors(privilege=DOCS, resource=ResourceRef(strategies.ASSETS[0]))
    assert (answer.is_all_users, answer.users, answer.exceptions.users) == (True, (), (first, second))


def test_more_users_than_are_listed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inverse_queries, "MAX_LISTED_USERS", 1)
    write(
        document(privileges=[DOCS], actors={"groups": strategies.GROUPS[:1], "users": strategies.USERS[2:]}),
        denying(document(privileges=[DOCS], actors={"users": strategies.USERS[:1]})),
    )
    answer = inverse_queries.find_allowed_actors(privilege=DOCS, resource=ResourceRef(strategies.ASSETS[0]))
    assert (answer.users, answer.groups, answer.is_complete) == (tuple(strategies.USERS[1:2]), (), False)


def write(*policies: dict) -> None:
    """Store policies, and have this process know them."""
    stored.store(World(policies=[(f"p{number}", raw) for number, raw in enumerate(policies)]))
    snapshot_store.reset()
