"""Policies over the API: stored and returned exactly, versioned, checked."""

from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.authoring.services import policies as service
from policies.authoring.services import policy_drafts
from policies.models import Policy
from policies.pdp import authorizer
from tests.api.conftest import document_of, pointers_of, problem_of, store_policies

POLICIES = "/api/v1/policies/"
JO = "urn:li:corpuser:jo"


def place(urn):
    return f"{POLICIES}{quote(urn, safe='')}/"


@pytest.fixture
def made(manager):
    """A policy that was stored over the API."""
    document = document_of(displayName="Mine", lastUpdatedTimestamp=10**15, privileges=["EDIT_ENTITY_TAGS"])
    answer = manager.post(POLICIES, {"family": "datahub", "document": document})
    assert answer.status_code == 201, answer.content
    return answer


def test_a_document_comes_back_as_it_was_sent(manager, made):
    policy = made.json()
    assert list(policy["document"]) == [*document_of(), "lastUpdatedTimestamp"]
    assert policy["document"]["lastUpdatedTimestamp"] == 10**15
    shown = manager.get(place(policy["urn"]))
    assert shown.json() == policy
    assert policy | {"urn": "", "document": None} == {
        "urn": "",
        "family": "datahub",
        "name": "Mine",
        "description": "",
        "state": "ACTIVE",
        "editable": True,
        "version": 1,
        "valid_from": None,
        "valid_until": None,
        "document": None,
        "managed": None,
        "lints": [],
    }
    assert shown["ETag"] == '"1"'


def test_the_times_of_a_document_stand_beside_it_in_one_spelling(manager):
    times = {"validFrom": "2026-12-01T13:00:00+01:00", "validUntil": 1_796_126_400_001}
    answer = manager.post(POLICIES, {"family": "datahub", "document": document_of(**times)})
    policy = answer.json()
    assert (policy["valid_from"], policy["valid_until"]) == ("2026-12-01T12:00:00Z", "2026-12-01T12:00:00.001000Z")
    assert {name: policy["document"][name] for name in times} == times
    (listed,) = manager.get(POLICIES, {"q": policy["name"]}).json()["results"]
    assert (listed["valid_from"], listed["valid_until"]) == (policy["valid_from"], policy["valid_until"])
    assert manager.put(place(policy["urn"]), policy).status_code == 200


def test_every_problem_of_times_is_named_with_those_of_the_document(manager):
    document = document_of(validFrom="2026-12-01", validUntil=1_893_456_000, effect="MAYBE")
    body = {"family": "datahub", "document": document, "valid_from": "2036-12-01T00:00+99:99", "valid_until": 0}
    times = ("/validFrom", "/validUntil", "/valid_from", "/valid_until")
    problems = {*(("type.time", pointer) for pointer in times), ("choice", "/effect")}
    answer = manager.post(POLICIES, body)
    assert pointers_of(answer) == problems
    assert answer.content.count(b"These look like seconds") == 2
    assert b"timedelta" not in answer.content
    errors = manager.post(f"{POLICIES}validate/", body).json()["errors"]
    assert {(problem["code"], problem["pointer"]) for problem in errors} == problems
    assert not Policy.objects.filter(name=document["displayName"]).exists()
    empty = {"validFrom": "2026-12-01T12:00:00Z", "validUntil": "2026-12-01T12:00:00Z"}
    answer = manager.post(POLICIES, {"family": "datahub", "document": document_of(**empty)})
    assert [code for code, _ in pointers_of(answer)] == ["validity.empty"]
    disagreeing = {"family": "datahub", "document": document_of(), "valid_until": "2026-12-01T12:00:00Z"}
    assert pointers_of(manager.post(POLICIES, disagreeing)) == {("valid_until.disagrees", "/valid_until")}


def test_a_write_counts_from_the_next_question_on(client_of, manager):
    asking = client_of("jo")
    document = document_of(privileges=["EDIT_ENTITY_TAGS"], actors={"users": [JO]})
    answer = manager.post(POLICIES, {"family": "datahub", "document": document, "urn": "urn:li:dataHubPolicy:t"})
    version = int(answer["Policy-Version"])
    body = asking.post("/api/v1/authorize", {"privilege": "EDIT_ENTITY_TAGS", "at_least_version": version}).json()
    assert (body["decision"], body["policy_version"]) == ("ALLOW", version)
    off = manager.patch(place("urn:li:dataHubPolicy:t"), {"state": "INACTIVE"})
    assert off.json()["document"]["state"] == "INACTIVE"
    assert int(off["Policy-Version"]) > version
    assert asking.post("/api/v1/authorize", {"privilege": "EDIT_ENTITY_TAGS"}).json()["decision"] == "DENY"


def test_a_known_name_again(manager, made):
    body = {"urn": made.json()["urn"], "family": "datahub", "document": document_of()}
    problem_of(manager.post(POLICIES, body), 409)


def test_an_object_can_be_sent_back_as_it_was(manager, made):
    policy = made.json()
    answer = manager.put(place(policy["urn"]), policy)
    assert answer.status_code == 200, answer.content
    assert answer.json()["version"] == 2
    assert pointers_of(manager.put(place(policy["urn"]), policy)) == {("version.disagrees", "/version")}
    other = {**policy, "urn": "urn:li:dataHubPolicy:other", "version": 2}
    assert pointers_of(manager.put(place(policy["urn"]), other)) == {("urn.disagrees", "/urn")}


def test_a_write_says_which_version_it_replaced(manager, made):
    """Without If-Match the last writer wins, and can see what was lost."""
    urn, body = made.json()["urn"], {"family": "datahub", "document": made.json()["document"]}
    assert "replaced_version" not in made.json()
    other = manager.put(place(urn), {**body, "document": {**body["document"], "description": "Somebody else's"}})
    assert other.json()["replaced_version"] == 1
    mine = manager.put(place(urn), {**body, "document": {**body["document"], "description": "Mine"}})
    assert mine.json()["replaced_version"] == 2
    lost = manager.get(f"{place(urn)}versions/{mine.json()['replaced_version']}/").json()
    assert lost["document"]["description"] == "Somebody else's"
    assert manager.patch(place(urn), {"state": "INACTIVE"}).json()["replaced_version"] == 3
    restored = manager.post(f"{place(urn)}versions/1/restore/")
    assert restored.json()["replaced_version"] == 4
    assert manager.put(place(urn), restored.json(), HTTP_IF_MATCH='"5"').json()["replaced_version"] == 5


def test_if_match(manager, made):
    urn = made.json()["urn"]
    body = {"family": "datahub", "document": document_of(displayName="New")}
    problem_of(manager.put(place(urn), body, HTTP_IF_MATCH='"7"'), 412)
    assert manager.put(place(urn), body, HTTP_IF_MATCH='"1"').status_code == 200
    problem_of(manager.patch(place(urn), {"state": "INACTIVE"}, HTTP_IF_MATCH='"1"'), 412)
    problem_of(manager.delete(place(urn), HTTP_IF_MATCH='"1"'), 412)
    assert pointers_of(manager.delete(place(urn), HTTP_IF_MATCH='"one"')) == {("header.invalid", "/If-Match")}
    deleted = manager.delete(place(urn), HTTP_IF_MATCH='"2"')
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert "Policy-Version" in deleted
    problem_of(manager.get(place(urn)), 404)


def test_versions_and_restoring(manager, made):
    urn = made.json()["urn"]
    manager.put(place(urn), {"family": "datahub", "document": document_of(displayName="Second")})
    rows = manager.get(f"{place(urn)}versions/").json()["results"]
    assert [(row["version"], row["verb"], row["name"]) for row in rows] == [
        (2, "UPDATED", "Second"),
        (1, "CREATED", "Mine"),
    ]
    assert manager.get(f"{place(urn)}versions/1/").json()["document"] == made.json()["document"]
    problem_of(manager.post(f"{place(urn)}versions/1/restore/", HTTP_IF_MATCH='"1"'), 412)
    restored = manager.post(f"{place(urn)}versions/1/restore/", HTTP_IF_MATCH='"2"')
    assert (restored.json()["name"], restored.json()["version"]) == ("Mine", 3)
    problem_of(manager.get(f"{place(urn)}versions/9/"), 404)
    problem_of(manager.post(f"{place(urn)}versions/9/restore/"), 404)
    problem_of(manager.get(f"{place('urn:li:dataHubPolicy:none')}versions/"), 404)
    manager.delete(place(urn))
    assert manager.get(f"{place(urn)}versions/").json()["results"][0]["document"] is None


@pytest.mark.parametrize("end", ["/versions", "/versions/1", "/versions/1/restore"])
def test_an_id_that_would_be_another_page_is_refused(manager, end):
    """Once decoded, a path does not tell the policy `x/versions` from the versions of the policy `x`."""
    body = {"family": "datahub", "document": document_of(), "urn": f"urn:li:dataHubPolicy:x{end}"}
    assert pointers_of(manager.post(POLICIES, body)) == {("urn.taken", "/urn")}
    checked = manager.post(f"{POLICIES}validate/", body).json()
    assert [(one["code"], one["pointer"]) for one in checked["errors"]] == [("urn.taken", "/urn")]


@pytest.mark.parametrize(
    "identifier", ["a/versions/b", "a/b", "versions", "a/", "a/versions/", "a/restore", "a/versions/x/restore"]
)
def test_any_other_id_with_slashes_has_its_pages(manager, identifier):
    urn = f"urn:li:dataHubPolicy:{identifier}"
    body = {"family": "datahub", "document": document_of(), "urn": urn}
    assert manager.post(POLICIES, body).status_code == 201
    assert manager.get(place(urn)).json()["urn"] == urn
    assert [row["urn"] for row in manager.get(f"{place(urn)}versions/").json()["results"]] == [urn]
    assert manager.post(f"{place(urn)}versions/1/restore/").json()["version"] == 2
    assert manager.delete(place(urn)).status_code == 204


def test_what_cannot_be_changed(manager, stored):
    fixed = stored("fixed", editable=False)
    body = {"family": "datahub", "document": document_of()}
    assert problem_of(manager.put(place(fixed), body), 403)["missing"] == []
    assert manager.patch(place(fixed), {"state": "INACTIVE"}).status_code == 200
    assert manager.delete(place(fixed)).status_code == 204
    system = "urn:li:dataHubPolicy:system"
    draft = policy_drafts.PolicyInput("datahub", document_of())
    service.create(draft=draft, by=authorizer.SYSTEM, channel="test", urn=system, is_system=True)
    problem_of(manager.delete(place(system)), 403)


def test_everything_here_needs_manage_policies(client_of, made):
    nosy = client_of("nosy")
    urn = place(made.json()["urn"])
    for answer in (
        nosy.get(POLICIES),
        nosy.post(POLICIES, {}),
        nosy.get(urn),
        nosy.put(urn, {}),
        nosy.patch(urn, {}),
        nosy.delete(urn),
        nosy.get(f"{urn}versions/"),
        nosy.post(f"{POLICIES}validate/", {}),
        nosy.get("/api/v1/audit/"),
    ):
        assert problem_of(answer, 403)["missing"] == [{"entity": None, "privilege": "MANAGE_POLICIES"}]


def test_filters(manager, stored):
    stored("tags", privileges=["EDIT_ENTITY_TAGS"], actors={"users": [JO]}, description="About Tags")
    stored("off", state="INACTIVE", privileges=["EDIT_ENTITY_TAGS"])
    everybody_but_hans = {"allUsers": True, "excludedUsers": ["urn:li:corpuser:hans"]}
    stored("denying", effect="DENY", actors=everybody_but_hans, privileges=["DELETE_ENTITY"])
    criteria = [{"field": "DOMAIN", "values": ["urn:li:domain:sales"]}]
    stored("sales", resources={"filter": {"criteria": criteria}})
    for query, expected in (
        ("q=about tags", {"tags"}),
        ("type=PLATFORM", {"of-manager"}),
        ("state=INACTIVE", {"off"}),
        ("effect=DENY", {"denying"}),
        ("effect=ALLOW&privilege=DELETE_ENTITY", set()),
        ("actor=urn:li:corpuser:hans", set()),
        ("excluded=urn:li:corpuser:hans", {"denying"}),
        (f"excluded={JO}", set()),
        ("privilege=EDIT_ENTITY_TAGS", {"tags", "off"}),
        (f"actor={JO}", {"tags"}),
        ("resource=urn:li:domain:sales", {"sales"}),
        ("family=datazone", set()),
        ("privilege=EDIT_ENTITY_TAGS&state=ACTIVE", {"tags"}),
    ):
        rows = manager.get(f"{POLICIES}?{query}").json()["results"]
        assert {row["name"] for row in rows} == expected, query


def test_pages(manager, stored):
    for number in range(5):
        stored(f"p{number}")
    first = manager.get(f"{POLICIES}?page_size=4").json()
    assert (first["count"], len(first["results"]), first["previous"]) == (6, 4, None)
    second = manager.get(first["next"]).json()
    assert (len(second["results"]), second["next"]) == (2, None)
    assert manager.get(second["previous"]).json()["results"] == first["results"]


def test_validate_stores_nothing(manager):
    before = Policy.objects.count()
    document = document_of(
        type="PLATFORM",
        privileges=["EDIT_ENTITY_TAGS"],
        actors={"users": ["urn:li:corpuser:ghost"]},
        resources={"type": "dataset"},
    )
    body = manager.post(f"{POLICIES}validate/", {"family": "datahub", "document": document}).json()
    assert (body["valid"], body["errors"]) == (True, [])
    assert {(one["code"], one["pointer"]) for one in body["lints"]} == {
        ("privilege.scope", "/privileges/0"),
        ("actor.unknown", "/actors/users/0"),
        ("resources.ignored", "/resources"),
        ("resources.deprecated", "/resources/type"),
    }
    body = manager.post(f"{POLICIES}validate/", {"family": "datahub", "document": document_of()}).json()
    assert {one["code"] for one in body["lints"]} == {"actors.nobody", "privileges.none"}
    body = manager.post(f"{POLICIES}validate", {"family": "datahub", "document": {}, "colour": 1}).json()
    assert body["valid"] is False
    assert [one["pointer"] for one in body["errors"]] == ["/colour"]
    assert Policy.objects.count() == before


def test_the_example_of_the_guide_gets_no_lint_about_its_resources(manager):
    """`allResources: false` beside a filter says nothing that would be lost (source 000)."""
    block = {"filter": {"criteria": []}, "allResources": False, "resources": []}
    for resources, found in ((block, set()), ({**block, "allResources": True}, {"/resources/allResources"})):
        document = document_of(resources=resources)
        body = manager.post(f"{POLICIES}validate/", {"family": "datahub", "document": document}).json()
        codes = ("resources.unread", "resources.deprecated")
        assert {one["pointer"] for one in body["lints"] if one["code"] in codes} == found


def test_lints_name_entities_that_nobody_knows(manager):
    criteria = [{"field": "DOMAIN", "values": ["urn:li:domain:none"]}, {"field": "RESOURCE_TYPE", "values": []}]
    document = document_of(
        privileges=["EDIT_ENTITY_TAGS"], actors={"allUsers": True}, resources={"filter": {"criteria": criteria}}
    )
    body = manager.post(f"{POLICIES}validate/", {"family": "datahub", "document": document}).json()
    place_of = "/resources/filter/criteria"
    assert {(one["code"], one["pointer"]) for one in body["lints"]} == {
        ("entity.unknown", f"{place_of}/0/values/0"),
        ("field.deprecated", f"{place_of}/1/field"),
        ("values.none", f"{place_of}/1/values"),
    }


def test_privileges(client_of):
    asking = client_of("jo")
    found = asking.get("/api/v1/privileges/?q=edit tags&scope=metadata").json()["results"]
    (tags,) = [one for one in found if one["name"] == "EDIT_ENTITY_TAGS"]
    assert tags["family"] == "datahub"
    assert tags["description"]
    assert tags["group"]
    assert "dataset" in tags["offered_for"]
    assert asking.get("/api/v1/privileges/").json()["count"] > 100


def test_the_record_of_changes(manager, made):
    urn = made.json()["urn"]
    (event,) = manager.get(f"/api/v1/audit/?object={quote(urn)}").json()["results"]
    assert (event["verb"], event["by"], event["door"]) == ("CREATED", "urn:li:corpuser:manager", "api")
    manager.post("/api/v1/users/", {"username": "new"})
    rows = manager.get("/api/v1/audit/?of=people&by=urn:li:corpuser:manager").json()["results"]
    assert [(row["object"], row["verb"]) for row in rows] == [("urn:li:corpuser:new", "CREATED")]


def test_a_list_costs_the_same_number_of_queries_whatever_its_length(manager, stored):
    store_policies(f"p{number:02}" for number in range(51))

    def cost(size):
        with CaptureQueriesContext(connection) as queries:
            assert len(manager.get(f"{POLICIES}?page_size={size}").json()["results"]) == size
        return len(queries)

    cost(1)
    assert cost(5) == cost(50)


def test_times_in_a_document_count_though_none_stand_beside_it(client_of, manager):
    asking = client_of("jo")
    document = document_of(privileges=["EDIT_ENTITY_TAGS"], actors={"users": [JO]}, validUntil="2020-01-01T00:00:00Z")
    answer = manager.post(POLICIES, {"family": "datahub", "document": document})
    assert answer.json()["valid_until"] == "2020-01-01T00:00:00Z"
    body = asking.post(
        "/api/v1/authorize", {"privilege": "EDIT_ENTITY_TAGS", "at_least_version": int(answer["Policy-Version"])}
    ).json()
    assert body["decision"] == "DENY"
