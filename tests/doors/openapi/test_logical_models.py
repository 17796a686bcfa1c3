"""The relationship of logical models: a dataset and its columns are linked at once (source 000, logical parents)."""

import json
from urllib.parse import quote

import pytest

from catalog.access import aspect_documents
from catalog.models import Facet
from tests.doors.conftest import DATASET, ROOT, calling, make_person, proposal
from tests.doors.test_data_products import on

pytestmark = pytest.mark.django_db

LOGICAL = "urn:li:dataset:(urn:li:dataPlatform:logical,orders,PROD)"
CHILD = f"/openapi/v3/logical/{quote(DATASET, safe='')}/relationship/physicalInstanceOf"
PATH = f"{CHILD}/{quote(LOGICAL, safe='')}"
COLUMNS = {"id": "order_id", "total": "sum"}


def links():
    rows = Facet.objects.filter(field="LOGICAL_PARENT").order_by("entity__urn")
    return dict(rows.values_list("entity__urn", "value"))


def column(dataset, name):
    return f"urn:li:schemaField:({dataset},{name})"


LINKED = {
    DATASET: LOGICAL,
    column(DATASET, "order_id"): column(LOGICAL, "id"),
    column(DATASET, "sum"): column(LOGICAL, "total"),
}


@pytest.fixture
def stored(installed):
    root = calling(ROOT)
    assert root.write(proposal(DATASET, "status", {}), proposal(LOGICAL, "status", {})).status_code == 200
    return root


def test_a_dataset_and_its_columns_are_linked_and_the_links_taken_away(stored):
    answer = stored.post(PATH, COLUMNS)
    assert answer.status_code == 200, answer.content
    assert {one["urn"]: one["logicalParent"]["value"]["parent"]["destinationUrn"] for one in answer.json()} == LINKED
    assert links() == LINKED
    assert stored.client.delete(CHILD).status_code == 200
    assert links() == {}
    assert json.loads(aspect_documents.load_texts(keys={(DATASET, "logicalParent")})[DATASET, "logicalParent"]) == {}
    assert stored.post(PATH, {}).status_code == 200
    assert links() == {DATASET: LOGICAL}


def test_both_sides_are_needed_to_link_and_the_child_to_unlink(stored):
    child, parent = (
        make_person("child", "EDIT_ENTITY", **on(DATASET)),
        make_person("parent", "EDIT_ENTITY", **on(LOGICAL)),
    )
    both = make_person("both", "EDIT_ENTITY", **on(DATASET, LOGICAL))
    for one in (child, parent):
        answer = one.post(PATH, COLUMNS)
        assert answer.status_code == 403
        assert {item["privilege"] for item in answer.json()["missing"]} == {"EDIT_ENTITY"}
    assert links() == {}
    assert both.post(PATH, COLUMNS).status_code == 200
    assert parent.client.delete(CHILD).status_code == 403
    assert child.client.delete(CHILD).status_code == 200
    assert links() == {}


def test_bad_calls_are_400(stored):
    assert stored.post(PATH, {"id": 5}).status_code == 400
    assert stored.post(PATH, {"(": "a"}).status_code == 400
    assert stored.post(PATH, []).status_code == 400
    assert stored.post(f"{CHILD}/urn:li:tag:a", {}).status_code == 400
    assert stored.client.delete(CHILD.replace("dataset", "tag")).status_code == 400
    assert links() == {}
