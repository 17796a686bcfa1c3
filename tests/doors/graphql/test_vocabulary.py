"""What entities are described with, made and attached over GraphQL, and what each of it needs (rules/datahub.md c)."""

import json

import pytest

from catalog.access import aspect_documents, entity_lists
from policies.identity.services import users
from policies.models import ChangeEvent
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, calling, give, proposal
from tests.doors.graphql.conftest import close_the_reading_policies

pytestmark = pytest.mark.django_db

SALES, EU = "urn:li:domain:sales", "urn:li:domain:eu"
NODE, TERM = "urn:li:glossaryNode:money", "urn:li:glossaryTerm:income"

CREATE = {
    kind: f"mutation c($input: {input_}!) {{made: create{kind}(input: $input)}}"
    for kind, input_ in {
        "Tag": "CreateTagInput",
        "Domain": "CreateDomainInput",
        "GlossaryTerm": "CreateGlossaryEntityInput",
        "GlossaryNode": "CreateGlossaryEntityInput",
    }.items()
}
DELETE = {
    kind: f"mutation d($urn: String!) {{gone: delete{kind}(urn: $urn)}}"
    for kind in ("Tag", "Domain", "GlossaryEntity", "OwnershipType", "DataProduct")
}
MOVE = "mutation m($input: MoveDomainInput!) {moveDomain(input: $input)}"


def write(*proposals):
    assert calling(ROOT).write(*proposals).status_code == 200


def said(urn, aspect):
    found = aspect_documents.load_aspect(urn=urn, name=aspect)
    return None if found is None else json.loads(found.document)


def platform(person, name, *privileges):
    """Somebody who holds platform privileges."""
    found = person(name)
    give(found.urn, *privileges, type="PLATFORM")
    return found


@pytest.mark.parametrize(
    ("kind", "privilege", "prefix"),
    [
        ("Tag", "CREATE_TAGS", "urn:li:tag:"),
        ("Tag", "MANAGE_TAGS", "urn:li:tag:"),
        ("Tag", "EDIT_ENTITY", "urn:li:tag:"),
        ("Domain", "CREATE_DOMAINS", "urn:li:domain:"),
        ("Domain", "MANAGE_DOMAINS", "urn:li:domain:"),
        ("GlossaryTerm", "MANAGE_GLOSSARIES", "urn:li:glossaryTerm:"),
        ("GlossaryNode", "MANAGE_GLOSSARIES", "urn:li:glossaryNode:"),
        ("GlossaryNode", "CREATE_ENTITY", "urn:li:glossaryNode:"),
    ],
)
def test_who_may_make_what(person, kind, privilege, prefix):
    is_platform = privilege not in ("EDIT_ENTITY", "CREATE_ENTITY")
    maker = platform(person, "maker", privilege) if is_platform else person("maker", privilege)
    given = {"id": "made", "name": "Made", "description": "Why"}
    assert person("other", "VIEW_ENTITY_PAGE").refused(CREATE[kind], input=given)[:2] == (403, "UNAUTHORIZED")
    assert maker.ask(CREATE[kind], input=given)["made"] == f"{prefix}made"
    code, type_, message = maker.refused(CREATE[kind], input=given)
    assert (code, type_) == (409, "ALREADY_EXISTS")
    assert "already exists" in message
    assert maker.ask(CREATE[kind], input={"name": "Second"})["made"].startswith(prefix)
    assert ChangeEvent.objects.filter(object_urn=f"{prefix}made", by=maker.urn, door="graphql").exists()


@pytest.mark.parametrize("privilege", ["CREATE_TAGS", "MANAGE_TAGS"])
def test_making_tags_is_not_managing_them(person, root, privilege):
    maker, tag = platform(person, "maker", privilege), "urn:li:tag:pii"
    root.ask(CREATE["Tag"], input={"id": "pii", "name": "PII"})
    color = 'mutation c($urn: String!) {setTagColor(urn: $urn, colorHex: "#00ff00")}'
    update = (
        "mutation u($urn: String!, $input: TagUpdateInput!) {updateTag(urn: $urn, input: $input) {name description}}"
    )
    given = {"urn": tag, "name": "Personal", "description": "d"}
    if privilege == "CREATE_TAGS":
        assert maker.refused(color, urn=tag)[0] == 403
        assert maker.refused(update, urn=tag, input=given)[0] == 403
        assert maker.refused(DELETE["Tag"], urn=tag)[0] == 403
        return
    assert maker.ask(color, urn=tag) == {"setTagColor": True}
    assert maker.ask(update, urn=tag, input=given)["updateTag"] == {"name": "Personal", "description": "d"}
    assert said(tag, "tagProperties") == {"name": "Personal", "colorHex": "#00ff00", "description": "d"}
    assert maker.ask(update, urn=tag, input={**given, "description": ""})["updateTag"]["name"] == "Personal"
    assert said(tag, "tagProperties") == {"name": "Personal", "colorHex": "#00ff00"}
    assert maker.refused(color.replace("#00ff00", "green"), urn=tag)[0] == 400
    for _ in range(2):
        assert maker.ask(DELETE["Tag"], urn=tag)["gone"] is True
    assert maker.refused(color, urn=tag)[0] == 404


def test_domains_move_and_stay_a_tree(root):
    for name, parent in (("sales", None), ("eu", SALES), ("de", EU)):
        root.ask(CREATE["Domain"], input={"id": name, "name": name.upper(), "parentDomain": parent})
    assert root.refused(MOVE, input={"resourceUrn": SALES, "parentDomain": "urn:li:domain:de"})[0] == 400
    assert root.refused(MOVE, input={"resourceUrn": SALES, "parentDomain": SALES})[0] == 400
    assert root.refused(MOVE, input={"resourceUrn": SALES, "parentDomain": "urn:li:domain:none"})[0] == 404
    assert root.refused(CREATE["Domain"], input={"name": "x", "parentDomain": "urn:li:domain:none"})[0] == 404
    code, _, message = root.refused(DELETE["Domain"], urn=SALES)
    assert code == 409
    assert "which has child domains" in message
    assert said(SALES, "domainProperties")["name"] == "SALES"
    assert root.ask(MOVE, input={"resourceUrn": EU, "parentDomain": None}) == {"moveDomain": True}
    assert "parentDomain" not in said(EU, "domainProperties")
    assert root.ask(DELETE["Domain"], urn=SALES)["gone"] is True
    listed = "query l($input: ListDomainsInput!) {listDomains(input: $input) {total domains {urn}}}"
    assert root.ask(listed, input={})["listDomains"] == {"total": 1, "domains": [{"urn": EU}]}
    below = root.ask(listed, input={"parentDomain": EU})["listDomains"]
    assert below["domains"] == [{"urn": "urn:li:domain:de"}]


def test_the_glossary(root):
    root.ask(CREATE["GlossaryNode"], input={"id": "money", "name": "Money"})
    root.ask(CREATE["GlossaryTerm"], input={"id": "income", "name": "Income", "description": "In", "parentNode": NODE})
    root.ask(CREATE["GlossaryTerm"], input={"id": "profit", "name": "Profit"})
    assert said(TERM, "glossaryTermInfo") == {
        "name": "Income",
        "definition": "In",
        "termSource": "INTERNAL",
        "parentNode": NODE,
    }
    found = root.ask("{getRootGlossaryTerms(input: {start: 0, count: 9}) {total terms {hierarchicalName}}}")
    assert found["getRootGlossaryTerms"] == {"total": 1, "terms": [{"hierarchicalName": "profit"}]}
    move = "mutation m($input: UpdateParentNodeInput!) {updateParentNode(input: $input)}"
    assert root.refused(move, input={"resourceUrn": NODE, "parentNode": NODE})[0] == 400
    assert root.ask(move, input={"resourceUrn": TERM, "parentNode": None}) == {"updateParentNode": True}
    name = "mutation n($input: UpdateNameInput!) {updateName(input: $input)}"
    text = "mutation t($input: DescriptionUpdateInput!) {updateDescription(input: $input)}"
    assert root.ask(name, input={"urn": TERM, "name": "Earnings"}) == {"updateName": True}
    assert root.ask(text, input={"resourceUrn": TERM, "description": ""}) == {"updateDescription": True}
    assert said(TERM, "glossaryTermInfo") == {"name": "Earnings", "definition": "", "termSource": "INTERNAL"}
    relate = "mutation r($input: RelatedTermsInput!) {%sRelatedTerms(input: $input)}"
    given = {"urn": TERM, "termUrns": ["urn:li:glossaryTerm:profit"], "relationshipType": "hasA"}
    for _ in range(2):
        root.ask(relate % "add", input=given)
    assert said(TERM, "glossaryRelatedTerms") == {"hasRelatedTerms": ["urn:li:glossaryTerm:profit"]}
    root.ask(relate % "remove", input=given)
    assert said(TERM, "glossaryRelatedTerms") == {"hasRelatedTerms": []}
    assert root.ask(DELETE["GlossaryEntity"], urn=NODE)["gone"] is True


def test_ownership_types(root, person):
    keeper = platform(person, "keeper", "MANAGE_GLOBAL_OWNERSHIP_TYPES")
    make = "mutation c($input: CreateOwnershipTypeInput!) {createOwnershipType(input: $input) {urn info {name}}}"
    made = keeper.ask(make, input={"name": "Auditor", "description": "Looks"})["createOwnershipType"]
    assert made["info"] == {"name": "Auditor"}
    system = "urn:li:ownershipType:__system__technical_owner"
    assert keeper.refused(DELETE["OwnershipType"], urn=system)[0] == 409
    assert person("other").refused(DELETE["OwnershipType"], urn=made["urn"])[0] == 403
    write(proposal(DATASET, "ownership", {"owners": [{"owner": ROOT, "typeUrn": made["urn"]}]}))
    listed = "{listOwnershipTypes(input: {count: 100}) {total ownershipTypes {urn info {created {actor}}}}}"
    assert made["urn"] in [one["urn"] for one in keeper.ask(listed)["listOwnershipTypes"]["ownershipTypes"]]
    gone = "mutation d($urn: String!) {deleteOwnershipType(urn: $urn, deleteReferences: true)}"
    assert keeper.ask(gone, urn=made["urn"]) == {"deleteOwnershipType": True}
    assert not entity_lists.list_stored_urns(urns=[made["urn"]])


def test_a_data_product_is_made_by_who_manages_its_domain(root, person):
    root.ask(CREATE["Domain"], input={"id": "sales", "name": "Sales"})
    make = """mutation c($input: CreateDataProductInput!) {createDataProduct(input: $input) {
        urn properties {name numAssets} domain {domain {urn}}}}"""
    given = {"id": "orders", "properties": {"name": "Orders"}, "domainUrn": SALES}
    on_sales = {"resources": {"filter": {"criteria": [{"field": "URN", "values": [SALES]}]}}}
    manager = person("manager", "MANAGE_DATA_PRODUCTS", **on_sales)
    assert person("other", "CREATE_ENTITY").refused(make, input=given)[0] == 403
    assert manager.ask(make, input=given)["createDataProduct"] == {
        "urn": "urn:li:dataProduct:orders",
        "properties": {"name": "Orders", "numAssets": 0},
        "domain": {"domain": {"urn": SALES}},
    }
    assert manager.refused(make, input=given)[0] == 409
    assert manager.refused(make, input={**given, "id": "x", "domainUrn": EU})[0] == 403
    assert root.refused(make, input={**given, "id": "x", "domainUrn": EU})[0] == 404
    assert not entity_lists.list_stored_urns(urns=["urn:li:dataProduct:x"])
    assert manager.ask(DELETE["DataProduct"], urn="urn:li:dataProduct:orders")["gone"] is True


@pytest.fixture
def dataset(root):
    write(
        proposal(DATASET, "datasetProperties", {"name": "Orders"}),
        proposal(SALES, "domainProperties", {"name": "Sales"}),
        proposal(EU, "domainProperties", {"name": "EU"}),
    )
    return root


def test_tags_and_terms_come_and_go_beside_the_others(dataset, person):
    steward = person("steward", "EDIT_ENTITY_TAGS", "EDIT_ENTITY_GLOSSARY_TERMS")
    write(proposal(DATASET, "globalTags", {"tags": [{"tag": "urn:li:tag:kept", "context": "by hand"}]}))
    add = "mutation a($input: AddTagsInput!) {addTags(input: $input)}"
    given = {"tagUrns": ["urn:li:tag:a", "urn:li:tag:b"], "resourceUrn": DATASET}
    for _ in range(2):
        assert steward.ask(add, input=given) == {"addTags": True}
    steward.ask(
        "mutation r($input: BatchRemoveTagsInput!) {batchRemoveTags(input: $input)}",
        input={"tagUrns": ["urn:li:tag:a"], "resources": [{"resourceUrn": DATASET}]},
    )
    assert said(DATASET, "globalTags") == {
        "tags": [{"tag": "urn:li:tag:kept", "context": "by hand"}, {"tag": "urn:li:tag:b"}]
    }
    steward.ask(
        "mutation t($input: TermAssociationInput!) {addTerm(input: $input)}",
        input={"termUrn": TERM, "resourceUrn": DATASET},
    )
    assert [one["urn"] for one in said(DATASET, "glossaryTerms")["terms"]] == [TERM]
    assert person("reader", "VIEW_ENTITY_PAGE").refused(add, input=given)[0] == 403


def test_a_batch_is_all_or_nothing(dataset, person):
    other = "urn:li:dataset:(urn:li:dataPlatform:hive,other,PROD)"
    write(proposal(other, "datasetProperties", {"name": "Other"}))
    on_one = {"resources": {"filter": {"criteria": [{"field": "URN", "values": [DATASET]}]}}}
    steward = person("steward", "EDIT_ENTITY_TAGS", **on_one)
    add = "mutation a($input: BatchAddTagsInput!) {batchAddTags(input: $input)}"
    given = {"tagUrns": ["urn:li:tag:a"], "resources": [{"resourceUrn": DATASET}, {"resourceUrn": other}]}
    assert steward.refused(add, input=given)[0] == 403
    assert said(DATASET, "globalTags") is None
    many = [{"resourceUrn": DATASET}] * 101
    assert steward.refused(add, input={**given, "resources": many})[0] == 400
    tags = [f"urn:li:tag:{number}" for number in range(21)]
    assert steward.refused(add, input={"tagUrns": tags, "resources": many[:100]})[0] == 400
    column = [{"resourceUrn": DATASET, "subResourceType": "DATASET_FIELD", "subResource": "id"}]
    assert steward.refused(add, input={**given, "resources": column})[0] == 400
    assert dataset.refused(add, input={**given, "resources": [{"resourceUrn": "urn:li:tag:none"}]})[0] == 404


def test_owners(dataset, person):
    ada = users.create(username="ada", by=authorizer.SYSTEM, channel=DOOR).urn
    steward, technical = "urn:li:ownershipType:__system__data_steward", "urn:li:ownershipType:__system__technical_owner"
    add = "mutation a($input: BatchAddOwnersInput!) {batchAddOwners(input: $input)}"
    owner = {"ownerUrn": ada, "ownerEntityType": "CORP_USER"}
    given = {
        "owners": [{**owner, "ownershipTypeUrn": steward}, {**owner, "type": "TECHNICAL_OWNER"}],
        "resources": [{"resourceUrn": DATASET}],
    }
    editor = person("editor", "EDIT_ENTITY_OWNERS")
    assert editor.ask(add, input=given) == {"batchAddOwners": True}
    owners = [(one["owner"], one["typeUrn"]) for one in said(DATASET, "ownership")["owners"]]
    assert owners == [(ada, steward), (ada, technical)]
    nobody = {**given, "owners": [{**owner, "ownerUrn": "urn:li:corpuser:nobody"}]}
    assert editor.refused(add, input=nobody)[:2] == (404, "NOT_FOUND")
    untyped = {**given, "owners": [{**owner, "ownershipTypeUrn": "urn:li:ownershipType:none"}]}
    assert editor.refused(add, input=untyped)[:2] == (404, "NOT_FOUND")
    remove = "mutation r($input: RemoveOwnerInput!) {removeOwner(input: $input)}"
    several = "mutation r($input: BatchRemoveOwnersInput!) {batchRemoveOwners(input: $input)}"
    assert editor.ask(several, input={"ownerUrns": [], "resources": [{"resourceUrn": DATASET}]}) == {
        "batchRemoveOwners": True
    }
    editor.ask(remove, input={"ownerUrn": ada, "ownershipTypeUrn": steward, "resourceUrn": DATASET})
    assert [one["typeUrn"] for one in said(DATASET, "ownership")["owners"]] == [technical]
    editor.ask(remove, input={"ownerUrn": ada, "resourceUrn": DATASET})
    assert said(DATASET, "ownership")["owners"] == []


def test_domains_links_and_the_end_of_an_entity(dataset):
    set_ = "mutation s($urn: String!, $domain: String!) {setDomain(entityUrn: $urn, domainUrn: $domain)}"
    dataset.ask(set_, urn=DATASET, domain=SALES)
    dataset.ask(set_, urn=DATASET, domain=EU)
    assert said(DATASET, "domains") == {"domains": [EU]}
    assert dataset.refused(set_, urn=DATASET, domain="urn:li:domain:none")[0] == 404
    dataset.ask("mutation u($urn: String!) {unsetDomain(entityUrn: $urn)}", urn=DATASET)
    assert said(DATASET, "domains") == {"domains": []}
    link = {"linkUrl": "https://w.example", "label": "Wiki", "resourceUrn": DATASET}
    dataset.ask("mutation a($input: AddLinkInput!) {addLink(input: $input)}", input=link)
    change = {**link, "currentUrl": "https://w.example", "currentLabel": "Wiki", "label": "Page"}
    dataset.ask("mutation u($input: UpdateLinkInput!) {updateLink(input: $input)}", input=change)
    assert [one["description"] for one in said(DATASET, "institutionalMemory")["elements"]] == ["Page"]
    remove = "mutation r($input: RemoveLinkInput!) {removeLink(input: $input)}"
    given = {"linkUrl": "https://w.example", "resourceUrn": DATASET}
    assert dataset.ask(remove, input=given) == {"removeLink": True}
    assert dataset.refused(remove, input=given)[0] == 404
    end = "mutation e($input: UpdateDeprecationInput!) {updateDeprecation(input: $input)}"
    dataset.ask(end, input={"urn": DATASET, "deprecated": True, "decommissionTime": 86400000, "note": "Old"})
    assert said(DATASET, "deprecation")["decommissionTime"] == 86400000
    assert dataset.refused(end, input={"urn": DATASET, "deprecated": True, "decommissionTime": -1})[0] == 400
    removed = "mutation d($input: BatchUpdateSoftDeletedInput!) {batchUpdateSoftDeleted(input: $input)}"
    dataset.ask(removed, input={"urns": [DATASET], "deleted": True})
    assert said(DATASET, "status") == {"removed": True}
    text = "mutation t($input: DescriptionUpdateInput!) {updateDescription(input: $input)}"
    dataset.ask(text, input={"resourceUrn": DATASET, "description": "All orders"})
    assert said(DATASET, "editableDatasetProperties")["description"] == "All orders"


SEARCH = """query s($input: SearchAcrossEntitiesInput!) {searchAcrossEntities(input: $input) {start count total
    searchResults {entity {urn}} facets {field displayName aggregations {value count entity {urn}}}}}"""


def test_a_search_across_types(dataset):
    write(proposal(DATASET, "domains", {"domains": [SALES]}), proposal(DATASET, "globalTags", {"tags": []}))
    found = dataset.ask(SEARCH, input={"types": ["DATASET", "DOMAIN", "CORP_USER"], "query": "*", "count": 2})
    found = found["searchAcrossEntities"]
    assert (found["start"], found["count"], found["total"]) == (0, 2, 4)
    rest = dataset.ask(SEARCH, input={"types": ["DATASET", "DOMAIN", "CORP_USER"], "query": "*", "start": 2})
    urns = [one["entity"]["urn"] for page in (found, rest["searchAcrossEntities"]) for one in page["searchResults"]]
    assert sorted(urns) == sorted({ROOT, DATASET, SALES, EU})
    types, *others = found["facets"]
    assert {one["value"]: one["count"] for one in types["aggregations"]} == {"CORP_USER": 1, "DATASET": 1, "DOMAIN": 2}
    by_field = {one["field"]: one["aggregations"] for one in others}
    assert by_field["platform"] == [
        {
            "value": "urn:li:dataPlatform:snowflake",
            "count": 1,
            "entity": {"urn": "urn:li:dataPlatform:snowflake"},
        }
    ]
    assert {one["value"]: one["count"] for one in by_field["domains"]}[SALES] == 2
    assert dataset.refused(SEARCH, input={"query": "*", "viewUrn": "urn:li:dataHubView:mine"})[0] == 400
    assert dataset.refused(SEARCH, input={"query": "*", "searchFlags": {"maxAggValues": 101}})[0] == 400
    assert dataset.refused(SEARCH, input={"query": "*", "count": 10_001})[0] == 400


def test_what_is_in_domains_and_products(dataset, django_assert_max_num_queries):
    product = "urn:li:dataProduct:orders"
    write(
        proposal(DATASET, "domains", {"domains": [SALES]}),
        proposal(product, "dataProductProperties", {"name": "Orders", "assets": [{"destinationUrn": DATASET}]}),
        proposal(product, "domains", {"domains": [SALES]}),
    )
    found = dataset.ask(
        """query q($d: String!, $p: String!) {
          domain(urn: $d) {
            entities(input: {start: 0, count: 5}) {total searchResults {entity {urn}}}
            products: entities(input: {count: 0, filters: [{field: "_entityType", value: "DATA_PRODUCT"}]}) {total}}
          dataProduct(urn: $p) {entities(input: {query: "*", count: 5}) {total searchResults {entity {urn}}}}}""",
        d=SALES,
        p=product,
    )
    urns = sorted(one["entity"]["urn"] for one in found["domain"]["entities"]["searchResults"])
    assert (urns, found["domain"]["entities"]["total"]) == (sorted([product, DATASET]), 2)
    assert found["domain"]["products"] == {"total": 1}
    assert found["dataProduct"]["entities"] == {"total": 1, "searchResults": [{"entity": {"urn": DATASET}}]}
    listed = """query l($count: Int) {listDomains(input: {count: $count}) {
        domains {entities(input: {start: 0, count: 0}) {total}}}}"""
    with django_assert_max_num_queries(60) as short:
        assert len(dataset.ask(listed, count=1)["listDomains"]["domains"]) == 1
    with django_assert_max_num_queries(len(short)):
        totals = [one["entities"]["total"] for one in dataset.ask(listed, count=2)["listDomains"]["domains"]]
    assert sorted(totals) == [0, 2]
    counted = dataset.ask("{getEntityCounts(input: {types: [DATASET, CORP_USER]}) {counts {entityType count}}}")
    assert counted["getEntityCounts"]["counts"] == [
        {"entityType": "DATASET", "count": 1},
        {"entityType": "CORP_USER", "count": 1},
    ]


def test_a_search_counts_nothing_that_is_not_viewed(dataset, person, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    close_the_reading_policies()
    write(proposal(DATASET, "domains", {"domains": [SALES]}))
    on_one = {"resources": {"filter": {"criteria": [{"field": "URN", "values": [DATASET]}]}}}
    reader = person("reader", "VIEW_ENTITY_PAGE", **on_one)
    found = reader.ask(SEARCH, input={"types": ["DATASET", "DOMAIN"], "query": "*"})["searchAcrossEntities"]
    assert (found["total"], [one["entity"]["urn"] for one in found["searchResults"]]) == (1, [DATASET])
    assert SALES not in json.dumps(found)
