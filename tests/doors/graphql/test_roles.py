"""Roles over GraphQL: listed, made, assigned (clients.md 2.3; rules/datahub.md a.11)."""

import pytest

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import groups, users
from policies.models import Role, RoleAssignment
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT

pytestmark = pytest.mark.django_db

LIST = """query($input: ListRolesInput!) {listRoles(input: $input) {start count total roles {
    urn type name description editable}}}"""
CREATE = "mutation($input: CreateRoleInput!) {createRole(input: $input)}"
UPDATE = "mutation($input: UpdateRoleInput!) {updateRole(input: $input)}"
DELETE = "mutation($urn: String!) {deleteRole(urn: $urn)}"
ASSIGN = "mutation($input: BatchAssignRoleInput!) {batchAssignRole(input: $input)}"
ADMIN, EDITOR, READER = (f"urn:li:dataHubRole:{name}" for name in ("Admin", "Editor", "Reader"))


def held(urn):
    rows = RoleAssignment.objects.filter(user__urn=urn) | RoleAssignment.objects.filter(group__profile__urn=urn)
    return sorted(rows.values_list("role__urn", flat=True))


def test_everybody_lists_roles(person):
    found = person("jo").ask(LIST, input={"start": "0", "count": "20"})["listRoles"]
    named = {one["urn"]: one for one in found["roles"]}
    assert {ADMIN, EDITOR, READER} <= named.keys()
    assert named[READER]["editable"] is False
    assert named[READER] | {"description": ""} == {
        "urn": READER,
        "type": "DATAHUB_ROLE",
        "name": "Reader",
        "description": "",
        "editable": False,
    }
    assert (found["start"], found["count"], found["total"]) == (0, Role.objects.count(), Role.objects.count())


def test_a_word_of_a_name(root):
    assert [one["urn"] for one in root.ask(LIST, input={"query": "read"})["listRoles"]["roles"]] == [READER]
    assert root.ask(LIST, input={"query": "*"})["listRoles"]["total"] == Role.objects.count()


def test_a_role_of_ones_own(root):
    urn = root.ask(CREATE, input={"name": "Steward"})["createRole"]
    assert root.ask(UPDATE, input={"urn": urn, "name": "Warden", "description": "Keeps order"})["updateRole"] is True
    (shown,) = root.ask(LIST, input={"query": "warden"})["listRoles"]["roles"]
    assert (shown["urn"], shown["description"], shown["editable"]) == (urn, "Keeps order", True)
    assert [root.ask(DELETE, urn=urn)["deleteRole"] for _ in range(2)] == [True, True]
    assert not Role.objects.filter(urn=urn).exists()


def test_a_role_with_its_policies(root):
    document = {
        "displayName": "Order",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": {"users": [ROOT]},
    }
    bound = policies.create(
        draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR
    ).policy.urn
    urn = root.ask(CREATE, input={"name": "Steward", "policyUrns": [bound]})["createRole"]
    assert policy_queries.get_policy(urn=bound).document["actors"] == {"users": [ROOT], "roles": [urn]}
    # A role that a policy names stays, or the policy would speak for nobody.
    assert root.refused(DELETE, urn=urn)[0] == 409


@pytest.mark.parametrize(
    ("bound", "code"), [("urn:li:dataHubPolicy:none", 404), ("urn:li:dataHubPolicy:0", 403), ("nothing", 404)]
)
def test_a_role_whose_policies_cannot_name_it_is_not_made(root, bound, code):
    before = Role.objects.count()
    assert root.refused(CREATE, input={"name": "Steward", "policyUrns": [bound]})[0] == code
    assert Role.objects.count() == before


def test_the_three_roles_stay(root):
    assert root.refused(UPDATE, input={"urn": READER, "name": "Writer"})[:2] == (403, "UNAUTHORIZED")
    assert root.refused(DELETE, urn=READER)[0] in (403, 409)
    assert Role.objects.get(urn=READER).name == "Reader"


@pytest.mark.parametrize(
    ("query", "variables", "code"),
    [
        (CREATE, {"input": {"name": ""}}, 400),
        (UPDATE, {"input": {"urn": "urn:li:dataHubRole:none", "name": "x"}}, 404),
        (UPDATE, {"input": {"urn": ROOT, "name": "x"}}, 400),
        (DELETE, {"urn": ROOT}, 400),
        (ASSIGN, {"input": {"roleUrn": "urn:li:dataHubRole:none", "actors": [ROOT]}}, 404),
        (ASSIGN, {"input": {"roleUrn": "", "actors": [ROOT]}}, 400),
        (ASSIGN, {"input": {"actors": [ROOT] * 1001}}, 400),
    ],
)
def test_what_is_wrong(root, query, variables, code):
    assert root.refused(query, **variables)[0] == code


def test_an_assignment_replaces_and_null_clears(root):
    jo = users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR).urn
    crew = groups.create(identifier="crew", name="Crew", by=authorizer.SYSTEM, channel=DOOR).urn
    for role, expected in ((READER, [READER]), (EDITOR, [EDITOR]), (EDITOR, [EDITOR]), (None, [])):
        actors = [jo, crew, "urn:li:corpuser:nobody"]
        assert root.ask(ASSIGN, input={"roleUrn": role, "actors": actors})["batchAssignRole"] is True
        assert held(jo) == held(crew) == expected
    root.ask(ASSIGN, input={"roleUrn": READER, "actors": [jo]})
    assert root.ask(ASSIGN, input={"actors": [jo]})["batchAssignRole"] is True
    assert held(jo) == []


def test_only_who_manages_policies(person):
    jo = person("jo", "MANAGE_USERS_AND_GROUPS", type="PLATFORM")
    for query, variables in (
        (CREATE, {"input": {"name": "Mine"}}),
        (UPDATE, {"input": {"urn": READER, "name": "Mine"}}),
        (DELETE, {"urn": "urn:li:dataHubRole:none"}),
        (ASSIGN, {"input": {"roleUrn": ADMIN, "actors": [jo.urn]}}),
        (ASSIGN, {"input": {"actors": [ROOT]}}),
    ):
        assert jo.refused(query, **variables)[:2] == (403, "UNAUTHORIZED")
    assert held(jo.urn) == []
