"""What DataHub's pages of one entity ask for: switches, columns, related terms, the assets of a data product."""

import json

import pytest

from catalog.access import aspect_documents
from catalog.ingest import product_assets
from catalog.models import Entity
from policies.models import ChangeEvent
from tests.doors.conftest import DATASET, ROOT, calling, proposal
from tests.doors.graphql.conftest import close_the_reading_policies
from tests.doors.test_data_products import on

pytestmark = pytest.mark.django_db

SALES, PRODUCT, OTHER = "urn:li:domain:sales", "urn:li:dataProduct:pets", "urn:li:dataProduct:plants"
NODE, BELOW = "urn:li:glossaryNode:money", "urn:li:glossaryNode:cash"
TERM, WIDER, PART = (f"urn:li:glossaryTerm:{name}" for name in ("income", "flow", "wage"))
TABLE = "urn:li:dataset:(urn:li:dataPlatform:hive,cats,PROD)"


@pytest.fixture
def world(root):
    """Entities of the types whose pages are asked for."""
    answer = calling(ROOT).write(
        proposal(DATASET, "datasetProperties", {"name": "Dogs"}),
        proposal(TABLE, "datasetProperties", {"name": "Cats"}),
        proposal(SALES, "domainProperties", {"name": "Sales"}),
        proposal(PRODUCT, "dataProductProperties", {"name": "Pets", "customProperties": {"level": "gold"}}),
        proposal(PRODUCT, "domains", {"domains": [SALES]}),
        proposal(OTHER, "dataProductProperties", {"name": "Plants", "assets": [{"destinationUrn": DATASET}]}),
        proposal(NODE, "glossaryNodeInfo", {"name": "Money", "definition": ""}),
        proposal(BELOW, "glossaryNodeInfo", {"name": "Cash", "definition": "", "parentNode": NODE}),
        proposal(TERM, "glossaryTermInfo", {"name": "Income", "definition": "", "parentNode": BELOW}),
        proposal(TERM, "glossaryRelatedTerms", {"isRelatedTerms": [WIDER], "hasRelatedTerms": [PART, "no urn"]}),
    )
    assert answer.status_code == 200, answer.content
    return root


# -- data products ----------------------------------------------------------------------------------------------------

SET = "mutation s($input: BatchSetDataProductInput!) {batchSetDataProduct(input: $input)}"


def said(product):
    return json.loads(
        aspect_documents.load_texts(keys={(product, "dataProductProperties")})[product, "dataProductProperties"]
    )


def assets(product):
    return [one["destinationUrn"] for one in said(product).get("assets") or ()]


def test_assets_are_put_into_a_product_by_who_manages_its_domain(world, person):
    manager = person("manager", "MANAGE_DATA_PRODUCTS", **on(SALES))
    editor = person("editor", "EDIT_ENTITY", "EDIT_ENTITY_DATA_PRODUCTS", **on(DATASET, TABLE, PRODUCT))
    given = {"dataProductUrn": PRODUCT, "resourceUrns": [DATASET, TABLE, DATASET]}
    code, _, message = editor.refused(SET, input=given)
    assert (code, message) == (403, f"Missing: MANAGE_DATA_PRODUCTS on {SALES}.")
    for _ in range(2):
        assert manager.ask(SET, input=given) == {"batchSetDataProduct": True}
    assert assets(PRODUCT) == [DATASET, TABLE]
    assert said(PRODUCT)["customProperties"] == {"level": "gold"}
    # It stays in the product that it was in.
    assert assets(OTHER) == [DATASET]
    assert ChangeEvent.objects.filter(object_urn=PRODUCT, by=manager.urn, door="graphql").count() == 1


def test_assets_are_taken_out_by_who_edits_the_asset(world, person):
    world.ask(SET, input={"dataProductUrn": PRODUCT, "resourceUrns": [DATASET, TABLE]})
    manager = person("manager", "MANAGE_DATA_PRODUCTS", **on(SALES))
    editor = person("editor", "EDIT_ENTITY_DATA_PRODUCTS", **on(DATASET))
    given = {"dataProductUrn": None, "resourceUrns": [DATASET]}
    code, _, message = manager.refused(SET, input=given)
    assert code == 403
    assert f"EDIT_ENTITY_DATA_PRODUCTS on {DATASET}" in message
    assert editor.refused(SET, input={"resourceUrns": [DATASET, TABLE]})[0] == 403
    assert (assets(PRODUCT), assets(OTHER)) == ([DATASET, TABLE], [DATASET])
    assert editor.ask(SET, input=given) == {"batchSetDataProduct": True}
    assert (assets(PRODUCT), assets(OTHER)) == ([TABLE], [])


def test_what_is_not_there_is_not_put_into_a_product(world, monkeypatch):
    absent = "urn:li:dataset:(urn:li:dataPlatform:hive,none,PROD)"
    assert world.refused(SET, input={"dataProductUrn": PRODUCT, "resourceUrns": [absent]})[0] == 404
    assert world.refused(SET, input={"dataProductUrn": f"{PRODUCT}s", "resourceUrns": [TABLE]})[0] == 404
    assert world.refused(SET, input={"dataProductUrn": SALES, "resourceUrns": [TABLE]})[0] == 400
    assert world.refused(SET, input={"dataProductUrn": PRODUCT, "resourceUrns": [TABLE] * 101})[0] == 400
    monkeypatch.setattr(product_assets, "MAX_PRODUCTS", 0)
    assert world.refused(SET, input={"resourceUrns": [DATASET]})[0] == 400
    assert assets(PRODUCT) == []


# -- several entities -------------------------------------------------------------------------------------------------


def test_entities_come_in_order_and_the_hidden_like_the_absent(world, person, settings):
    query = "query e($urns: [String!]!) {entities(urns: $urns, checkForExistence: true) {urn type}}"
    named = [TERM, "urn:li:tag:none", DATASET, TERM, ROOT]
    found = world.ask(query, urns=named)["entities"]
    assert [one and one["urn"] for one in found] == [TERM, None, DATASET, TERM, ROOT]
    close_the_reading_policies()
    settings.VIEW_AUTHORIZATION_ENABLED = True
    reader = person("reader", "VIEW_ENTITY_PAGE", **on(TERM))
    assert [one and one["urn"] for one in reader.ask(query, urns=[DATASET, TERM])["entities"]] == [None, TERM]
    assert world.refused(query, urns=[TERM] * 1_001)[0] == 400
    assert world.refused(query, urns=["nothing"])[0] == 400


# -- switches ---------------------------------------------------------------------------------------------------------

SWITCHES = (
    "query p($urn: String!) {glossaryNode(urn: $urn) {privileges {canManageEntity canManageChildren canEditTags}}}"
)


@pytest.mark.parametrize(
    ("privilege", "held_on", "top", "below"),
    [
        ("MANAGE_GLOSSARY_CHILDREN", NODE, (False, True), (True, False)),
        ("MANAGE_ALL_GLOSSARY_CHILDREN", NODE, (False, True), (True, True)),
        ("EDIT_ENTITY", NODE, (True, False), (False, False)),
        ("EDIT_ENTITY_OWNERS", NODE, (False, False), (False, False)),
    ],
)
def test_switches_of_term_groups_say_what_the_services_allow(world, person, privilege, held_on, top, below):
    keeper = person("keeper", privilege, **on(held_on))
    for urn, expected in ((NODE, top), (BELOW, below)):
        found = keeper.ask(SWITCHES, urn=urn)["glossaryNode"]["privileges"]
        assert (found["canManageEntity"], found["canManageChildren"], found["canEditTags"]) == (*expected, None)
    make = "mutation c($input: CreateGlossaryEntityInput!) {createGlossaryTerm(input: $input)}"
    for urn, (_, may_make) in ((NODE, top), (BELOW, below)):
        answer = keeper.send(make, {"input": {"name": "New", "parentNode": urn}}).json()
        assert ("errors" not in answer) is may_make


def test_switches_of_a_dataset(world, person):
    query = """query p($urn: String!) {dataset(urn: $urn) {privileges {
        canEditTags canEditOwners canEditDescription canEditLineage canEditDataProducts canViewDatasetUsage
        canManageEntity canEditAssertions canShareEntity}}}"""
    jo = person("jo", "EDIT_ENTITY_TAGS", "EDIT_LINEAGE", **on(DATASET))
    assert jo.ask(query, urn=DATASET)["dataset"]["privileges"]["canViewDatasetUsage"] is True
    close_the_reading_policies()
    expected = {
        **dict.fromkeys(("canEditTags", "canEditLineage"), True),
        **dict.fromkeys(("canEditOwners", "canEditDescription", "canEditDataProducts"), False),
        "canViewDatasetUsage": False,
        "canManageEntity": None,
        **dict.fromkeys(("canEditAssertions", "canShareEntity"), False),
    }
    assert jo.ask(query, urn=DATASET)["dataset"]["privileges"] == expected
    everything = world.ask(query, urn=DATASET)["dataset"]["privileges"]
    assert (everything["canEditOwners"], everything["canManageEntity"]) == (True, None)


@pytest.mark.parametrize(
    ("switch", "privilege", "aspect", "document"),
    [
        ("canEditAssertions", "EDIT_ENTITY_ASSERTIONS", "assertionInfo", {"customAssertion": {"entity": DATASET}}),
        ("canEditIncidents", "EDIT_ENTITY_INCIDENTS", "incidentInfo", {"entities": [DATASET]}),
    ],
)
def test_switches_about_assertions_and_incidents_say_what_a_write_is_answered(
    world, person, switch, privilege, aspect, document
):
    query = f"query p($urn: String!) {{dataset(urn: $urn) {{privileges {{{switch}}}}}}}"
    urn = f"urn:li:{aspect.removesuffix('Info')}:made"
    for name, held in (("holder", privilege), ("editor", "EDIT_ENTITY"), ("other", "EDIT_ENTITY_TAGS")):
        by = person(name, held, **on(DATASET))
        may = by.ask(query, urn=DATASET)["dataset"]["privileges"][switch]
        answer = calling(by.urn).write(proposal(f"{urn}-{name}", aspect, document))
        assert (may, answer.status_code) == ((True, 200) if name != "other" else (False, 403)), answer.content


# -- the glossary -----------------------------------------------------------------------------------------------------


def test_related_terms_are_relationships(world):
    query = """query t($urn: String!, $types: [String!]!, $direction: RelationshipDirection!) {
        glossaryTerm(urn: $urn) {relationships(input: {types: $types, direction: $direction}) {
            total relationships {type entity {urn}}}}}"""

    def related(urn, kind, direction="OUTGOING"):
        found = world.ask(query, urn=urn, types=[kind], direction=direction)["glossaryTerm"]["relationships"]
        assert found["total"] == len(found["relationships"])
        return [one["entity"]["urn"] for one in found["relationships"]]

    assert related(TERM, "IsA") == [WIDER]
    assert related(TERM, "HasA") == [PART]
    calling(ROOT).write(proposal(WIDER, "glossaryTermInfo", {"name": "Flow", "definition": ""}))
    assert related(WIDER, "IsA", "INCOMING") == [TERM]
    remove = "mutation r($input: RelatedTermsInput!) {removeRelatedTerms(input: $input)}"
    world.ask(remove, input={"urn": TERM, "termUrns": [WIDER], "relationshipType": "isA"})
    assert related(TERM, "IsA") == []
    assert Entity.objects.filter(urn=TERM).exists()


# -- columns ----------------------------------------------------------------------------------------------------------

COLUMN = "urn:li:schemaField:({},{})"
SCHEMA = {
    "schemaName": "sales.orders",
    "platform": "urn:li:dataPlatform:snowflake",
    "version": 3,
    "hash": "h",
    "platformSchema": {"com.linkedin.schema.MySqlDDL": {"tableSchema": "create table"}},
    "fields": [
        {
            "fieldPath": "id",
            "nativeDataType": "bigint",
            "type": {"type": {"com.linkedin.schema.NumberType": {}}},
            "isPartOfKey": True,
            "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]},
        },
        {"fieldPath": "rows", "nullable": True, "type": {"type": {"com.linkedin.schema.RecordType": {}}}},
        {"fieldPath": "odd", "type": 7, "nativeDataType": 7},
    ],
    "primaryKeys": ["id"],
    "foreignKeys": [
        {
            "name": "to_cats",
            "sourceFields": [COLUMN.format(DATASET, "id")],
            "foreignFields": [COLUMN.format(TABLE, "id"), "no urn"],
            "foreignDataset": TABLE,
        }
    ],
}


def test_columns_are_answered_as_they_are_stored(world):
    assert calling(ROOT).write(proposal(DATASET, "schemaMetadata", SCHEMA)).status_code == 200
    query = """query s($urn: String!, $version: Long) {dataset(urn: $urn) {schemaMetadata(version: $version) {
        name platformUrn version hash primaryKeys datasetUrn
        platformSchema {... on TableSchema {schema} ... on KeyValueSchema {keySchema}}
        fields {fieldPath nativeDataType type nullable isPartOfKey description
            globalTags {tags {tag {urn} associatedUrn}} schemaFieldEntity {urn fieldPath parent {urn}}}
        foreignKeys {name sourceFields {fieldPath} foreignFields {urn} foreignDataset {name}}}}}"""
    found = world.ask(query, urn=DATASET, version=0)["dataset"]["schemaMetadata"]
    fields = found.pop("fields")
    assert found == {
        "name": "sales.orders",
        "platformUrn": "urn:li:dataPlatform:snowflake",
        "version": 3,
        "hash": "h",
        "primaryKeys": ["id"],
        "datasetUrn": DATASET,
        "platformSchema": {"schema": "create table"},
        "foreignKeys": [
            {
                "name": "to_cats",
                "sourceFields": [{"fieldPath": "id"}],
                "foreignFields": [{"urn": COLUMN.format(TABLE, "id")}],
                "foreignDataset": {"name": "Cats"},
            }
        ],
    }
    assert fields[0] == {
        "fieldPath": "id",
        "nativeDataType": "bigint",
        "type": "NUMBER",
        "nullable": False,
        "isPartOfKey": True,
        "description": None,
        "globalTags": {"tags": [{"tag": {"urn": "urn:li:tag:pii"}, "associatedUrn": DATASET}]},
        "schemaFieldEntity": {"urn": COLUMN.format(DATASET, "id"), "fieldPath": "id", "parent": {"urn": DATASET}},
    }
    assert [(one["type"], one["nullable"], one["description"]) for one in fields] == [
        ("NUMBER", False, None),
        ("STRUCT", True, None),
        ("STRUCT", False, None),
    ]
    assert world.refused(query, urn=DATASET, version=2)[0] == 400
    assert world.ask(query, urn=TABLE, version=None)["dataset"]["schemaMetadata"] is None


def test_columns_of_several_datasets_are_looked_up_at_once(world, django_assert_max_num_queries):
    for number, table in enumerate((DATASET, TABLE)):
        column = {"fieldPath": f"c{number}", "globalTags": {"tags": [{"tag": f"urn:li:tag:t{number}"}]}}
        schema = {"schemaName": "s", "fields": [column]}
        assert calling(ROOT).write(proposal(table, "schemaMetadata", schema)).status_code == 200
    query = """query e($urns: [String!]!) {entities(urns: $urns) {... on Dataset {schemaMetadata {fields {
        globalTags {tags {tag {properties {name}}}} schemaFieldEntity {urn deprecation {note}}}}}}}"""
    with django_assert_max_num_queries(60) as short:
        world.ask(query, urns=[DATASET])
    with django_assert_max_num_queries(len(short)):
        found = world.ask(query, urns=[DATASET, TABLE])["entities"]
    assert [one["schemaMetadata"]["fields"][0]["schemaFieldEntity"]["urn"] for one in found] == [
        COLUMN.format(DATASET, "c0"),
        COLUMN.format(TABLE, "c1"),
    ]


def test_circuit_breakers_find_no_operations_and_no_assertions(world):
    query = """query d($urn: String!) {dataset(urn: $urn) {
        operations(limit: 1) {operationType} assertions(start: 0, count: 9) {total assertions {urn}}}}"""
    assert world.ask(query, urn=DATASET)["dataset"] == {"operations": [], "assertions": {"total": 0, "assertions": []}}


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_a_product_in_no_domain_is_refused_with_what_would_help(world):
    put_in = {"dataProductUrn": OTHER, "resourceUrns": [TABLE]}
    refused = [
        world.refused(SET, input=put_in)[2],
        world.refused("mutation d($urn: String!) {deleteDataProduct(urn: $urn)}", urn=OTHER)[2],
        calling(ROOT).post("/entities?action=delete", {"urn": OTHER}).json()["message"],
        calling(ROOT).write(proposal(OTHER, "status", {"removed": True})).json()["message"],
    ]
    for message in refused:
        assert message.startswith(f"{OTHER} is in no domain")
        assert "EDIT_DOMAINS_PRIVILEGE" in message
    assert calling(ROOT).write(proposal(OTHER, "domains", {"domains": [SALES]})).status_code == 200
    assert world.ask(SET, input=put_in) == {"batchSetDataProduct": True}
    assert world.ask("mutation d($urn: String!) {deleteDataProduct(urn: $urn)}", urn=OTHER)["deleteDataProduct"] is True


def test_a_refusal_names_no_id_that_is_made_anew(world, person):
    jo = person("jo", "VIEW_ENTITY_PAGE")
    make = "mutation c($input: CreateDomainInput!) {createDomain(input: $input)}"
    assert jo.refused(make, input={"name": "New"})[2] == "Missing: CREATE_ENTITY, or EDIT_ENTITY, or CREATE_DOMAINS."
    assert "on urn:li:domain:mine" in jo.refused(make, input={"id": "mine", "name": "New"})[2]
    in_group = "mutation c($input: CreateGlossaryEntityInput!) {createGlossaryTerm(input: $input)}"
    message = jo.refused(in_group, input={"name": "New", "parentNode": NODE})[2]
    assert message.startswith(f"Missing: MANAGE_GLOSSARY_CHILDREN on {NODE}, or ")
