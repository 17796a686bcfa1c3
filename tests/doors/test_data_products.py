"""Data products as `datahub dataproduct` writes them, in its order: properties, domains, tags, owners, status."""

import json

import pytest
from rest_framework.test import APIClient

from catalog.models import Entity
from policies.identity.services import users
from policies.pdp.authorizer import SYSTEM
from tests.doors.conftest import DATASET, DOOR, calling, give, proposal, token_of, written

pytestmark = pytest.mark.django_db

PRODUCT, SALES, HR = "urn:li:dataProduct:pets", "urn:li:domain:sales", "urn:li:domain:hr"
STAMP = {"time": 1763820000000, "actor": "urn:li:corpuser:datahub", "message": "yaml"}
ASSET = {"destinationUrn": DATASET, "created": STAMP, "outputPort": False}
PROPERTIES = {"customProperties": {"level": "gold"}, "name": "Pets", "description": "Dogs", "assets": [ASSET]}

#: `datahub dataproduct upsert` of a product that is not there: its `update`.
MADE = [
    proposal(PRODUCT, "dataProductProperties", PROPERTIES),
    proposal(PRODUCT, "domains", {"domains": [SALES]}),
    proposal(PRODUCT, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]}),
    proposal(PRODUCT, "ownership", {"owners": [{"owner": "urn:li:corpuser:jo", "type": "BUSINESS_OWNER"}]}),
    proposal(PRODUCT, "status", {"removed": False}),
]
#: Of one that is there, its properties are patched.
PATCH = [
    {"op": "add", "path": "/description", "value": "Dogs and cats"},
    {"op": "add", "path": "/name", "value": "Animals"},
    {"op": "add", "path": "/assets", "value": [ASSET]},
    {"op": "add", "path": "/customProperties", "value": {"level": "gold"}},
]
UPSERTED = [
    proposal(PRODUCT, "dataProductProperties", PATCH, changeType="PATCH", headers={}),
    *MADE[1:],
]


def on(*urns):
    return {"resources": {"filter": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": list(urns)}]}}}


def somebody(name, *given):
    made = users.create(username=name, by=SYSTEM, channel=DOOR)
    for privileges, urns in given:
        give(made.urn, *privileges, displayName=f"{name} {privileges} {urns}", **on(*urns))
    return calling(made.urn)


def stored():
    documents = Entity.objects.get(urn=PRODUCT).aspects.filter(version=0)
    return {one.name: json.loads(one.document) for one in documents}


def test_upsert_makes_a_product_and_changes_it(root):
    for one in MADE:
        assert root.write(one).status_code == 200, root.write(one).content
    assert stored()["dataProductProperties"] == PROPERTIES
    for one in UPSERTED:
        assert root.write(one).status_code == 200, root.write(one).content
    assert stored()["dataProductProperties"]["name"] == "Animals"
    assert stored()["domains"] == {"domains": [SALES]}


def test_a_narrow_writer_needs_the_product_and_its_assets(root):
    narrow = somebody("narrow", (["EDIT_ENTITY"], [PRODUCT]))
    refused = narrow.write(MADE[0])
    assert refused.status_code == 403
    assert "EDIT_ENTITY_DATA_PRODUCTS" in refused.content.decode()
    assert written() == []
    give(narrow.urn, "EDIT_ENTITY_DATA_PRODUCTS", displayName="assets", **on(DATASET))
    for one in [*MADE, *UPSERTED]:
        assert narrow.write(one).status_code == 200


def test_a_refusal_names_what_would_help(root):
    reader = somebody("reader")
    answer = reader.write(proposal(PRODUCT, "dataProductProperties", {"name": "Pets"}))
    assert answer.status_code == 403
    assert "CREATE_ENTITY" in answer.content.decode()
    assert "MANAGE_DATA_PRODUCTS" not in answer.content.decode()


def api(urn):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {token_of(urn)}")
    return client


def draft(*domains):
    aspects = {"domains": {"domains": list(domains)}} if domains else {}
    return [{"type": "dataProduct", "urn": PRODUCT, "aspects": aspects}]


def test_our_api_makes_products_in_domains_that_the_caller_manages(root):
    root.write(proposal(SALES, "domainProperties", {"name": "Sales"}))
    editor = somebody("editor", (["EDIT_ENTITY", "CREATE_ENTITY"], [PRODUCT]))
    refused = api(editor.urn).post("/api/v1/entities/", draft(SALES), format="json")
    assert (refused.status_code, refused.json()["missing"]) == (
        403,
        [{"entity": SALES, "privilege": "MANAGE_DATA_PRODUCTS"}],
    )
    manager = api(somebody("manager", (["MANAGE_DATA_PRODUCTS"], [SALES, HR])).urn)
    nowhere = manager.post("/api/v1/entities/", draft(), format="json")
    assert (nowhere.status_code, nowhere.json()["errors"][0]["pointer"]) == (400, "/0/aspects/domains")
    unknown = manager.post("/api/v1/entities/", draft(SALES, HR), format="json")
    assert (unknown.status_code, unknown.json()["errors"][0]["code"]) == (400, "entity.unknown")
    assert written() == [SALES]
    assert manager.post("/api/v1/entities/", draft(SALES), format="json").status_code == 201
    assert written() == [PRODUCT, SALES]
