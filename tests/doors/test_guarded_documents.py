"""Profile, usage and operations of a dataset are read with their own privileges, whatever else one may read."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from policies.models import Policy, User
from policies.pdp import snapshot_store
from tests.doors.conftest import DATASET, ROOT, Caller, calling, give, make_person, proposal

pytestmark = pytest.mark.django_db

SECRET = "078-05-1120"
GUARDED = {
    "datasetProfile": "VIEW_DATASET_PROFILE",
    "datasetUsageStatistics": "VIEW_DATASET_USAGE",
    "usageFeatures": "VIEW_DATASET_USAGE",
    "operation": "VIEW_DATASET_OPERATIONS",
}
URN = quote(DATASET, safe="")
ENTITY = f"/openapi/v3/entity/dataset/{URN}"

#: Calls that return several documents, and calls that name the one that is asked for.
SEVERAL: dict[str, Callable[[Caller], Any]] = {
    "/entities": lambda by: by.get(f"/entities/{URN}"),
    "/entitiesV2": lambda by: by.get(f"/entitiesV2/{URN}"),
    "openapi": lambda by: by.get(ENTITY),
    "batchGet": lambda by: by.post("/openapi/v3/entity/dataset/batchGet", [{"urn": DATASET}]),
    "scroll of a type": lambda by: by.get("/openapi/v3/entity/dataset"),
    "scroll with the document": lambda by: by.get("/openapi/v3/entity/dataset?aspects=datasetProfile"),
    "scroll": lambda by: by.post("/openapi/v3/entity/scroll", {"entities": ["dataset"], "aspects": []}),
    "our API": lambda by: by.get(f"/api/v1/entities/{URN}/"),
    "our list": lambda by: by.get("/api/v1/entities/?type=dataset"),
}
NAMED: dict[str, Callable[[Caller, str], Any]] = {
    "/aspects": lambda by, name: by.aspect(DATASET, name),
    "an older version": lambda by, name: by.aspect(DATASET, name, version=1),
    "/entitiesV2": lambda by, name: by.get(f"/entitiesV2/{URN}?aspects=List(status,{name})"),
    "openapi": lambda by, name: by.get(f"{ENTITY}?aspects={name}"),
    "openapi, one": lambda by, name: by.get(f"{ENTITY}/{name}"),
    "openapi, head": lambda by, name: by.client.head(f"{ENTITY}/{name}"),
    "batchGet": lambda by, name: by.post("/openapi/v3/entity/dataset/batchGet", [{"urn": DATASET, name: {}}]),
}


def without(*names: str) -> None:
    Policy.objects.filter(urn__in=[f"urn:li:dataHubPolicy:{name}" for name in names]).delete()
    snapshot_store.reset()


@pytest.fixture
def stored(installed: None) -> None:
    """A dataset with all guarded documents, and nobody who may read everything."""
    without("view-entity-page-all", "view-dataset-sensitive", "7")
    root = calling(ROOT)
    for version in range(2):
        for name in GUARDED:
            answer = root.write(proposal(DATASET, name, {"timestampMillis": version, "sample": SECRET}))
            assert answer.status_code == 200, answer.content


@pytest.mark.parametrize("call", SEVERAL)
def test_a_call_that_returns_several_documents_leaves_the_guarded_ones_out(stored: None, call: str) -> None:
    reader, looker = make_person("reader", "VIEW_ENTITY_PAGE"), make_person("looker", "VIEW_ENTITY_PAGE")
    give(looker.urn, *set(GUARDED.values()))
    answer = SEVERAL[call](reader)
    assert answer.status_code == 200, answer.content
    assert SECRET not in answer.content.decode()
    assert DATASET in answer.content.decode()
    assert SECRET in SEVERAL[call](looker).content.decode()


@pytest.mark.parametrize("call", NAMED)
@pytest.mark.parametrize("name", GUARDED)
def test_a_call_that_names_a_guarded_document_says_what_is_missing(stored: None, call: str, name: str) -> None:
    reader = make_person("reader", "VIEW_ENTITY_PAGE")
    answer = NAMED[call](reader, name)
    assert answer.status_code == 403
    if call != "openapi, head":
        assert answer.json()["missing"] == [{"entity": DATASET, "privilege": GUARDED[name]}]
    give(reader.urn, GUARDED[name])
    answer = NAMED[call](reader, name)
    assert answer.status_code == 200
    assert call == "openapi, head" or SECRET in answer.content.decode()
    other_name = next(other for other, privilege in GUARDED.items() if privilege != GUARDED[name])
    assert NAMED[call](reader, other_name).status_code == 403


def test_a_named_document_of_what_is_hidden_is_absent(stored: None, settings: Any) -> None:
    """Also to somebody whom a policy with NOT_EQUALS lets view everything else, what is not stored included."""
    settings.VIEW_AUTHORIZATION_ENABLED = True
    assert (
        calling(ROOT).write(proposal(DATASET, "globalTags", {"tags": [{"tag": "urn:li:tag:secret"}]})).status_code
        == 200
    )
    others = {"criteria": [{"field": "TAG", "values": ["urn:li:tag:secret"], "condition": "NOT_EQUALS"}]}
    reader = make_person("reader", "VIEW_ENTITY_PAGE", resources={"filter": others})
    for path in ("/aspects/{}?aspect=datasetProfile", "/openapi/v3/entity/dataset/{}/datasetProfile", "/entities/{}"):
        assert reader.get(path.format(URN)).status_code == 404
        assert reader.get(path.format(quote(ABSENT, safe=""))).status_code == 404


def test_the_answer_to_a_write_shows_no_guarded_document(stored: None) -> None:
    editor = make_person("editor", "EDIT_ENTITY")
    body = [{"urn": DATASET, "datasetProfile": {"value": {"timestampMillis": 9, "sample": SECRET}}}]
    answer = editor.post("/openapi/v3/entity/dataset?async=false", body)
    assert answer.status_code == 200
    assert SECRET not in answer.content.decode()


def test_a_page_shows_no_guarded_document(stored: None) -> None:
    make_person("reader", "VIEW_ENTITY_PAGE")
    client = Client()
    client.force_login(User.objects.get(username="reader"), backend="django.contrib.auth.backends.ModelBackend")
    answer = client.get(f"/entities/{URN}/", follow=True)
    assert SECRET not in answer.content.decode()


def test_with_open_interfaces_everything_is_read(stored: None, settings: Any) -> None:
    settings.REST_API_AUTHORIZATION = False
    nobody = make_person("nobody")
    assert SECRET in SEVERAL["/entities"](nobody).content.decode()
    assert SECRET in NAMED["/aspects"](nobody, "datasetProfile").content.decode()


# -- calls -------------------------------------------------------------------------------------------------------------


def list_series(by: Caller, name: str) -> Any:
    body = {"urn": DATASET, "entity": "dataset", "aspect": name, "limit": 10}
    return by.post("/aspects?action=getTimeseriesAspectValues", body)


def test_time_series_are_asked_for_with_their_privilege_alone(stored: None) -> None:
    reader, caller = make_person("reader", "VIEW_ENTITY_PAGE"), make_person("caller", "GET_TIMESERIES_ASPECT_PRIVILEGE")
    answer = list_series(reader, "status")
    assert (answer.status_code, answer.json()["missing"]) == (
        403,
        [{"entity": DATASET, "privilege": "GET_TIMESERIES_ASPECT_PRIVILEGE"}],
    )
    assert list_series(caller, "dashboardUsageStatistics").status_code == 200
    assert list_series(caller, "datasetProfile").status_code == 403
    give(caller.urn, "VIEW_DATASET_PROFILE")
    assert list_series(caller, "datasetProfile").status_code == 200
    assert caller.aspect(DATASET, "status").status_code == 403


def test_time_series_of_what_is_hidden_are_refused_as_those_of_what_is_absent(stored: None, settings: Any) -> None:
    settings.VIEW_AUTHORIZATION_ENABLED = True
    caller = make_person("caller", "GET_TIMESERIES_ASPECT_PRIVILEGE")
    absent = DATASET.replace("orders", "absent")
    answers = [
        caller.post("/aspects?action=getTimeseriesAspectValues", {"urn": urn, "aspect": "status"}).content.decode()
        for urn in (DATASET, absent)
    ]
    assert answers[0].replace(DATASET, "") == answers[1].replace(absent, "")
    assert json.loads(answers[0])["status"] == 403


def test_counts_need_their_privilege(stored: None) -> None:
    reader = make_person("reader", "VIEW_ENTITY_PAGE")
    of_datasets = make_person(
        "counter",
        "GET_COUNTS_PRIVILEGE",
        resources={"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"]}]}},
    )
    everywhere = make_person("everywhere", "GET_COUNTS_PRIVILEGE")

    def count(by: Caller, pattern: str) -> Any:
        return by.post("/aspects?action=getCount", {"aspect": "datasetProfile", "urnLike": pattern})

    assert count(reader, "urn:li:dataset:%").json()["missing"][0]["privilege"] == "GET_COUNTS_PRIVILEGE"
    assert count(of_datasets, "urn:li:dataset:%").json() == {"value": 1}
    assert count(of_datasets, "urn:li:tag:%").status_code == 403
    assert count(of_datasets, "%").status_code == 403
    assert count(of_datasets, "urn:li:data%").status_code == 403
    assert count(everywhere, "%").json() == {"value": 1}


# -- whether something is stored ---------------------------------------------------------------------------------------

ABSENT = DATASET.replace("orders", "absent")


@pytest.mark.parametrize("privilege", ["EXISTS_ENTITY", "SEARCH_PRIVILEGE"])
@pytest.mark.parametrize("is_concealed", [False, True])
def test_whether_an_entity_is_stored_is_learnt_with_a_privilege_alone(
    stored: None, settings: Any, privilege: str, is_concealed: bool
) -> None:
    settings.VIEW_AUTHORIZATION_ENABLED = is_concealed
    knower, nobody = make_person("knower", privilege), make_person("nobody")
    heads = [f"/openapi/v3/entity/dataset/{{}}{part}" for part in ("", "/datasetKey")]
    calls = [
        *(lambda by, urn, head=head: by.client.head(head.format(quote(urn, safe=""))) for head in heads),
        lambda by, urn: by.aspect(urn, "datasetKey"),
    ]
    for call in calls:
        assert call(knower, DATASET).status_code == 200
        assert call(knower, ABSENT).status_code == 404
        refusal = 404 if is_concealed else 403
        assert (call(nobody, DATASET).status_code, call(nobody, ABSENT).status_code) == (refusal, refusal)
    for path in (f"/aspects/{URN}?aspect=datasetProperties", f"/entities/{URN}", ENTITY, f"{ENTITY}/status"):
        assert knower.get(path).status_code == (404 if is_concealed else 403)
    query = {"query": "query($u: String!) { entityExists(urn: $u) }"}
    for by, urn, is_known in ((knower, DATASET, True), (knower, ABSENT, False), (nobody, DATASET, not is_concealed)):
        answer = by.post("/api/graphql", query | {"variables": {"u": urn}})
        assert answer.json() == {"data": {"entityExists": is_known}}


def test_a_head_says_nothing_of_what_an_entity_holds(stored: None) -> None:
    other = DATASET.replace("orders", "bare")
    root = calling(ROOT)
    assert root.write(proposal(other, "status", {"removed": False})).status_code == 200
    knower = make_person("knower", "EXISTS_ENTITY")
    lengths = {
        knower.client.head(f"/openapi/v3/entity/dataset/{quote(urn, safe='')}").headers.get("Content-Length")
        for urn in (DATASET, other)
    }
    assert len(lengths) == 1


def test_people_are_searched_with_the_privilege_to_search(stored: None) -> None:
    searcher, nobody = make_person("searcher", "SEARCH_PRIVILEGE"), make_person("nobody", "EDIT_ENTITY_TAGS")
    body = {"entity": "corpuser", "input": "searcher", "start": 0, "count": 10}
    assert searcher.search(**body) == [searcher.urn]
    assert nobody.post("/entities?action=search", body).status_code == 403
