"""Access tokens and service accounts over GraphQL (clients.md 2.3 and 2.6)."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from policies.identity.services import access_tokens, service_accounts, users
from policies.models import AccessToken, ChangeEvent, User
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT
from tests.doors.graphql.conftest import Asking

pytestmark = pytest.mark.django_db

ME = "{ me { corpUser { urn } } }"
# As DataHub's command line sends it.
CREATE = """mutation createAccessToken($input: CreateAccessTokenInput!) {
            createAccessToken(input: $input) {
              accessToken
              metadata {
                id
                actorUrn
                ownerUrn
                name
                description
              }
            }
        }"""
LIST = """query listAccessTokens($input: ListAccessTokenInput!) { listAccessTokens(input: $input) {
  start count total tokens { urn type id name description actorUrn ownerUrn createdAt expiresAt }
} }"""
REVOKE = "mutation revokeAccessToken($tokenId: String!) { revokeAccessToken(tokenId: $tokenId) }"
CREATE_SERVICE = """mutation createServiceAccount($input: CreateServiceAccountInput!) {
  createServiceAccount(input: $input) { urn type name displayName description createdBy createdAt }
}"""
LIST_SERVICES = """query listServiceAccounts($input: ListServiceAccountsInput!) { listServiceAccounts(input: $input) {
  start count total serviceAccounts { urn type name displayName description createdBy createdAt }
} }"""
GET_SERVICE = """query getServiceAccount($urn: String!) {
  getServiceAccount(urn: $urn) { urn type name displayName description createdBy createdAt }
}"""
DELETE_SERVICE = "mutation deleteServiceAccount($urn: String!) { deleteServiceAccount(urn: $urn) }"
DAYS = {
    "ONE_HOUR": 1 / 24,
    "ONE_DAY": 1,
    "ONE_WEEK": 7,
    "ONE_MONTH": 30,
    "THREE_MONTHS": 90,
    "SIX_MONTHS": 180,
    "ONE_YEAR": 365,
    "NO_EXPIRY": None,
}


def wanted(urn, **more):
    return {"type": "PERSONAL", "actorUrn": urn, "duration": "ONE_DAY", "name": "mine"} | more


def with_text(urn, text):
    return Asking(urn, Client(headers={"authorization": f"Bearer {text}"}))


@pytest.fixture
def jo(person):
    """May make tokens for itself, as everybody may after a bootstrap."""
    return person("jo")


@pytest.fixture
def warden(person):
    """Manages everybody's tokens."""
    return person("warden", "MANAGE_ACCESS_TOKENS", type="PLATFORM")


@pytest.fixture
def engineer(person):
    """Manages service accounts, and nothing else."""
    return person("engineer", "MANAGE_SERVICE_ACCOUNTS", type="PLATFORM")


@pytest.fixture
def bot(installed):
    return service_accounts.create(display_name="Bot", description="Loads", by=authorizer.SYSTEM, channel=DOOR)


# -- making -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("duration", "days"), DAYS.items())
def test_a_token_of_every_duration(jo, duration, days):
    made = jo.ask(CREATE, input=wanted(jo.urn, duration=duration, description="For me"))["createAccessToken"]
    token = AccessToken.objects.get(pk=made["metadata"].pop("id"))
    assert made["metadata"] == {
        "actorUrn": jo.urn,
        "ownerUrn": jo.urn,
        "name": "mine",
        "description": "For me",
    }
    assert with_text(jo.urn, made["accessToken"]).ask(ME)["me"]["corpUser"]["urn"] == jo.urn
    lifetime = None if token.expires_at is None else token.expires_at - token.created_at
    assert lifetime == (None if days is None else timedelta(days=days))
    assert made["accessToken"] not in str(list(ChangeEvent.objects.values()))


def test_the_answer_is_kept_by_nobody(jo):
    assert "no-store" in jo.send(CREATE, {"input": wanted(jo.urn)}).headers["Cache-Control"]


def test_a_service_account_has_tokens(engineer, bot):
    sent = wanted(bot.urn, type="SERVICE_ACCOUNT", duration="NO_EXPIRY")
    made = engineer.ask(CREATE, input=sent)["createAccessToken"]
    assert (made["metadata"]["actorUrn"], made["metadata"]["ownerUrn"]) == (bot.urn, engineer.urn)
    assert with_text(bot.urn, made["accessToken"]).ask(ME)["me"]["corpUser"]["urn"] == bot.urn


def test_others_have_tokens_by_who_manages_them(warden, jo):
    made = warden.ask(CREATE, input=wanted(jo.urn))["createAccessToken"]
    assert with_text(jo.urn, made["accessToken"]).ask(ME)["me"]["corpUser"]["urn"] == jo.urn


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"actorUrn": "urn:li:corpuser:nobody"}, 404),
        ({"actorUrn": "urn:li:corpuser:__datahub_system"}, 400),
        ({"actorUrn": "urn:li:corpuser:sue"}, 400),
        ({"type": "SERVICE_ACCOUNT"}, 400),
        ({"name": ""}, 400),
        ({"name": "x" * 300}, 400),
        ({"description": "x" * 100_001}, 400),
    ],
)
def test_no_token_for(root, jo, changes, code):
    users.create(username="sue", state="SUSPENDED", by=authorizer.SYSTEM, channel=DOOR)
    before = AccessToken.objects.count()
    assert root.refused(CREATE, input=wanted(jo.urn, **changes))[0] == code
    assert AccessToken.objects.count() == before


@pytest.mark.parametrize("changes", [{"duration": "FOR_EVER"}, {"type": "MASTER"}, {"name": None}, {"actorUrn": 7}])
def test_input_of_another_shape(jo, changes):
    assert jo.refused(CREATE, input=wanted(jo.urn, **changes))[:2] == (400, "BAD_REQUEST")


@pytest.mark.parametrize("kind", ["PERSONAL", "SERVICE_ACCOUNT"])
def test_whoever_may_not_makes_no_token_of_others(jo, engineer, bot, kind):
    for urn in (ROOT, "urn:li:corpuser:nobody", bot.urn):
        assert jo.refused(CREATE, input=wanted(urn, type=kind))[:2] == (403, "UNAUTHORIZED")
    for urn in (ROOT, jo.urn):
        assert engineer.refused(CREATE, input=wanted(urn, type=kind))[0] == 403


# -- listing ----------------------------------------------------------------------------------------------------------


def by(field, *urns, **more):
    return {"filters": [{"field": field, "values": list(urns), **more}]}


def test_ones_own_tokens_are_listed_without_their_texts(jo, warden):
    made = jo.ask(CREATE, input=wanted(jo.urn))["createAccessToken"]
    warden.ask(CREATE, input=wanted(jo.urn, name="from the warden", duration="NO_EXPIRY"))
    found = jo.ask(LIST, input=by("ownerUrn", jo.urn) | {"start": 0, "count": 10})["listAccessTokens"]
    assert (found["start"], found["count"], found["total"]) == (0, 1, 1)
    (token,) = found["tokens"]
    stored = AccessToken.objects.get(pk=made["metadata"]["id"])
    assert stored.expires_at is not None
    assert token == {
        "urn": f"urn:li:dataHubAccessToken:{stored.pk}",
        "type": "ACCESS_TOKEN",
        "id": str(stored.pk),
        "name": "mine",
        "description": "",
        "actorUrn": jo.urn,
        "ownerUrn": jo.urn,
        "createdAt": int(stored.created_at.timestamp() * 1000),
        "expiresAt": int(stored.expires_at.timestamp() * 1000),
    }
    acting = jo.ask(LIST, input=by("actorUrn", jo.urn))["listAccessTokens"]["tokens"]
    assert [one["name"] for one in acting] == ["from the warden", "mine", "test"]
    assert acting[0]["expiresAt"] is None
    assert made["accessToken"] not in str(acting)


def test_everybodys_tokens_are_listed_by_who_manages_them(warden, jo, bot):
    access_tokens.create(owner=bot.urn, name="bot's", by=authorizer.SYSTEM, channel=DOOR)
    everything = warden.ask(LIST, input={})["listAccessTokens"]
    assert {one["actorUrn"] for one in everything["tokens"]} == {ROOT, warden.urn, jo.urn, bot.urn}
    some = warden.ask(LIST, input=by("actorUrn", jo.urn, bot.urn, condition="IN"))["listAccessTokens"]
    assert some["total"] == 2
    both = {"filters": [*by("actorUrn", jo.urn)["filters"], {"field": "actorUrn", "value": bot.urn}]}
    assert warden.ask(LIST, input=both)["listAccessTokens"]["total"] == 0
    assert warden.ask(LIST, input=by("ownerUrn", "x" * 5000))["listAccessTokens"]["total"] == 0


def test_who_manages_services_lists_the_tokens_of_one(engineer, bot, jo):
    access_tokens.create(owner=bot.urn, name="bot's", by=authorizer.SYSTEM, channel=DOOR)
    assert engineer.ask(LIST, input=by("actorUrn", bot.urn))["listAccessTokens"]["total"] == 1
    for filters in (by("actorUrn", jo.urn), by("actorUrn", bot.urn, jo.urn), by("ownerUrn", ROOT)):
        assert engineer.refused(LIST, input=filters)[0] == 403


@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"filters": []},
        by("actorUrn", ROOT),
        by("ownerUrn", ROOT),
        by("ownerUrn"),
        by("ownerUrn", ROOT, "urn:li:corpuser:jo"),
        by("actorUrn", "urn:li:corpuser:jo", ROOT),
    ],
)
def test_others_tokens_are_not_listed(jo, filters):
    assert jo.refused(LIST, input=filters)[:2] == (403, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "filters",
    [
        by("name", "x"),
        by("ownerUrn", ROOT, negated=True),
        by("actorUrn", ROOT, condition="CONTAIN"),
        by("actorUrn", *[ROOT] * 201),
        {"filters": by("actorUrn", ROOT)["filters"] * 201},
    ],
)
def test_filters_that_mean_nothing_here(warden, filters):
    assert warden.refused(LIST, input=filters)[:2] == (400, "BAD_REQUEST")


def test_ended_tokens_are_not_listed(warden, jo):
    made = jo.ask(CREATE, input=wanted(jo.urn))["createAccessToken"]["metadata"]["id"]
    now = timezone.now()
    AccessToken.objects.filter(pk=made).update(created_at=now - timedelta(2), expires_at=now - timedelta(1))
    assert warden.ask(LIST, input=by("ownerUrn", jo.urn))["listAccessTokens"]["total"] == 0


# -- revoking ---------------------------------------------------------------------------------------------------------


def test_a_revoked_token_is_dead_at_once(jo):
    made = jo.ask(CREATE, input=wanted(jo.urn))["createAccessToken"]
    other = with_text(jo.urn, made["accessToken"])
    other.ask(ME)
    assert jo.ask(REVOKE, tokenId=made["metadata"]["id"]) == {"revokeAccessToken": True}
    assert other.send(ME).status_code == 401
    assert jo.refused(REVOKE, tokenId=made["metadata"]["id"])[0] == 403


def test_a_token_is_revoked_by_its_urn_too(warden, jo):
    made = jo.ask(CREATE, input=wanted(jo.urn))["createAccessToken"]["metadata"]["id"]
    assert warden.ask(REVOKE, tokenId=f"urn:li:dataHubAccessToken:{made}") == {"revokeAccessToken": True}
    assert warden.refused(REVOKE, tokenId=made)[:2] == (404, "NOT_FOUND")


@pytest.mark.parametrize("token", ["", "nonsense", "x" * 10_000, "00000000-0000-0000-0000-000000000000"])
def test_a_token_nobody_knows(warden, jo, token):
    assert warden.refused(REVOKE, tokenId=token)[:2] == (404, "NOT_FOUND")
    assert jo.refused(REVOKE, tokenId=token)[0] == 403


def test_others_tokens_are_not_revoked(jo, engineer, root):
    made = str(AccessToken.objects.get(user__urn=ROOT).pk)
    for one in (jo, engineer):
        assert one.refused(REVOKE, tokenId=made)[0] == 403
    root.ask(ME)


# -- service accounts -------------------------------------------------------------------------------------------------


def test_a_service_account_is_made_found_and_deleted(engineer, jo):
    made = engineer.ask(CREATE_SERVICE, input={"displayName": "Loader", "description": "Loads at night"})
    account = made["createServiceAccount"]
    stored = User.objects.get(urn=account["urn"])
    assert account == {
        "urn": f"urn:li:corpuser:service_{account['name']}",
        "type": "CORP_USER",
        "name": account["name"],
        "displayName": "Loader",
        "description": "Loads at night",
        "createdBy": engineer.urn,
        "createdAt": int(stored.created_at.timestamp() * 1000),
    }
    assert stored.kind == "SERVICE"
    assert engineer.ask(GET_SERVICE, urn=stored.urn)["getServiceAccount"] == account
    found = engineer.ask(LIST_SERVICES, input={"start": 0, "count": 20, "query": "load"})["listServiceAccounts"]
    assert found == {"start": 0, "count": 1, "total": 1, "serviceAccounts": [account]}
    text = access_tokens.create(owner=stored.urn, name="x", by=authorizer.SYSTEM, channel=DOOR).text
    assert engineer.ask(DELETE_SERVICE, urn=stored.urn) == {"deleteServiceAccount": True}
    assert with_text(stored.urn, text).send(ME).status_code == 401
    for query in (GET_SERVICE, DELETE_SERVICE):
        assert engineer.refused(query, urn=stored.urn)[:2] == (404, "NOT_FOUND")


def test_a_person_is_no_service_account(engineer, jo, root):
    for caller in (engineer, root):
        for query in (GET_SERVICE, DELETE_SERVICE):
            for urn in (jo.urn, ROOT, "urn:li:corpGroup:x", ""):
                assert caller.refused(query, urn=urn)[:2] == (404, "NOT_FOUND")
    assert User.objects.filter(urn=jo.urn).exists()


@pytest.mark.parametrize("changes", [{"displayName": " "}, {"displayName": "x" * 300}, {"description": "x" * 100_001}])
def test_no_service_account_without_a_name(engineer, changes):
    assert engineer.refused(CREATE_SERVICE, input={"displayName": "Loader", **changes})[:2] == (400, "BAD_REQUEST")
    assert not User.objects.filter(kind="SERVICE").exists()


def test_who_does_not_manage_services_sees_none(jo, person, bot):
    clerk = person("clerk", "MANAGE_USERS_AND_GROUPS", type="PLATFORM")
    for caller in (jo, clerk):
        assert caller.refused(CREATE_SERVICE, input={"displayName": "Mine"})[0] == 403
        assert caller.refused(LIST_SERVICES, input={})[0] == 403
        for query in (GET_SERVICE, DELETE_SERVICE):
            assert caller.refused(query, urn=bot.urn)[0] == 403


@pytest.mark.parametrize("query", [LIST, LIST_SERVICES])
def test_a_list_costs_the_same_queries_whatever_its_length(root, query):
    costs = []
    for numbers in (range(2), range(2, 30)):
        for number in numbers:
            made = service_accounts.create(display_name=f"S{number}", by=authorizer.SYSTEM, channel=DOOR)
            access_tokens.create(owner=made.urn, name="x", by=authorizer.SYSTEM, channel=DOOR)
        root.ask(query, input={"count": 100})
        with CaptureQueriesContext(connection) as made_queries:
            root.ask(query, input={"count": 100})
        costs.append(len(made_queries))
    assert costs[0] == costs[1]
