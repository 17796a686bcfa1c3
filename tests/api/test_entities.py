"""Entities, and what somebody may reach."""

from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.entities.api import resources_allowed
from policies.identity.services import groups, roles
from policies.pdp import authorizer
from tests.api.conftest import DOOR, pointers_of, problem_of

ENTITIES = "/api/v1/entities/"
OBJECT = "507f1f77bcf86cd799439011"


def place(urn):
    return f"{ENTITIES}{quote(urn, safe='')}/"


@pytest.fixture
def librarian(client_of, stored):
    """Somebody who may write every entity."""
    stored(
        "librarian",
        privileges=["CREATE_ENTITY", "EDIT_ENTITY", "DELETE_ENTITY", "VIEW_ENTITY_PAGE"],
        actors={"users": ["urn:li:corpuser:librarian"]},
    )
    return client_of("librarian")


def register(client, *names, kind="dataset"):
    bodies = [
        {"type": kind, "urn": f"urn:li:{kind}:(urn:li:dataPlatform:hive,{name},PROD)", "name": name} for name in names
    ]
    answer = client.post(ENTITIES, bodies)
    assert answer.status_code == 201, answer.content
    return [one["urn"] for one in answer.json()]


def test_one_entity_and_a_list(librarian):
    made = librarian.post(ENTITIES, {"type": "project", "object_id": "66BE5FC75158D037E9970C6D", "name": "Churn"})
    assert made.status_code == 201, made.content
    project = made.json()
    assert project["urn"] == "urn:li:project:66be5fc75158d037e9970c6d"
    urn = "urn:li:dataset:(urn:li:dataPlatform:snowflake,churn.scores,PROD)"
    tags = {"tags": [{"tag": "urn:li:tag:PII"}]}
    body = {
        "type": "dataset",
        "object_id": OBJECT,
        "project": project["object_id"],
        "urn": urn,
        "aspects": {"globalTags": tags},
    }
    (dataset,) = librarian.post(ENTITIES, [body]).json()
    assert (dataset["urn"], dataset["project"]) == (urn, project["object_id"])
    assert dataset["aspects"]["globalTags"] == tags
    assert librarian.get(place(urn)).json() == dataset
    moved = librarian.patch(place(urn), {"project": None})
    assert moved.json()["project"] is None
    assert librarian.delete(place(urn)).status_code == 204
    problem_of(librarian.get(place(urn)), 404)
    problem_of(librarian.delete(place(urn)), 404)


def test_problems_have_their_place_and_nothing_is_stored(librarian):
    good = {"type": "dataset", "urn": "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"}
    bad = {"type": "dataset", "urn": "urn:li:chart:(looker,x)", "object_id": "xyz", "colour": 1}
    found = {pointer for _, pointer in pointers_of(librarian.post(ENTITIES, [good, bad]))}
    assert {"/1/object_id", "/1/colour"} <= found
    assert librarian.get(ENTITIES).json()["count"] == 0
    assert {"/object_id", "/colour"} <= {pointer for _, pointer in pointers_of(librarian.post(ENTITIES, bad))}
    pointers_of(librarian.post(ENTITIES, [good] * 1001))
    pointers_of(librarian.post(ENTITIES, ["x"]))


def test_writing_needs_a_privilege(client_of):
    body = {"type": "dataset", "urn": "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)", "name": "a"}
    missing = problem_of(client_of("jo").post(ENTITIES, body), 403)["missing"]
    assert missing == [{"entity": body["urn"], "privilege": "CREATE_ENTITY"}]


@pytest.mark.parametrize(
    "urn",
    [
        "urn:li:dataset:(urn:li:dataPlatform:s3,bucket/a//b c,PROD)",
        "urn:li:tag:100%",
        "urn:li:tag:%2F",
        "urn:li:tag:a+b",
        "urn:li:tag:a/",
        "urn:li:tag:żółć 🙂",
        "urn:li:tag:a?b#c;d&e",
    ],
)
def test_a_urn_in_a_path_is_decoded_once(librarian, urn):
    kind = urn.split(":")[2]
    assert librarian.post(ENTITIES, {"type": kind, "urn": urn}).status_code == 201
    answer = librarian.get(place(urn))
    assert answer.status_code == 200, answer.content
    assert answer.json()["urn"] == urn


def test_lists_hold_only_what_may_be_viewed(librarian, client_of, stored, settings):
    first, second = register(librarian, "orders", "bills")
    tag = librarian.post(ENTITIES, {"type": "tag", "urn": "urn:li:tag:open"}).json()["urn"]
    reading = client_of("jo")
    criteria = [{"field": "URN", "values": [first]}]
    stored(
        "reads",
        privileges=["VIEW_ENTITY_PAGE"],
        actors={"users": ["urn:li:corpuser:jo"]},
        resources={"filter": {"criteria": criteria}},
    )
    assert reading.get(ENTITIES).json()["count"] == 3
    settings.VIEW_AUTHORIZATION_ENABLED = True
    assert {one["urn"] for one in reading.get(ENTITIES).json()["results"]} == {first, tag}
    assert reading.get(place(first)).status_code == 200
    problem_of(reading.get(place(second)), 404)
    assert librarian.get(f"{ENTITIES}?type=dataset&q=bill").json()["results"][0]["urn"] == second


def test_what_is_counted_so_far_and_paged_through_to_its_end(librarian, monkeypatch):
    """One more than the limit stands for every number above; nothing is left out of the pages."""
    register(librarian, "a", "b", "c", "d", "e")
    monkeypatch.setattr(resources_allowed, "MAX_COUNT", 2)
    body = {"privilege": "EDIT_ENTITY", "type": "dataset", "page_size": 2}
    found, address, counts = [], "/api/v1/what", set()
    while address:
        page = librarian.post(address, body).json()
        found += [one["name"] for one in page["results"]]
        counts.add(page["count"])
        address = page["next"]
    assert (found, counts) == (["a", "b", "c", "d", "e"], {3})
    beyond = librarian.post("/api/v1/what?page=9", body).json()
    assert (beyond["results"], beyond["next"], beyond["count"]) == ([], None, 3)


def test_a_cursor_repeats_nothing_under_writes(librarian, client_of):
    """Between two calls something comes before what was read, is renamed, and goes away."""
    urns = register(librarian, "m", "n", "o", "p", "q")
    body = {"privilege": "EDIT_ENTITY", "type": "dataset", "page_size": 2}
    found: list[str] = []
    cursor: Any = ""
    added = iter("abcdef")
    while cursor is not None:
        page = librarian.post("/api/v1/what", body | {"cursor": cursor}).json()
        assert (page["next"], page["previous"]) == (None, None)
        found += [one["urn"] for one in page["results"]]
        register(librarian, next(added))
        cursor = page["next_cursor"]
    assert len(found) == len(set(found))
    assert [urn for urn in found if urn in urns] == sorted(urns)
    first = librarian.post("/api/v1/what", body | {"cursor": ""}).json()
    assert librarian.delete(place(first["results"][-1]["urn"])).status_code == 204
    rest = librarian.post("/api/v1/what", body | {"cursor": first["next_cursor"], "page_size": 200}).json()
    assert (len(rest["results"]), rest["next_cursor"]) == (rest["count"] - 1, None)


def test_a_cursor_goes_through_people_and_policies_too(librarian):
    body = {"privilege": "EDIT_ENTITY", "page_size": 1}
    register(librarian, "a", "b")
    everything = librarian.post("/api/v1/what", body | {"page_size": 200}).json()
    assert everything["next_cursor"] is None
    found: list[dict[str, str]] = []
    cursor: Any = ""
    while cursor is not None:
        page = librarian.post("/api/v1/what", body | {"cursor": cursor}).json()
        found += page["results"]
        cursor = page["next_cursor"]
    assert found == sorted(everything["results"], key=lambda row: row["urn"])
    assert len({row["type"] for row in found}) > 1


@pytest.mark.parametrize("cursor", ["x", "!!!!", "\xe4", "_w=="])
def test_what_is_no_cursor(librarian, cursor):
    body = {"privilege": "EDIT_ENTITY", "cursor": cursor}
    assert pointers_of(librarian.post("/api/v1/what", body)) == {("cursor.invalid", "/cursor")}
    both = {"privilege": "EDIT_ENTITY", "cursor": "", "page": 1}
    assert pointers_of(librarian.post("/api/v1/what", both)) == {("cursor.page", "/cursor")}
    assert pointers_of(librarian.post("/api/v1/what?page=2", both | {"page": 1})) == {("cursor.page", "/cursor")}


def test_what(librarian, client_of, stored):
    register(librarian, "orders", "bills", "returns")
    body = {"privilege": "EDIT_ENTITY", "type": "dataset", "query": "bill"}
    assert [one["name"] for one in librarian.post("/api/v1/what", body).json()["results"]] == ["bills"]
    asked = {"privilege": "EDIT_ENTITY", "type": "dataset", "page_size": 2}
    pages = librarian.post("/api/v1/what", asked).json()
    assert (pages["count"], len(pages["results"])) == (3, 2)
    more = librarian.post(pages["next"], asked).json()
    assert (len(more["results"]), more["next"]) == (1, None)
    own = client_of("jo").post("/api/v1/what", {"privilege": "EDIT_ENTITY"}).json()
    assert [one["urn"] for one in own["results"]] == ["urn:li:corpuser:jo"], "everybody edits itself (rules a.1)"
    asked = {"privilege": "EDIT_ENTITY", "type": "dataset", "actor": "urn:li:corpuser:librarian"}
    problem_of(client_of("nosy").post("/api/v1/what", asked), 403)
    assert client_of("service", "CHECK_ACCESS").post("/api/v1/what", asked).json()["count"] == 3
    assert pointers_of(librarian.post("/api/v1/what", {"privilege": 1, "page": 0, "x": 1})) == {
        ("invalid", "/privilege"),
        ("min_value", "/page"),
        ("field.unknown", "/x"),
    }


@pytest.mark.parametrize("kind", ["corpuser", "corpGroup", "dataHubRole", "dataHubPolicy"])
def test_what_has_people_and_policies(librarian, client_of, stored, kind):
    """As the single question about each of them answers."""
    groups.create(identifier="crew", name="Crew", by=authorizer.SYSTEM, channel=DOOR)
    roles.create(identifier="chief", name="Chief", by=authorizer.SYSTEM, channel=DOOR)
    service = client_of("service", "CHECK_ACCESS")
    asked = {"privilege": "EDIT_ENTITY", "type": kind, "actor": "urn:li:corpuser:librarian"}
    found = [one["urn"] for one in service.post("/api/v1/what", asked).json()["results"]]
    assert found
    assert all(urn.startswith(f"urn:li:{kind}:") for urn in found)
    for urn in found:
        question = {"actor": asked["actor"], "privilege": "EDIT_ENTITY", "resource": {"urn": urn}}
        assert service.post("/api/v1/authorize", question).json()["decision"] == "ALLOW"
    nobody = {**asked, "actor": "urn:li:corpuser:service", "privilege": "EDIT_ENTITY_TAGS"}
    assert service.post("/api/v1/what", nobody).json()["count"] == 0


def test_what_leaves_out_what_the_caller_may_not_view_unless_it_may_ask_about_others(
    librarian, client_of, stored, settings
):
    first, _ = register(librarian, "orders", "bills")
    jo, ada = client_of("jo"), client_of("ada", "CHECK_ACCESS")
    everybody = {"allUsers": True}
    stored("tags", privileges=["EDIT_ENTITY_TAGS"], actors=everybody)
    shown = {"filter": {"criteria": [{"field": "URN", "values": [first]}]}}
    stored("views", privileges=["VIEW_ENTITY_PAGE"], actors=everybody, resources=shown)
    settings.VIEW_AUTHORIZATION_ENABLED = True
    asked = {"privilege": "EDIT_ENTITY_TAGS", "type": "dataset"}
    mine, theirs = jo.post("/api/v1/what", asked).json(), ada.post("/api/v1/what", asked).json()
    assert (mine["scope"], mine["count"], [one["urn"] for one in mine["results"]]) == ("viewable", 1, [first])
    assert (theirs["scope"], theirs["count"]) == ("actor", 2)
    about = {"subject": {"type": "user", "id": "jo"}, "action": {"name": "EDIT_ENTITY_TAGS"}}
    search = {**about, "resource": {"type": "dataset", "id": "-"}}
    found = jo.post("/access/v1/search/resource", search, format="json").json()
    assert (found["context"], found["page"]["total"], len(found["results"])) == ({"scope": "viewable"}, 1, 1)
    found = ada.post("/access/v1/search/resource", search, format="json").json()
    assert (found["context"], found["page"]["total"], len(found["results"])) == ({"scope": "actor"}, 2, 2)
    people = {**asked, "type": "dataHubPolicy"}
    assert jo.post("/api/v1/what", people).json()["count"] == 0, "policies are named to who may read policies"
    assert ada.post("/api/v1/what", people).json()["count"] > 0


@pytest.mark.parametrize("kind", ["corpuser", "corpGroup", "dataHubRole", "dataHubPolicy"])
def test_authzen_finds_people_and_policies(client_of, stored, kind):
    groups.create(identifier="crew", name="Crew", by=authorizer.SYSTEM, channel=DOOR)
    roles.create(identifier="chief", name="Chief", by=authorizer.SYSTEM, channel=DOOR)
    stored("tags", privileges=["EDIT_ENTITY_TAGS"], actors={"allUsers": True})
    service = client_of("service", "CHECK_ACCESS")
    about = {"subject": {"type": "user", "id": "service"}, "action": {"name": "EDIT_ENTITY_TAGS"}}
    found = service.post("/access/v1/search/resource", {**about, "resource": {"type": kind}}, format="json").json()
    assert found["results"]
    assert found["page"]["total"] == len(found["results"])
    for resource in found["results"]:
        assert not resource["id"].startswith("urn:"), "the short id"
        asked = {**about, "resource": resource}
        assert service.post("/access/v1/evaluation", asked, format="json").json()["decision"] is True


def test_a_type_that_is_not_the_entitys(librarian):
    (urn,) = register(librarian, "orders")
    asked = {"privilege": "EDIT_ENTITY", "resource": {"urn": urn, "type": "chart"}}
    assert pointers_of(librarian.post("/api/v1/authorize", asked)) == {("type.mismatch", "/resource/type")}


def test_an_object_is_found_by_type_and_id(librarian, stored, client_of):
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
    assert librarian.post(ENTITIES, {"type": "dataset", "urn": urn, "object_id": OBJECT}).status_code == 201
    stored(
        "one",
        privileges=["EDIT_ENTITY_TAGS"],
        actors={"users": ["urn:li:corpuser:jo"]},
        resources={"filter": {"criteria": [{"field": "URN", "values": [urn]}]}},
    )
    asking = client_of("jo")
    for object_id, decision in ((OBJECT, "ALLOW"), ("0" * 24, "DENY")):
        asked = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"type": "dataset", "id": object_id}}
        assert asking.post("/api/v1/authorize", asked).json()["decision"] == decision


@pytest.mark.parametrize("path", [ENTITIES, "/api/v1/what"])
def test_a_page_costs_the_same_number_of_queries_whatever_its_length(librarian, settings, path):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    register(librarian, *(f"t{number}" for number in range(60)))

    def cost(size):
        with CaptureQueriesContext(connection) as queries:
            if path == ENTITIES:
                answer = librarian.get(f"{path}?page_size={size}")
            else:
                answer = librarian.post(path, {"privilege": "EDIT_ENTITY", "page_size": size})
        assert len(answer.json()["results"]) == size
        return len(queries)

    cost(1)
    assert cost(5) == cost(50)
