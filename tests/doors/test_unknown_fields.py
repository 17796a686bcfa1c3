"""Policies with fields that are unknown here: refused by our own API, stored out of force by DataHub's doors.

Whatever a field of a later release of DataHub says, it may narrow the policy; so nothing that holds one grants.
"""

import copy
import json
from urllib.parse import quote

import pytest

from catalog.models import Report
from catalog.reports.kinds.policy_hygiene import spec as policy_hygiene_spec
from catalog.reports.storage import parse_address
from policies.authoring.services import role_with_policies
from policies.models import Policy, PolicyEvent
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, proposal
from tests.doors.graphql.test_policies import UPDATE

pytestmark = pytest.mark.django_db

JO = "urn:li:corpuser:jo"
POLICY = "urn:li:dataHubPolicy:p"
INFO = "dataHubPolicyInfo"
API = f"/api/v1/policies/{quote(POLICY, safe='')}/"

#: A place in the document below, a field there that DataHub's published schema does not have, and its value.
PLACES = {
    "/priority": "DENY",
    "/notAfter": 1,
    "/a~1b": None,
    "/actors/exceptUsers": [JO],
    "/resources/exceptions": {"criteria": []},
    "/resources/filter/operator": "NONE",
    "/resources/filter/criteria/0/negated": True,
    "/resources/filter/criteria/0/structuredPropertyValues": [{"propertyUrn": "urn:li:structuredProperty:x"}],
    "/resources/privilegeConstraints/criteria/0/negated": True,
}


def document(**more):
    criterion = {"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"}
    return {
        "displayName": "Tags",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "resources": {"filter": {"criteria": [criterion]}, "privilegeConstraints": {"criteria": [{**criterion}]}},
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": {"users": [JO]},
    } | more


def holding(pointer):
    """Return the document with the field that the pointer names."""
    made = copy.deepcopy(document())
    *steps, name = pointer[1:].split("/")
    place = made
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[name.replace("~1", "/")] = PLACES[pointer]
    return made


def ingest(caller, info):
    return caller.write(proposal(POLICY, INFO, info))


def ingest_many(caller, info):
    return caller.write(proposal("urn:li:tag:t", "tagProperties", {"name": "T"}), proposal(POLICY, INFO, info))


def ingest_snapshot(caller, info):
    aspects = [{"com.linkedin.policy.DataHubPolicyInfo": info}]
    holder = {"com.linkedin.metadata.snapshot.DataHubPolicySnapshot": {"urn": POLICY, "aspects": aspects}}
    return caller.post("/entities?action=ingest", {"entity": {"value": holder}})


def write_entities(caller, info):
    return caller.post("/openapi/v3/entity/datahubpolicy?async=false", [{"urn": POLICY, INFO: {"value": info}}])


def write_aspect(caller, info):
    return caller.post(f"/openapi/v3/entity/datahubpolicy/{quote(POLICY, safe='')}/{INFO}", {"value": info})


#: The doors, and where the document stands in what each is sent.
DOORS = {
    ingest: "/proposal/aspect/value",
    ingest_many: "/proposals/1/aspect/value",
    ingest_snapshot: "/entity/value/com.linkedin.metadata.snapshot.DataHubPolicySnapshot/aspects/0"
    "/com.linkedin.policy.DataHubPolicyInfo",
    write_entities: f"/0/{INFO}/value",
    write_aspect: f"/0/{INFO}/value",
}


def lints_of(answer):
    body = answer.json()
    entity = body[0] if isinstance(body, list) else body
    return entity["lints"] if "lints" in entity else entity[INFO]["lints"]


def may_tag(caller):
    question = {"actor": JO, "privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": DATASET}}
    return caller.post("/api/v1/authorize", question).json()["decision"] == "ALLOW"


def problems_of(answer):
    assert answer.status_code == 400, answer.content
    return {(one["code"], one["pointer"]) for one in answer.json()["errors"]}


def patch_state(caller, state="ACTIVE"):
    return caller.client.patch(API, json.dumps({"state": state}), content_type="application/json")


@pytest.fixture
def kept(root):
    """A policy with an unknown field, as a migration brings it."""
    ingest(root, holding("/priority"))
    return Policy.objects.get(urn=POLICY)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_of_datahubs_stores_it_out_of_force_and_says_why(root, door):
    answer = door(root, document())
    assert answer.status_code in (200, 202)
    assert "lints" not in answer.content.decode()
    assert may_tag(root)
    sent = holding("/priority")
    answer = door(root, sent)
    assert answer.status_code in (200, 202), answer.content
    assert [(one["code"], one["pointer"]) for one in lints_of(answer)] == [("field.unknown", f"{DOORS[door]}/priority")]
    assert "'priority'" in lints_of(answer)[0]["detail"]
    assert not may_tag(root)
    assert root.entity(POLICY).json()["aspects"][INFO]["value"] == sent | {"state": "INACTIVE"}


@pytest.mark.parametrize("pointer", PLACES)
def test_a_field_at_any_depth(root, pointer):
    sent = holding(pointer)
    answer = ingest(root, sent)
    assert [one["pointer"] for one in lints_of(answer)] == [f"/proposal/aspect/value{pointer}"]
    stored = root.entity(POLICY).json()["aspects"][INFO]["value"]
    assert json.dumps(stored) == json.dumps(sent | {"state": "INACTIVE"})
    shown = root.get(API).json()
    assert (shown["state"], [one["pointer"] for one in shown["lints"]]) == ("INACTIVE", [pointer])
    assert problems_of(patch_state(root)) == {("field.unknown", pointer)}
    assert not may_tag(root)


@pytest.mark.parametrize("pointer", PLACES)
def test_our_own_api_refuses_it_wherever_it_takes_a_document(root, pointer):
    body = {"urn": POLICY, "family": "datahub", "document": holding(pointer)}
    assert problems_of(root.post("/api/v1/policies/", body)) == {("field.unknown", pointer)}
    checked = root.post("/api/v1/policies/validate/", body).json()
    assert [(one["code"], one["pointer"]) for one in checked["errors"]] == [("field.unknown", pointer)]
    assert root.post("/api/v1/policies/", body | {"document": document()}).status_code == 201
    answer = root.client.put(API, json.dumps(body), content_type="application/json")
    assert problems_of(answer) == {("field.unknown", pointer)}
    assert Policy.objects.get(urn=POLICY).document == document()


def test_fields_of_the_published_schema_pass(root):
    criterion = {"field": "URN", "values": [DATASET], "condition": "EQUALS", "structuredPropertyValues": None}
    whole = document(
        editable=True,
        lastUpdatedTimestamp=1,
        resources={"type": None, "resources": None, "allResources": False, "filter": {"criteria": [criterion]}},
        actors={
            "users": [JO],
            "groups": None,
            "roles": None,
            "resourceOwners": False,
            "resourceOwnersTypes": None,
            "allUsers": False,
            "allGroups": False,
        },
    )
    assert ingest(root, whole).json() == {"value": POLICY}
    assert root.entity(POLICY).json()["aspects"][INFO]["value"] == whole
    assert may_tag(root)


def test_the_same_document_sent_again_stays_out_of_force(root, kept):
    """A migration that is run twice must not be the way around."""
    assert lints_of(ingest(root, holding("/priority")))
    assert Policy.objects.get(urn=POLICY).state == "INACTIVE"
    assert not may_tag(root)


def test_no_patch_puts_it_in_force(root, kept):
    patch = [{"op": "replace", "path": "/state", "value": "ACTIVE"}]
    answer = root.write(proposal(POLICY, INFO, patch, changeType="PATCH"))
    assert answer.status_code == 400
    assert "/priority" in answer.json()["message"]
    body = json.dumps([{"urn": POLICY, INFO: {"value": patch}}])
    answer = root.client.patch("/openapi/v3/entity/datahubpolicy", body, content_type="application/json")
    assert answer.status_code == 400
    assert not may_tag(root)


def test_a_patch_that_adds_a_field_takes_the_policy_out_of_force(root):
    ingest(root, document())
    answer = root.write(proposal(POLICY, INFO, [{"op": "add", "path": "/priority", "value": 1}], changeType="PATCH"))
    assert len(lints_of(answer)) == 1
    assert not may_tag(root)


def test_graphql_neither_activates_it_nor_loses_the_field(root, kept):
    actors = {"allUsers": True, "allGroups": False, "resourceOwners": False}
    given = {"type": "METADATA", "name": "Tags", "privileges": ["EDIT_ENTITY_TAGS"], "actors": actors}
    for state in ("ACTIVE", "INACTIVE"):
        body = {"query": UPDATE, "variables": {"urn": POLICY, "input": given | {"state": state}}}
        (error,) = root.post("/api/graphql", body).json()["errors"]
        assert error["extensions"]["code"] == 400
        assert "/priority" in error["message"]
    assert Policy.objects.get(urn=POLICY).document == kept.document


def test_a_document_without_the_field_can_be_activated(root, kept):
    """By the API, and by the doors that brought it."""
    body = {"family": "datahub", "document": document(state="INACTIVE")}
    assert root.client.put(API, json.dumps(body), content_type="application/json").status_code == 200
    assert patch_state(root).status_code == 200
    assert may_tag(root)
    ingest(root, holding("/priority"))
    patch = [{"op": "remove", "path": "/priority"}, {"op": "replace", "path": "/state", "value": "ACTIVE"}]
    assert root.write(proposal(POLICY, INFO, patch, changeType="PATCH")).json() == {"value": POLICY}
    assert may_tag(root)


def test_an_earlier_version_comes_back_out_of_force_or_not_at_all(root, kept):
    """The second version is one that a release of before has stored in force."""
    ingest(root, document())
    PolicyEvent.objects.filter(policy_urn=POLICY, version=2).update(
        after={"document": holding("/notAfter"), "state": "ACTIVE", "description": ""}
    )
    assert problems_of(root.post(f"{API}versions/2/restore/", {})) == {("field.unknown", "/notAfter")}
    assert root.post(f"{API}versions/1/restore/", {}).status_code == 200
    assert Policy.objects.get(urn=POLICY).document == kept.document
    assert not may_tag(root)


def test_it_can_be_given_a_role_and_deleted(root, kept):
    role_with_policies.create(name="Taggers", description="", policy_urns=[POLICY], by=authorizer.SYSTEM, channel=DOOR)
    stored = Policy.objects.get(urn=POLICY)
    assert (stored.state, stored.document["priority"], len(stored.document["actors"]["roles"])) == (
        "INACTIVE",
        "DENY",
        1,
    )
    assert root.client.delete(API).status_code == 204


def test_what_an_earlier_release_stored_in_force_grants_nothing_and_can_be_deactivated(root, kept):
    Policy.objects.filter(urn=POLICY).update(state="ACTIVE", document=holding("/priority"))
    assert not may_tag(root)
    assert patch_state(root, "INACTIVE").status_code == 200


def test_the_report_of_hygiene_is_told(root, kept, tmp_path):
    root.write(proposal("urn:li:dataHubPolicy:fine", INFO, document(state="INACTIVE")))
    policy_hygiene_spec.prepare(Report(), parse_address(tmp_path))
    known = json.loads((tmp_path / "known.json").read_text(encoding="utf-8"))
    assert known["unknown_fields"] == {POLICY: ["/priority"]}


def test_an_object_can_be_sent_back_as_it_was_read(root, kept):
    """What the answer says of it is no field of the document."""
    ingest(root, document())
    shown = root.get(API).json()
    assert shown["lints"] == []
    assert root.client.put(API, json.dumps(shown), content_type="application/json").status_code == 200


GROUP = "urn:li:corpGroup:g"
ROLE = "urn:li:dataHubRole:Reader"
EXTERNAL = "urn:li:role:warehouse"
OWNER = {"owner": JO, "type": "DATAOWNER"}
STAMP = {"time": 0, "actor": JO}

#: Documents that give something to people, whole as DataHub's schema has them, and where a field may not be unknown.
GIVING = [
    (JO, "roleMembership", {"roles": [ROLE]}, [""]),
    (GROUP, "roleMembership", {"roles": [ROLE]}, [""]),
    (JO, "groupMembership", {"groups": [GROUP]}, [""]),
    (JO, "nativeGroupMembership", {"nativeGroups": [GROUP]}, [""]),
    (JO, "corpUserStatus", {"status": "ACTIVE", "lastModified": STAMP}, [""]),
    (JO, "status", {"removed": False, "lifecycleStage": "x", "lifecycleLastUpdated": STAMP}, [""]),
    (JO, "subTypes", {"typeNames": []}, [""]),
    (GROUP, "origin", {"type": "NATIVE", "externalType": "x"}, [""]),
    ("urn:li:dataHubRole:r", "dataHubRoleInfo", {"name": "R", "description": "", "editable": True}, [""]),
    (EXTERNAL, "actors", {"users": [{"user": JO}], "groups": [{"group": GROUP}]}, ["", "/users/0", "/groups/0"]),
    (DATASET, "access", {"roles": [{"urn": EXTERNAL}]}, ["", "/roles/0"]),
    (
        DATASET,
        "ownership",
        {
            "owners": [{**OWNER, "typeUrn": "urn:li:ownershipType:x", "source": {"type": "MANUAL"}, "attribution": {}}],
            "ownerTypes": {},
            "lastModified": STAMP,
        },
        ["", "/owners/0"],
    ),
]


@pytest.mark.parametrize(("urn", "aspect", "whole", "places"), GIVING, ids=lambda value: str(value)[:30])
def test_what_gives_something_to_people_has_no_unknown_fields(root, urn, aspect, whole, places):
    """A date after which somebody holds a role no more must not be taken for a role that is held for ever."""
    assert root.write(proposal(JO, "corpUserInfo", {"active": True, "since": 5})).status_code == 200
    for place in places:
        sent = copy.deepcopy(whole)
        target = sent
        for step in place.split("/")[1:]:
            target = target[int(step)] if isinstance(target, list) else target[step]
        target["validTo"] = 1
        answer = root.write(proposal(urn, aspect, sent))
        assert answer.status_code == 400, place
        assert f"/proposal/aspect/value{place}/validTo" in answer.json()["message"]
    found = root.entity(urn)
    assert found.status_code == 404 or aspect not in found.json()["aspects"]
    assert root.write(proposal(urn, aspect, whole)).status_code == 200
    assert root.entity(urn).json()["aspects"][aspect]["value"] == whole


def test_a_patch_brings_no_unknown_field_into_a_membership(root):
    root.write(proposal(JO, "roleMembership", {"roles": []}))
    patch = [{"op": "add", "path": "/roles", "value": [ROLE]}, {"op": "add", "path": "/validTo", "value": 1}]
    assert root.write(proposal(JO, "roleMembership", patch, changeType="PATCH")).status_code == 400
    assert root.entity(JO).json()["aspects"]["roleMembership"]["value"] == {"roles": []}
