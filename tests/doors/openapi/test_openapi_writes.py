"""Writes, patches, deletes and traces through DataHub's OpenAPI (clients.md 1.5 and 1.8)."""

import json
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.models import Aspect, Entity
from policies.models import User
from policies.pdp import actor_resolution
from tests.doors.conftest import DATASET, written
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db

TAG = "urn:li:tag:x"
JO = {"owner": "urn:li:corpuser:jo", "type": "DATAOWNER"}


def entity(urn, **aspects):
    return {"urn": urn, **{name: {"value": value} for name, value in aspects.items()}}


def post(caller, type_, *entities, query="?async=false"):
    return caller.post(f"/openapi/v3/entity/{type_}{query}", list(entities))


def patch(caller, type_, *entities, query="?async=false"):
    return caller.client.patch(
        f"/openapi/v3/entity/{type_}{query}", json.dumps(list(entities)), content_type="application/json"
    )


def value(caller, urn, aspect):
    return caller.entity(urn).json()["aspects"][aspect]["value"]


def test_several_aspects_of_several_entities_are_written_together(root):
    other = DATASET.replace("orders", "lines")
    answer = post(
        root,
        "dataset",
        entity(DATASET, ownership={"owners": [JO]}, datasetProperties={"name": "Orders"}),
        entity(other, madeUp={"a": 1.5}),
    )
    assert answer.status_code == 200, answer.content
    assert answer.json() == [
        entity(DATASET, datasetProperties={"name": "Orders"}, ownership={"owners": [JO]}),
        entity(other, madeUp={"a": 1.5}),
    ]
    assert root.entity(DATASET).json()["aspects"].keys() == {"datasetKey", "datasetProperties", "ownership"}


@pytest.mark.parametrize(("query", "status"), [("", 202), ("?async=true", 202), ("?async=FALSE", 200)])
def test_asynchronous_writes_are_there_at_once_and_can_be_traced(root, query, status):
    answer = post(root, "tag", entity(TAG, tagProperties={"name": "X"}), query=query)
    assert answer.status_code == status
    version, trace, parent, _ = answer.headers["traceparent"].split("-")
    assert (version, len(trace), len(parent)) == ("00", 32, 16)
    assert value(root, TAG, "tagProperties") == {"name": "X"}
    found = root.post(
        f"/openapi/v1/trace/write/{trace}?onlyIncludeErrors=false&detailed=true", {TAG: ["tagProperties", "madeUp"]}
    ).json()
    assert found[TAG]["tagProperties"]["success"] is True
    assert found[TAG]["tagProperties"]["primaryStorage"] == {"writeStatus": "ACTIVE_STATE"}
    assert found[TAG]["tagProperties"]["searchStorage"] == {"writeStatus": "ACTIVE_STATE"}
    assert found[TAG]["madeUp"]["success"] is False
    errors = root.post(f"/openapi/v1/trace/write/{trace}", {TAG: ["tagProperties", "madeUp"], DATASET: []}).json()
    assert {urn: list(one) for urn, one in errors.items()} == {TAG: ["madeUp"]}


@pytest.mark.parametrize(
    ("trace", "body", "status"),
    [
        ("x", {}, 404),
        ("0" * 32, [], 400),
        ("0" * 32, {"no urn": ["a"]}, 400),
        ("0" * 32, {TAG: "a"}, 400),
        ("0" * 32, {TAG: [5]}, 400),
        ("0" * 32, {f"urn:li:tag:{n}": [] for n in range(1001)}, 400),
        ("0" * 32, {TAG: []}, 200),
    ],
)
def test_a_trace_that_is_none(root, trace, body, status):
    assert root.post(f"/openapi/v1/trace/write/{trace}", body).status_code == status


def test_the_pointer_to_an_entity_of_a_trace_is_escaped(root):
    answer = root.post(f"/openapi/v1/trace/write/{'0' * 32}", {"urn:li:tag:a/b~c": 7})
    assert (answer.status_code, answer.json()["message"].split(": ")[0]) == (400, "/urn:li:tag:a~1b~0c")


@pytest.mark.parametrize("type_", ["dataHubPolicy", "datahubpolicy", "DATAHUBPOLICY"])
def test_the_type_in_any_letter_case(root, type_):
    urn = "urn:li:dataHubPolicy:7"
    read = root.get(f"/openapi/v3/entity/{type_}/{urn}")
    info = read.json()["dataHubPolicyInfo"]["value"] | {"description": "By OpenAPI"}
    answer = post(root, type_, entity(urn, dataHubPolicyInfo=info))
    assert (answer.status_code, "Policy-Version" in answer.headers) == (200, True)
    assert root.get(f"/openapi/v3/entity/{type_}/{urn}").json()["dataHubPolicyInfo"]["value"]["description"] == (
        "By OpenAPI"
    )


def test_people_are_written_as_terraform_does(root):
    """The key and the profile together; the profile is replaced whole."""
    urn = "urn:li:corpuser:terra"
    first = {"active": True, "displayName": "T", "title": "Owner", "customProperties": {}}
    for info in (first, first, {"active": True, "displayName": "T"}):
        answer = post(root, "corpuser", entity(urn, corpUserKey={"username": "terra"}, corpUserInfo=info))
        assert answer.status_code == 200, answer.content
        assert root.get(f"/openapi/v3/entity/corpuser/{urn}").json()["corpUserInfo"]["value"] == info
    assert User.objects.get(urn=urn).title == ""
    service = "urn:li:corpuser:service_1"
    answer = post(
        root,
        "corpuser",
        entity(
            service,
            corpUserKey={"username": "service_1"},
            corpUserInfo={"active": True, "displayName": "S"},
            subTypes={"typeNames": ["SERVICE_ACCOUNT"]},
        ),
    )
    assert answer.status_code == 200, answer.content
    assert User.objects.get(urn=service).kind == User.Kind.SERVICE


def test_one_aspect_by_its_own_path(root):
    path = f"/openapi/v3/entity/dataset/{quote(DATASET, safe='')}/ownership"
    for slash in ("", "/"):
        answer = root.post(path + slash + "?async=false", {"value": {"owners": [JO]}})
        assert (answer.status_code, answer.json()) == (200, entity(DATASET, ownership={"owners": [JO]}))
    gone = [{"op": "remove", "path": "/owners/urn:li:corpuser:jo"}]
    answer = root.client.patch(path, json.dumps({"patch": gone}), content_type="application/json")
    assert answer.json() == entity(DATASET, ownership={"owners": []})
    assert root.post(path.removesuffix("/ownership"), {}).status_code == 405
    assert "DELETE" in root.post(path.removesuffix("/ownership"), {}).headers["Allow"]


def test_patches_of_both_forms(root):
    add = [{"op": "add", "path": "/owners/urn:li:corpuser:jo/DATAOWNER", "value": JO}]
    keyed = {
        "arrayPrimaryKeys": {"owners": ["owner", "type", "typeUrn", "attribution\u241fsource"]},
        "patch": [
            {"op": "add", "path": "/owners/urn:li:corpuser:al/CUSTOM//", "value": {"owner": "urn:li:corpuser:al"}}
        ],
        "forceGenericPatch": False,
    }
    for one in (add, {"patch": add}):
        assert patch(root, "dataset", entity(DATASET, ownership=one)).status_code == 200
    answer = patch(root, "dataset", entity(DATASET, ownership=keyed))
    assert answer.json()[0]["ownership"]["value"]["owners"] == [JO, {"owner": "urn:li:corpuser:al"}]
    assert value(root, DATASET, "ownership")["owners"] == [JO, {"owner": "urn:li:corpuser:al"}]


def test_a_patch_is_answered_with_what_its_sender_may_read(root, person):
    post(root, "dataset", entity(DATASET, globalTags={"tags": [{"tag": "urn:li:tag:hidden"}]}))
    close_the_reading_policies(root)
    jo = person("jo", "EDIT_ENTITY_TAGS")
    add = [{"op": "add", "path": f"/tags/{TAG}", "value": {"tag": TAG}}]
    answer = patch(jo, "dataset", entity(DATASET, globalTags=add))
    assert (answer.status_code, answer.json()) == (200, [{"urn": DATASET, "globalTags": {}}])
    assert len(value(root, DATASET, "globalTags")["tags"]) == 2


def test_secrets_are_not_told_back(root):
    urn = "urn:li:dataHubSecret:s"
    answer = post(root, "dataHubSecret", entity(urn, dataHubSecretValue={"name": "s", "value": "hush"}))
    assert (answer.status_code, "hush" in answer.content.decode()) == (200, False)
    added = [{"op": "add", "path": "/note", "value": "n"}]
    answer = patch(root, "dataHubSecret", entity(urn, dataHubSecretValue=added))
    assert (answer.status_code, "hush" in answer.content.decode()) == (200, False)
    for path in ("", "/dataHubSecretValue"):
        assert "hush" not in root.get(f"/openapi/v3/entity/dataHubSecret/{urn}{path}").content.decode()


def test_create_only_what_is_new(root):
    first = entity(TAG, tagProperties={"name": "X"})
    assert post(root, "tag", first, query="?async=false&createIfNotExists=true").status_code == 200
    assert post(root, "tag", first, query="?async=false&createIfNotExists=true").status_code == 400
    other = entity(TAG, madeUp={})
    assert post(root, "tag", other, query="?createEntityIfNotExists=true").status_code == 400
    assert post(root, "tag", other, query="?createIfNotExists=true").status_code == 202


def test_system_metadata_and_headers(root):
    metadata = {"lastObserved": 5, "runId": "run"}
    for sent in (metadata, json.dumps(metadata), None):
        one = {"urn": TAG, "madeUp": {"value": {"of": str(sent)}, "systemMetadata": sent, "headers": {"X-Other": "1"}}}
        assert post(root, "tag", one).status_code == 200
        found = root.get(f"/openapi/v3/entity/tag/{TAG}?systemMetadata=true").json()["madeUp"]["systemMetadata"]
        assert sent is None or found == metadata


GOOD: dict[str, object] = {"madeUp": {"value": {}}}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "must be a JSON list"),
        ("text", "JSON"),
        ([5], "/0:"),
        ([{}], "/0/urn"),
        ([{"urn": 5}], "/0/urn"),
        ([{"urn": DATASET}], "/0:"),
        ([{"urn": "urn:li:tag:x", **GOOD}], "/0/urn: The URN is that of a tag."),
        ([{"urn": "urn:li:dataset:\u0000", **GOOD}], "/0/urn"),
        ([{"urn": DATASET, **GOOD}, {"urn": DATASET, "madeUp": 5}], "/1/madeUp/value"),
        ([{"urn": DATASET, "madeUp": {}}], "/0/madeUp/value"),
        ([{"urn": DATASET, "madeUp": {"value": "{}"}}], "/0/madeUp/value"),
        ([{"urn": DATASET, "": {"value": {}}}], "/0/: The name of an aspect"),
        ([{"urn": DATASET, "a/b": {"value": {}}}], "/0/a~1b: The name of an aspect"),
        ([{"urn": DATASET, "madeUp": {"value": {"a": "\ud800"}}}], "/0/madeUp/value"),
        ([{"urn": DATASET, "madeUp": {"value": {}, "systemMetadata": 5}}], "/0/madeUp/systemMetadata"),
        ([{"urn": DATASET, "madeUp": {"value": {}, "headers": 5}}], "/0/madeUp/headers"),
        ([{"urn": DATASET, "madeUp": {"value": {}, "headers": {"If-Version-Match": "3"}}}], "/0/madeUp/headers"),
        ([{"urn": DATASET, "ownership": {"value": {"owners": [{"owner": "x"}]}}}], "/0/ownership/value/owners/0/owner"),
        ([{"urn": DATASET, **GOOD}] * 10_001, "at most 10000"),
    ],
)
@pytest.mark.parametrize("method", ["post", "patch"])
def test_a_write_that_is_none(root, body, place, method):
    text = body if body == "text" else json.dumps(body)
    if method == "patch":
        place = {"/0/ownership/value/owners/0/owner": "/0/ownership/value"}.get(place, place)
    answer = getattr(root.client, method)(
        "/openapi/v3/entity/dataset?async=false", text, content_type="application/json"
    )
    assert answer.status_code == 400, answer.content
    assert place in answer.json()["message"]
    assert written() == []


@pytest.mark.parametrize("depth", [120, 140, 160, 900, 960, 980, 990, 100_000])
def test_nesting_is_refused_whatever_the_depth(root, depth):
    deep = "[" * depth + "]" * depth
    for path, body in (
        ("/openapi/v3/entity/tag?async=false", f'[{{"urn": "{TAG}", "madeUp": {{"value": {{"a": {deep}}}}}}}]'),
        ("/openapi/v3/entity/tag?async=false", f'[{{"urn": "{TAG}", "madeUp": {{"systemMetadata": {deep}}}}}]'),
        ("/openapi/v3/entity/tag/batchGet", deep),
        ("/openapi/v3/entity/scroll", f'{{"filter": {deep}}}'),
        ("/aspects?action=ingestProposal", f'{{"proposal": {{"systemMetadata": {deep}}}}}'),
    ):
        assert root.post(path, body).status_code == 400, path
    assert written() == []


def test_bodies_up_to_sixteen_mebibytes(root):
    long = "x" * (15 * 1024 * 1024)
    assert post(root, "tag", entity(TAG, madeUp={"text": long})).status_code == 200
    too_large = root.post("/openapi/v3/entity/tag", b" " * (16 * 1024 * 1024 + 1))
    assert (too_large.status_code, too_large.json()["status"]) == (413, 413)


def test_switches_that_are_neither_true_nor_false(root):
    assert post(root, "tag", entity(TAG, madeUp={}), query="?async=maybe").status_code == 400
    assert written() == []


def test_a_delete_may_be_repeated(root):
    post(root, "dataset", entity(DATASET, madeUp={}, other={}))
    path = f"/openapi/v3/entity/dataset/{DATASET}"
    assert root.client.delete(f"{path}?clear=true").status_code == 400
    assert root.client.delete(f"{path}/datasetKey").status_code == 400
    assert root.client.delete(f"{path}?aspects=madeUp,nothing").status_code == 200
    assert root.entity(DATASET).json()["aspects"].keys() == {"datasetKey", "other"}
    assert root.client.delete(f"{path}/other").status_code == 200
    for _ in range(2):
        assert root.client.delete(path).status_code == 200
    assert root.entity(DATASET).status_code == 404
    policy = root.client.delete("/openapi/v3/entity/datahubpolicy/urn:li:dataHubPolicy:view-dataset-sensitive")
    assert "Policy-Version" in policy.headers or policy.status_code == 403
    assert root.client.delete("/openapi/v3/entity/tag/urn:li:dataset:x").status_code == 400


def test_a_write_costs_the_same_number_of_queries_whatever_its_length(root):
    def cost(start, count):
        numbers = range(start, start + count)
        batch = [entity(f"urn:li:tag:t{n}", tagProperties={"name": str(n)}, globalTags={"tags": []}) for n in numbers]
        with CaptureQueriesContext(connection) as captured:
            assert post(root, "tag", *batch).status_code == 200
        return len(captured)

    cost(0, 2)
    assert cost(10, 50) == cost(100, 5)


def test_memberships_are_those_of_the_pages(root):
    answer = post(
        root,
        "corpuser",
        entity(
            "urn:li:corpuser:jo",
            corpUserInfo={"active": True},
            nativeGroupMembership={"nativeGroups": ["urn:li:corpGroup:eng"]},
        ),
    )
    assert answer.status_code == 200, answer.content
    assert actor_resolution.load_actor(urn="urn:li:corpuser:jo").groups == {"urn:li:corpGroup:eng"}
    assert not Aspect.objects.filter(name="nativeGroupMembership").exists()
    assert not Entity.objects.filter(urn="urn:li:corpuser:jo").exists()
