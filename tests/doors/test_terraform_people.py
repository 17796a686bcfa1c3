"""People as the Terraform provider keeps them (clients.md 2.5): its calls word for word, and nothing to change after.

Applying is: read what is there, and write where that is not what is wanted. So after an apply a read has to give what
was wanted, and the same writes again may change nothing that is read.
"""

import json

import pytest
from django.test import Client

from policies.models import ChangeEvent, User

pytestmark = pytest.mark.django_db

CREATE_GROUP = """
mutation createGroup($input: CreateGroupInput!) {
  createGroup(input: $input)
}"""
UPDATE_NAME = """
mutation updateName($input: UpdateNameInput!) {
  updateName(input: $input)
}"""
UPDATE_GROUP = """
mutation updateCorpGroupProperties($urn: String!, $input: CorpGroupUpdateInput!) {
  updateCorpGroupProperties(urn: $urn, input: $input) {
    urn
  }
}"""
REMOVE_GROUP = """
mutation removeGroup($urn: String!) {
  removeGroup(urn: $urn)
}"""
REMOVE_USER = """
mutation removeUser($urn: String!) {
  removeUser(urn: $urn)
}"""
ADD_MEMBERS = """
mutation addGroupMembers($input: AddGroupMembersInput!) {
  addGroupMembers(input: $input)
}"""
REMOVE_MEMBERS = """
mutation removeGroupMembers($input: RemoveGroupMembersInput!) {
  removeGroupMembers(input: $input)
}"""
GET_INVITE = """query getInviteToken($input: GetInviteTokenInput!) {
  getInviteToken(input: $input) { inviteToken }
}"""
RESET = """
mutation createNativeUserResetToken($input: CreateNativeUserResetTokenInput!) {
  createNativeUserResetToken(input: $input) {
    resetToken
  }
}"""
LIST_USERS = """
query listUsers($input: ListUsersInput!) {
  listUsers(input: $input) {
    total
    users {
      urn
    }
  }
}"""
LIST_SERVICES = """
query listServiceAccounts($input: ListServiceAccountsInput!) {
  listServiceAccounts(input: $input) {
    total
    serviceAccounts {
      urn
    }
  }
}"""


class Provider:
    """What the provider does with an address and a token."""

    def __init__(self, caller):
        self.caller = caller

    def graphql(self, query, path="/api/graphql", **variables):
        answer = self.caller.post(path, {"query": query, "variables": variables})
        assert answer.status_code == 200
        assert not answer.json().get("errors"), answer.json()
        return answer.json()["data"]

    def entity(self, type_, urn):
        """The aspects of an entity without their envelopes, None where there is none."""
        answer = self.caller.client.get(f"/openapi/v3/entity/{type_}/{urn}")
        if answer.status_code == 404:
            return None
        assert answer.status_code == 200, answer.content
        aspects = {name: aspect for name, aspect in answer.json().items() if name != "urn"}
        return {name: aspect["value"] for name, aspect in aspects.items()}

    def write_user(self, username, info, sub_types=()):
        urn = f"urn:li:corpuser:{username}"
        entity = {
            "urn": urn,
            "corpUserKey": {"value": {"username": username}},
            "corpUserInfo": {"value": {"active": True, **info}},
        }
        if sub_types:
            entity["subTypes"] = {"value": {"typeNames": list(sub_types)}}
        answer = self.caller.post("/openapi/v3/entity/corpuser?async=false", [entity])
        assert answer.status_code == 200, answer.content
        return urn

    def every(self, query, name, member):
        """The URNs of a list, page by page of 100 until the total."""
        urns: list[str] = []
        while True:
            page = self.graphql(query, input={"start": len(urns), "count": 100})[name]
            urns += [one["urn"] for one in page[member]]
            if len(urns) >= page["total"] or not page[member]:
                return urns

    def sign_up(self, **body):
        """Like the provider: the path of the server first, with the token."""
        answer = self.caller.post("/auth/signUp", body)
        assert not answer.headers["Content-Type"].startswith("text/html")
        return answer


@pytest.fixture
def provider(root):
    return Provider(root)


def test_a_group(provider):
    urn = provider.graphql(CREATE_GROUP, input={"id": "data-platform", "name": "Data Platform"})["createGroup"]
    assert urn == "urn:li:corpGroup:data-platform"
    wanted = {"description": "Keeps the platform", "email": "platform@example.com", "slack": "#platform"}
    for _ in range(2):
        provider.graphql(UPDATE_GROUP, urn=urn, input=wanted)
        found = provider.entity("corpgroup", urn)
        assert found["corpGroupKey"]["name"] == "data-platform"
        assert found["corpGroupInfo"]["displayName"] == "Data Platform"
        assert "description" not in found["corpGroupInfo"]
        assert found["corpGroupEditableInfo"] == wanted
    for _ in range(2):
        provider.graphql(UPDATE_NAME, input={"urn": urn, "name": "Platform"})
        # What is taken out of the configuration is sent as an empty text.
        provider.graphql(UPDATE_GROUP, urn=urn, input={"description": "", "email": "p@example.com", "slack": ""})
        found = provider.entity("corpgroup", urn)
        assert found["corpGroupInfo"]["displayName"] == "Platform"
        assert found["corpGroupEditableInfo"] == {"email": "p@example.com"}
    for _ in range(2):
        provider.graphql(REMOVE_GROUP, urn=urn)
        assert provider.entity("corpgroup", urn) is None


def test_a_group_without_properties_has_none(provider):
    urn = provider.graphql(CREATE_GROUP, input={"id": "bare", "name": "Bare"})["createGroup"]
    for _ in range(2):
        found = provider.entity("corpgroup", urn)
        assert not found["corpGroupInfo"].get("description")
        assert not any(found.get("corpGroupEditableInfo", {}).values())
        provider.graphql(UPDATE_GROUP, urn=urn, input={"description": "", "email": "", "slack": ""})


def test_a_membership(provider):
    user = provider.write_user("jo", {"displayName": "Jo"})
    groups = [provider.graphql(CREATE_GROUP, input={"id": id_, "name": id_})["createGroup"] for id_ in ("b", "a")]
    for group in groups:
        for _ in range(2):
            provider.graphql(ADD_MEMBERS, input={"groupUrn": group, "userUrns": [user]})
            assert group in provider.entity("corpuser", user)["nativeGroupMembership"]["nativeGroups"]
    for _ in range(2):
        provider.graphql(REMOVE_MEMBERS, input={"groupUrn": groups[0], "userUrns": [user]})
        assert provider.entity("corpuser", user)["nativeGroupMembership"]["nativeGroups"] == [groups[1]]


def test_a_user_is_replaced_whole(provider):
    whole = {
        "displayName": "Jo",
        "fullName": "Jo Doe",
        "email": "jo@example.com",
        "title": "Engineer",
        "customProperties": {"team": "a", "managed-by": "terraform"},
    }
    urn = "urn:li:corpuser:jo"
    for info in (whole, {"fullName": "Jo Doe", "customProperties": {}}):
        for _ in range(2):
            provider.write_user("jo", info)
            found = provider.entity("corpuser", urn)
            assert found["corpUserInfo"] == {"active": True, **info}
            assert found["corpUserKey"] == {"username": "jo"}
            assert "corpUserEditableInfo" not in found
        count = ChangeEvent.objects.count()
        provider.write_user("jo", info)
        assert ChangeEvent.objects.count() == count
    assert provider.every(LIST_USERS, "listUsers", "users") == ["urn:li:corpuser:datahub", urn]
    for _ in range(2):
        provider.graphql(REMOVE_USER, urn=urn)
        assert provider.entity("corpuser", urn) is None


def test_a_service_account(provider):
    info = {"displayName": "Loader", "title": "Loads at night", "customProperties": {"a": "b"}}
    urn = "urn:li:corpuser:service_loader"
    for _ in range(2):
        provider.write_user("service_loader", info, ["SERVICE_ACCOUNT"])
        found = provider.entity("corpuser", urn)
        assert found["subTypes"] == {"typeNames": ["SERVICE_ACCOUNT"]}
        assert found["corpUserInfo"] == {"active": True, **info}
    assert provider.every(LIST_SERVICES, "listServiceAccounts", "serviceAccounts") == [urn]
    assert urn not in provider.every(LIST_USERS, "listUsers", "users")
    assert User.objects.get(urn=urn).kind == User.Kind.SERVICE
    person = provider.entity("corpuser", "urn:li:corpuser:datahub")
    assert "SERVICE_ACCOUNT" not in person.get("subTypes", {}).get("typeNames", [])
    provider.graphql(REMOVE_USER, urn=urn)
    assert provider.entity("corpuser", urn) is None


def test_lists_longer_than_a_page(provider):
    urns = [f"urn:li:corpuser:p{number:03}" for number in range(205)]
    many = [{"urn": urn, "corpUserInfo": {"value": {"active": True}}} for urn in urns]
    assert provider.caller.post("/openapi/v3/entity/corpuser?async=false", many).status_code == 200
    assert provider.every(LIST_USERS, "listUsers", "users") == ["urn:li:corpuser:datahub", *urns]


def test_a_local_login(provider):
    invites = {
        provider.graphql(GET_INVITE, path=path, input={})["getInviteToken"]["inviteToken"]
        for path in ("/api/v2/graphql", "/api/graphql")
    }
    (invite,) = invites
    body = {
        "fullName": "Nat",
        "email": "nat@example.com",
        "password": "correct horse battery",
        "inviteToken": invite,
        "userUrn": "urn:li:corpuser:nat",
        "title": "Other",
    }
    assert provider.sign_up(**body).status_code == 200
    again = provider.sign_up(**body)
    assert 400 <= again.status_code < 500
    assert "already exists" in again.content.decode()
    # The profile of the account is adopted, and its password stays.
    provider.write_user("nat", {"displayName": "Nat", "email": "nat@example.com"})
    signed_in = Client().post(
        "/logIn", json.dumps({"username": "nat", "password": body["password"]}), content_type="application/json"
    )
    assert signed_in.status_code == 200
    reset = provider.graphql(RESET, input={"userUrn": "urn:li:corpuser:nat"})["createNativeUserResetToken"][
        "resetToken"
    ]
    assert reset.startswith("azr_")
    gone = provider.caller.post("/auth/signUp", {**body, "userUrn": "urn:li:corpuser:x", "inviteToken": "invented"})
    assert gone.status_code == 400
