"""Writes through DataHub's REST door (clients.md 1.1 and 1.3)."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.models import Entity
from catalog.protocols.datahub_rest import writes
from policies.models import PolicyVersion
from tests.doors.conftest import DATASET, ROOT, proposal, written

pytestmark = pytest.mark.django_db

ROLE = "urn:li:role:snowflake_reader_role"
PROPERTIES = {"name": "Snowflake Reader Role", "type": "READ"}


@pytest.mark.parametrize("path", ["/aspects", "/aspects/"])
def test_one_proposal_with_and_without_the_slash(root, path):
    answer = root.post(f"{path}?action=ingestProposal", {"proposal": proposal(ROLE, "roleProperties", PROPERTIES)})
    assert (answer.status_code, answer.json()) == (200, {"value": ROLE})
    assert root.aspect(ROLE, "roleProperties").json()["aspect"] == {"com.linkedin.role.RoleProperties": PROPERTIES}


def test_the_bytes_of_a_document_come_back_from_every_read(root):
    text = '{ "b":1.0,\n "a":"\\u00e9 é 😀",  "big": 1' + "0" * 400 + ', "e": [1e2, 0.10], "nothing": null}'
    assert root.write(proposal("urn:li:weirdThing:1", "neverHeardOf", text)).status_code == 200
    for answer in (
        root.aspect("urn:li:weirdThing:1", "neverHeardOf"),
        root.entity("urn:li:weirdThing:1"),
        root.get("/entitiesV2/urn:li:weirdThing:1"),
    ):
        assert text in answer.content.decode()
        assert json.loads(answer.content)
    unknown = root.aspect("urn:li:weirdThing:1", "neverHeardOf").json()["aspect"]
    assert list(unknown) == ["com.linkedin.unknown.NeverHeardOf"]


def test_a_batch_of_two_hundred(root):
    urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{n},PROD)" for n in range(200)]
    answer = root.write(*[proposal(urn, "datasetProperties", {"name": urn}) for urn in urns])
    assert (answer.status_code, answer.json()) == (200, {"value": urns})
    assert Entity.objects.filter(type="dataset").count() == 200


def test_a_batch_costs_the_same_number_of_queries_whatever_its_length(root):
    def cost(start: int, count: int) -> int:
        batch = [
            proposal(f"urn:li:dataset:(urn:li:dataPlatform:hive,t{n},PROD)", "globalTags", {"tags": []})
            for n in range(start, start + count)
        ]
        with CaptureQueriesContext(connection) as captured:
            assert root.write(*batch).status_code == 200
        return len(captured)

    cost(0, 2)
    assert cost(10, 50) == cost(100, 5)


def test_a_batch_with_one_bad_item_writes_nothing_and_names_every_place(root):
    answer = root.write(
        proposal(DATASET, "status", {"removed": False}),
        proposal("urn:li:dataset", "status", {"removed": False}),
        proposal(DATASET, "globalTags", {"tags": [{"tag": "no urn"}]}),
        proposal(DATASET, "madeUp", "{broken"),
    )
    assert answer.status_code == 400
    message = answer.json()["message"]
    assert "/proposals/1/entityUrn" in message
    assert "/proposals/2/aspect/value/tags/0/tag" in message
    assert "/proposals/3/aspect/value" in message
    assert written() == []


def test_reads_follow_writes_at_once_also_asynchronous_ones(root):
    for n, is_async in enumerate(("true", "false", True, None)):
        body = {"proposal": proposal(DATASET, "madeUp", {"n": n}), "async": is_async}
        assert root.post("/aspects?action=ingestProposal", body).status_code == 200
        assert list(root.aspect(DATASET, "madeUp").json()["aspect"].values()) == [{"n": n}]


METADATA = {"runId": "r", "lastObserved": 7}


@pytest.mark.parametrize("sent", [METADATA, json.dumps(METADATA)])
def test_system_metadata_is_an_object_or_text_that_holds_one(root, sent):
    assert root.write(proposal(DATASET, "madeUp", {}, systemMetadata=sent)).status_code == 200
    assert root.aspect(DATASET, "madeUp").json()["systemMetadata"] == METADATA
    assert root.get(f"/entitiesV2/{DATASET}").json()["aspects"]["madeUp"]["systemMetadata"] == METADATA


def test_system_metadata_may_be_absent(root):
    one = proposal(DATASET, "madeUp", {})
    del one["systemMetadata"]
    assert root.write(one).status_code == 200
    assert root.aspect(DATASET, "madeUp").json()["systemMetadata"]["lastObserved"] > 0


@pytest.mark.parametrize("sent", ["no JSON", "[]", 5, [], "", True])
def test_system_metadata_of_another_kind_is_refused(root, sent):
    answer = root.write(proposal(DATASET, "madeUp", {}, systemMetadata=sent))
    assert answer.status_code == 400
    assert "/proposal/systemMetadata" in answer.json()["message"]


@pytest.mark.parametrize(
    ("member", "value", "place"),
    [
        ("changeType", "FROBNICATE", "/proposal/changeType"),
        ("changeType", ["UPSERT"], "/proposal/changeType"),
        ("entityType", "chart", "/proposal/entityType"),
        ("entityType", 5, "/proposal/entityType"),
        ("entityUrn", "dataset:x", "/proposal/entityUrn"),
        ("entityUrn", None, "/proposal/entityUrn"),
        ("entityUrn", {}, "/proposal/entityUrn"),
        ("entityUrn", "urn:li:dataset:a\u0000", "/proposal/entityUrn"),
        ("entityUrn", "urn:li:dataset:a\\u0000", "/proposal/entityUrn"),
        ("entityUrn", "urn:li:dataset:(a,b", "/proposal/entityUrn"),
        ("entityUrn", "urn:li:dataset:" + "é" * 300, "/proposal/entityUrn"),
        ("aspectName", "", "/proposal/aspectName"),
        ("aspectName", None, "/proposal/aspectName"),
        ("aspectName", 7, "/proposal/aspectName"),
        ("aspect", None, "/proposal/aspect/value"),
        ("aspect", "{}", "/proposal/aspect/value"),
        ("aspect", {}, "/proposal/aspect/value"),
        ("aspect", {"value": {"a": 1}}, "/proposal/aspect/value"),
        ("aspect", {"value": "[]"}, "/proposal/aspect/value"),
        ("aspect", {"value": "NaN"}, "/proposal/aspect/value"),
        ("aspect", {"value": '{"a": "\u0000"}'}, "/proposal/aspect/value"),
        ("aspect", {"value": "[" * 100_000}, "/proposal/aspect/value"),
        ("aspect", {"value": '{"n": 1' + "0" * 5000 + "}"}, "/proposal/aspect/value"),
    ],
)
def test_each_bad_member_is_named(root, member, value, place):
    answer = root.write(proposal(DATASET, "madeUp", {}, **{member: value}))
    assert answer.status_code == 400, answer.content
    assert answer.json().keys() == {"status", "message", "exceptionClass"}
    assert answer.json()["status"] == 400
    assert place in answer.json()["message"]
    assert written() == []


def test_half_of_a_surrogate_pair_is_refused_wherever_it_stands(root):
    for member, value in {
        "entityUrn": "urn:li:dataset:\ud800",
        "aspectName": "a\ud800",
        "aspect": {"value": '{"a": "\ud800"}'},
        "systemMetadata": {"runId": "\ud800"},
        "changeType": "\ud800",
        "entityType": "\ud800",
    }.items():
        answer = root.write(proposal(DATASET, "madeUp", {}, **{member: value}))
        assert answer.status_code == 400, member
    assert written() == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b"null",
        b'{"proposal": null}',
        b'{"proposal": []}',
        b'{"proposal": NaN}',
        b"[" * 200_000,
        b'{"a": 1' + b"0" * 10_000 + b"}",
        b'{"proposals": {}}',
    ],
)
@pytest.mark.parametrize("action", ["ingestProposal", "ingestProposalBatch"])
def test_a_body_that_is_no_proposal(root, body, action):
    answer = root.post(f"/aspects?action={action}", body)
    assert answer.status_code == 400
    assert answer.json()["message"]


@pytest.mark.parametrize("action", ["", "?action=", "?action=frobnicate"])
def test_an_unknown_action_names_those_there_are(root, action):
    for path in ("/aspects", "/entities", "/entities/"):
        answer = root.post(path + action, {})
        assert answer.status_code == 400
        assert "The action is one of" in answer.json()["message"]


def test_an_owned_aspect_is_checked_and_the_field_named(root):
    answer = root.write(proposal(ROLE, "roleProperties", {"description": 5}))
    assert answer.status_code == 400
    assert "/proposal/aspect/value/name" in answer.json()["message"]
    assert "/proposal/aspect/value/description" in answer.json()["message"]


def test_unknown_fields_of_owned_aspects_are_kept(root):
    document = {"name": "R", "type": "READ", "laterVersion": {"x": [1]}}
    root.write(proposal(ROLE, "roleProperties", document))
    assert root.aspect(ROLE, "roleProperties").json()["aspect"]["com.linkedin.role.RoleProperties"] == document


@pytest.mark.parametrize(
    ("wire", "meant"),
    [
        ("urn:li:corpuser:jos\\u00e9", "urn:li:corpuser:josé"),
        ("urn:li:tag:\\ud83d\\ude00", "urn:li:tag:😀"),
        ("urn:li:tag:a\\nb\\u0041", "urn:li:tag:a\\nbA"),
    ],
)
def test_a_single_proposal_escapes_its_urn_twice(root, wire, meant):
    assert writes.unescape(wire) == meant
    if "corpuser" not in meant:
        assert root.write(proposal(wire, "madeUp", {})).json() == {"value": meant}
        assert root.entity(meant).json()["urn"] == meant


def test_a_batch_escapes_its_urns_once(root):
    urn = "urn:li:tag:jos\\u00e9"
    both = proposal(urn, "madeUp", {}), proposal("urn:li:tag:é", "madeUp", {})
    assert root.write(*both).json() == {"value": [urn, "urn:li:tag:é"]}


def test_create_and_create_entity_refuse_what_is_there(root):
    assert root.write(proposal(DATASET, "madeUp", {"n": 1}, changeType="CREATE")).status_code == 200
    again = root.write(proposal(DATASET, "madeUp", {"n": 2}, changeType="CREATE"))
    assert again.status_code in (400, 409)
    assert "madeUp" in again.json()["message"]
    entity = root.write(proposal(DATASET, "other", {}, changeType="CREATE_ENTITY"))
    assert entity.status_code in (400, 409)
    assert root.aspect(DATASET, "other").status_code == 404


def test_a_delete_takes_one_aspect(root):
    root.write(proposal(DATASET, "madeUp", {}))
    gone = proposal(DATASET, "madeUp", changeType="DELETE")
    del gone["aspect"]
    assert root.write(gone).status_code == 200
    assert root.aspect(DATASET, "madeUp").status_code == 404
    assert root.aspect(DATASET, "datasetKey").status_code == 200


def test_older_versions_are_read_by_number(root):
    for n in range(3):
        root.write(proposal(DATASET, "madeUp", {"n": n}))
    found = [root.aspect(DATASET, "madeUp", version).json()["aspect"] for version in (0, 1, 2)]
    assert [next(iter(one.values()))["n"] for one in found] == [2, 0, 1]
    assert root.aspect(DATASET, "madeUp", 3).status_code == 404


def test_bodies_up_to_sixteen_mebibytes(root):
    text = json.dumps({"text": "x" * (15 * 1024 * 1024)})
    assert root.write(proposal(DATASET, "madeUp", text)).status_code == 200
    too_large = b" " * (16 * 1024 * 1024 + 1)
    answer = root.post("/aspects?action=ingestProposal", too_large)
    assert (answer.status_code, answer.json()["status"]) == (413, 413)
    assert "16,777,216 bytes" in answer.json()["message"]


def test_a_body_far_too_large_is_refused_before_it_is_read(root, settings):
    settings.BODY_LIMIT, settings.BODY_LIMITS = 1000, {"/aspects": 1000}
    answer = root.post("/aspects?action=ingestProposal", b" " * 2000)
    assert answer.status_code == 413
    assert answer.json()["status"] == 413


def test_too_many_proposals_are_refused(root, monkeypatch):
    monkeypatch.setattr(writes, "MAX_PROPOSALS", 3)
    answer = root.write(*[proposal(f"urn:li:tag:{n}", "madeUp", {}) for n in range(4)])
    assert answer.status_code == 400
    assert "at most 3 proposals" in answer.json()["message"]


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_the_content_type_does_not_matter(root, content_type):
    body = {"proposal": proposal(DATASET, "madeUp", {"of": content_type})}
    answer = root.post("/aspects?action=ingestProposal", body, content_type=content_type)
    assert answer.status_code == 200


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "image/png;q=0.1", "nonsense"])
def test_what_is_accepted_does_not_matter(root, accept):
    root.write(proposal(DATASET, "madeUp", {}))
    assert root.get(f"/entities/{DATASET}", headers={"accept": accept, "x-unheard-of": "1"}).status_code == 200


def test_a_write_of_a_policy_names_the_version_and_others_do_not(root):
    info = {
        "displayName": "From the SDK",
        "description": "",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_TAGS"],
        "actors": {"users": [ROOT], "allUsers": False, "allGroups": False, "resourceOwners": False},
        "editable": True,
    }
    urn = "urn:li:dataHubPolicy:from-the-sdk"
    before = PolicyVersion.load_version()
    answer = root.write(proposal(urn, "dataHubPolicyInfo", info))
    assert int(answer.headers["Policy-Version"]) > before
    read = root.aspect(urn, "dataHubPolicyInfo").json()["aspect"]["com.linkedin.policy.DataHubPolicyInfo"]
    assert {key: read[key] for key in info} == info
    assert "Policy-Version" not in root.write(proposal(DATASET, "madeUp", {})).headers
    beside = root.post("/entities?action=delete", {"urn": urn, "aspectName": "madeUp"})
    assert (beside.status_code, "Policy-Version" in beside.headers) == (200, True)
    gone = root.post("/entities?action=delete", {"urn": urn})
    assert int(gone.headers["Policy-Version"]) > int(answer.headers["Policy-Version"])
    assert root.aspect(urn, "dataHubPolicyInfo").status_code == 404


def test_the_key_of_a_policy_is_not_deleted_half(root):
    one = proposal("urn:li:dataHubPolicy:7", "dataHubPolicyKey", changeType="DELETE")
    for answer in (root.write(one), root.write(one, proposal(DATASET, "madeUp", {}))):
        assert answer.status_code == 400
        assert "action=delete" in answer.json()["message"]
    assert written() == []
