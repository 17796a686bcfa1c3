"""Invitations over the API."""

import uuid

import pytest

from policies.identity.queries import users_groups_roles
from policies.identity.services import roles
from policies.models import InviteToken
from policies.pdp import authorizer
from tests.api.conftest import DOOR, pointers_of, problem_of

PLACE = "/api/v1/invite-tokens/"
SELLER = "urn:li:dataHubRole:seller"


@pytest.fixture
def role(db):
    return roles.create(identifier="seller", name="Seller", by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def inviter(client_of, role):
    return client_of("inviter", "MANAGE_USER_CREDENTIALS")


def make(client, **body):
    answer = client.post(PLACE, body, format="json")
    assert answer.status_code == 201, answer.content
    return answer.json()


def test_one_link_is_live_for_each_role(inviter):
    first, bare = make(inviter, role=SELLER), make(inviter, role=None, duration="ONE_DAY")
    second = make(inviter, role=SELLER)
    assert second["url"] == f"http://testserver/signup?invite_token={second['token']}"
    listed = inviter.get(PLACE).json()["results"]
    assert {one["id"]: one["role"] for one in listed} == {second["id"]: SELLER, bare["id"]: None}
    assert not any(made["token"] in str(listed) for made in (first, bare, second))
    assert not InviteToken.objects.filter(digest__contains="azi_").exists()
    assert inviter.delete(f"{PLACE}{second['id']}/").status_code == 204
    problem_of(inviter.delete(f"{PLACE}{second['id']}/"), 404)
    problem_of(inviter.delete(f"{PLACE}{uuid.uuid4()}/"), 404)


def test_accepting_replaces_the_roles_of_the_caller(inviter, client_of):
    client = client_of("jo")
    other = roles.create(identifier="other", name="Other", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn=other.urn, actors=["urn:li:corpuser:jo"], by=authorizer.SYSTEM, channel=DOOR)
    token = make(inviter, role=SELLER)["token"]
    assert client.post(f"{PLACE}accept/", {"token": token}, format="json").json() == {"role": SELLER}
    assert users_groups_roles.get_user(urn="urn:li:corpuser:jo").role_urns == [SELLER]
    bare = make(inviter)["token"]
    assert client.post(f"{PLACE}accept", {"token": bare}, format="json").json() == {"role": None}
    assert users_groups_roles.get_user(urn="urn:li:corpuser:jo").role_urns == []
    for dead in ("azi_" + "x" * 43, "", "x" * 900, "azs_" + "x" * 43):
        assert client.post(f"{PLACE}accept/", {"token": dead}, format="json").status_code in (400, 404)


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ({"role": "urn:li:dataHubRole:none"}, {"/role"}),
        ({"role": "urn:li:corpuser:jo"}, {"/role"}),
        ({"duration": "NO_EXPIRY"}, {"/duration"}),
        ({"role": 7, "duration": 7, "more": 1}, {"/role", "/duration", "/more"}),
    ],
)
def test_wrong_bodies_are_named(inviter, body, places):
    assert {pointer for _, pointer in pointers_of(inviter.post(PLACE, body, format="json"))} == places
    assert not InviteToken.objects.exists()


def test_others_are_told_the_privilege(inviter, client_of):
    made = make(inviter, role=SELLER)
    stranger = client_of("stranger", "MANAGE_USERS_AND_GROUPS")
    for answer in (
        stranger.get(PLACE),
        stranger.post(PLACE, {"role": SELLER}, format="json"),
        stranger.delete(f"{PLACE}{made['id']}/"),
    ):
        assert problem_of(answer, 403)["missing"] == [{"entity": None, "privilege": "MANAGE_USER_CREDENTIALS"}]
