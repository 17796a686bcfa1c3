"""Under view authorization no list names or counts what its reader may not view: relationships and references."""

import json
from urllib.parse import quote

import pytest

from tests.doors.conftest import DATASET, ROOT, give, proposal
from tests.doors.graphql.conftest import Asking
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db

TAG, SEEN, HIDDEN = "urn:li:tag:t", "urn:li:domain:seen", "urn:li:domain:hidden"
TABLES = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{n},PROD)" for n in range(6)]
QUERY = "urn:li:query:q"
RELATED = """query($urn: String!, $direction: RelationshipDirection!, $start: Int, $count: Int) {entity(urn: $urn) {
    relationships(input: {types: [], direction: $direction, start: $start, count: $count}) {
        start count total relationships {type entity {urn}}}}}"""


@pytest.fixture
def world(root, settings):
    """Six tables with a tag: those with even numbers lie in a domain that Jo may view, the others in another."""
    for number, table in enumerate(TABLES):
        domain = HIDDEN if number % 2 else SEEN
        root.write(
            proposal(table, "globalTags", {"tags": [{"tag": TAG}]}),
            proposal(table, "domains", {"domains": [domain]}),
            proposal(table, "ownership", {"owners": [{"owner": ROOT}]}),
        )
    columns = [f"urn:li:schemaField:({table},id)" for table in TABLES]
    root.write(
        proposal(SEEN, "domainProperties", {"name": "Seen"}),
        proposal(HIDDEN, "domainProperties", {"name": "Hidden"}),
        proposal(QUERY, "querySubjects", {"subjects": [{"entity": urn} for urn in (*TABLES, *columns, DATASET)]}),
        proposal(TAG, "tagProperties", {"name": "T"}),
    )
    close_the_reading_policies(root)
    settings.VIEW_AUTHORIZATION_ENABLED = True


@pytest.fixture
def jo(world, person):
    """Somebody who may view what lies in one domain, that domain, and every tag and query."""
    may = {"criteria": [{"field": "DOMAIN", "values": [SEEN]}]}
    jo = person("jo", "VIEW_ENTITY_PAGE", resources={"filter": may})
    kinds = {"criteria": [{"field": "TYPE", "values": ["tag", "query"]}]}
    give(jo.urn, "VIEW_ENTITY_PAGE", displayName="Tags and queries", resources={"filter": kinds})
    return jo


def over_openapi(caller, urn, direction, start=0, count=100):
    path = f"/openapi/relationships/v1/?urn={quote(urn)}&direction={direction}&start={start}&count={count}"
    found = caller.get(path).json()
    return found["total"], found["count"], [(one["relationshipType"], one["urn"]) for one in found["entities"]]


def over_graphql(caller, urn, direction, start=0, count=100):
    asking = Asking(caller.urn, caller.client)
    found = asking.ask(RELATED, urn=urn, direction=direction, start=start, count=count)["entity"]["relationships"]
    named = [(one["type"], one["entity"]["urn"]) for one in found["relationships"]]
    return found["total"], found["count"], named


@pytest.mark.parametrize("door", [over_openapi, over_graphql])
def test_relationships_neither_name_nor_count_the_hidden(root, jo, door):
    for urn, direction in ((TAG, "INCOMING"), (QUERY, "OUTGOING")):
        total, _, everything = door(root, urn, direction)
        assert total == len(everything)
        seen = [pair for pair in everything if any(table in pair[1] for table in TABLES[::2])]
        assert 0 < len(seen) < len(everything)
        assert door(jo, urn, direction) == (len(seen), len(seen), seen)
        assert door(jo, urn, direction, 1, 1) == (len(seen), 1, seen[1:2])
        assert door(jo, urn, direction, len(seen), 5) == (len(seen), 0, [])


def test_what_is_not_stored_is_named_where_its_type_may_be_viewed(root, jo, person):
    """A URN that somebody mentions and nothing is known of is judged as the single question judges it."""
    assert ("IsAssociatedWith", DATASET) in over_openapi(root, QUERY, "OUTGOING")[2]
    assert ("IsAssociatedWith", DATASET) not in over_openapi(jo, QUERY, "OUTGOING")[2]
    types = {"criteria": [{"field": "TYPE", "values": ["dataset", "query"]}]}
    ada = person("ada", "VIEW_ENTITY_PAGE", resources={"filter": types})
    assert over_openapi(ada, QUERY, "OUTGOING") == over_openapi(root, QUERY, "OUTGOING")


def test_references_neither_name_nor_count_the_hidden(root, jo):
    def referring(caller):
        body = {"urn": TAG, "dryRun": True}
        value = caller.post("/entities?action=deleteReferences", body).json()["value"]
        return value["total"], [one["entity"] for one in value["relatedAspects"]]

    assert referring(root) == (6, TABLES)
    assert referring(jo) == (3, TABLES[::2])


def test_the_number_of_queries_does_not_grow_with_what_is_hidden(jo, django_assert_max_num_queries):
    over_openapi(jo, TAG, "INCOMING", 0, 1)
    with django_assert_max_num_queries(40) as short:
        over_openapi(jo, TAG, "INCOMING", 0, 1)
    with django_assert_max_num_queries(len(short)):
        assert json.dumps(over_openapi(jo, TAG, "INCOMING")).count("dataset") == 3
