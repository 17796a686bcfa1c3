"""Lineage over GraphQL, as the SDK scrolls through it: what data comes from and goes to."""

import json

import operations
import pytest
from django.db import connection, reset_queries
from django.test.utils import CaptureQueriesContext

from catalog.access import lineage
from tests.doors.conftest import ROOT, calling, proposal
from tests.doors.graphql.conftest import close_the_reading_policies

pytestmark = pytest.mark.django_db

SEARCH = """query($input: SearchAcrossLineageInput!) {searchAcrossLineage(input: $input) {
    start count total searchResults {degree entity {urn}} facets {field aggregations {value count}}}}"""


def dataset(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


RAW, CLEAN, SALES, OTHER = map(dataset, ("raw", "clean", "sales", "other"))
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),load)"
CHART, DASHBOARD = "urn:li:chart:(looker,turnover)", "urn:li:dashboard:(looker,board)"
LINES = [
    (CLEAN, "upstreamLineage", {"upstreams": [{"dataset": RAW, "type": "TRANSFORMED"}]}),
    (JOB, "dataJobInputOutput", {"inputDatasets": [CLEAN], "outputDatasetEdges": [{"destinationUrn": SALES}]}),
    (CHART, "chartInfo", {"title": "Turnover", "description": "", "inputs": [{"string": SALES}]}),
    (DASHBOARD, "dashboardInfo", {"title": "Board", "description": "", "charts": [CHART]}),
]
NAMED = [(urn, "datasetProperties", {"name": urn.split(",")[1]}) for urn in (RAW, CLEAN, SALES, OTHER)]
NAMED.append((JOB, "dataJobInfo", {"name": "load", "type": "COMMAND"}))
DOWNSTREAM = [(1, CLEAN), (2, JOB), (3, SALES), (4, CHART), (5, DASHBOARD)]


def write(*described):
    answer = calling(ROOT).write(*(proposal(*one) for one in described))
    assert answer.status_code == 200, answer.content


@pytest.fixture
def lines(installed):
    """Raw → clean → a job → sales → a chart → a dashboard."""
    write(*NAMED, *LINES)


def document():
    """The SDK's own text."""
    (client,) = (one for one in operations.load_clients() if "lineage_client" in json.dumps(one))
    (found,) = (one for one in client["operations"] if one["name"] == "scrollAcrossLineage")
    return operations.build_document(found, client["fragments"])


def hops(*values):
    return {"orFilters": [{"and": [{"field": "degree", "condition": "EQUAL", "values": list(values)}]}]}


def scroll(caller, urn, direction, **more):
    """Return degree and URN of every page, in order, as `get_lineage` collects them."""
    found: list[tuple[int, str]] = []
    place = None
    while not found or place:
        asked = {"urn": urn, "direction": direction, "count": 500, "types": None} | more
        answer = caller.ask(document(), input=asked | ({"scrollId": place} if place else {}))["scrollAcrossLineage"]
        place = answer["nextScrollId"]
        found += [(one["degree"], one["entity"]["urn"]) for one in answer["searchResults"]]
        if not answer["searchResults"]:
            break
    return found


def test_both_directions_through_every_kind_of_document(root, lines):
    assert scroll(root, RAW, "DOWNSTREAM") == DOWNSTREAM
    assert scroll(root, DASHBOARD, "UPSTREAM") == [(1, CHART), (2, SALES), (3, JOB), (4, CLEAN), (5, RAW)]
    assert scroll(root, RAW, "UPSTREAM") == scroll(root, OTHER, "DOWNSTREAM") == []
    assert scroll(root, dataset("nobody.knows"), "DOWNSTREAM") == []


def test_the_pages_of_a_scroll_together_are_the_whole(root, lines):
    for count in (1, 2, 3, 5, 6):
        assert scroll(root, RAW, "DOWNSTREAM", count=count) == DOWNSTREAM


@pytest.mark.parametrize(
    ("more", "degrees"),
    [
        (hops("1"), {1}),
        (hops("1", "2"), {1, 2}),
        (hops("2"), {2}),
        (hops("3+"), {3, 4, 5}),
        (hops("1", "2", "3+"), {1, 2, 3, 4, 5}),
        (hops("7"), set()),
        ({"orFilters": [{}]}, {1, 2, 3, 4, 5}),
        ({"orFilters": [*hops("1")["orFilters"], {"and": [{"field": "name", "values": ["sales"]}]}]}, {1, 3}),
        ({"types": ["DATASET"]}, {1, 3}),
        ({"types": ["DATA_JOB", "CHART"]}, {2, 4}),
        ({"query": "turnover"}, {4}),
    ],
)
def test_what_of_a_lineage_is_asked_for(root, lines, more, degrees):
    assert scroll(root, RAW, "DOWNSTREAM", **more) == [one for one in DOWNSTREAM if one[0] in degrees]


def test_a_path_leads_from_the_beginning_to_the_entity(root, lines):
    asked = {"urn": RAW, "direction": "DOWNSTREAM", **hops("1", "2", "3+")}
    results = root.ask(document(), input=asked)["scrollAcrossLineage"]["searchResults"]
    ways = [[one["urn"] for one in path["path"]] for result in results for path in result["paths"]]
    assert ways[2] == [RAW, CLEAN, JOB, SALES]
    assert results[0]["entity"]["platform"] == {"name": "hive"}


def test_a_page_of_a_search(root, lines):
    answer = root.ask(SEARCH, input={"urn": RAW, "direction": "DOWNSTREAM", "start": 1, "count": 2})
    found = answer["searchAcrossLineage"]
    assert (found["start"], found["count"], found["total"]) == (1, 2, 5)
    assert [(one["degree"], one["entity"]["urn"]) for one in found["searchResults"]] == DOWNSTREAM[1:3]
    (types,) = (one["aggregations"] for one in found["facets"] if one["field"] == "_entityType")
    assert {one["value"]: one["count"] for one in types} == {"DATASET": 2, "CHART": 1, "DASHBOARD": 1, "DATA_JOB": 1}


def test_circles_end_and_the_shortest_way_counts(root, lines):
    write((RAW, "upstreamLineage", {"upstreams": [{"dataset": SALES}, {"dataset": RAW}]}))
    write((SALES, "upstreamLineage", {"upstreams": [{"dataset": CLEAN}]}))
    assert scroll(root, RAW, "DOWNSTREAM") == [(1, CLEAN), (2, JOB), (2, SALES), (3, CHART), (4, DASHBOARD)]
    assert scroll(root, RAW, "UPSTREAM") == [(1, SALES), (2, JOB), (2, CLEAN)]


def test_what_is_written_anew_replaces_what_was_said(root, lines):
    write((CLEAN, "upstreamLineage", {"upstreams": [{"dataset": OTHER}]}))
    assert scroll(root, RAW, "DOWNSTREAM") == []
    assert scroll(root, OTHER, "DOWNSTREAM", **hops("1")) == [(1, CLEAN)]


def test_what_is_removed_or_not_stored_is_not_listed_and_lineage_goes_on(root, lines):
    write(
        (SALES, "status", {"removed": True}), (OTHER, "upstreamLineage", {"upstreams": [{"dataset": dataset("gone")}]})
    )
    write((dataset("gone.too"), "upstreamLineage", {"upstreams": [{"dataset": OTHER}]}))
    assert scroll(root, RAW, "DOWNSTREAM") == [one for one in DOWNSTREAM if one[1] != SALES]
    assert scroll(root, RAW, "DOWNSTREAM", searchFlags={"includeSoftDeleted": True}) == DOWNSTREAM
    assert scroll(root, dataset("gone.too"), "UPSTREAM") == [(1, OTHER)]


def test_documents_of_any_shape_are_kept_and_followed_as_far_as_they_name_something(root, lines):
    odd = {"upstreams": [7, None, "x", {"dataset": 7}, {"dataset": "nothing"}, {"dataset": OTHER}, {}]}
    write((SALES, "upstreamLineage", odd), (RAW, "upstreamLineage", {"upstreams": {"a": RAW}}))
    write((JOB, "dataJobInputOutput", {"inputDatasets": "x", "inputDatajobEdges": [{"destinationUrn": None}]}))
    assert scroll(root, SALES, "UPSTREAM") == [(1, OTHER)]
    assert scroll(root, JOB, "UPSTREAM") == scroll(root, RAW, "UPSTREAM") == []


def test_what_may_not_be_viewed_is_neither_named_nor_passed_through(root, lines, settings, person):
    only = {"filter": {"criteria": [{"field": "URN", "values": [RAW, CLEAN, SALES, CHART, DASHBOARD]}]}}
    jo = person("jo", "VIEW_ENTITY_PAGE", resources=only)
    close_the_reading_policies()
    assert scroll(jo, RAW, "DOWNSTREAM") == DOWNSTREAM
    settings.VIEW_AUTHORIZATION_ENABLED = True
    assert scroll(jo, RAW, "DOWNSTREAM") == [(1, CLEAN)]
    assert scroll(jo, SALES, "DOWNSTREAM") == [(1, CHART), (2, DASHBOARD)]
    asked = {"urn": RAW, "direction": "DOWNSTREAM"}
    assert jo.ask(SEARCH, input=asked)["searchAcrossLineage"]["total"] == 1
    for urn in (JOB, OTHER, dataset("nobody.knows")):
        assert scroll(jo, urn, "UPSTREAM") == []
    assert scroll(root, RAW, "DOWNSTREAM") == DOWNSTREAM


@pytest.mark.parametrize(
    "more",
    [
        {"urn": None},
        {"urn": "nonsense"},
        {"urn": f"urn:li:schemaField:({RAW},id)", "searchFlags": {"groupingSpec": {"groupingCriteria": []}}},
        {"count": -1},
        {"count": 10_001},
        {"scrollId": "invented"},
        {"scrollId": "WyJjYXRhbG9nIiwgIngiXQ=="},
        {"startTimeMillis": 1},
        {"lineageFlags": {"endTimeMillis": 1}},
        {"orFilters": [{"and": [{"field": "degree", "condition": "CONTAIN", "values": ["1"]}]}]},
        {"orFilters": [{"and": [{"field": "colour", "values": ["red"]}]}]},
    ],
)
def test_what_is_no_lineage(root, lines, more):
    asked = {"urn": RAW, "direction": "DOWNSTREAM"} | more
    assert root.refused(document(), input=asked)[:2] == (400, "BAD_REQUEST")


def count_queries(caller, found):
    """Return how many queries a page of the nearest takes; the log of queries begins anew with each request."""
    reset_queries()
    with CaptureQueriesContext(connection) as captured:
        assert len(scroll(caller, RAW, "DOWNSTREAM", **hops("1"))) == found
    return len(captured)


def test_a_long_list_takes_the_queries_of_a_short_one(root, lines):
    scroll(root, RAW, "DOWNSTREAM")
    short = count_queries(root, 1)
    write(*((dataset(f"t{number}"), "upstreamLineage", {"upstreams": [{"dataset": RAW}]}) for number in range(60)))
    assert 0 < count_queries(root, 61) <= short


def test_a_lineage_that_is_too_large_is_refused_and_its_nearest_part_is_not(root, lines, monkeypatch):
    monkeypatch.setattr(lineage, "MAX_ENTITIES", 4)
    asked = {"urn": RAW, "direction": "DOWNSTREAM"}
    code, kind, message = root.refused(document(), input=asked)
    assert (code, kind) == (400, "BAD_REQUEST")
    assert "more than 4 entities" in message
    assert scroll(root, RAW, "DOWNSTREAM", **hops("1", "2")) == DOWNSTREAM[:2]
    monkeypatch.setattr(lineage, "MAX_ENTITIES", 5)
    assert scroll(root, RAW, "DOWNSTREAM") == DOWNSTREAM
    monkeypatch.setattr(lineage, "MAX_DEGREE", 4)
    assert root.refused(document(), input=asked)[0] == 400
    monkeypatch.setattr(lineage, "MAX_DEGREE", 5)
    assert scroll(root, RAW, "DOWNSTREAM") == DOWNSTREAM
