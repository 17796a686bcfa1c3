"""Service accounts over the API, and the wall between them and people."""

import pytest

from policies.aspects import queries as aspect_queries
from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.errors import Forbidden, Invalid
from policies.identity.services import users
from policies.models import User
from policies.pdp import actor_resolution, authorizer
from tests.api.conftest import DOOR, pointers_of, problem_of

PLACE = "/api/v1/service-accounts/"
JO = "urn:li:corpuser:jo"


@pytest.fixture
def keeper(client_of):
    return client_of("keeper", "MANAGE_SERVICE_ACCOUNTS")


@pytest.fixture
def service(keeper):
    return keeper.post(PLACE, {"display_name": "Loader", "description": "Loads"}, format="json").json()


def test_one_is_made_listed_changed_and_deleted(keeper, service):
    assert service["urn"] == f"urn:li:corpuser:{service['username']}"
    assert service["username"].startswith("service_")
    assert (service["display_name"], service["state"], service["created_by"]) == (
        "Loader",
        "ACTIVE",
        "urn:li:corpuser:keeper",
    )
    place = f"{PLACE}{service['urn']}/"
    assert keeper.get(place).json() == service
    assert keeper.get(PLACE, {"q": "load"}).json()["results"] == [service]
    assert keeper.get(PLACE, {"state": "SUSPENDED"}).json()["count"] == 0
    changed = keeper.patch(place, {"display_name": "Mover", "urn": service["urn"]}, format="json").json()
    assert changed == service | {"display_name": "Mover"}
    assert pointers_of(keeper.patch(place, {"username": "other"}, format="json")) == {("read_only", "/username")}
    assert keeper.delete(place).status_code == 204
    problem_of(keeper.get(place), 404)


def test_its_tokens_speak_for_it_until_it_is_suspended_or_gone(keeper, service, client):
    place = f"{PLACE}{service['urn']}/"
    made = keeper.post(f"{place}tokens/", {"name": "t", "duration": "ONE_DAY"}, format="json")
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    headers = {"Authorization": f"Bearer {made.json()['token']}"}

    def status():
        return client.get("/api/v1/roles/", headers=headers).status_code

    listed = keeper.get(f"{place}tokens/").json()["results"]
    assert [(one["name"], one["actor"]) for one in listed] == [("t", service["urn"])]
    assert made.json()["token"] not in str(listed)
    assert status() == 200
    keeper.patch(place, {"state": "SUSPENDED"}, format="json")
    assert status() == 401
    keeper.patch(place, {"state": "ACTIVE"}, format="json")
    assert status() == 200
    assert keeper.delete(f"/api/v1/tokens/{made.json()['id']}/").status_code == 204
    assert status() == 401


def test_others_are_told_the_privilege(client_of, service):
    stranger = client_of("stranger", "MANAGE_USERS_AND_GROUPS", "MANAGE_POLICIES")
    place = f"{PLACE}{service['urn']}/"
    for answer in (
        stranger.get(PLACE),
        stranger.post(PLACE, {"display_name": "x"}, format="json"),
        stranger.get(place),
        stranger.delete(place),
        stranger.get(f"{place}tokens/"),
    ):
        assert problem_of(answer, 403)["missing"] == [{"entity": None, "privilege": "MANAGE_SERVICE_ACCOUNTS"}]


def test_a_person_is_no_service_account(keeper, service):
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    place = f"{PLACE}{JO}/"
    for answer in (
        keeper.get(place),
        keeper.patch(place, {"display_name": "x"}, format="json"),
        keeper.delete(place),
        keeper.post(f"{place}tokens/", {"name": "t"}, format="json"),
    ):
        problem_of(answer, 404)
    problem_of(keeper.post("/api/v1/tokens/", {"name": "t", "actor": JO}, format="json"), 403)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {("required", "/display_name")}),
        ({"display_name": " "}, {("required", "/display_name")}),
        ({"display_name": "x" * 300}, {("text.long", "/display_name")}),
        ({"display_name": "x", "username": "me"}, {("field.unknown", "/username")}),
    ],
)
def test_wrong_bodies_are_named(keeper, body, expected):
    found = pointers_of(keeper.post(PLACE, body, format="json"))
    assert {pointer for _, pointer in found} == {pointer for _, pointer in expected}


def sub_types(urn, *names):
    return AspectChange(urn, "corpuser", "subTypes", {"typeNames": list(names)})


def info(urn):
    return AspectChange(urn, "corpuser", "corpUserInfo", {"active": True, "displayName": "Bot"})


def test_a_program_makes_one_by_its_aspects(client_of):
    client_of("keeper", "MANAGE_SERVICE_ACCOUNTS")
    keeper = actor_resolution.load_actor(urn="urn:li:corpuser:keeper")
    urn = "urn:li:corpuser:service_x"
    aspect_services.apply(changes=[info(urn), sub_types(urn, "SERVICE_ACCOUNT")], by=keeper)
    assert User.objects.get(urn=urn).kind == User.Kind.SERVICE
    composed = aspect_queries.load_aspects(urn=urn)
    assert composed is not None
    assert composed["subTypes"] == {"typeNames": ["SERVICE_ACCOUNT"]}
    aspect_services.apply(changes=[info(urn), sub_types(urn, "SERVICE_ACCOUNT", "Robot")], by=keeper)
    composed = aspect_queries.load_aspects(urn=urn)
    assert composed is not None
    assert composed["subTypes"] == {"typeNames": ["SERVICE_ACCOUNT", "Robot"]}


def test_one_made_here_reads_as_programs_expect_and_survives_other_writes(keeper, service):
    assert (aspect_queries.load_aspects(urn=service["urn"]) or {})["subTypes"] == {"typeNames": ["SERVICE_ACCOUNT"]}
    aspect_services.apply(changes=[info(service["urn"])], by=actor_resolution.load_actor(urn="urn:li:corpuser:keeper"))
    assert User.objects.get(urn=service["urn"]).kind == User.Kind.SERVICE


@pytest.mark.parametrize(
    "privileges", [("MANAGE_SERVICE_ACCOUNTS",), ("MANAGE_SERVICE_ACCOUNTS", "MANAGE_USERS_AND_GROUPS")]
)
def test_no_aspect_turns_a_person_into_one(client_of, privileges):
    client_of("keeper", *privileges)
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    keeper = actor_resolution.load_actor(urn="urn:li:corpuser:keeper")
    batches = [
        [sub_types(JO, "SERVICE_ACCOUNT")],
        [info(JO), sub_types(JO, "SERVICE_ACCOUNT")],
        [sub_types("urn:li:corpuser:datahub", "SERVICE_ACCOUNT")],
    ]
    for changes in batches:
        with pytest.raises((Invalid, Forbidden)):
            aspect_services.apply(changes=changes, by=keeper)
    assert User.objects.get(urn=JO).kind == User.Kind.PERSON


@pytest.mark.parametrize("document", [{"typeNames": []}, {"typeNames": ["Robot"]}, None])
def test_and_none_back_again(keeper, service, document):
    change = AspectChange(service["urn"], "corpuser", "subTypes", document)
    with pytest.raises(Invalid):
        aspect_services.apply(changes=[change], by=authorizer.SYSTEM)
    new = "urn:li:corpuser:service_new"
    if document is not None:
        with pytest.raises(Invalid):
            aspect_services.apply(changes=[sub_types(new, "SERVICE_ACCOUNT"), sub_types(new)], by=authorizer.SYSTEM)
        assert not User.objects.filter(urn=new).exists()


def test_who_manages_people_only_makes_no_service_by_aspects(client_of):
    client_of("clerk", "MANAGE_USERS_AND_GROUPS")
    urn = "urn:li:corpuser:service_x"
    with pytest.raises(Forbidden) as refused:
        aspect_services.apply(
            changes=[sub_types(urn, "SERVICE_ACCOUNT")], by=actor_resolution.load_actor(urn="urn:li:corpuser:clerk")
        )
    assert [need.privilege for need in refused.value.missing] == ["MANAGE_SERVICE_ACCOUNTS"]
