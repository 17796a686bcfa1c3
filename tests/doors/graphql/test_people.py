"""Users, groups and the links that let people in, over GraphQL (clients.md 2.3 and 2.6)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.aspects import queries as aspect_queries
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, invitations, password_resets, roles, service_accounts, users
from policies.models import ChangeEvent, GroupProfile, InviteToken, Membership, ResetToken, User
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT, calling, proposal

pytestmark = pytest.mark.django_db

READER = "urn:li:dataHubRole:Reader"
CREW = "urn:li:corpGroup:crew"
JO = "urn:li:corpuser:jo"
NOBODY = "urn:li:corpuser:nobody"
PASSWORD = "correct horse battery"

LIST_USERS = "query listUsers($input: ListUsersInput!) { listUsers(input: $input) { start count total users { %s } } }"
LIST_GROUPS = (
    "query listGroups($input: ListGroupsInput!) { listGroups(input: $input) { start count total groups { %s } } }"
)
REMOVE_USER = "mutation removeUser($urn: String!) { removeUser(urn: $urn) }"
REMOVE_GROUP = "mutation removeGroup($urn: String!) { removeGroup(urn: $urn) }"
CREATE_GROUP = "mutation createGroup($input: CreateGroupInput!) { createGroup(input: $input) }"
UPDATE_NAME = "mutation updateName($input: UpdateNameInput!) { updateName(input: $input) }"
UPDATE_USER = """mutation updateCorpUserProperties($urn: String!, $input: CorpUserUpdateInput!) {
  updateCorpUserProperties(urn: $urn, input: $input) {
    urn editableProperties { displayName title aboutMe teams slack }
  }
}"""
UPDATE_GROUP = """mutation updateCorpGroupProperties($urn: String!, $input: CorpGroupUpdateInput!) {
  updateCorpGroupProperties(urn: $urn, input: $input) { urn editableProperties { description email slack } }
}"""
ADD = "mutation addGroupMembers($input: AddGroupMembersInput!) { addGroupMembers(input: $input) }"
TAKE = "mutation removeGroupMembers($input: RemoveGroupMembersInput!) { removeGroupMembers(input: $input) }"
GET_INVITE = "query getInviteToken($input: GetInviteTokenInput!) { getInviteToken(input: $input) { inviteToken } }"
NEW_INVITE = (
    "mutation createInviteToken($input: CreateInviteTokenInput!) { createInviteToken(input: $input) { inviteToken } }"
)
ACCEPT = "mutation acceptRole($input: AcceptRoleInput!) { acceptRole(input: $input) }"
RESET = """mutation createNativeUserResetToken($input: CreateNativeUserResetTokenInput!) {
  createNativeUserResetToken(input: $input) { resetToken }
}"""

PUT_AWAY = "mutation ($input: BatchUpdateSoftDeletedInput!) { batchUpdateSoftDeleted(input: $input) }"
STATUS = "mutation ($urn: String!, $status: CorpUserStatus!) { updateUserStatus(urn: $urn, status: $status) }"


@pytest.fixture
def crew(installed):
    return groups.create(identifier="crew", name="Crew", by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def jo(installed):
    return users.create(username="jo", display_name="Jo", by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def clerk(person):
    """Manages users and groups, and nothing else."""
    return person("clerk", "MANAGE_USERS_AND_GROUPS", type="PLATFORM")


# -- lists ------------------------------------------------------------------------------------------------------------


def test_who_may_not_look_at_people_is_told_their_names_alone(person, jo):
    users.update(urn=JO, email="jo@example.com", title="Chief", by=authorizer.SYSTEM, channel=DOOR)
    nosy = person("nosy")
    assert nosy.refused(LIST_USERS % "urn", input={})[0] == 403
    ask = "query ($urn: String!) { corpUser(urn: $urn) { status properties { displayName email title } } }"
    shown = {"status": None, "properties": {"displayName": "Jo", "email": None, "title": None}}
    assert nosy.ask(ask, urn=JO)["corpUser"] == shown
    clerk = person("clerk", "UPDATE_USERS", type="PLATFORM")
    assert clerk.ask(ask, urn=JO)["corpUser"]["properties"]["email"] == "jo@example.com"
    assert nosy.ask(ask, urn=nosy.urn)["corpUser"]["status"] == "ACTIVE"


def test_people_are_listed_by_who_sees_them_and_services_are_not_among_them(person, jo):
    service_accounts.create(display_name="Bot", by=authorizer.SYSTEM, channel=DOOR)
    anybody = person("any", "MANAGE_USER_CREDENTIALS", type="PLATFORM")
    found = anybody.ask(LIST_USERS % "urn type username status properties { displayName active }", input={})[
        "listUsers"
    ]
    assert (found["start"], found["count"], found["total"]) == (0, 3, 3)
    assert [one["urn"] for one in found["users"]] == [anybody.urn, ROOT, JO]
    assert found["users"][2] == {
        "urn": JO,
        "type": "CORP_USER",
        "username": "jo",
        "status": "ACTIVE",
        "properties": {"displayName": "Jo", "active": True},
    }


def test_pages_and_words(root, jo):
    for number in range(7):
        users.create(username=f"p{number}", display_name="Pat Smith", by=authorizer.SYSTEM, channel=DOOR)
    page = root.ask(LIST_USERS % "urn", input={"start": 5, "count": 10, "query": "smi"})["listUsers"]
    assert page == {
        "start": 5,
        "count": 2,
        "total": 7,
        "users": [{"urn": "urn:li:corpuser:p5"}, {"urn": "urn:li:corpuser:p6"}],
    }
    assert root.ask(LIST_USERS % "urn", input={"start": "50", "count": "0"})["listUsers"]["users"] == []
    assert root.ask(LIST_USERS % "urn", input={"query": " * "})["listUsers"]["total"] == 9
    assert root.ask(LIST_USERS % "urn", input={"query": "nobody"})["listUsers"]["total"] == 0
    assert root.ask(LIST_USERS % "urn", input={"start": None, "count": None, "query": None})["listUsers"]["total"] == 9


@pytest.mark.parametrize("page", [{"start": -1}, {"count": -1}, {"count": 100_000}])
def test_numbers_out_of_range(root, page):
    code, kind, message = root.refused(LIST_USERS % "urn", input=page)
    assert (code, kind) == (400, "BAD_REQUEST")
    assert next(iter(page)) in message


def test_groups_are_listed_by_who_manages_them(clerk, person, crew):
    found = clerk.ask(LIST_GROUPS % "urn name properties { displayName } origin { type }", input={"count": 100})
    assert found["listGroups"] == {
        "start": 0,
        "count": 1,
        "total": 1,
        "groups": [{"urn": CREW, "name": "crew", "properties": {"displayName": "Crew"}, "origin": {"type": "NATIVE"}}],
    }
    assert person("any").refused(LIST_GROUPS % "urn", input={})[:2] == (403, "UNAUTHORIZED")


@pytest.mark.parametrize(
    ("query", "make"),
    [
        (
            LIST_USERS % "urn username status properties { displayName email } editableProperties { title }",
            lambda number: users.create(username=f"q{number}", title="T", by=authorizer.SYSTEM, channel=DOOR),
        ),
        (
            LIST_GROUPS % "urn name properties { displayName } editableProperties { slack } origin { type }",
            lambda number: groups.create(identifier=f"g{number}", name="G", by=authorizer.SYSTEM, channel=DOOR),
        ),
    ],
)
def test_a_list_costs_the_same_queries_whatever_its_length(root, query, make):
    costs = []
    for numbers in (range(2), range(2, 30)):
        for number in numbers:
            make(number)
        root.ask(query, input={"count": 100})
        with CaptureQueriesContext(
            connection,
        ) as made:
            root.ask(query, input={"count": 100})
        costs.append(len(made))
    assert costs[0] == costs[1]


# -- users ------------------------------------------------------------------------------------------------------------


def test_a_user_is_removed_and_again_is_no_error(clerk, jo):
    assert clerk.ask(REMOVE_USER, urn=JO) == {"removeUser": True}
    assert not User.objects.filter(urn=JO).exists()
    assert ChangeEvent.objects.get(object_urn=JO, verb="DELETED").door == "graphql"
    assert clerk.ask(REMOVE_USER, urn=JO) == {"removeUser": True}


@pytest.mark.parametrize("urn", [CREW, "jo", "", "urn:li:corpuser:"])
def test_what_is_no_user_is_not_removed(root, crew, urn):
    assert root.refused(REMOVE_USER, urn=urn)[:2] == (400, "BAD_REQUEST")
    assert GroupProfile.objects.filter(urn=CREW).exists()


def test_root_and_the_last_manager_stay(root, clerk):
    assert clerk.refused(REMOVE_USER, urn=ROOT)[0] == 403
    assert User.objects.filter(urn=ROOT).exists()


def test_fields_of_a_user_are_set_and_the_others_stay(clerk, jo):
    first = clerk.ask(UPDATE_USER, urn=JO, input={"displayName": "Jo J.", "teams": ["a", "b"], "slack": "@jo"})
    assert first["updateCorpUserProperties"]["urn"] == JO
    second = clerk.ask(UPDATE_USER, urn=JO, input={"title": "Boss", "slack": "", "aboutMe": None})
    assert second["updateCorpUserProperties"]["editableProperties"] == {
        "displayName": "Jo J.",
        "title": "Boss",
        "aboutMe": None,
        "teams": ["a", "b"],
        "slack": None,
    }
    assert users_groups_roles.get_user(urn=JO).title == "Boss"


def test_one_edits_oneself_but_not_ones_address(person, jo):
    any_ = person("any")
    assert any_.ask(UPDATE_USER, urn=any_.urn, input={"title": "Me"})["updateCorpUserProperties"]["urn"] == any_.urn
    assert any_.refused(UPDATE_USER, urn=any_.urn, input={"email": "root@example.com"})[0] == 403
    assert any_.refused(UPDATE_USER, urn=JO, input={"title": "Not mine"})[0] == 403


# -- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_is_made_renamed_described_and_removed(clerk):
    assert clerk.ask(CREATE_GROUP, input={"id": "ops", "name": "Ops", "description": "On call"}) == {
        "createGroup": "urn:li:corpGroup:ops"
    }
    ops = GroupProfile.objects.get(identifier="ops")
    assert (ops.name, ops.description, ops.origin) == ("Ops", "On call", "NATIVE")
    assert clerk.ask(UPDATE_NAME, input={"urn": ops.urn, "name": "Operations"}) == {"updateName": True}
    said = {"description": "Day and night", "email": "ops@example.com", "slack": "#ops"}
    found = clerk.ask(UPDATE_GROUP, urn=ops.urn, input=said)["updateCorpGroupProperties"]
    assert found == {"urn": ops.urn, "editableProperties": said}
    ops.refresh_from_db()
    assert (ops.name, ops.description, ops.email) == ("Operations", "Day and night", "ops@example.com")
    assert clerk.ask(REMOVE_GROUP, urn=ops.urn) == {"removeGroup": True}
    assert clerk.ask(REMOVE_GROUP, urn=ops.urn) == {"removeGroup": True}
    assert not GroupProfile.objects.filter(urn=ops.urn).exists()


def test_the_same_id_again_already_exists(clerk, crew):
    code, kind, message = clerk.refused(CREATE_GROUP, input={"id": "crew", "name": "Other"})
    assert (code, kind) == (409, "ALREADY_EXISTS")
    assert "already exists" in message
    assert GroupProfile.objects.get().name == "Crew"


def test_without_an_id_one_is_made(clerk):
    urn = clerk.ask(CREATE_GROUP, input={"name": "Nameless", "id": None})["createGroup"]
    assert len(urn.removeprefix("urn:li:corpGroup:")) == 36


@pytest.mark.parametrize(
    ("query", "variables", "code"),
    [
        (CREATE_GROUP, {"input": {"id": "a,b", "name": "x"}}, 400),
        (CREATE_GROUP, {"input": {"id": "ok", "name": " "}}, 400),
        (CREATE_GROUP, {"input": {"id": "ok", "name": "x" * 300}}, 400),
        (UPDATE_NAME, {"input": {"urn": "urn:li:corpGroup:none", "name": "x"}}, 404),
        (UPDATE_NAME, {"input": {"urn": "urn:li:domain:none", "name": "x"}}, 404),
        (UPDATE_NAME, {"input": {"urn": "urn:li:container:none", "name": "x"}}, 400),
        (UPDATE_NAME, {"input": {"urn": CREW, "name": ""}}, 400),
        (UPDATE_GROUP, {"urn": "urn:li:corpGroup:none", "input": {"slack": "#x"}}, 404),
        (UPDATE_GROUP, {"urn": CREW, "input": {"email": "x" * 400}}, 400),
        (UPDATE_USER, {"urn": NOBODY, "input": {"title": "x"}}, 404),
        (UPDATE_USER, {"urn": CREW, "input": {"title": "x"}}, 400),
        (ADD, {"input": {"groupUrn": CREW, "userUrns": [NOBODY]}}, 404),
        (ADD, {"input": {"groupUrn": "urn:li:corpGroup:none", "userUrns": [JO]}}, 404),
        (ADD, {"input": {"groupUrn": CREW, "userUrns": [CREW]}}, 400),
        (TAKE, {"input": {"groupUrn": JO, "userUrns": [JO]}}, 400),
        (TAKE, {"input": {"groupUrn": CREW, "userUrns": [JO] * 10_001}}, 400),
        (ADD, {"input": {"groupUrn": CREW, "userUrns": [f"{JO}{number}" for number in range(10_001)]}}, 400),
        (RESET, {"input": {"userUrn": NOBODY}}, 404),
        (GET_INVITE, {"input": {"roleUrn": "urn:li:dataHubRole:none"}}, 404),
        (NEW_INVITE, {"input": {"roleUrn": ""}}, 404),
        (ACCEPT, {"input": {"inviteToken": "azi_invented"}}, 404),
    ],
)
def test_what_is_unknown_or_wrong(root, jo, crew, query, variables, code):
    before = ChangeEvent.objects.count()
    assert root.refused(query, **variables)[0] == code
    assert ChangeEvent.objects.count() == before


def test_members_come_and_go_and_again_is_no_error(clerk, jo, crew):
    both = {"groupUrn": CREW, "userUrns": [JO, ROOT]}
    for _ in range(2):
        assert clerk.ask(ADD, input=both) == {"addGroupMembers": True}
        assert (aspect_queries.load_aspects(urn=JO) or {})["nativeGroupMembership"] == {"nativeGroups": [CREW]}
    inline = f'mutation {{ removeGroupMembers(input: {{groupUrn: "{CREW}", userUrns: ["{JO}", "{NOBODY}"]}}) }}'
    for _ in range(2):
        assert clerk.ask(inline) == {"removeGroupMembers": True}
    assert [row.user.urn for row in Membership.objects.all()] == [ROOT]


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        (ADD, {"input": {"groupUrn": "urn:li:corpGroup:away", "userUrns": [ROOT]}}),
        (TAKE, {"input": {"groupUrn": "urn:li:corpGroup:away", "userUrns": [ROOT]}}),
        (ADD, {"input": {"groupUrn": CREW, "userUrns": [JO]}}),
        (UPDATE_NAME, {"input": {"urn": "urn:li:corpGroup:away", "name": "x"}}),
        (UPDATE_GROUP, {"urn": "urn:li:corpGroup:away", "input": {"description": "x"}}),
        (UPDATE_USER, {"urn": JO, "input": {"title": "x"}}),
        (STATUS, {"urn": JO, "status": "SUSPENDED"}),
        (RESET, {"input": {"userUrn": JO}}),
    ],
)
def test_who_was_put_away_is_as_unknown_until_restored(root, jo, crew, query, variables):
    away = "urn:li:corpGroup:away"
    groups.create(identifier="away", name="Away", by=authorizer.SYSTEM, channel=DOOR)
    assert root.ask(PUT_AWAY, input={"urns": [JO, away], "deleted": True}) == {"batchUpdateSoftDeleted": True}
    before = ChangeEvent.objects.count()
    assert root.refused(query, **variables)[0] == 404
    assert ChangeEvent.objects.count() == before
    assert root.ask(PUT_AWAY, input={"urns": [JO, away], "deleted": False}) == {"batchUpdateSoftDeleted": True}
    assert root.ask(query, **variables)


def test_a_list_that_the_service_would_refuse_is_named_as_it_was_sent(root, jo, crew):
    for count, refusal in ((1_001, "/userUrns"), (1_000, "There is no user")):
        sent = {"groupUrn": CREW, "userUrns": [f"{JO}{number}" for number in range(count)]}
        assert refusal in root.refused(ADD, input=sent)[2]
    assign = "mutation ($input: BatchAssignRoleInput!) { batchAssignRole(input: $input) }"
    sent = {"roleUrn": READER, "actors": [f"{JO}{number}" for number in range(501)]}
    assert root.refused(assign, input=sent)[0] == 400
    assert root.ask(assign, input={**sent, "actors": sent["actors"][1:]}) == {"batchAssignRole": True}


def test_who_was_put_away_owns_nothing_new(root, jo):
    table = "urn:li:dataset:(urn:li:dataPlatform:snowflake,db.orders,PROD)"
    for one in (proposal(table, "datasetProperties", {"name": "Orders"}), proposal(JO, "status", {"removed": True})):
        assert calling(ROOT).write(one).status_code == 200
    add = "mutation ($input: AddOwnerInput!) { addOwner(input: $input) }"
    owner = {"ownerUrn": JO, "ownerEntityType": "CORP_USER", "type": "NONE", "resourceUrn": table}
    assert root.refused(add, input=owner)[0] == 404
    assert root.ask(PUT_AWAY, input={"urns": [JO], "deleted": False}) == {"batchUpdateSoftDeleted": True}
    assert root.ask(add, input=owner) == {"addOwner": True}


def test_members_of_a_group_from_elsewhere_are_not_changed_by_hand(root, jo):
    groups.create(identifier="sso", name="SSO", origin="EXTERNAL", by=authorizer.SYSTEM, channel=DOOR)
    members = {"groupUrn": "urn:li:corpGroup:sso", "userUrns": [JO]}
    for query in (ADD, TAKE):
        code, _, message = root.refused(query, input=members)
        assert code == 409
        assert "source" in message


def test_who_edits_the_members_of_one_group_does_so_here(person, jo, crew):
    only = {"filter": {"criteria": [{"field": "URN", "values": [CREW], "condition": "EQUALS"}]}}
    keeper = person("keeper", "EDIT_GROUP_MEMBERS", resources=only)
    assert keeper.ask(ADD, input={"groupUrn": CREW, "userUrns": [JO]}) == {"addGroupMembers": True}
    groups.create(identifier="other", name="Other", by=authorizer.SYSTEM, channel=DOOR)
    assert keeper.refused(ADD, input={"groupUrn": "urn:li:corpGroup:other", "userUrns": [JO]})[0] == 403


# -- links ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def keeper(person):
    """Manages credentials, and may hand on what Readers hold."""
    return person("keeper", "MANAGE_USER_CREDENTIALS", "VIEW_STRUCTURED_PROPERTIES_PAGE", type="PLATFORM")


def test_the_present_invitation_stays_and_a_new_one_ends_it(keeper):
    present = keeper.ask(GET_INVITE, input={"roleUrn": READER})["getInviteToken"]["inviteToken"]
    assert keeper.ask(GET_INVITE, input={"roleUrn": READER})["getInviteToken"]["inviteToken"] == present
    without = keeper.ask(GET_INVITE, input={})["getInviteToken"]["inviteToken"]
    assert invitations.find(text=without).role is None
    new = keeper.ask(NEW_INVITE, input={"roleUrn": READER})["createInviteToken"]["inviteToken"]
    assert new != present
    assert getattr(invitations.find(text=new).role, "urn", "") == READER
    assert keeper.ask(GET_INVITE, input={"roleUrn": READER})["getInviteToken"]["inviteToken"] == new
    assert InviteToken.objects.count() == 2


def test_an_invitation_replaces_the_roles_of_who_takes_it(keeper, person):
    any_ = person("any")
    roles.create(identifier="own", name="Own", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn="urn:li:dataHubRole:own", actors=[any_.urn], by=authorizer.SYSTEM, channel=DOOR)
    text = keeper.ask(GET_INVITE, input={"roleUrn": READER})["getInviteToken"]["inviteToken"]
    for _ in range(2):
        assert any_.ask(ACCEPT, input={"inviteToken": text}) == {"acceptRole": True}
        assert users_groups_roles.get_user(urn=any_.urn).role_urns == [READER]


def test_a_reset_link_sets_a_password_once(keeper, jo):
    text = keeper.ask(RESET, input={"userUrn": JO})["createNativeUserResetToken"]["resetToken"]
    password_resets.use(text=text, password=PASSWORD, channel=DOOR)
    assert User.objects.get(urn=JO).check_password(PASSWORD)
    assert not ResetToken.objects.exists()


# -- who may ----------------------------------------------------------------------------------------------------------

WRITES = [
    (REMOVE_USER, {"urn": JO}),
    (REMOVE_USER, {"urn": NOBODY}),
    (REMOVE_GROUP, {"urn": CREW}),
    (UPDATE_USER, {"urn": JO, "input": {"title": "x"}}),
    (UPDATE_GROUP, {"urn": CREW, "input": {"slack": "#x"}}),
    (CREATE_GROUP, {"input": {"id": "mine", "name": "Mine"}}),
    (UPDATE_NAME, {"input": {"urn": CREW, "name": "Mine"}}),
    (ADD, {"input": {"groupUrn": CREW, "userUrns": ["urn:li:corpuser:any"]}}),
    (TAKE, {"input": {"groupUrn": CREW, "userUrns": [JO]}}),
    (GET_INVITE, {"input": {}}),
    (GET_INVITE, {"input": {"roleUrn": "urn:li:dataHubRole:Admin"}}),
    (NEW_INVITE, {"input": {"roleUrn": "urn:li:dataHubRole:Admin"}}),
    (RESET, {"input": {"userUrn": ROOT}}),
]


@pytest.mark.parametrize(("query", "variables"), WRITES)
def test_an_outsider_changes_nothing(person, jo, crew, query, variables):
    any_ = person("any")
    before = ChangeEvent.objects.count()
    code, kind, message = any_.refused(query, **variables)
    assert (code, kind) == (403, "UNAUTHORIZED")
    assert "Missing" in message
    assert ChangeEvent.objects.count() == before


@pytest.mark.parametrize(("query", "variables"), [one for one in WRITES if "nvite" in one[0] or "Reset" in one[0]])
def test_who_manages_people_manages_no_credentials(clerk, query, variables):
    assert clerk.refused(query, **variables)[0] == 403


def test_the_rest_of_an_answer_survives_a_refusal(person):
    answer = person("any").send("{ me { corpUser { urn } } getInviteToken(input: {}) { inviteToken } }").json()
    assert answer["data"] == {"me": {"corpUser": {"urn": "urn:li:corpuser:any"}}, "getInviteToken": None}
    assert answer["errors"][0]["path"] == ["getInviteToken"]
