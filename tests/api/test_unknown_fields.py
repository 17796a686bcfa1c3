"""What gives something to people over our own API has no field that nobody evaluates (ADR 19)."""

import pytest

from tests.api.conftest import pointers_of

pytestmark = pytest.mark.django_db

WRITES: dict[str, dict[str, object]] = {
    "groups/urn%3Ali%3AcorpGroup%3Ax/members/": {"members": []},
    "roles/urn%3Ali%3AdataHubRole%3Ax/actors/": {"actors": []},
    "roles/assign/": {"role": None, "actors": []},
    "grants/": {"principal": "urn:li:corpuser:jo", "entity": "urn:li:namespace:x", "privileges": ["READ"]},
    "external-roles/": {"name": "x", "type": "READ"},
    "users/": {"username": "zoe"},
    "groups/": {"name": "Zoo"},
    "roles/": {"name": "Zoo"},
    "tokens/": {"name": "x", "duration": "ONE_HOUR"},
    "policies/": {"family": "datazone", "document": {"name": "x", "statements": [], "roles": []}},
}


@pytest.mark.parametrize("path", WRITES)
def test_a_field_that_nobody_evaluates_is_refused(manager, path):
    body = WRITES[path] | {"validTo": 1}
    assert ("field.unknown", "/validTo") in pointers_of(manager.post(f"/api/v1/{path}", body))


def test_so_is_one_in_a_datazone_document(manager):
    document = {"name": "x", "statements": [], "roles": [], "validTo": 1}
    answer = manager.post("/api/v1/policies/", {"family": "datazone", "document": document})
    assert ("field.unknown", "/validTo") in pointers_of(answer)
