"""Searches and scrolls over GraphQL, as the SDK and the pages send them (clients.md 2.3)."""

import pytest

from policies.identity.services import groups
from policies.identity.services import users as user_services
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT, calling, proposal
from tests.doors.graphql.conftest import close_the_reading_policies
from tests.forgetting import forget_rows

pytestmark = pytest.mark.django_db

SEARCH = """query($input: SearchInput!) {search(input: $input) {start count total searchResults {
    entity {urn type} matchedFields {name value}}}}"""
SCROLL = """
query scrollUrnsWithFilters(
    $types: [EntityType!],
    $query: String!,
    $orFilters: [AndFilterInput!],
    $batchSize: Int!,
    $scrollId: String,
    $skipCache: Boolean!,
    $sortInput: SearchSortInput,
    $fetchExtraFields: [String!],
    $includeSoftDeleted: Boolean) {

    scrollAcrossEntities(input: {
        query: $query,
        count: $batchSize,
        scrollId: $scrollId,
        types: $types,
        orFilters: $orFilters,
        sortInput: $sortInput,
        searchFlags: {
            skipHighlighting: true
            skipAggregates: true
            skipCache: $skipCache
            fetchExtraFields: $fetchExtraFields
            includeSoftDeleted: $includeSoftDeleted
        }
    }) {
        nextScrollId
        count
        total
        searchResults {
            entity { urn }
            extraProperties { name value }
        }
    }
}
"""
PRESENT = {"field": "removed", "values": ["true"], "condition": "EQUAL", "negated": True}
GONE = {"field": "removed", "values": ["true"], "condition": "EQUAL"}


def write(one):
    assert calling(ROOT).write(one).status_code == 200


def dataset(name, platform="snowflake", env="PROD"):
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{env})"


def role(name):
    return f"urn:li:role:{name}"


@pytest.fixture(scope="module")
def _shelf_of_module(_bootstrapped):
    forget_rows()
    for number in range(8):
        write(proposal(dataset(f"sales.t{number}"), "datasetProperties", {"name": f"t{number}"}))
    for env in ("PROD", "DEV"):
        write(proposal(dataset("clicks", "kafka", env), "status", {"removed": False}))
    write(proposal(dataset("sales.t7"), "status", {"removed": True}))
    tags = {"tags": [{"tag": "urn:li:tag:PII"}]}
    write(proposal(dataset("sales.t1"), "globalTags", tags))
    for name in ("snowflake_reader_role", "snowflake_writer_role"):
        properties = {"name": name.replace("_", " ").title(), "type": "READ", "description": ""}
        write(proposal(role(name), "roleProperties", properties))


@pytest.fixture
def shelf(_shelf_of_module, installed):
    """Ten datasets of two platforms, one of them removed, two external roles."""


def scroll(caller, *, size=5000, **more):
    """Return the URNs of every page, and how many pages there were."""
    urns: list[str] = []
    pages, place = 0, None
    while pages == 0 or place:
        variables = {"query": "*", "batchSize": size, "skipCache": False, "scrollId": place} | more
        answer = caller.ask(SCROLL, **variables)["scrollAcrossEntities"]
        pages, place = pages + 1, answer["nextScrollId"]
        urns += [one["entity"]["urn"] for one in answer["searchResults"]]
        assert answer["count"] == len(answer["searchResults"]) <= size
        assert answer["total"] == len(urns) or place
    return urns, pages


def found(caller, *criteria, **more):
    return set(scroll(caller, orFilters=[{"and": list(criteria)}], **more)[0])


def test_a_search_for_external_roles(root, shelf):
    both = root.ask(SEARCH, input={"type": "ROLE", "query": "snowflake", "start": 0, "count": 10})["search"]
    assert {one["entity"]["urn"] for one in both["searchResults"]} == {
        role("snowflake_reader_role"),
        role("snowflake_writer_role"),
    }
    one = root.ask(SEARCH, input={"type": "ROLE", "query": "reader"})["search"]
    assert [one["total"], one["searchResults"][0]["entity"]] == [
        1,
        {"urn": role("snowflake_reader_role"), "type": "ROLE"},
    ]
    assert root.ask(SEARCH, input={"type": "ROLE", "query": "*", "start": 5})["search"]["searchResults"] == []


def test_a_search_for_people(root):
    user_services.create(username="ada", display_name="Ada Lovelace", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="crew", name="Crew", by=authorizer.SYSTEM, channel=DOOR)
    users = root.ask(SEARCH, input={"type": "CORP_USER", "query": "love"})["search"]["searchResults"]
    assert [one["entity"]["urn"] for one in users] == ["urn:li:corpuser:ada"]
    crews = root.ask(SEARCH, input={"type": "CORP_GROUP", "query": "crew"})["search"]["searchResults"]
    assert [one["entity"]["type"] for one in crews] == ["CORP_GROUP"]
    assert root.ask(SEARCH, input={"type": "DATAHUB_ROLE", "query": "admin"})["search"]["total"] >= 1
    assert root.ask(SEARCH, input={"type": "POLICY", "query": "*"})["search"]["total"] > 10


def test_the_pages_of_a_scroll_together_are_the_whole(root, shelf):
    whole, pages = scroll(root, types=["DATASET"])
    assert (len(whole), pages) == (9, 1)
    assert whole == sorted(whole)
    for size in (1, 2, 4, 9, 10):
        assert scroll(root, types=["DATASET"], size=size)[0] == whole


def test_a_scroll_without_types_goes_through_users_groups_and_the_catalog(root, shelf):
    groups.create(identifier="crew", name="Crew", by=authorizer.SYSTEM, channel=DOOR)
    whole = scroll(root)[0]
    assert {ROOT, "urn:li:corpGroup:crew", role("snowflake_reader_role"), dataset("sales.t0")} <= set(whole)
    assert not any(urn.startswith(("urn:li:dataHubPolicy:", "urn:li:dataHubRole:")) for urn in whole)
    assert scroll(root, size=3)[0] == whole
    assert scroll(root, types=None, orFilters=None)[0] == whole


def test_policies_are_for_who_manages_them(root, person):
    assert scroll(root, types=["POLICY"])[0] == scroll(root, types=["DATAHUB_POLICY"])[0] != []
    variables = {"query": "*", "batchSize": 10, "skipCache": False}
    assert person("jo").refused(SCROLL, types=["POLICY", "DATASET"], **variables)[:2] == (403, "UNAUTHORIZED")
    assert scroll(root, types=["DATAHUB_ROLE"], size=1)[1] >= 3


def test_removed_ones_are_left_out_unless_asked_for(root, shelf):
    gone = dataset("sales.t7")
    assert gone not in scroll(root, types=["DATASET"])[0]
    assert gone not in found(root, PRESENT, types=["DATASET"])
    assert found(root, GONE, types=["DATASET"]) == {gone}
    assert gone in scroll(root, types=["DATASET"], includeSoftDeleted=True)[0]
    write(proposal("urn:li:corpuser:leaver", "corpUserInfo", {"active": True}))
    write(proposal("urn:li:corpuser:leaver", "status", {"removed": True}))
    assert found(root, GONE, types=["CORP_USER"]) == {"urn:li:corpuser:leaver"}
    assert "urn:li:corpuser:leaver" not in scroll(root, types=["CORP_USER"])[0]


FILTERS = [
    ({"field": "platform.keyword", "values": ["urn:li:dataPlatform:kafka"], "condition": "EQUAL"}, 2),
    ({"field": "origin", "values": ["DEV"], "condition": "EQUAL"}, 1),
    ({"field": "tags", "values": ["urn:li:tag:PII"]}, 1),
    ({"field": "tags", "condition": "EXISTS"}, 1),
    ({"field": "tags", "values": ["urn:li:tag:PII"], "negated": True}, 8),
    ({"field": "urn", "values": [dataset("sales.t0"), dataset("sales.t1")], "condition": "IN"}, 2),
    ({"field": "urn", "condition": "EXISTS"}, 9),
    ({"field": "urn", "values": ["urn:li:dataset:(urn:li:dataPlatform:kafka"], "condition": "START_WITH"}, 2),
    ({"field": "name", "values": ["T3"], "condition": "CONTAIN"}, 1),
    ({"field": "name", "value": "t3"}, 1),
    ({"field": "_entityType", "values": ["DATASET"]}, 9),
    ({"field": "_entityType", "values": ["CHART"]}, 0),
    ({"field": "typeNames", "values": ["DATASET", "CHART"]}, 9),
    ({"field": "email", "values": ["a@b.example"]}, 0),
    ({"field": "state", "values": ["ACTIVE"]}, 0),
    ({"field": "customProperties", "values": ["env=PROD"]}, 0),
    ({"field": "browsePathV2", "values": ["urn:li:container:none"], "condition": "CONTAIN"}, 0),
    ({"field": "tags", "values": ["\x01", "x" * 600]}, 0),
]


@pytest.mark.parametrize(("criterion", "count"), FILTERS)
def test_filters(root, shelf, criterion, count):
    assert len(found(root, criterion, types=["DATASET"])) == count


def test_alternatives_of_criteria(root, shelf):
    kafka = {"field": "platform", "values": ["urn:li:dataPlatform:kafka"]}
    alternatives = [
        {"and": [kafka, {"field": "origin", "values": ["DEV"]}]},
        {"and": [{"field": "tags", "values": ["urn:li:tag:PII"]}]},
    ]
    assert set(scroll(root, types=["DATASET"], orFilters=alternatives)[0]) == {
        dataset("clicks", "kafka", "DEV"),
        dataset("sales.t1"),
    }
    alternatives_without_criteria: list[dict[str, list[str] | None]] = [{"and": []}, {"and": None}, {}]
    for alternative in alternatives_without_criteria:
        assert len(scroll(root, types=["DATASET"], orFilters=[alternative])[0]) == 9
    assert len(scroll(root, types=["DATASET"], orFilters=[])[0]) == 9
    with_filters = {"type": "DATASET", "query": "*", "filters": [kafka], "count": 100}
    assert root.ask(SEARCH, input=with_filters)["search"]["total"] == 2


def test_people_by_what_the_sdk_asks(root):
    user_services.create(
        username="ada", display_name="Ada L", email="ada@example.com", by=authorizer.SYSTEM, channel=DOOR
    )
    kind = {"field": "_entityType", "values": ["CORP_USER"], "condition": "EQUAL"}
    for field, value in (("email", "ada@example.com"), ("displayName", "Ada L"), ("fullName", "Ada L")):
        assert found(root, kind, {"field": field, "values": [value], "condition": "EQUAL"}) == {"urn:li:corpuser:ada"}


def test_further_fields(root, shelf):
    answer = root.ask(
        SCROLL,
        types=["DATASET"],
        query="t3",
        batchSize=10,
        skipCache=True,
        fetchExtraFields=["name", "removed", "nothing"],
        sortInput={"sortCriteria": [{"field": "lastModifiedAt", "sortOrder": "ASCENDING"}]},
    )["scrollAcrossEntities"]
    assert answer["searchResults"] == [
        {
            "entity": {"urn": dataset("sales.t3")},
            "extraProperties": [{"name": "name", "value": "t3"}, {"name": "removed", "value": "false"}],
        }
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"scrollId": "invented"},
        {"scrollId": "é"},
        {"scrollId": "WyJwb2xpY2llcyIsICJ4Il0="},
        {"scrollId": "WzEsIDJd"},
        {"batchSize": -1},
        {"batchSize": 10_001},
        {"orFilters": [{"and": [{"field": "colour", "values": ["red"]}]}]},
        {"orFilters": [{"and": [{"field": "tags", "values": ["x"], "condition": "CONTAIN"}]}]},
        {"orFilters": [{"and": [{"field": "tags", "values": ["x"]}] * 201}]},
    ],
)
def test_what_is_no_scroll(root, more):
    variables = {"types": ["DATASET"], "query": "*", "batchSize": 10, "skipCache": False} | more
    assert root.refused(SCROLL, **variables)[:2] == (400, "BAD_REQUEST")


def test_an_unknown_type(root):
    answer = root.send(SCROLL, {"types": ["SHIP"], "query": "*", "batchSize": 10, "skipCache": False}).json()
    assert "data" not in answer
    assert answer["errors"][0]["extensions"]["code"] == 400


@pytest.mark.parametrize("query", ["", "/q urn:*", "%", "ﷺ", "a" * 5000, "urn:li:dataset:(", "\\"])
def test_words_of_any_kind(root, shelf, query):
    scroll(root, query=query, types=["DATASET", "CORP_USER"])


def test_a_long_page_takes_the_queries_of_a_short_one(root, shelf, django_assert_max_num_queries):
    scroll(root, size=5000)
    with django_assert_max_num_queries(20) as short:
        root.ask(SCROLL, query="*", batchSize=1, skipCache=False)
    with django_assert_max_num_queries(len(short) + 4):
        assert len(scroll(root, size=5000)[0]) > 15


def test_what_may_not_be_viewed_is_not_found(root, shelf, settings, person):
    only = {"filter": {"criteria": [{"field": "URN", "values": [dataset("sales.t1")]}]}}
    jo = person("jo", "VIEW_ENTITY_PAGE", resources=only)
    close_the_reading_policies()
    assert len(scroll(jo, types=["DATASET"])[0]) == 9
    settings.VIEW_AUTHORIZATION_ENABLED = True
    assert scroll(jo, types=["DATASET"])[0] == [dataset("sales.t1")]
    assert jo.ask(SEARCH, input={"type": "DATASET", "query": "*"})["search"]["total"] == 1
    assert len(scroll(jo, types=["ROLE"])[0]) == 2
    assert len(scroll(root, types=["DATASET"])[0]) == 9
