"""Programs of DataHub's that do not know our fields of a policy: whatever they write, they widen nothing by it.

A document that leaves out the effect, a list of the excluded or a limit in time keeps what is stored; null clears it.
"""

import io
import json

import pytest

from catalog.ingest import file_import
from catalog.ingest.file_import import ImportInterrupted
from policies.engine.families import datahub_fields
from policies.models import Policy
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, proposal
from tests.doors.graphql.test_policies import UPDATE
from tests.doors.test_unknown_fields import (
    API,
    INFO,
    JO,
    POLICY,
    ingest,
    ingest_many,
    ingest_snapshot,
    may_tag,
    problems_of,
    write_aspect,
    write_entities,
)

pytestmark = pytest.mark.django_db

#: A value of every field of ours that a policy may have.
TIMES = {"validFrom": "2020-01-01T00:00:00Z", "validUntil": 4_102_444_800_000}
AT_TOP = {"effect": "DENY"} | {name: time for name, time in TIMES.items() if name in datahub_fields.POLICY_FIELDS}
OF_ACTORS = {
    "excludedUsers": ["urn:li:corpuser:zoe"],
    "excludedGroups": ["urn:li:corpGroup:crew"],
    "excludedRoles": ["urn:li:dataHubRole:Reader"],
    "excludedResourceOwnersTypes": ["urn:li:ownershipType:x"],
}


def document(*, actors=None, **more):
    return {
        "displayName": "Tags",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "resources": {"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"}]}},
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": {"users": [JO]} | (actors or {}),
    } | more


def whole():
    """Return a document with every field of ours."""
    return document(actors=OF_ACTORS, **AT_TOP)


def patch_parts(caller, info):
    """Replace each part of the stored document, as a patch may."""
    operations = [{"op": "replace", "path": f"/{name}", "value": value} for name, value in info.items()]
    return caller.write(proposal(POLICY, INFO, operations, changeType="PATCH"))


def patch_entities(caller, info):
    """Remove the actors and add others, in OpenAPI's form of a patch."""
    operations = [{"op": "remove", "path": "/actors"}]
    operations += [{"op": "add", "path": f"/{name}", "value": value} for name, value in info.items()]
    body = [{"urn": POLICY, INFO: {"value": {"patch": operations}}}]
    return caller.client.patch("/openapi/v3/entity/datahubpolicy", json.dumps(body), content_type="application/json")


def update_by_graphql(caller, info):
    given = {name: info[name] for name in ("type", "state", "privileges", "resources")}
    actors = {"resourceOwners": False, "allUsers": False, "allGroups": False} | info["actors"]
    given |= {name: info[name] for name in datahub_fields.OWN_FIELDS if name in info}
    given |= {"name": info["displayName"], "actors": actors}
    answer = caller.post("/api/graphql", {"query": UPDATE, "variables": {"urn": POLICY, "input": given}})
    assert "errors" not in answer.json(), answer.json()
    return answer


def write_and_patch(caller, info):
    """Send the whole document and a patch of it in one batch: the patch begins from what the document left."""
    patch = [{"op": "replace", "path": "/displayName", "value": info["displayName"]}]
    return caller.write(
        proposal(POLICY, INFO, info | {"displayName": "Other"}), proposal(POLICY, INFO, patch, changeType="PATCH")
    )


def load_file(_caller, info):
    entry = {"entityType": "dataHubPolicy", "entityUrn": POLICY, "aspectName": INFO, "aspect": {"json": info}}
    entry["changeType"] = "UPSERT"
    file_import.load(stream=io.BytesIO(json.dumps([entry]).encode()), by=authorizer.SYSTEM, channel=DOOR)


DOORS = [
    ingest,
    ingest_many,
    ingest_snapshot,
    write_entities,
    write_aspect,
    patch_parts,
    patch_entities,
    update_by_graphql,
    write_and_patch,
    load_file,
]


def send(door, caller, info):
    answer = door(caller, info)
    assert answer is None or answer.status_code in (200, 202), answer.content


def stored():
    return Policy.objects.get(urn=POLICY).document


def own_fields():
    """Return the fields of ours that the stored document has."""
    info = stored()
    return (
        {name: info[name] for name in datahub_fields.OWN_FIELDS if name in info},
        {name: info["actors"][name] for name in datahub_fields.OWN_ACTOR_FIELDS if name in info["actors"]},
    )


@pytest.fixture
def everybody_may(root):
    """Jo may edit tags by a policy of their own."""
    info = document() | {"displayName": "Jo"}
    assert root.write(proposal("urn:li:dataHubPolicy:jo", INFO, info)).status_code == 200
    assert may_tag(root)


@pytest.mark.parametrize("door", DOORS)
def test_a_deny_stays_a_deny(root, everybody_may, door):
    ingest(root, document(effect="DENY"))
    assert not may_tag(root)
    send(door, root, document(displayName="Renamed"))
    assert stored()["displayName"] == "Renamed"
    assert stored()["effect"] == "DENY"
    assert not may_tag(root)


@pytest.mark.parametrize("door", DOORS)
def test_what_is_left_out_is_kept(root, door):
    ingest(root, whole())
    send(door, root, document(displayName="Renamed"))
    assert own_fields() == (AT_TOP, OF_ACTORS)
    assert (stored()["displayName"], stored()["state"]) == ("Renamed", "ACTIVE")


@pytest.mark.parametrize("door", DOORS)
def test_who_is_excluded_stays_excluded(root, door):
    """Jo is reached by the policy only when the list that excludes them is gone."""
    ingest(root, document(actors={"excludedUsers": [JO]}))
    send(door, root, document())
    assert not may_tag(root)
    send(door, root, document(actors={"excludedUsers": None}))
    assert may_tag(root)


@pytest.mark.parametrize("door", DOORS)
def test_null_clears_one_and_keeps_the_others(root, door):
    for name in AT_TOP:
        ingest(root, whole())
        send(door, root, document(**{name: None}))
        at_top, of_actors = own_fields()
        assert (at_top.pop(name, None), at_top) == (None, {other: AT_TOP[other] for other in AT_TOP if other != name})
        assert of_actors == OF_ACTORS
    for name in OF_ACTORS:
        ingest(root, whole())
        send(door, root, document(actors={name: None}))
        at_top, of_actors = own_fields()
        assert at_top == AT_TOP
        others = {other: OF_ACTORS[other] for other in OF_ACTORS if other != name}
        assert (of_actors.pop(name, None), of_actors) == (None, others)


@pytest.mark.parametrize("door", DOORS)
def test_new_values_replace_stored_ones(root, door):
    ingest(root, whole())
    send(door, root, document(actors={"excludedUsers": []}, effect="ALLOW"))
    at_top, of_actors = own_fields()
    assert (at_top["effect"], of_actors["excludedUsers"]) == ("ALLOW", [])
    assert of_actors["excludedRoles"] == OF_ACTORS["excludedRoles"]


@pytest.mark.parametrize("path", [f"/{name}" for name in AT_TOP] + [f"/actors/{name}" for name in OF_ACTORS])
def test_a_patch_takes_out_what_it_names(root, path):
    ingest(root, whole())
    patch = [{"op": "remove", "path": path}]
    assert root.write(proposal(POLICY, INFO, patch, changeType="PATCH")).status_code == 200
    at_top, of_actors = own_fields()
    names = [f"/{name}" for name in at_top] + [f"/actors/{name}" for name in of_actors]
    assert path not in names
    assert len(names) == len(AT_TOP) + len(OF_ACTORS) - 1


def test_documents_without_them_stay_as_they_are_sent(root):
    for info in (document(), whole(), document(actors={"excludedUsers": None}, effect=None)):
        ingest(root, info)
        assert json.dumps(root.entity(POLICY).json()["aspects"][INFO]["value"]) == json.dumps(info)
        assert root.client.delete(API).status_code == 204


def test_a_deleted_policy_leaves_nothing_to_keep(root):
    ingest(root, whole())
    gone = proposal(POLICY, INFO, changeType="DELETE")
    assert root.write(gone).status_code == 200
    ingest(root, document())
    assert own_fields() == ({}, {})
    ingest(root, whole())
    assert root.write(gone, proposal(POLICY, INFO, document())).status_code == 200
    assert own_fields() == ({}, {})


def test_our_own_api_replaces_the_whole_document(root):
    ingest(root, whole())
    body = {"family": "datahub", "document": document()}
    assert root.client.put(API, json.dumps(body), content_type="application/json").status_code == 200
    assert stored() == document()


def test_unknown_fields_put_even_a_kept_deny_out_of_force(root):
    ingest(root, whole())
    answer = ingest(root, document(priority=1))
    assert [one["pointer"] for one in answer.json()["lints"]] == ["/proposal/aspect/value/priority"]
    assert own_fields() == (AT_TOP, OF_ACTORS)
    assert Policy.objects.get(urn=POLICY).state == "INACTIVE"


def test_an_effect_that_is_none_is_refused_with_its_position(root):
    ingest(root, whole())
    answer = root.write(proposal(POLICY, INFO, document(effect="MAYBE")))
    assert answer.status_code == 400
    assert "/effect" in answer.json()["message"]
    body = {"family": "datahub", "document": document(effect="MAYBE")}
    answer = root.client.put(API, json.dumps(body), content_type="application/json")
    assert {pointer for _, pointer in problems_of(answer)} == {"/effect"}
    assert own_fields() == (AT_TOP, OF_ACTORS)


def test_what_is_kept_may_contradict_what_is_sent(root):
    """The refusal points to what was sent, and stores nothing."""
    ingest(root, document(validFrom="2020-01-01T00:00:00Z"))
    answer = root.write(proposal(POLICY, INFO, document(validUntil="2019-01-01T00:00:00Z")))
    assert answer.status_code == 400
    assert "/proposal/aspect/value/validUntil" in answer.json()["message"]
    assert stored() == document(validFrom="2020-01-01T00:00:00Z")


@pytest.mark.parametrize("write", DOORS)
@pytest.mark.parametrize(
    ("time", "words"),
    [
        (1_893_456_000, "look like seconds"),
        ("2036-12-01T00:00:00+99:99", "The offset of this time is beyond 23:59; write"),
    ],
)
def test_seconds_and_odd_offsets_are_refused_everywhere(root, write, time, words):
    ingest(root, document(validFrom=TIMES["validFrom"]))
    try:
        text = write(root, document(validFrom=time)).content.decode()
    except (AssertionError, ImportInterrupted) as error:
        text = str(error)
    assert words in text
    assert "timedelta" not in text
    assert stored() == document(validFrom=TIMES["validFrom"])


SHOWN = """query($input: ListPoliciesInput!) {listPolicies(input: $input) {policies {
    urn effect validFrom validUntil
    actors {excludedUsers excludedGroups excludedRoles excludedResourceOwnersTypes}}}}"""
AS_ENTITY = """query($urn: String!) {entity(urn: $urn) {... on DataHubPolicy {
    effect validFrom validUntil
    actors {excludedUsers excludedGroups excludedRoles excludedResourceOwnersTypes}}}}"""


def test_graphql_shows_and_takes_them(root):
    unset = dict.fromkeys(datahub_fields.OWN_FIELDS) | {"actors": dict.fromkeys(OF_ACTORS)}
    for info, shown in ((document(), unset), (whole(), unset | AT_TOP | {"actors": OF_ACTORS})):
        update_by_graphql(root, info)
        body = {"query": SHOWN, "variables": {"input": {"query": "Tags"}}}
        (policy,) = root.post("/api/graphql", body).json()["data"]["listPolicies"]["policies"]
        assert policy == {"urn": POLICY, **shown}
        body = {"query": AS_ENTITY, "variables": {"urn": POLICY}}
        assert root.post("/api/graphql", body).json()["data"]["entity"] == shown


def test_graphql_refuses_what_is_no_effect_and_no_time(root):
    for name, value in (("effect", "MAYBE"), ("validFrom", True), ("validUntil", [1])):
        given: dict[str, object] = {"name": "x", "type": "METADATA", "state": "ACTIVE", "privileges": [], name: value}
        given["actors"] = {"resourceOwners": False, "allUsers": False, "allGroups": False}
        answer = root.post("/api/graphql", {"query": UPDATE, "variables": {"urn": POLICY, "input": given}})
        assert answer.json()["errors"], name
    assert not Policy.objects.filter(urn=POLICY).exists()


def test_the_policy_of_another_entity_is_not_looked_at(root):
    """Two policies in one batch keep what is theirs."""
    other = "urn:li:dataHubPolicy:other"
    ingest(root, whole())
    ingest_other = proposal(other, INFO, document(displayName="Other", effect="DENY"))
    assert root.write(ingest_other).status_code == 200
    assert root.write(proposal(other, INFO, document()), proposal(POLICY, INFO, document())).status_code == 200
    assert own_fields() == (AT_TOP, OF_ACTORS)
    assert Policy.objects.get(urn=other).document == document(effect="DENY")
