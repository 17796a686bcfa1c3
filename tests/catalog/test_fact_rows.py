"""What one statement says of actors and entities is what the rows say, read one table after the other."""

import gc
import json
import time
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from authzsite.postgresql.base import MAX_PREPARED
from catalog.access.facet_source import OrmFacetSource
from catalog.models import Ancestry, Entity, Facet
from policies.engine.model import Actor
from policies.engine.ports import LoadedFacts
from policies.engine.selectors import CONTAINER, DOMAIN, GROUP_MEMBERSHIP, HIERARCHICAL_FIELDS, OWNER, TAG, Owner
from policies.models import GroupProfile, Membership, Role, RoleAssignment, User, documents, prepared_statements
from policies.pdp import actor_resolution

pytestmark = pytest.mark.django_db

USERS = [f"urn:li:corpuser:{name}" for name in ("a", 'b"\\{},', "é", "nobody")]
GROUPS, ROLES, NODES = range(3), range(2), [f"urn:li:domain:{number}" for number in range(4)]
ENTITIES = [*(f"urn:li:tag:{name}" for name in ("x", "y,'z", "unknown")), NODES[0], USERS[0], USERS[3]]
FIELDS = (DOMAIN, CONTAINER, TAG, OWNER)

Pairs = list[tuple[Any, ...]]


@st.composite
def worlds(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the rows of a small company: every column that an answer follows from."""

    def pairs(*parts: Any, most: int = 8) -> Pairs:
        return draw(st.lists(st.tuples(*map(st.sampled_from, parts)), max_size=most, unique=True))

    stored_users = USERS[:3]
    return {
        "states": draw(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=3)),
        "properties": draw(st.lists(st.sampled_from(["", "gold"]), min_size=3, max_size=3)),
        "removed groups": draw(st.sets(st.sampled_from(GROUPS))),
        "memberships": pairs(stored_users, GROUPS),
        "user roles": pairs(stored_users, ROLES),
        "group roles": pairs(GROUPS, ROLES),
        "facets": pairs([*ENTITIES[:2], NODES[0], USERS[0]], FIELDS, [*NODES, "v"], ["", "t"], most=20),
        "ancestries": [(node, above) for node, above in pairs(NODES, NODES) if node != above],
    }


def store(world: dict[str, Any]) -> None:
    store_people(world)
    for urn in (*ENTITIES[:2], NODES[0], USERS[0]):
        Entity.objects.create(urn=urn, type=urn.split(":")[2])
    for urn, field, value, type_ in world["facets"]:
        Facet.objects.create(entity=Entity.objects.get(urn=urn), field=field, value=value, type=type_)
    Ancestry.objects.bulk_create(Ancestry(node=node, ancestor=above) for node, above in world["ancestries"])


def store_people(world: dict[str, Any]) -> None:
    for urn, (is_suspended, is_removed), tier in zip(USERS, world["states"], world["properties"], strict=False):
        kept = {"kept": {"customProperties": {"tier": tier}}} if tier else {}
        User.objects.create(
            username=urn.removeprefix("urn:li:corpuser:"),
            urn=urn,
            state="SUSPENDED" if is_suspended else "ACTIVE",
            is_removed=is_removed,
            email="a@site.example" if tier else "",
            extra={"corpUserInfo": kept} if tier else {},
        )
    for number in GROUPS:
        group = Group.objects.create(name=f"g{number}")
        columns = {"identifier": f"g{number}", "urn": f"urn:li:corpGroup:g{number}", "name": "g"}
        GroupProfile.objects.create(group=group, is_removed=number in world["removed groups"], **columns)
    for number in ROLES:
        group = Group.objects.create(name=f"r{number}")
        Role.objects.create(identifier=f"r{number}", urn=f"urn:li:dataHubRole:r{number}", name="r", group=group)
    for urn, number in world["memberships"]:
        Membership.objects.create(user=_user(urn), group=_group(number), is_native=True)
    for urn, number in world["user roles"]:
        RoleAssignment.objects.create(role=Role.objects.get(identifier=f"r{number}"), user=_user(urn))
    for group, number in world["group roles"]:
        RoleAssignment.objects.create(role=Role.objects.get(identifier=f"r{number}"), group=_group(group))


def _user(urn: str) -> User:
    return User.objects.get(urn=urn)


def _group(number: int) -> Group:
    return Group.objects.get(name=f"g{number}")


def expected_actor(urn: str) -> Actor:
    """Return an actor as the tables say, one after the other."""
    user = User.objects.filter(urn=urn).first()
    if user is None:
        return Actor(urn)
    profiles = [
        member.group.profile for member in Membership.objects.filter(user=user) if not member.group.profile.is_removed
    ]
    holders = [*RoleAssignment.objects.filter(user=user)]
    holders += RoleAssignment.objects.filter(group__in=[profile.group for profile in profiles])
    return Actor(
        urn,
        frozenset(profile.urn for profile in profiles),
        frozenset(holder.role.urn for holder in holders),
        user.state == "ACTIVE" and not user.is_removed,
        documents.actor_attributes(user.email, json.dumps(user.extra, separators=(",", ":"))),
    )


def expected_facets(urn: str, fields: frozenset[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {field: set() for field in fields}
    for row in Facet.objects.filter(entity__urn=urn, field__in=fields):
        found[row.field].add(row.value)
        if row.field in HIERARCHICAL_FIELDS:
            found[row.field].update(Ancestry.objects.filter(node=row.value).values_list("ancestor", flat=True))
    if urn in NODES and DOMAIN in fields:
        found[DOMAIN].add(urn)
    if urn in USERS and GROUP_MEMBERSHIP in fields:
        found[GROUP_MEMBERSHIP].update(expected_actor(urn).groups)
    return {field: frozenset(values) for field, values in found.items()}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    world=worlds(),
    actors=st.lists(st.sampled_from([*USERS, "a\x00", "\ud800"]), unique=True),
    urns=st.lists(st.sampled_from([*ENTITIES, "urn:li:tag:\x00"]), unique=True),
    fields=st.frozensets(st.sampled_from([*FIELDS, GROUP_MEMBERSHIP])),
)
def test_one_statement_says_what_the_tables_say(world, actors, urns, fields):
    with transaction.atomic():
        store(world)
        facts = OrmFacetSource().load_facts(actors=actors, urns=urns, fields=fields)
        assert facts.actors == {urn: expected_actor(urn) if urn in USERS else Actor(urn) for urn in actors}
        assert actor_resolution.load_actors(urns=actors) == facts.actors
        assert facts.types == {urn: urn.split(":")[2] for urn in urns if Entity.objects.filter(urn__in=[urn]).exists()}
        assert_resources(facts, urns, fields)
        transaction.set_rollback(True)


def assert_resources(facts: LoadedFacts, urns: list[str], fields: frozenset[str]) -> None:
    assert list(facts.resources) == urns
    for urn, resource in facts.resources.items():
        assert (resource.urn, resource.type) == (urn, urn.split(":")[2])
        is_storable = "\x00" not in urn
        assert resource.facets == (
            expected_facets(urn, fields) if is_storable else dict.fromkeys(fields, frozenset[str]())
        )
        owners = Facet.objects.filter(entity__urn=urn, field=OWNER) if is_storable and OWNER in fields else ()
        assert resource.owners == {Owner(row.value, row.type) for row in owners}


def test_it_is_one_query(django_assert_num_queries):
    with django_assert_num_queries(1):
        OrmFacetSource().load_facts(actors=USERS, urns=ENTITIES, fields={*FIELDS, GROUP_MEMBERSHIP})


def test_no_garbage_is_collected_while_facts_are_loaded(monkeypatch):
    states: list[bool] = []
    read = actor_resolution.read_actors

    def note_state(*asked: Any) -> dict[str, Actor]:
        states.append(gc.isenabled())
        return read(*asked)

    monkeypatch.setattr(actor_resolution, "read_actors", note_state)
    OrmFacetSource().load_facts(actors=USERS, urns=ENTITIES, fields=FIELDS)
    assert (states, gc.isenabled()) == ([False], True)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite plans statements itself.")
def test_a_connection_keeps_one_plan_until_it_is_old(monkeypatch):
    def count_plans(period: int) -> int:
        monkeypatch.setattr(prepared_statements, "PLAN_SECONDS", time.monotonic() / (period + 0.5))
        for actors in ([], USERS):
            OrmFacetSource().load_facts(actors=actors, urns=ENTITIES, fields=FIELDS)
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%catalog_facet%'")
            return int(cursor.fetchone()[0])

    plans = count_plans(1)
    assert count_plans(1) == plans
    assert count_plans(2) == plans + 1
    assert max(count_plans(period) for period in range(3, 30)) <= MAX_PREPARED
