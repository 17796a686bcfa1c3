"""Data products from the side of assets, saved queries and logical parents, by the derived rules of source 000."""

import json

import pytest

from catalog.access import aspect_documents
from catalog.models import Entity
from tests.doors.conftest import DATASET, ROOT, calling, proposal
from tests.doors.test_data_products import on

pytestmark = pytest.mark.django_db

SALES, PRODUCT, OTHER = "urn:li:domain:sales", "urn:li:dataProduct:pets", "urn:li:dataProduct:plants"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:hive,cats,PROD)"
COLUMN, LOGICAL_COLUMN = f"urn:li:schemaField:({DATASET},id)", f"urn:li:schemaField:({TABLE},id)"

ADD = "mutation a($input: BatchAddToDataProductsInput!) {batchAddToDataProducts(input: $input)}"
REMOVE = "mutation r($input: BatchRemoveFromDataProductsInput!) {batchRemoveFromDataProducts(input: $input)}"
LINK = "mutation l($input: SetLogicalParentInput!) {setLogicalParent(input: $input)}"
PARTS = (
    "{urn type name properties {name description source statement {value language} created {actor}}"
    " subjects {dataset {urn}}}"
)
CREATE = f"mutation c($input: CreateQueryInput!) {{createQuery(input: $input) {PARTS}}}"
UPDATE = f"mutation u($urn: String!, $input: UpdateQueryInput!) {{updateQuery(urn: $urn, input: $input) {PARTS}}}"
DELETE = "mutation d($urn: String!) {deleteQuery(urn: $urn)}"


@pytest.fixture
def world(root):
    """Two datasets and two products."""
    answer = calling(ROOT).write(
        proposal(DATASET, "datasetProperties", {"name": "Dogs"}),
        proposal(TABLE, "datasetProperties", {"name": "Cats"}),
        proposal(SALES, "domainProperties", {"name": "Sales"}),
        proposal(PRODUCT, "dataProductProperties", {"name": "Pets", "customProperties": {"level": "gold"}}),
        proposal(PRODUCT, "domains", {"domains": [SALES]}),
        proposal(OTHER, "dataProductProperties", {"name": "Plants", "assets": [{"destinationUrn": DATASET}]}),
    )
    assert answer.status_code == 200, answer.content
    return root


def stored(urn, aspect):
    return json.loads(aspect_documents.load_texts(keys={(urn, aspect)})[urn, aspect])


def assets(product):
    return [one["destinationUrn"] for one in stored(product, "dataProductProperties").get("assets") or ()]


def test_assets_are_put_into_products_and_taken_out_by_who_edits_the_assets(world, person):
    manager = person("manager", "MANAGE_DATA_PRODUCTS", **on(SALES))
    editor = person("editor", "EDIT_ENTITY_DATA_PRODUCTS", **on(DATASET, TABLE))
    one_asset = person("one", "EDIT_ENTITY_DATA_PRODUCTS", **on(DATASET))
    given = {"dataProductUrns": [PRODUCT, OTHER], "resourceUrns": [DATASET, TABLE]}
    for refused_caller in (manager, one_asset):
        code, _, message = refused_caller.refused(ADD, input=given)
        assert (code, f"EDIT_ENTITY_DATA_PRODUCTS on {TABLE}" in message) == (403, True), message
    for _ in range(2):
        assert editor.ask(ADD, input=given) == {"batchAddToDataProducts": True}
    assert (assets(PRODUCT), assets(OTHER)) == ([DATASET, TABLE], [DATASET, TABLE])
    taken = {"dataProductUrns": [PRODUCT], "resourceUrns": [TABLE]}
    assert one_asset.refused(REMOVE, input=taken)[0] == 403
    assert editor.ask(REMOVE, input=taken) == {"batchRemoveFromDataProducts": True}
    assert (assets(PRODUCT), assets(OTHER)) == ([DATASET], [DATASET, TABLE])
    assert stored(PRODUCT, "dataProductProperties")["customProperties"] == {"level": "gold"}


@pytest.mark.parametrize("mutation", [ADD, REMOVE])
def test_what_is_not_there_is_in_no_product(world, mutation):
    absent = "urn:li:dataset:(urn:li:dataPlatform:hive,none,PROD)"
    for code, products, resources in (
        (404, [f"{PRODUCT}s"], [TABLE]),
        (404, [PRODUCT], [absent]),
        (400, [SALES], [TABLE]),
        (400, [PRODUCT] * 50, [TABLE] * 50),
    ):
        assert world.refused(mutation, input={"dataProductUrns": products, "resourceUrns": resources})[0] == code


def test_a_query_is_saved_changed_and_deleted_by_who_edits_the_queries_of_its_datasets(world, person):
    editor = person("editor", "EDIT_ENTITY_QUERIES", "VIEW_ENTITY_PAGE", **on(DATASET))
    statement = {"value": "SELECT 1", "language": "SQL"}
    given = {"properties": {"name": "Q", "statement": statement}, "subjects": [{"datasetUrn": DATASET}]}
    both = {**given, "subjects": [{"datasetUrn": DATASET}, {"datasetUrn": TABLE}]}
    assert editor.refused(CREATE, input=both)[0] == 403
    assert "has no subjects" in editor.refused(CREATE, input={**given, "subjects": []})[2]
    assert not Entity.objects.filter(type="query").exists()
    made = editor.ask(CREATE, input=given)["createQuery"]
    assert (made["type"], made["name"], made["properties"]["statement"]) == ("QUERY", "Q", statement)
    assert (made["properties"]["source"], made["properties"]["created"]) == ("MANUAL", {"actor": editor.urn})
    assert made["subjects"] == [{"dataset": {"urn": DATASET}}]
    urn = made["urn"]
    changed = editor.ask(UPDATE, urn=urn, input={"properties": {"description": "d"}})["updateQuery"]
    assert (changed["properties"]["description"], changed["properties"]["statement"]) == ("d", statement)
    move = {"subjects": [{"datasetUrn": TABLE}]}
    assert editor.refused(UPDATE, urn=urn, input=move)[0] == 403
    assert world.ask(UPDATE, urn=urn, input=move)["updateQuery"]["subjects"] == [{"dataset": {"urn": TABLE}}]
    assert editor.refused(UPDATE, urn=urn, input={"properties": {"name": "R"}})[0] == 403
    assert editor.refused(DELETE, urn=urn)[0] == 403
    assert world.ask(DELETE, urn=urn) == {"deleteQuery": True}
    assert not Entity.objects.filter(type="query").exists()


def test_a_query_about_what_is_not_there_is_refused(world):
    absent = [{"datasetUrn": "urn:li:dataset:(urn:li:dataPlatform:hive,none,PROD)"}]
    statement = {"value": "SELECT 1", "language": "SQL"}
    assert world.refused(CREATE, input={"properties": {"statement": statement}, "subjects": absent})[0] == 404
    assert world.refused(UPDATE, urn="urn:li:query:none", input={})[0] == 404
    assert world.refused(UPDATE, urn=DATASET, input={})[0] == 400


def test_a_logical_parent_is_set_by_who_edits_both_sides_and_cleared_by_who_edits_the_child(world, person):
    child, both = person("child", "EDIT_ENTITY", **on(DATASET)), person("both", "EDIT_ENTITY", **on(DATASET, TABLE))
    for resource, parent in ((DATASET, TABLE), (COLUMN, LOGICAL_COLUMN), (DATASET, LOGICAL_COLUMN)):
        given = {"resourceUrn": resource, "parentUrn": parent}
        assert child.refused(LINK, input=given)[0] == 403
        assert both.ask(LINK, input=given) == {"setLogicalParent": True}
        assert stored(resource, "logicalParent")["parent"]["destinationUrn"] == parent
        assert child.ask(LINK, input={"resourceUrn": resource}) == {"setLogicalParent": True}
        assert "parent" not in stored(resource, "logicalParent")
    assert both.refused(LINK, input={"resourceUrn": SALES, "parentUrn": TABLE})[0] == 400
