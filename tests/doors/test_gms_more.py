"""Snapshots, counts, runs and references of memberships through DataHub's REST door (clients.md 1.3, 1.6, 1.7)."""

import json

import pytest

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.identity.services import groups, users
from policies.models import Policy, User
from policies.pdp import actor_resolution, authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, proposal, written

pytestmark = pytest.mark.django_db

ADMIN = "urn:li:dataHubRole:Admin"
SNAPSHOT = "com.linkedin.metadata.snapshot.CorpUserSnapshot"


def snapshot(urn, *aspects, name=SNAPSHOT, **more):
    return {"entity": {"value": {name: {"urn": urn, "aspects": list(aspects)}}}, **more}


# -- snapshots --------------------------------------------------------------------------------------------------------


def test_a_snapshot_of_a_user(root):
    info = {"active": True, "displayName": "Jo", "email": "jo@example.com"}
    body = snapshot("urn:li:corpuser:jo", {"com.linkedin.identity.CorpUserInfo": info}, systemMetadata={"runId": "r"})
    assert root.post("/entities?action=ingest", body).status_code == 200
    assert root.entity("urn:li:corpuser:jo").json()["aspects"]["corpUserInfo"]["value"] == info


def test_a_snapshot_of_a_dataset(root):
    body = snapshot(
        DATASET,
        {"com.linkedin.pegasus2avro.common.Ownership": {"owners": []}},
        {"com.linkedin.common.Status": {"removed": False}},
        {"com.example.MadeUp": {"n": 1}},
        name="com.linkedin.metadata.snapshot.DatasetSnapshot",
        systemMetadata={"runId": "r"},
    )
    assert root.post("/entities/?action=ingest", body).status_code == 200
    assert root.entity(DATASET).json()["aspects"].keys() == {"datasetKey", "ownership", "status", "madeUp"}
    assert root.aspect(DATASET, "status").json()["systemMetadata"] == {"runId": "r"}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "/entity"),
        ({"entity": []}, "/entity"),
        ({"entity": {"value": {}}}, "/entity/value"),
        ({"entity": {"value": {"a": {}, "b": {}}}}, "/entity/value"),
        ({"entity": {"value": {"a": 5}}}, "/entity/value/a"),
        ({"entity": {"value": {"a": {"urn": DATASET}}}}, "/entity/value/a/aspects"),
        (snapshot(DATASET), f"/entity/value/{SNAPSHOT}/aspects"),
        (snapshot(DATASET, 5), f"/entity/value/{SNAPSHOT}/aspects/0"),
        (snapshot(DATASET, {"a": {}, "b": {}}), f"/entity/value/{SNAPSHOT}/aspects/0"),
        (snapshot(DATASET, {"a.B": 5}), f"/entity/value/{SNAPSHOT}/aspects/0/a.B"),
        (snapshot(DATASET, {"": {}}), f"/entity/value/{SNAPSHOT}/aspectName"),
        (snapshot("x", {"a.B": {}}), f"/entity/value/{SNAPSHOT}/entityUrn"),
        (snapshot(5, {"a.B": {}}), f"/entity/value/{SNAPSHOT}/entityUrn"),
        (snapshot(DATASET, {"a.B": {"x": "\ud800"}}), f"/entity/value/{SNAPSHOT}/aspects/0/a.B"),
        (snapshot(DATASET, {"a.B": {}}, systemMetadata=5), f"/entity/value/{SNAPSHOT}/systemMetadata"),
    ],
)
def test_a_snapshot_that_is_none(root, body, place):
    answer = root.post("/entities?action=ingest", body)
    assert answer.status_code == 400, answer.content
    assert place in answer.json()["message"]
    assert written() == []


# -- creations --------------------------------------------------------------------------------------------------------


def test_an_optional_creation_of_what_is_there_changes_nothing(root, person):
    headers = {"If-None-Match": "*"}
    for n in (1, 2):
        answer = root.write(
            proposal(DATASET, "madeUp", {"n": n}, changeType="CREATE", headers=headers),
            proposal("urn:li:corpuser:jo", "corpUserInfo", {"active": True, "title": str(n)}, changeType="CREATE")
            | {"headers": headers},
        )
        assert answer.status_code == 200, answer.content
    assert root.entity(DATASET).json()["aspects"]["madeUp"]["value"] == {"n": 1}
    assert User.objects.get(username="jo").title == "1"
    stranger = person("stranger")
    for one in (DATASET, "madeUp"), ("urn:li:corpuser:jo", "corpUserInfo"):
        again = proposal(*one, {"active": True}, changeType="CREATE", headers=headers)
        assert stranger.write(again).status_code == 403


def test_people_are_created_once(root, person):
    one = proposal("urn:li:corpuser:jo", "corpUserInfo", {"active": True, "title": "1"}, changeType="CREATE")
    assert root.write(one).status_code == 200
    again = root.write(one | {"aspect": {"value": '{"active": true, "title": "2"}'}})
    assert (again.status_code, "corpUserInfo" in again.json()["message"]) == (400, True)
    entity = root.write(proposal("urn:li:corpuser:jo", "corpUserStatus", {"status": "X"}, changeType="CREATE_ENTITY"))
    assert entity.status_code == 400
    other = proposal("urn:li:corpuser:al", "corpUserInfo", {"active": True}, changeType="CREATE")
    assert root.write(other, other).status_code == 400
    assert not User.objects.filter(username="al").exists()
    assert User.objects.get(username="jo").title == "1"
    assert person("stranger").write(one).status_code == 403


# -- counts, series, runs ---------------------------------------------------------------------------------------------


def test_counts_of_aspects(root, person, settings):
    root.write(*[proposal(f"urn:li:tag:{name}", "tagProperties", {"name": name}) for name in ("a", "ab", "b")])

    def count(caller=root, **body):
        return caller.post("/aspects?action=getCount", body)

    for like, number in {"%": 3, "urn:li:tag:a%": 2, "urn:li:tag:a": 1, "urn:li:tag:\x00%": 0, "": 0}.items():
        assert count(aspect="tagProperties", urnLike=like).json() == {"value": number}, like
    assert count(aspect="tagProperties").json() == {"value": 3}
    assert count(aspect="never").json() == {"value": 0}
    for bad in ({}, {"aspect": 5}, {"aspect": "a", "urnLike": 5}, {"aspect": "a", "urnLike": "%a%"}):
        assert count(**bad).status_code == 400, bad
    assert count(aspect="corpUserInfo").status_code == 400
    root.write(proposal(DATASET, "tagProperties", {"name": "x"}))
    settings.VIEW_AUTHORIZATION_ENABLED = True
    only = {"filter": {"criteria": [{"field": "TYPE", "values": ["tag"]}]}}
    for urn in ("urn:li:dataHubPolicy:view-entity-page-all", "urn:li:dataHubPolicy:view-dataset-sensitive"):
        document = {**Policy.objects.get(urn=urn).document, "state": "INACTIVE"}
        root.write(proposal(urn, "dataHubPolicyInfo", document))
    jo = person("jo", "VIEW_ENTITY_PAGE", "GET_COUNTS_PRIVILEGE", resources=only)
    assert count(jo, aspect="tagProperties", urnLike="urn:li:tag:%").json() == {"value": 3}
    assert count(jo, aspect="tagProperties").status_code == 403


def test_series_in_time_are_empty(root):
    body = {"urn": DATASET, "entity": "dataset", "aspect": "datasetProfile", "limit": 1, "latestValue": True}
    found = root.post("/aspects?action=getTimeseriesAspectValues", body).json()["value"]
    assert (found["values"], found["aspectName"], found["limit"]) == ([], "datasetProfile", 1)
    for bad in ({"urn": 5}, {"urn": "x"}, {"limit": -1}, {"aspect": None}):
        assert root.post("/aspects?action=getTimeseriesAspectValues", body | bad).status_code == 400, bad


def test_runs_are_not_kept_and_none_is_undone(root):
    assert root.post("/runs?action=list", {"pageOffset": 0, "pageSize": 10}).json() == {"value": []}
    assert root.post("/runs/?action=describe", {"runId": "r", "start": 0}).json() == {"value": []}
    refused = root.post("/runs?action=rollback", {"runId": "r", "dryRun": True})
    assert (refused.status_code, "delete what it wrote" in refused.json()["message"]) == (400, True)
    for path, body in (("describe", {}), ("rollback", {}), ("list", []), ("other", {}), ("", {})):
        assert root.post(f"/runs?action={path}", body).status_code == 400


# -- references -------------------------------------------------------------------------------------------------------


def test_references_to_a_group_are_its_memberships(root):
    eng = groups.create(identifier="eng", name="Eng", by=authorizer.SYSTEM, channel=DOOR).urn
    jo = users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR).urn
    # A field that an earlier release kept does not stand in the way of taking something away.
    stored = {"groups": [eng, "urn:li:corpGroup:other"], "kept": 1}
    change = AspectChange(jo, "corpuser", "groupMembership", stored, keeps_unknown=True)
    aspect_services.apply(changes=[change], by=authorizer.SYSTEM, channel=DOOR)
    root.write(
        proposal(DATASET, "ownership", {"owners": [{"owner": eng}, {"owner": jo}]}),
        proposal("urn:li:role:r", "actors", {"groups": [{"group": eng}]}),
    )
    groups.add_members(
        urn=groups.create(identifier="x", name="X", by=authorizer.SYSTEM, channel=DOOR).urn,
        members=[jo],
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    found = root.post("/entities?action=deleteReferences", {"urn": eng, "dryRun": True}).json()["value"]
    assert found["total"] == 3
    assert {(one["entity"], one["relationship"], one["aspect"]) for one in found["relatedAspects"]} == {
        (jo, "IsMemberOfGroup", "groupMembership"),
        (DATASET, "OwnedBy", "ownership"),
        ("urn:li:role:r", "Has", "actors"),
    }
    assert eng in actor_resolution.load_actor(urn=jo).groups
    root.post("/entities?action=deleteReferences", {"urn": eng})
    assert actor_resolution.load_actor(urn=jo).groups == {"urn:li:corpGroup:other", "urn:li:corpGroup:x"}
    assert root.entity(jo).json()["aspects"]["groupMembership"]["value"] == {
        "groups": ["urn:li:corpGroup:other"],
        "kept": 1,
    }
    assert root.entity(DATASET).json()["aspects"]["ownership"]["value"] == {"owners": [{"owner": jo}]}
    assert root.post("/entities?action=deleteReferences", {"urn": eng}).json()["value"]["total"] == 0


def test_references_to_a_role_are_its_holders_and_policies_keep_theirs(root):
    eng = groups.create(identifier="eng", name="Eng", by=authorizer.SYSTEM, channel=DOOR).urn
    role = "urn:li:dataHubRole:extra"
    root.write(proposal(role, "dataHubRoleInfo", {"name": "Extra", "description": ""}))
    policy = json.loads(json.dumps(Policy.objects.get(urn="urn:li:dataHubPolicy:7").document))
    policy["actors"] = {"roles": [role]}
    root.write(
        proposal(eng, "roleMembership", {"roles": [role, ADMIN]}),
        proposal("urn:li:dataHubPolicy:mine", "dataHubPolicyInfo", policy),
    )
    root.post("/entities?action=deleteReferences", {"urn": role})
    assert root.entity(eng).json()["aspects"]["roleMembership"]["value"] == {"roles": [ADMIN]}
    assert Policy.objects.get(urn="urn:li:dataHubPolicy:mine").document["actors"]["roles"] == [role]


def test_references_need_what_each_membership_needs(root, person):
    eng = groups.create(identifier="eng", name="Eng", by=authorizer.SYSTEM, channel=DOOR).urn
    jo = users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR).urn
    groups.add_members(urn=eng, members=[jo], by=authorizer.SYSTEM, channel=DOOR)
    remover = person("remover", "DELETE_ENTITY")
    assert remover.post("/entities?action=deleteReferences", {"urn": eng}).status_code == 403
    assert eng in actor_resolution.load_actor(urn=jo).groups
    assert person("stranger").post("/entities?action=deleteReferences", {"urn": ROOT}).status_code == 403
