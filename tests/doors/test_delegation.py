"""Bounded delegation: every path by which somebody could come to hold a platform privilege, tried for each of them.

The paths are those of the table in docs/threats.md. Each is tried through its real door, by somebody who holds what the
door itself asks for and few platform privileges: what the caller lacks is refused in the door's own form and leaves
nothing behind, what the caller holds passes, and so does everything for who may manage policies.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from django.db import transaction
from django.test import Client

from policies.authoring.services import policies
from policies.engine.families import vocabulary
from policies.engine.requirements import privilege_requirement
from policies.errors import Forbidden
from policies.identity.services import external_sign_in, groups, password_resets, roles, users
from policies.identity.services import invitations as invitation_services
from policies.models import AccessToken, ChangeEvent, GroupProfile, InviteToken, Membership, ResetToken, User
from policies.pdp import actor_resolution, authorizer, snapshot_store
from policies.pdp.authorizer import AccessRequest
from tests.doors.conftest import DOOR, give, proposal, token_of

pytestmark = pytest.mark.django_db

SYSTEM = authorizer.SYSTEM
USER, GROUP, ROLE = "urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:"
PLATFORM = tuple(privilege.name for privilege in vocabulary.load_datahub().platform_privileges())
PASSWORD = "correct horse battery staple"
SCIM_USER = "urn:ietf:params:scim:schemas:core:2.0:User"
SCIM_GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
SCIM_PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"

#: Who calls: the privileges of a platform policy, and of a metadata policy on everything.
CALLERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "delegate": (
        ("MANAGE_USERS_AND_GROUPS", "MANAGE_USER_CREDENTIALS", "MANAGE_ACCESS_TOKENS", "MANAGE_SERVICE_ACCOUNTS"),
        (),
    ),
    "updater": (("UPDATE_GROUPS", "UPDATE_USERS"), ()),
    "robots": (("MANAGE_SERVICE_ACCOUNTS",), ()),
    "editor": ((), ("EDIT_ENTITY",)),
    "membership": ((), ("EDIT_GROUP_MEMBERS",)),
}


class World:
    """For each platform privilege P: a policy that gives it, and everything that this policy names.

    `held-P` is an active account, `off-P` a suspended one, `robot-P` a program, `sleeping-P` a suspended one; the group
    `in-P` is empty, `gone-P` is removed and has the member `left-P`; `role-P` is a role. `new-P` is named as a user and
    as a group and is not there. `plain` holds nothing.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Client] = {}
        self.tokens: dict[str, Client] = {}
        self.held: dict[str, frozenset[str]] = {}
        self.scim: dict[str, str] = {}

    def caller(self, name: str, platform: tuple[str, ...], metadata: tuple[str, ...]) -> None:
        user = users.create(username=name, by=SYSTEM, channel=DOOR)
        if platform:
            give(user.urn, *platform, type="PLATFORM")
        if metadata:
            give(user.urn, *metadata)
        self.pages[name] = Client()
        self.pages[name].force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        self.tokens[name] = Client(headers={"authorization": f"Bearer {token_of(user.urn)}"})

    def remember(self) -> None:
        snapshot_store.reset()
        for name in self.tokens:
            actor = actor_resolution.load_actor(urn=USER + name)
            answers = authorizer.answer_many(
                requests=[(actor, AccessRequest(privilege_requirement(privilege))) for privilege in PLATFORM]
            )
            self.held[name] = frozenset(
                name for name, answer in zip(PLATFORM, answers, strict=True) if answer.is_allowed
            )
        self.scim = {user.urn: str(user.scim_id) for user in User.objects.all()}
        self.scim |= {group.urn: str(group.scim_id) for group in GroupProfile.objects.all()}


def _make(world: World) -> None:
    drafts = {}
    for name in PLATFORM:
        for prefix, state in (("held", "ACTIVE"), ("off", "SUSPENDED")):
            users.create(username=f"{prefix}-{name}", state=state, by=SYSTEM, channel=DOOR)
        for prefix, state in (("robot", "ACTIVE"), ("sleeping", "SUSPENDED")):
            users.create(username=f"{prefix}-{name}", state=state, kind="SERVICE", by=SYSTEM, channel=DOOR)
        left = users.create(username=f"left-{name}", by=SYSTEM, channel=DOOR).urn
        groups.create(identifier=f"in-{name}", name=f"In {name}", by=SYSTEM, channel=DOOR)
        groups.create(identifier=f"source-{name}", name=f"S {name}", origin="EXTERNAL", by=SYSTEM, channel=DOOR)
        groups.create(identifier=f"gone-{name}", name=f"Gone {name}", members=[left], by=SYSTEM, channel=DOOR)
        roles.create(identifier=f"role-{name}", name=f"Role {name}", by=SYSTEM, channel=DOOR)
        actors = {
            "users": [USER + f"{prefix}-{name}" for prefix in ("held", "off", "robot", "sleeping", "new")],
            "groups": [GROUP + f"{prefix}-{name}" for prefix in ("in", "source", "gone", "new")],
            "roles": [f"{ROLE}role-{name}"],
        }
        document = {
            "displayName": f"Gives {name}",
            "type": "PLATFORM",
            "state": "ACTIVE",
            "privileges": [name],
            "actors": actors,
        }
        drafts[f"urn:li:dataHubPolicy:gives-{name}"] = policies.PolicyInput("datahub", document)
    GroupProfile.objects.filter(identifier__startswith="gone-").update(is_removed=True)
    users.create(username="plain", by=SYSTEM, channel=DOOR)
    policies.put_many(drafts=drafts, by=SYSTEM, channel=DOOR)
    for name, (platform, metadata) in CALLERS.items():
        world.caller(name, platform, metadata)
    world.caller("manager", ("MANAGE_POLICIES", *CALLERS["delegate"][0]), ("EDIT_ENTITY",))
    world.remember()


@pytest.fixture(scope="module")
def _made(_bootstrapped: None, django_db_blocker: Any) -> Iterator[World]:
    around = transaction.atomic()
    around._from_testcase = True  # type: ignore[attr-defined]  # as `_bootstrapped` does
    world = World()
    with django_db_blocker.unblock(), around:
        _make(world)
        yield world
        transaction.set_rollback(True)


@pytest.fixture
def world(_made: World, db: None) -> World:
    return _made


# -- the doors --------------------------------------------------------------------------------------------------------

JSON = "application/json"


@dataclass(frozen=True)
class Calling:
    """One caller and one privilege, and every way to send something."""

    world: World
    name: str
    privilege: str

    def user(self, prefix: str) -> str:
        return f"{USER}{prefix}-{self.privilege}"

    def group(self, prefix: str) -> str:
        return f"{GROUP}{prefix}-{self.privilege}"

    @property
    def role(self) -> str:
        return f"{ROLE}role-{self.privilege}"

    def api(self, method: str, path: str, body: object) -> Any:
        return self.world.tokens[self.name].generic(
            method, f"/api/v1/{path}", json.dumps(body), content_type=JSON, headers={"accept": JSON}
        )

    def page(self, path: str, **posted: object) -> Any:
        return self.world.pages[self.name].post(path, posted)

    def gms(self, *proposals: dict[str, Any]) -> Any:
        client = self.world.tokens[self.name]
        if len(proposals) == 1:
            body: object = {"proposal": proposals[0], "async": "false"}
            return client.post("/aspects?action=ingestProposal", json.dumps(body), content_type=JSON)
        body = {"proposals": proposals, "async": "false"}
        return client.post("/aspects?action=ingestProposalBatch", json.dumps(body), content_type=JSON)

    def snapshot(self, urn: str, kind: str, **aspects: object) -> Any:
        body = {"entity": {"value": {kind: {"urn": urn, "aspects": [{key: value} for key, value in aspects.items()]}}}}
        return self.world.tokens[self.name].post("/entities?action=ingest", json.dumps(body), content_type=JSON)

    def openapi(self, type_: str, urn: str, **aspects: object) -> Any:
        body = [{"urn": urn, **{name: {"value": value} for name, value in aspects.items()}}]
        client = self.world.tokens[self.name]
        return client.post(f"/openapi/v3/entity/{type_}?async=false", json.dumps(body), content_type=JSON)

    def patch(self, urn: str, aspect: str, operations: list[dict[str, object]]) -> Any:
        client = self.world.tokens[self.name]
        body = [{"urn": urn, aspect: {"value": {"patch": operations, "arrayPrimaryKeys": {}}}}]
        return client.generic("PATCH", "/openapi/v3/entity/corpuser?async=false", json.dumps(body), content_type=JSON)

    def graphql(self, query: str, **variables: object) -> Any:
        body = json.dumps({"query": query, "variables": variables})
        return self.world.tokens[self.name].post("/api/graphql", body, content_type=JSON)

    def scim_call(self, method: str, path: str, body: object) -> Any:
        client = self.world.tokens[self.name]
        return client.generic(method, f"/scim/v2{path}", json.dumps(body), content_type="application/scim+json")

    def scim_id(self, urn: str) -> str:
        return self.world.scim[urn]

    def invitation(self) -> str:
        made = self.api("POST", "invite-tokens/", {})
        assert made.status_code == 201, made.content
        return str(made.json()["token"])


def _path(urn: str) -> str:
    return quote(urn, safe="")


PLAIN = f"{USER}plain"
ADD = "mutation ($input: AddGroupMembersInput!) { addGroupMembers(input: $input) }"
TOKEN = "mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { accessToken } }"
RESET = (
    "mutation ($input: CreateNativeUserResetTokenInput!) { createNativeUserResetToken(input: $input) { resetToken } }"
)
INVITE = "mutation ($input: CreateInviteTokenInput!) { createInviteToken(input: $input) { inviteToken } }"
INVITED = "query ($input: GetInviteTokenInput!) { getInviteToken(input: $input) { inviteToken } }"
ENTRY = {"userName": "", "schemas": [SCIM_USER]}


def _signs_up(call: Calling) -> Any:
    fields = {"username": f"new-{call.privilege}", "password": PASSWORD, "again": PASSWORD}
    return Client().post(f"/signup?invite_token={call.invitation()}", fields)


def _signs_up_at_the_door(call: Calling) -> Any:
    body = {
        "userUrn": call.user("new"),
        "email": "new@example.com",
        "fullName": "New",
        "title": "",
        "password": PASSWORD,
        "inviteToken": call.invitation(),
    }
    return Client().post("/signUp", json.dumps(body), content_type=JSON)


Path = Callable[[Calling], Any]

#: Path → (who calls, the form of a refusal, what is called).
PATHS: dict[str, tuple[str, str, Path]] = {
    # Into a group that holds more.
    "members by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", f"groups/{_path(call.group('in'))}/members/", {"members": [PLAIN]}),
    ),
    "members by API with UPDATE_GROUPS": (
        "updater",
        "api",
        lambda call: call.api("POST", f"groups/{_path(call.group('in'))}/members/", {"members": [PLAIN]}),
    ),
    "members by API with EDIT_ENTITY": (
        "editor",
        "api",
        lambda call: call.api("POST", f"groups/{_path(call.group('in'))}/members/", {"members": [f"{USER}editor"]}),
    ),
    "members by API with EDIT_GROUP_MEMBERS": (
        "membership",
        "api",
        lambda call: call.api("POST", f"groups/{_path(call.group('in'))}/members/", {"members": [f"{USER}membership"]}),
    ),
    "a new group with members by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "groups/", {"id": f"new-{call.privilege}", "name": "New", "members": [PLAIN]}),
    ),
    "a new user with groups by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "users/", {"username": "fresh", "groups": [call.group("in")]}),
    ),
    "members by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/identities/groups/add/{_path(call.group('in'))}", members=[PLAIN]),
    ),
    "groups of a user by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/identities/users/groups/{_path(PLAIN)}", groups=[call.group("in")]),
    ),
    "a new user with groups by page": (
        "delegate",
        "page",
        lambda call: call.page("/settings/identities/users/new", username="fresh", groups=[call.group("in")]),
    ),
    "a new group with members by page": (
        "delegate",
        "page",
        lambda call: call.page(
            "/settings/identities/groups/new", name="New", identifier=f"new-{call.privilege}", members=[PLAIN]
        ),
    ),
    "nativeGroupMembership": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(PLAIN, "nativeGroupMembership", {"nativeGroups": [call.group("in")]})),
    ),
    "nativeGroupMembership with EDIT_GROUP_MEMBERS": (
        "membership",
        "gms",
        lambda call: call.gms(
            proposal(f"{USER}membership", "nativeGroupMembership", {"nativeGroups": [call.group("in")]})
        ),
    ),
    "groupMembership": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(PLAIN, "groupMembership", {"groups": [call.group("source")]})),
    ),
    "groupMembership of a group that is not there": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(PLAIN, "groupMembership", {"groups": [call.group("new")]})),
    ),
    "a batch": (
        "delegate",
        "gms",
        lambda call: call.gms(
            proposal(PLAIN, "corpUserInfo", {"active": True, "displayName": "Plain"}),
            proposal(PLAIN, "nativeGroupMembership", {"nativeGroups": [call.group("in")]}),
        ),
    ),
    "a snapshot": (
        "delegate",
        "gms",
        lambda call: call.snapshot(
            PLAIN,
            "com.linkedin.metadata.snapshot.CorpUserSnapshot",
            **{"com.linkedin.identity.NativeGroupMembership": {"nativeGroups": [call.group("in")]}},
        ),
    ),
    "OpenAPI": (
        "delegate",
        "gms",
        lambda call: call.openapi("corpuser", PLAIN, nativeGroupMembership={"nativeGroups": [call.group("in")]}),
    ),
    "a patch": (
        "delegate",
        "gms",
        lambda call: call.patch(
            PLAIN,
            "nativeGroupMembership",
            [{"op": "add", "path": "/nativeGroups", "value": [call.group("in")]}],
        ),
    ),
    "addGroupMembers": (
        "delegate",
        "graphql",
        lambda call: call.graphql(ADD, input={"groupUrn": call.group("in"), "userUrns": [PLAIN]}),
    ),
    "SCIM, a member": (
        "delegate",
        "scim",
        lambda call: call.scim_call(
            "PATCH",
            f"/Groups/{call.scim_id(call.group('source'))}",
            {
                "schemas": [SCIM_PATCH],
                "Operations": [{"op": "add", "path": "members", "value": [{"value": call.scim_id(PLAIN)}]}],
            },
        ),
    ),
    "SCIM, all members": (
        "delegate",
        "scim",
        lambda call: call.scim_call(
            "PUT",
            f"/Groups/{call.scim_id(call.group('source'))}",
            {
                "schemas": [SCIM_GROUP],
                "displayName": f"S {call.privilege}",
                "members": [{"value": call.scim_id(PLAIN)}],
            },
        ),
    ),
    "SCIM, a new group with members": (
        "delegate",
        "scim",
        lambda call: call.scim_call(
            "POST",
            "/Groups",
            {
                "schemas": [SCIM_GROUP],
                "displayName": f"new-{call.privilege}",
                "members": [{"value": call.scim_id(PLAIN)}],
            },
        ),
    ),
    "a group that is there again": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(call.group("gone"), "status", {"removed": False})),
    ),
    # A user whom a policy names already.
    "a new user by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "users/", {"username": f"new-{call.privilege}"}),
    ),
    "a new user by page": (
        "delegate",
        "page",
        lambda call: call.page("/settings/identities/users/new", username=f"new-{call.privilege}"),
    ),
    "a new user by ingestion": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(call.user("new"), "corpUserInfo", {"active": True})),
    ),
    "a new program by ingestion": (
        "robots",
        "gms",
        lambda call: call.gms(proposal(call.user("new"), "subTypes", {"typeNames": ["SERVICE_ACCOUNT"]})),
    ),
    "a new user by OpenAPI": (
        "delegate",
        "gms",
        lambda call: call.openapi("corpuser", call.user("new"), corpUserInfo={"active": True}),
    ),
    "a new user by SCIM": (
        "delegate",
        "scim",
        lambda call: call.scim_call("POST", "/Users", ENTRY | {"userName": f"new-{call.privilege}"}),
    ),
    "signing up by page": ("delegate", "page", _signs_up),
    "signing up by DataHub's door": ("delegate", "gms", _signs_up_at_the_door),
    # An account that is let in again.
    "activating by API": (
        "delegate",
        "api",
        lambda call: call.api("PATCH", f"users/{_path(call.user('off'))}/", {"state": "ACTIVE"}),
    ),
    "activating by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/identities/users/activate/{_path(call.user('off'))}"),
    ),
    "activating by ingestion": (
        "delegate",
        "gms",
        lambda call: call.gms(proposal(call.user("off"), "corpUserStatus", {"status": "ACTIVE"})),
    ),
    "activating a program by API": (
        "robots",
        "api",
        lambda call: call.api("PATCH", f"service-accounts/{_path(call.user('sleeping'))}/", {"state": "ACTIVE"}),
    ),
    "activating a program by page": (
        "robots",
        "page",
        lambda call: call.page(
            f"/settings/identities/service-accounts/state/{_path(call.user('sleeping'))}", state="ACTIVE"
        ),
    ),
    # A role, by an invitation.
    "an invitation by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "invite-tokens/", {"role": call.role}),
    ),
    "an invitation by page": (
        "delegate",
        "page",
        lambda call: call.page("/settings/identities/users/invite", role=call.role, duration="ONE_DAY"),
    ),
    "createInviteToken": (
        "delegate",
        "graphql",
        lambda call: call.graphql(INVITE, input={"roleUrn": call.role}),
    ),
    "getInviteToken": (
        "delegate",
        "graphql",
        lambda call: call.graphql(INVITED, input={"roleUrn": call.role}),
    ),
    # A credential of somebody who holds more.
    "a token by API": (
        "delegate",
        "api",
        lambda call: call.api("POST", "tokens/", {"name": "x", "actor": call.user("held")}),
    ),
    "a token by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/tokens/new?owner={_path(call.user('held'))}", name="x", duration="ONE_DAY"),
    ),
    "a token of a program by API": (
        "robots",
        "api",
        lambda call: call.api("POST", f"service-accounts/{_path(call.user('robot'))}/tokens/", {"name": "x"}),
    ),
    "a token of a program by page": (
        "robots",
        "page",
        lambda call: call.page(f"/settings/tokens/new?owner={_path(call.user('robot'))}", name="x", duration="ONE_DAY"),
    ),
    "createAccessToken": (
        "delegate",
        "graphql",
        lambda call: call.graphql(
            TOKEN,
            input={"type": "PERSONAL", "actorUrn": call.user("held"), "duration": "ONE_DAY", "name": "x"},
        ),
    ),
    "createAccessToken of a program": (
        "robots",
        "graphql",
        lambda call: call.graphql(
            TOKEN,
            input={"type": "SERVICE_ACCOUNT", "actorUrn": call.user("robot"), "duration": "ONE_DAY", "name": "x"},
        ),
    ),
    "a password by API": (
        "delegate",
        "api",
        lambda call: call.api("PATCH", f"users/{_path(call.user('held'))}/", {"password": PASSWORD}),
    ),
    "a password of a suspended account": (
        "delegate",
        "api",
        lambda call: call.api("PATCH", f"users/{_path(call.user('off'))}/", {"password": PASSWORD}),
    ),
    "a reset link by page": (
        "delegate",
        "page",
        lambda call: call.page(f"/settings/identities/users/reset/{_path(call.user('held'))}"),
    ),
    "createNativeUserResetToken": (
        "delegate",
        "graphql",
        lambda call: call.graphql(RESET, input={"userUrn": call.user("held")}),
    ),
}


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


def refusal_of(answer: Any, form: str) -> tuple[str, list[dict[str, object]] | None]:
    """Return the words of a refusal, checked to be in the form of its door, and what it lists as missing."""
    if form == "graphql":
        (error,) = answer.json()["errors"]
        assert error["extensions"]["code"] == 403, answer.content
        return error["message"], None
    assert answer.status_code == 403, (answer.status_code, answer.content)
    if form == "api":
        assert answer["Content-Type"] == "application/problem+json"
        return answer.json()["detail"], answer.json()["missing"]
    if form == "gms":
        return answer.json()["message"], None
    if form == "scim":
        assert answer["Content-Type"] == "application/scim+json"
        return answer.json()["detail"], None
    assert answer["Content-Type"].startswith("text/html")
    return answer.content.decode(), None


def has_passed(answer: Any, form: str) -> bool:
    if form == "graphql":
        return answer.status_code == 200 and "errors" not in answer.json()
    return answer.status_code in (200, 201, 204, 302)


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
        lambda call: call.api("POST", f"roles/{_path(call.role)}/actors/", {"actors": [PLAIN]}),
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
        lambda call: call.page(f"/settings/identities/users/roles/{_path(PLAIN)}", roles=[call.role]),
    ),
    "roles of a group by page": (
        "page",
        lambda call: call.page(f"/settings/identities/groups/roles/{_path(call.group('in'))}", roles=[call.role]),
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
            policies.create(draft=policies.PolicyInput("datahub", document), by=SYSTEM, channel=DOOR)
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
    policies.create(draft=policies.PolicyInput("datahub", document), by=SYSTEM, channel=DOOR)
    snapshot_store.reset()
    calling = Calling(world, "delegate", "MANAGE_TAGS")
    body = {"members": [PLAIN]}
    _, missing = refusal_of(calling.api("POST", f"groups/{_path(calling.group('in'))}/members/", body), "api")
    assert missing == [{"entity": None, "privilege": name} for name in lacking]


def test_data_may_be_handed_on_and_members_leave(world):
    give("urn:li:corpuser:nobody", "EDIT_ENTITY_TAGS", actors={"groups": [f"{GROUP}data"]})
    groups.create(identifier="data", name="Data", by=SYSTEM, channel=DOOR)
    groups.add_members(urn=f"{GROUP}in-MANAGE_TAGS", members=[PLAIN], by=SYSTEM, channel=DOOR)
    snapshot_store.reset()
    calling = Calling(world, "delegate", "MANAGE_TAGS")
    place = f"groups/{_path(f'{GROUP}data')}/members/"
    assert calling.api("POST", place, {"members": [PLAIN, f"{USER}held-MANAGE_POLICIES"]}).status_code == 201
    gone = calling.api("DELETE", f"groups/{_path(calling.group('in'))}/members/", {"members": [PLAIN]})
    assert gone.status_code == 204, gone.content
    # Whoever holds more already is changed like anybody else.
    changed = calling.api("PATCH", f"users/{_path(calling.user('held'))}/", {"title": "Chief"})
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
