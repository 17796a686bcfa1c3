"""Bounded delegation: every path by which somebody could come to hold a platform privilege, tried for each of them.

The paths are those of the table in docs/threats.md. Each is tried through its real door, by somebody who holds what the
door itself asks for and few platform privileges: what the caller lacks is refused in the door's own form and leaves
nothing behind, what the caller holds passes, and so does everything for who may manage policies.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from policies.authoring.services import policies, policy_drafts
from policies.engine.families import vocabulary
from policies.engine.requirements import privilege_requirement
from policies.errors import Forbidden
from policies.identity.services import external_sign_in, groups, password_resets, roles, users
from policies.identity.services import invitations as invitation_services
from policies.models import AccessToken, ChangeEvent, GroupProfile, InviteToken, Membership, ResetToken, User
from policies.pdp import actor_resolution, authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest
from tests.doors.conftest import DOOR, give, proposal
from tests.doors.delegation.account_paths import ACCOUNT_PATHS
from tests.doors.delegation.calls import Calling, Path, Paths, has_passed, quote_urn, refusal_of
from tests.doors.delegation.group_paths import GROUP_PATHS
from tests.doors.delegation.world import GROUP, PASSWORD, PLAIN, PLATFORM, ROLE, SYSTEM, USER, World, fill_world

pytestmark = pytest.mark.django_db

PATHS: Paths = GROUP_PATHS | ACCOUNT_PATHS


@pytest.fixture(scope="module")
def _made(_bootstrapped: None, django_db_blocker: Any) -> Iterator[World]:
    around = transaction.atomic()
    around._from_testcase = True  # type: ignore[attr-defined]  # as `_bootstrapped` does
    world = World()
    with django_db_blocker.unblock(), around:
        fill_world(world)
        yield world
        transaction.set_rollback(True)


@pytest.fixture
def world(_made: World, db: None) -> World:
    return _made


# -- what is true of every path ---------------------------------------------------------------------------------------


def stored() -> tuple[object, ...]:
    """What a refused call could leave behind."""
    return (
        ChangeEvent.objects.count(),
        User.objects.count(),
        User.objects.filter(state="ACTIVE").count(),
        sorted(User.objects.values_list("password", flat=True)),
        GroupProfile.objects.filter(is_removed=False).count(),
        Membership.objects.count(),
        AccessToken.objects.count(),
        ResetToken.objects.count(),
        InviteToken.objects.filter(role__isnull=False).count(),
    )


def tried(path: Path, call: Calling) -> Any:
    """Call, and take back what it did."""
    sid = transaction.savepoint()
    try:
        return path(call)
    finally:
        transaction.savepoint_rollback(sid)
        snapshot_store.reset()


#: All privileges on all paths are thousands of calls. A path is tried with a share of them, which begins elsewhere for
#: each path; the other shares run in `make test-all`.
SHARES = 6


@pytest.mark.drawn(2)
@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=pytest.mark.deep) for share in range(1, SHARES))])
@pytest.mark.parametrize("path", PATHS)
def test_nobody_gives_what_they_do_not_hold(world, path, share):
    who, form, call = PATHS[path]
    begin = (list(PATHS).index(path) + share) % SHARES
    held = world.held[who]
    assert "MANAGE_POLICIES" not in held
    assert held
    before, invited = stored(), "signing up" in path
    for privilege in PLATFORM[begin::SHARES]:
        calling = Calling(world, who, privilege)
        lacking = [name for name in PLATFORM if name in vocabulary.load_datahub().widen([privilege]) - held]
        if not lacking:
            assert has_passed(answer := tried(call, calling), form), (privilege, answer.content)
            continue
        sid = transaction.savepoint()
        answer = call(calling)
        words, missing = refusal_of(answer, form)
        assert all(name in words for name in lacking), (privilege, words)
        if missing is not None:
            assert missing == [{"entity": None, "privilege": name} for name in lacking]
        after = stored()
        # An invitation without a role was made on the way to signing up; it gives nothing.
        assert after == before if not invited else after[1:] == before[1:], privilege
        transaction.savepoint_rollback(sid)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("privilege", ["MANAGE_POLICIES", "MANAGE_TAGS"])
def test_who_may_manage_policies_gives_everything(world, path, privilege):
    _, form, call = PATHS[path]
    assert has_passed(answer := tried(call, Calling(world, "manager", privilege)), form), answer.content


@pytest.mark.parametrize("path", PATHS)
def test_one_setting_brings_back_the_rule_of_datahub(world, path, settings):
    settings.BOUNDED_DELEGATION = False
    who, form, call = PATHS[path]
    assert has_passed(answer := tried(call, Calling(world, who, "MANAGE_POLICIES")), form), answer.content


# -- what is asked later, or of whom ----------------------------------------------------------------------------------

ACCEPT = "mutation ($input: AcceptRoleInput!) { acceptRole(input: $input) }"
ASSIGN = "mutation ($input: BatchAssignRoleInput!) { batchAssignRole(input: $input) }"
ROLES_WITHOUT_MANAGE_POLICIES: dict[str, tuple[str, Path]] = {
    "roleMembership": ("gms", lambda call: call.gms(proposal(PLAIN, "roleMembership", {"roles": [call.role]}))),
    "roleMembership of a group": (
        "gms",
        lambda call: call.gms(proposal(call.group("in"), "roleMembership", {"roles": [call.role]})),
    ),
    "actors of a role": (
        "api",
        lambda call: call.api("POST", f"roles/{quote_urn(call.role)}/actors/", {"actors": [PLAIN]}),
    ),
    "assigning a role": ("api", lambda call: call.api("POST", "roles/assign/", {"role": call.role, "actors": [PLAIN]})),
    "a new user with roles": (
        "api",
        lambda call: call.api("POST", "users/", {"username": "fresh", "roles": [call.role]}),
    ),
    "a new group with roles": (
        "api",
        lambda call: call.api("POST", "groups/", {"name": "Fresh", "roles": [call.role]}),
    ),
    "batchAssignRole": (
        "graphql",
        lambda call: call.graphql(ASSIGN, input={"roleUrn": call.role, "actors": [PLAIN]}),
    ),
    "roles of a user by page": (
        "page",
        lambda call: call.page(f"/settings/identities/users/roles/{quote_urn(PLAIN)}", roles=[call.role]),
    ),
    "roles of a group by page": (
        "page",
        lambda call: call.page(f"/settings/identities/groups/roles/{quote_urn(call.group('in'))}", roles=[call.role]),
    ),
    "Django's admin": ("page", lambda call: call.page("/admin/policies/user/", action="reactivate")),
}


@pytest.mark.parametrize("path", ROLES_WITHOUT_MANAGE_POLICIES)
def test_roles_are_given_by_who_manages_policies_alone(world, path):
    form, call = ROLES_WITHOUT_MANAGE_POLICIES[path]
    before = stored()
    words, _ = refusal_of(call(Calling(world, "delegate", "MANAGE_TAGS")), form)
    assert "MANAGE_POLICIES" in words or form == "page"
    assert stored() == before


@pytest.fixture
def inviter(world) -> str:
    """Somebody who could give every role when the invitations were made, and cannot any more."""
    users.create(username="inviter", by=SYSTEM, channel=DOOR)
    roles.grant(urn=f"{ROLE}Admin", actors=[f"{USER}inviter"], by=SYSTEM, channel=DOOR)
    snapshot_store.reset()
    return f"{USER}inviter"


def invitations(inviter: str) -> dict[str, str]:
    by = actor_resolution.load_actor(urn=inviter)
    texts = {
        name: invitation_services.create(role=f"{ROLE}role-{name}", by=by, channel=DOOR).text
        for name in ("MANAGE_POLICIES", "MANAGE_TAGS")
    }
    roles.revoke(urn=f"{ROLE}Admin", actors=[inviter], by=SYSTEM, channel=DOOR)
    return texts


def test_an_invitation_gives_what_its_maker_holds_when_it_is_taken(world, inviter):
    for privilege, text in invitations(inviter).items():
        calling = Calling(world, "editor", privilege)
        before = stored()
        _, missing = refusal_of(calling.api("POST", "invite-tokens/accept/", {"token": text}), "api")
        assert {"entity": None, "privilege": privilege} in (missing or [])
        assert privilege in refusal_of(calling.graphql(ACCEPT, input={"inviteToken": text}), "graphql")[0]
        fields = {"username": "fresh", "password": PASSWORD, "again": PASSWORD}
        signing = Client().post(f"/signup?invite_token={text}", fields)
        assert privilege in refusal_of(signing, "page")[0]
        assert stored() == before


def test_a_reset_link_ends_when_the_account_holds_more_than_its_maker(world):
    delegate = actor_resolution.load_actor(urn=f"{USER}delegate")
    text = password_resets.create(urn=PLAIN, by=delegate, channel=DOOR).text
    groups.add_members(urn=f"{GROUP}in-MANAGE_POLICIES", members=[PLAIN], by=SYSTEM, channel=DOOR)
    before = stored()
    answer = Client().post(f"/reset?reset_token={text}", {"password": PASSWORD, "again": PASSWORD})
    assert answer.status_code == 403
    assert stored() == before


def test_an_account_is_unlinked_by_who_holds_what_it_holds(world):
    delegate = actor_resolution.load_actor(urn=f"{USER}delegate")
    with pytest.raises(Forbidden) as refused:
        external_sign_in.unlink(urn=f"{USER}held-MANAGE_TAGS", by=delegate, channel=DOOR)
    assert [one.privilege for one in refused.value.missing] == ["MANAGE_TAGS"]
    assert external_sign_in.unlink(urn=PLAIN, by=delegate, channel=DOOR) == 0


def test_owners_hold_no_platform_privilege(world):
    """A policy for owners gives privileges on what they own, however it lists platform privileges."""
    blocks: list[dict[str, Any]] = [{"resources": {"filter": {"criteria": []}}}, {}]
    for block in blocks:
        for kind in ("PLATFORM", "METADATA"):
            document = {
                "displayName": f"Owners {kind} {len(block)}",
                "type": kind,
                "state": "ACTIVE",
                "privileges": list(PLATFORM),
                "actors": {"resourceOwners": True},
            } | block
            policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=SYSTEM, channel=DOOR)
    owner = {"owners": [{"owner": f"{USER}editor", "type": "TECHNICAL_OWNER"}]}
    calling = Calling(world, "editor", "MANAGE_POLICIES")
    for urn in ("urn:li:dataset:(urn:li:dataPlatform:x,mine,PROD)", calling.group("in"), f"{USER}editor"):
        assert has_passed(calling.gms(proposal(urn, "ownership", owner)), "gms"), urn
    snapshot_store.reset()
    editor = actor_resolution.load_actor(urn=f"{USER}editor")
    answers = authorizer.answer_many(
        requests=[(editor, AccessRequest(privilege_requirement(privilege))) for privilege in PLATFORM]
    )
    held = {name for name, answer in zip(PLATFORM, answers, strict=True) if answer.is_allowed}
    assert held == world.held["editor"]


def test_everything_that_is_lacking_is_named_at_once(world):
    lacking = [name for name in PLATFORM if name not in world.held["delegate"]]
    document = {
        "displayName": "All",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": list(PLATFORM),
        "actors": {"groups": [f"{GROUP}in-MANAGE_TAGS"]},
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=SYSTEM, channel=DOOR)
    snapshot_store.reset()
    calling = Calling(world, "delegate", "MANAGE_TAGS")
    body = {"members": [PLAIN]}
    _, missing = refusal_of(calling.api("POST", f"groups/{quote_urn(calling.group('in'))}/members/", body), "api")
    assert missing == [{"entity": None, "privilege": name} for name in lacking]


def test_data_may_be_handed_on_and_members_leave(world):
    give("urn:li:corpuser:nobody", "EDIT_ENTITY_TAGS", actors={"groups": [f"{GROUP}data"]})
    groups.create(identifier="data", name="Data", by=SYSTEM, channel=DOOR)
    groups.add_members(urn=f"{GROUP}in-MANAGE_TAGS", members=[PLAIN], by=SYSTEM, channel=DOOR)
    snapshot_store.reset()
    calling = Calling(world, "delegate", "MANAGE_TAGS")
    place = f"groups/{quote_urn(f'{GROUP}data')}/members/"
    assert calling.api("POST", place, {"members": [PLAIN, f"{USER}held-MANAGE_POLICIES"]}).status_code == 201
    gone = calling.api("DELETE", f"groups/{quote_urn(calling.group('in'))}/members/", {"members": [PLAIN]})
    assert gone.status_code == 204, gone.content
    # Whoever holds more already is changed like anybody else.
    changed = calling.api("PATCH", f"users/{quote_urn(calling.user('held'))}/", {"title": "Chief"})
    assert changed.status_code == 200, changed.content


def test_a_thousand_members_cost_as_many_queries_as_ten(world, django_assert_max_num_queries):
    names = [f"bulk-{number}" for number in range(1_000)]
    User.objects.bulk_create(User(username=name, urn=USER + name, password="!") for name in names)
    groups.create(identifier="data", name="Data", by=SYSTEM, channel=DOOR)
    delegate = actor_resolution.load_actor(urn=f"{USER}delegate")
    members = [USER + name for name in names]
    with django_assert_max_num_queries(70):
        groups.add_members(urn=f"{GROUP}data", members=members, by=delegate, channel=DOOR)
    with pytest.raises(Forbidden), django_assert_max_num_queries(70):
        groups.add_members(urn=f"{GROUP}in-MANAGE_TAGS", members=members, by=delegate, channel=DOOR)
