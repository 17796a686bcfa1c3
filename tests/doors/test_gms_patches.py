"""Patches through DataHub's REST door: patched, checked and guarded like any write (clients.md 1.8)."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.identity.services import users as user_services
from policies.pdp import actor_resolution, authorizer
from tests.doors.conftest import DATASET, DOOR, proposal, written
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db

JO = {"owner": "urn:li:corpuser:jo", "type": "DATAOWNER"}
AL = {"owner": "urn:li:corpuser:al", "type": "DATAOWNER"}
ADD_JO = [{"op": "add", "path": "/owners/urn:li:corpuser:jo/DATAOWNER", "value": JO}]


def patch(urn, aspect, value):
    one = proposal(urn, aspect, value, changeType="PATCH")
    one["aspect"]["contentType"] = "application/json-patch+json"
    return one


def stored(caller, urn, aspect):
    return caller.entity(urn).json()["aspects"][aspect]["value"]


def test_a_patch_changes_what_is_stored(root):
    root.write(proposal(DATASET, "ownership", {"owners": [AL], "ownerTypes": {"x": 1}}))
    assert root.write(patch(DATASET, "ownership", ADD_JO)).json() == {"value": DATASET}
    assert stored(root, DATASET, "ownership") == {"owners": [AL, JO], "ownerTypes": {"x": 1}}
    assert root.aspect(DATASET, "ownership", 1).json()["aspect"]["com.linkedin.common.Ownership"]["owners"] == [AL]


def test_a_patch_that_changes_nothing_makes_no_version(root):
    root.write(proposal(DATASET, "ownership", '{"owners": [ ],  "ownerTypes": 1.50}'))
    remove = [{"op": "remove", "path": "/owners/urn:li:corpuser:jo"}]
    for _ in range(2):
        assert root.write(patch(DATASET, "ownership", remove)).status_code == 200
    assert '{"owners": [ ],  "ownerTypes": 1.50}' in root.entity(DATASET).content.decode()
    assert root.aspect(DATASET, "ownership", 1).status_code == 404


def test_a_patch_of_nothing_begins_with_an_empty_aspect(root):
    root.write(patch(DATASET, "ownership", ADD_JO))
    found = stored(root, DATASET, "ownership")
    assert found["owners"] == [JO]
    assert found["lastModified"]["actor"] == root.urn


def test_a_batch_is_applied_in_its_order(root):
    term = {"op": "add", "path": "/terms/urn:li:glossaryTerm:x", "value": {"urn": "urn:li:glossaryTerm:x"}}
    tags = [{"op": "add", "path": f"/tags/urn:li:tag:{n}", "value": {"tag": f"urn:li:tag:{n}"}} for n in "ab"]
    answer = root.write(
        patch(DATASET, "globalTags", tags[:1]),
        patch(DATASET, "glossaryTerms", [term]),
        patch(DATASET, "globalTags", tags[1:]),
        proposal(DATASET, "ownership", {"owners": []}),
        patch(DATASET, "ownership", ADD_JO),
    )
    assert answer.status_code == 200, answer.content
    assert [entry["tag"] for entry in stored(root, DATASET, "globalTags")["tags"]] == ["urn:li:tag:a", "urn:li:tag:b"]
    assert stored(root, DATASET, "ownership") == {"owners": [JO]}


def test_a_patch_after_a_delete_begins_anew(root):
    root.write(proposal(DATASET, "madeUp", {"a": 1}))
    gone = proposal(DATASET, "madeUp", None, changeType="DELETE")
    root.write(gone, patch(DATASET, "madeUp", [{"op": "add", "path": "/b", "value": 2}]))
    assert stored(root, DATASET, "madeUp") == {"b": 2}


def test_what_a_patch_makes_is_checked_and_nothing_is_written(root):
    root.write(proposal(DATASET, "ownership", {"owners": [AL]}))
    bad = [{"op": "add", "path": "/owners/x/y", "value": {"owner": "no urn"}}]
    answer = root.write(proposal(DATASET, "madeUp", {}), patch(DATASET, "ownership", bad))
    assert answer.status_code == 400
    assert "/proposals/1/aspect/value: With this patch, /owners/1/owner:" in answer.json()["message"]
    assert root.aspect(DATASET, "madeUp").status_code == 404


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({}, "/proposal/aspect/value"),
        ([{"op": "copy", "from": "/a", "path": "/b"}], "/proposal/aspect/value/patch/0/op"),
        ([{"op": "replace", "path": "/b", "value": 1}], "/proposal/aspect/value: Operation 0"),
        ("[" * 100_000, "/proposal/aspect/value"),
        ([{"op": "add", "path": "/a", "value": "\ud800"}], "/proposal/aspect/value"),
        ([{"op": "add", "path": "/\u0000", "value": 1}], "/proposal/aspect/value"),
    ],
)
def test_a_patch_that_is_none(root, value, place):
    answer = root.write(patch(DATASET, "madeUp", value))
    assert answer.status_code == 400, answer.content
    assert place in answer.json()["message"]
    assert written() == []


def test_patches_may_not_grow_a_document_without_end(root, monkeypatch):
    monkeypatch.setattr("catalog.ingest.patching.MAX_DOCUMENT_BYTES", 100)
    long = [{"op": "add", "path": f"/{n}", "value": "x" * 40} for n in range(3)]
    assert root.write(patch(DATASET, "madeUp", long[:1])).status_code == 200
    answer = root.write(patch(DATASET, "madeUp", long[1:]))
    assert answer.status_code == 400
    assert "longer than 100 bytes" in answer.json()["message"]


def test_patches_of_people_policies_and_memberships(root):
    jo = user_services.create(username="jo", display_name="Jo", by=authorizer.SYSTEM, channel=DOOR)
    title = [{"op": "add", "path": "/title", "value": "Steward"}]
    join = {
        "arrayPrimaryKeys": {"groups": []},
        "patch": [{"op": "add", "path": "/groups/urn:li:corpGroup:crew", "value": {}}],
    }
    policy = "urn:li:dataHubPolicy:7"
    was = stored(root, policy, "dataHubPolicyInfo")
    answer = root.write(
        patch(jo.urn, "corpUserInfo", title),
        patch(jo.urn, "groupMembership", join),
        patch(policy, "dataHubPolicyInfo", [{"op": "replace", "path": "/description", "value": "Patched"}]),
    )
    assert answer.status_code == 200, answer.content
    assert "Policy-Version" in answer.headers
    assert stored(root, jo.urn, "corpUserInfo") | {"active": True} == {
        "active": True,
        "displayName": "Jo",
        "title": "Steward",
    }
    assert actor_resolution.load_actor(urn=jo.urn).groups == {"urn:li:corpGroup:crew"}
    now = stored(root, policy, "dataHubPolicyInfo")
    assert now["description"] == "Patched"
    assert {key: now[key] for key in ("privileges", "actors")} == {key: was[key] for key in ("privileges", "actors")}


def test_a_patch_needs_what_the_write_would_need(root, person):
    root.write(proposal(DATASET, "globalTags", {"tags": [{"tag": "urn:li:tag:a"}]}))
    add = [{"op": "add", "path": "/tags/urn:li:tag:b", "value": {"tag": "urn:li:tag:b"}}]
    assert person("jo").write(patch(DATASET, "globalTags", add)).status_code == 403
    assert person("tagger", "EDIT_ENTITY_TAGS").write(patch(DATASET, "globalTags", add)).status_code == 200
    limits = {
        "allResources": True,
        "privilegeConstraints": {"criteria": [{"field": "URN", "values": ["urn:li:tag:c"]}]},
    }
    careful = person("careful", "EDIT_ENTITY_TAGS", resources=limits)
    remove = [{"op": "remove", "path": "/tags/urn:li:tag:a"}]
    assert careful.write(patch(DATASET, "globalTags", remove)).status_code == 403
    other = [{"op": "add", "path": "/tags/urn:li:tag:c", "value": {"tag": "urn:li:tag:c"}}]
    assert careful.write(patch(DATASET, "globalTags", other)).status_code == 200
    assert [one["tag"][-1] for one in stored(root, DATASET, "globalTags")["tags"]] == ["a", "b", "c"]


def test_a_refused_patch_tells_nothing_of_what_may_not_be_read(root, person):
    root.write(proposal(DATASET, "madeUp", {"a": 1}))
    close_the_reading_policies(root)
    stranger = person("stranger")
    for path in ("/a", "/b"):
        answer = stranger.write(patch(DATASET, "madeUp", [{"op": "replace", "path": path, "value": 2}]))
        assert answer.status_code == 403, path


def test_patches_cost_the_same_number_of_queries_whatever_their_number(root):
    def cost(start, count):
        urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{n},PROD)" for n in range(start, start + count)]
        users = [f"urn:li:corpuser:u{n}" for n in range(start, start + count)]
        batch = [patch(urn, "ownership", ADD_JO) for urn in urns]
        batch += [patch(urn, "corpUserInfo", [{"op": "add", "path": "/active", "value": True}]) for urn in users]
        with CaptureQueriesContext(connection) as captured:
            answer = root.write(*batch)
            assert answer.status_code == 200, answer.content
        return len(captured)

    cost(0, 2)
    assert cost(10, 30) == cost(100, 3)


def test_json_of_every_kind_is_patched(root):
    document = {"big": 10**400, "small": 1e-7, "text": "é😀", "nothing": None, "deep": [[{"a": [True]}]]}
    root.write(proposal(DATASET, "madeUp", json.dumps(document)))
    root.write(patch(DATASET, "madeUp", [{"op": "add", "path": "/new", "value": [1]}]))
    assert stored(root, DATASET, "madeUp") == document | {"new": [1]}
