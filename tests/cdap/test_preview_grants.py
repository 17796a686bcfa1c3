"""The preview of grants: the pairs are those of granting and revoking, and asking before and after."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from catalog.cdap.changes import GrantPrivileges, RevokePrivileges
from catalog.models import Entity, EntityUserGrant, WildcardGrant
from policies.changes import comparison, preview
from policies.changes.applying import apply_changes
from policies.changes.comparison import EffectQuestion
from policies.changes.kinds import Change, read_change
from policies.changes.net_change import find_net_change
from policies.changes.shapes import dump_changes, load_changes
from policies.changes.worlds import StagedWorld
from policies.engine.families import cdap
from policies.engine.requirements import privilege_requirement
from policies.errors import Conflict
from policies.identity.changes.accounts import Suspend
from policies.identity.changes.members import AddMembers, RemoveMembers
from policies.identity.changes.roles import AssignRoles
from policies.identity.services import groups, roles, users
from policies.pdp import actor_resolution, authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef
from tests.api.conftest import pointers_of, problem_of
from tests.catalog.conftest import undone
from tests.catalog.test_net_change import tally, with_database
from tests.cdap.conftest import DOOR, give, register, urn

PREVIEW = "/api/v1/preview"
ENTITIES = ["namespace:ns1", "application:ns1.app", "program:ns1.app.run", "stream:ns1.clicks", "stream:ns2.clicks"]
SOURCES = [urn(name) for name in [*ENTITIES, "namespace:ns2"]] + ["urn:li:stream:ns1.*", "urn:li:program:ns1.app.*"]
PEOPLE = [urn("alice"), urn("bob")]
CREW, READER = urn("group:crew"), urn("role:Reader")
HOLDERS = [*PEOPLE, CREW, READER]
PRIVILEGES = [("READ",), ("WRITE", "ADMIN"), ("ALL",), ("EXECUTE",)]
#: An end long after any test.
LATER = datetime(2100, 1, 1, tzinfo=UTC)
BY_SYSTEM: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}

ClientOf = Callable[..., APIClient]
Pairs = set[tuple[str, str, str]]
GRANTS = st.lists(
    st.tuples(st.sampled_from(HOLDERS), st.sampled_from(SOURCES), st.sampled_from(PRIVILEGES)), max_size=4
)
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["grant", "grant for a time", "revoke", "hand over", "join", "leave", "assign", "suspend"]),
        st.sampled_from(HOLDERS),
        st.sampled_from(SOURCES),
        st.sampled_from(PRIVILEGES),
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture(autouse=True)
def _world(client_of: ClientOf) -> None:
    register("namespace:ns1", "namespace:ns2", *ENTITIES[1:])
    client_of("alice")
    client_of("bob")
    groups.create(name="Crew", identifier="crew", members=[urn("bob")], **BY_SYSTEM)
    roles.create(name="Reader", identifier="Reader", **BY_SYSTEM)


@pytest.fixture
def manager(client_of: ClientOf) -> APIClient:
    """The root user, who administers the instance, and may change roles and members."""
    return client_of("datahub", "MANAGE_POLICIES", "MANAGE_USERS_AND_GROUPS")


def post(client: APIClient, *changes: dict[str, Any]) -> Any:
    return client.post(PREVIEW, {"changes": list(changes)}, format="json")


def change(kind: str, principal: str, entity: str, *privileges: str) -> dict[str, Any]:
    body: dict[str, Any] = {"principal": urn(principal), "entity": entity if "*" in entity else urn(entity)}
    return {kind: body | ({"privileges": list(privileges)} if privileges else {})}


def side(body: dict[str, Any], name: str) -> set[tuple[str, str, int]]:
    return {(item["actor"], item["privilege"], item["entities"]) for item in body[name]["items"]}


def test_a_grant_reaches_what_lies_below_and_nothing_is_stored(manager: APIClient, settings: Any) -> None:
    settings.INHERIT_PRIVILEGES = True
    body = post(manager, change("grant", "alice", "namespace:ns1", "READ")).json()
    assert side(body, "gained") == {(urn("alice"), "READ", 4)}
    assert body["is_exact"]
    assert not EntityUserGrant.objects.filter(user__urn=urn("alice")).exists()
    body = post(manager, change("grant", "group:crew", "stream:ns1.*", "READ", "WRITE")).json()
    assert side(body, "gained") == {(urn("bob"), "READ", 1), (urn("bob"), "WRITE", 1)}
    assert not WildcardGrant.objects.exists()


def test_of_more_entities_than_grants_are_read_of_the_first_are_counted(
    manager: APIClient, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.INHERIT_PRIVILEGES = True
    monkeypatch.setattr(comparison, "MAX_GRANTED_ENTITIES", 2)
    give("alice", "application:ns1.app", "READ")
    body = post(manager, change("grant", "alice", "namespace:ns1", "READ")).json()
    assert not body["is_exact"]
    # Of the first two entities, of which the grant below the namespace is known.
    assert 0 < body["gained"]["pairs"] <= 2


def test_what_is_held_by_another_grant_is_no_gain_and_is_kept(manager: APIClient, settings: Any) -> None:
    settings.INHERIT_PRIVILEGES = True
    give("group:crew", "namespace:ns1", "READ")
    give("bob", "stream:ns1.clicks", "READ", "WRITE")
    assert side(post(manager, change("grant", "bob", "application:ns1.app", "READ")).json(), "gained") == set()
    body = post(manager, change("revoke", "bob", "stream:ns1.clicks")).json()
    assert side(body, "lost") == {(urn("bob"), "WRITE", 1)}
    assert body["kept"] == [
        {"actor": urn("bob"), "privilege": "READ", "entities": 1, "through": [cdap.GRANTS_POLICY_URN]}
    ]


def test_members_gain_and_lose_what_their_groups_were_granted(manager: APIClient) -> None:
    give("group:crew", "stream:ns1.clicks", "WRITE")
    body = post(manager, {"add_members": {"group": CREW, "members": [urn("alice")]}}).json()
    assert (urn("alice"), "WRITE", 1) in side(body, "gained")
    body = post(manager, {"suspend": urn("bob")}).json()
    assert (urn("bob"), "WRITE", 1) in side(body, "lost")


def test_grants_and_people_are_one_change(manager: APIClient) -> None:
    body = post(
        manager,
        {"assign_roles": {"role": READER, "actors": [CREW]}},
        change("grant", "role:Reader", "stream:ns2.clicks", "ALL"),
        change("revoke", "role:Reader", "stream:ns2.clicks", "EXECUTE"),
    ).json()
    assert side(body, "gained") == {(urn("bob"), name, 1) for name in ("READ", "WRITE")} | {(urn("bob"), "ADMIN", 1)}


def test_a_preview_of_grants_needs_what_they_need(client_of: ClientOf) -> None:
    give("alice", "stream:ns1.clicks", "ADMIN")
    alice = client_of("alice")
    assert post(alice, change("grant", "bob", "stream:ns1.clicks", "READ")).status_code == 200
    problem_of(post(alice, change("grant", "bob", "stream:ns2.clicks", "READ")), 403)
    problem_of(post(client_of("bob"), change("revoke", "alice", "stream:ns1.clicks")), 403)


def test_problems_of_grants_have_their_places(manager: APIClient) -> None:
    give("alice", "stream:ns1.clicks", "ADMIN")
    answer = post(
        manager,
        change("grant", "nobody", "stream:ns1.clicks", "READ"),
        change("grant", "alice", "stream:ns1.none", "READ"),
        change("revoke", "datahub", "urn:li:instance:cdap", "ADMIN"),
    )
    assert {pointer for _, pointer in pointers_of(answer)} == {
        "/changes/0/grant/principal",
        "/changes/1/grant/entity",
        "/changes/2/revoke/entity",
    }
    assert "/changes/0/grant/privileges/0" in {
        pointer for _, pointer in pointers_of(post(manager, change("grant", "alice", "stream:ns1.clicks", "PAINT")))
    }


def test_grants_are_not_replayed(manager: APIClient) -> None:
    body = {"changes": [change("grant", "alice", "stream:ns1.clicks", "READ")], "replay_days": 1}
    assert [pointer for _, pointer in pointers_of(manager.post(PREVIEW, body, format="json"))] == ["/replay_days"]


def test_the_last_admin_is_not_taken(manager: APIClient, settings: Any) -> None:
    settings.INHERIT_PRIVILEGES = False
    give("alice", "stream:ns1.clicks", "ADMIN")
    taken = change("revoke", "alice", "stream:ns1.clicks")
    assert {pointer for _, pointer in pointers_of(post(manager, taken))} == {"/changes/0/revoke/entity"}
    body = post(manager, change("grant", "bob", "stream:ns1.clicks", "ADMIN"), taken).json()
    assert side(body, "lost") == {(urn("alice"), "ADMIN", 1)}


@with_database
@given(given_before=GRANTS, changes=CHANGES, is_inherited=st.booleans())
def test_the_pairs_are_those_of_the_writes_themselves(
    given_before: list[tuple[str, str, tuple[str, ...]]],
    changes: list[tuple[str, str, str, tuple[str, ...]]],
    is_inherited: bool,
) -> None:
    with undone(), override_settings(INHERIT_PRIVILEGES=is_inherited):
        for holder, source, privileges in given_before:
            give(holder, source, *privileges)
        world, drawn_changes = StagedWorld(authorizer.SYSTEM), [build_change(*item) for item in changes]
        staged = [is_done(partial(item.stage, world)) for item in drawn_changes]
        found = find_net_change(world.finish(), EffectQuestion(1000, cdap.PRIVILEGES))
        was = list_allowed()
        assert [is_done(partial(item.apply, **BY_SYSTEM)) for item in drawn_changes] == staged
        now = list_allowed()
    assert found.is_exact
    assert (found.gained.total, found.lost.total) == (tally(now - was), tally(was - now))
    for half, pairs in ((found.gained, now - was), (found.lost, was - now)):
        assert {(item.actor, item.privilege) for item in half.items} == {pair[:2] for pair in pairs}


@with_database
@given(
    given_before=GRANTS,
    deleted_urn=st.sampled_from([*HOLDERS]),
    has_role=st.booleans(),
    is_inherited=st.booleans(),
)
def test_deleting_a_holder_takes_its_grants_and_hands_over_its_admin(
    given_before: list[tuple[str, str, tuple[str, ...]]], deleted_urn: str, has_role: bool, is_inherited: bool
) -> None:
    kind = {"corpuser": "user", "corpGroup": "group", "dataHubRole": "role"}[deleted_urn.split(":")[2]]
    remove = {"user": users.remove, "group": groups.remove, "role": roles.delete}[kind]
    with undone(), override_settings(INHERIT_PRIVILEGES=is_inherited):
        for holder, source, privileges in given_before:
            give(holder, source, *privileges)
        if has_role:
            roles.grant(urn=READER, actors=[CREW, PEOPLE[0]], **BY_SYSTEM)
        found = preview.preview_changes(
            changes=[read_change({f"delete_{kind}": deleted_urn})],
            by=authorizer.SYSTEM,
            question=EffectQuestion(1000, cdap.PRIVILEGES),
        ).change
        was = list_allowed()
        remove(urn=deleted_urn, **BY_SYSTEM)
        now = list_allowed()
    assert found.is_exact
    assert (found.gained.total, found.lost.total) == (tally(now - was), tally(was - now))


def is_done(act: Callable[[], None]) -> bool:
    """Make a change; return whether it is possible."""
    try:
        act()
    except Conflict:
        return False
    return True


def build_change(kind: str, holder: str, source: str, privileges: tuple[str, ...]) -> Change:
    """Return one drawn change."""
    person = holder if holder in PEOPLE else PEOPLE[1]
    match kind:
        case "grant":
            return GrantPrivileges(holder, source, privileges)
        case "grant for a time":
            return GrantPrivileges(holder, source, privileges, LATER)
        case "revoke" | "hand over":
            return RevokePrivileges(holder, source, privileges, is_confirmed=kind == "hand over")
        case "join":
            return AddMembers(CREW, [person])
        case "leave":
            return RemoveMembers(CREW, [person])
        case "assign":
            return AssignRoles(READER, [holder if holder != READER else CREW])
        case _:
            return Suspend(person)


def list_allowed() -> Pairs:
    """Return every pair that is allowed, each asked as a question."""
    urns = list(Entity.objects.filter(is_removed=False).order_by("urn").values_list("urn", flat=True))
    requests = [
        (actor, AccessRequest(privilege_requirement(privilege), ResourceRef(name, name.split(":")[2])))
        for actor in actor_resolution.load_actors(urns=[*PEOPLE, urn("datahub")]).values()
        if actor.is_active
        for privilege in cdap.PRIVILEGES
        for name in urns
    ]
    answers = authorizer.answer_many(requests=requests)
    return {
        (actor.urn, request.requirement.sole_privilege, request.resource.urn)
        for (actor, request), answer in zip(requests, answers, strict=True)
        if answer.is_allowed and request.resource is not None and request.requirement.sole_privilege is not None
    }


def test_the_last_admin_passes_on_if_the_revocation_is_confirmed(manager: APIClient) -> None:
    give("alice", "stream:ns2.clicks", "ADMIN")
    revocation = change("revoke", "alice", "stream:ns2.clicks")
    assert pointers_of(post(manager, revocation)) == {("conflict", "/changes/0/revoke/entity")}
    revocation["revoke"]["confirm"] = True
    body, before = post(manager, revocation).json(), list_allowed()
    build_change("hand over", urn("alice"), urn("stream:ns2.clicks"), ("ALL",)).apply(**BY_SYSTEM)
    after = list_allowed()
    assert {(actor, privilege) for actor, privilege, _ in side(body, "gained")} == {pair[:2] for pair in after - before}
    assert {(actor, privilege) for actor, privilege, _ in side(body, "lost")} == {pair[:2] for pair in before - after}
    assert (urn("alice"), "ADMIN", urn("stream:ns2.clicks")) in before - after


@with_database
@given(
    given_before=GRANTS,
    kind=st.sampled_from(["grant", "revoke"]),
    holder=st.sampled_from(HOLDERS),
    source=st.sampled_from(SOURCES),
    privileges=st.sampled_from(PRIVILEGES),
)
def test_grants_are_stored_as_changes_and_taken_back(
    given_before: list[tuple[str, str, tuple[str, ...]]],
    kind: str,
    holder: str,
    source: str,
    privileges: tuple[str, ...],
) -> None:
    with undone():
        # Somebody keeps ADMIN on everything, so that none is handed over.
        for name in (*ENTITIES, "namespace:ns2"):
            give("datahub", name, "ADMIN")
        for other, other_source, other_privileges in given_before:
            give(other, other_source, *other_privileges)
        changes, was = [build_change(kind, holder, source, privileges)], list_allowed()
        assert load_changes(dump_changes(changes)) == changes
        try:
            applied = apply_changes(changes=changes, **BY_SYSTEM)
        except Conflict:
            assert list_allowed() == was
            return
        assert applied.inverses is not None
        apply_changes(changes=applied.inverses, **BY_SYSTEM)
        assert list_allowed() == was
