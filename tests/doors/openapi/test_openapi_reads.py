"""Reads, batches, scrolls and relationships through DataHub's OpenAPI (clients.md 1.4 to 1.6)."""

import json
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.protocols.datahub_openapi import scroll
from catalog.protocols.datahub_openapi.urls import urlpatterns
from policies.identity.services import groups
from policies.identity.services import users as user_services
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, proposal
from tests.doors.guards import asks_for_a_caller
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db

V3 = "/openapi/v3/entity"
ROLE = "urn:li:role:reader"
TAGS = [f"urn:li:tag:t{n}" for n in range(5)]


@pytest.fixture
def tagged(root):
    root.write(*[proposal(urn, "tagProperties", {"name": f"Tag {urn[-1]}"}) for urn in TAGS])
    return root


def test_every_path_asks_who_is_calling(nobody):
    assert [str(part.pattern) for part in urlpatterns if not asks_for_a_caller(part.callback)] == []
    for path in (f"{V3}/tag", f"{V3}/tag/{TAGS[0]}", "/openapi/relationships/v1/"):
        answer = nobody.get(path)
        assert (answer.status_code, answer.headers["WWW-Authenticate"][:6]) == (401, "Bearer")


@pytest.mark.parametrize("way", ["raw", "encoded", "partly"])
def test_an_entity_and_its_aspects(root, way):
    root.write(
        proposal(DATASET, "datasetProperties", '{"name": "O",  "n": 1.50}'),
        proposal(DATASET, "madeUp", {}, systemMetadata={"runId": "r"}),
    )
    urn = {"raw": DATASET, "encoded": quote(DATASET, safe=""), "partly": quote(DATASET)}[way]
    answer = root.get(f"{V3}/dataset/{urn}")
    key = {"platform": "urn:li:dataPlatform:snowflake", "name": "sales.orders", "origin": "PROD"}
    assert answer.json() == {
        "urn": DATASET,
        "datasetKey": {"value": key},
        "datasetProperties": {"value": {"name": "O", "n": 1.5}},
        "madeUp": {"value": {}},
    }
    assert '{"name": "O",  "n": 1.50}' in answer.content.decode()
    some = root.get(f"{V3}/DATASET/{urn}?aspects=madeUp&aspects=other&systemMetadata=true").json()
    assert some == {"urn": DATASET, "madeUp": {"value": {}, "systemMetadata": {"runId": "r"}}}
    assert root.get(f"{V3}/dataset/{urn}/madeUp").json() == {"value": {}}
    assert root.get(f"{V3}/dataset/{urn}/datasetProperties/").json()["value"]["name"] == "O"
    for path, status in (("", 200), ("/madeUp", 200), ("/nothing", 404), ("/madeUp?version=1", 404)):
        assert root.client.head(f"{V3}/dataset/{urn}{path}").status_code == status
        assert root.get(f"{V3}/dataset/{urn}{path}").status_code == status


def test_what_nobody_knows_is_404(root):
    for path in (ROLE, f"{ROLE}/roleProperties", f"{ROLE}/roleKey"):
        assert root.get(f"{V3}/role/{path}").status_code == 404
        assert root.client.head(f"{V3}/role/{path}").status_code == 404


@pytest.mark.parametrize("name", ["a/b//c", "a/status", "100%", "%41", "é😀", "(x)", "a b+c", "a?b#c"])
@pytest.mark.parametrize("shape", ["urn:li:tag:{}", "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"])
def test_keys_may_hold_anything(root, shape, name):
    urn = shape.format(name)
    root.write(proposal(urn, "madeUp", {"name": name}), proposal(urn, "status", {"removed": False}))
    type_ = urn.split(":")[2]
    batch = root.post(f"{V3}/{type_}/batchGet", [{"urn": urn, "madeUp": {}}]).json()
    assert batch == [{"urn": urn, "madeUp": {"value": {"name": name}}}]
    assert root.get(f"{V3}/{type_}/{quote(urn, safe='')}/status").json() == {"value": {"removed": False}}
    whole = root.get(f"{V3}/{type_}/{quote(urn, safe='')}")
    if name.endswith("/status") and "(" not in urn:
        # After a plain key the name of a known aspect is one; batches name such entities without doubt.
        assert whole.status_code == 404
    else:
        assert whole.json()["madeUp"] == {"value": {"name": name}}


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("tag/urn:li:dataset:x", "The URN is that of a dataset."),
        ("tag/x", "/urn"),
        ("tag/urn:li:tag:", "/urn"),
        ("tag/urn:li:tag:a%0Ab", "/urn"),
        ("tag/urn:li:tag:a%00", "/urn"),
        ("dataset/urn:li:dataset:(a", "/urn"),
        ("dataset/urn:li:dataset:(a,b)/c/d", "/urn"),
        ("tag/urn:li:tag:x?systemMetadata=5", "/systemMetadata"),
        ("tag/urn:li:tag:x/tagProperties?version=-1", "/version"),
        ("tag/urn:li:tag:x/tagProperties?version=99999999999", "/version"),
        ("tag?count=x", "/count"),
        ("tag?count=-1", "/count"),
        ("tag?scrollId=x", "/scrollId"),
        ("tag?scrollId=WyJhIiwgMCwgIngiXQ==", "/scrollId"),
        ("tag?scrollId=" + "W" * 4000, "/scrollId"),
        ("tag?includeSoftDelete=x", "/includeSoftDelete"),
    ],
)
def test_a_question_that_is_none(root, path, place):
    root.write(proposal("urn:li:tag:x", "tagProperties", {"name": "X"}))
    answer = root.get(f"{V3}/{path}")
    assert answer.status_code == 400, answer.content
    assert place in answer.json()["message"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("put", f"{V3}/tag"),
        ("delete", f"{V3}/tag"),
        ("get", f"{V3}/tag/batchGet"),
        ("put", f"{V3}/tag/{TAGS[0]}"),
        ("get", f"{V3}/scroll"),
        ("post", "/openapi/relationships/v1/"),
        ("get", "/openapi/v1/trace/write/x"),
    ],
)
def test_other_methods_are_refused_in_json(root, method, path):
    answer = getattr(root.client, method)(path)
    assert (answer.status_code, answer.json()["status"]) == (405, 405)
    assert answer.headers["Allow"]


def test_a_batch_gives_the_known_ones(tagged):
    jo = user_services.create(username="jo", display_name="Jo", by=authorizer.SYSTEM, channel=DOOR)
    body = [{"urn": TAGS[3]}, {"urn": "urn:li:tag:none"}, {"urn": TAGS[1], "status": {}}]
    found = tagged.post(f"{V3}/TAG/batchGet/?systemMetadata=true", body).json()
    assert [one["urn"] for one in found] == [TAGS[3], TAGS[1]]
    assert found[0].keys() == {"urn", "tagKey", "tagProperties"}
    assert found[0]["tagProperties"]["systemMetadata"]["runId"]
    assert found[1] == {"urn": TAGS[1]}
    person = tagged.post(f"{V3}/corpUser/batchGet", [{"urn": jo.urn, "corpUserInfo": {}}]).json()
    assert person[0]["corpUserInfo"]["value"]["displayName"] == "Jo"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "must be a JSON list"),
        ([5], "/0:"),
        ([{}], "/0/urn"),
        ([{"urn": DATASET}], "/0/urn: The URN is that of a dataset."),
        ([{"urn": "urn:li:tag:\ud800"}], "/0/urn"),
        ([{"urn": "urn:li:tag:x"}] * 1001, "at most 1000"),
    ],
)
def test_a_batch_that_is_none(root, body, place):
    answer = root.post(f"{V3}/tag/batchGet", body)
    assert answer.status_code == 400
    assert place in answer.json()["message"]


def scrolled(caller, path, body=None):
    """Every page of a scroll, as lists of URNs."""
    pages, full = [], path
    while True:
        found = (caller.get(full) if body is None else caller.post(full, body)).json()
        pages.append([one["urn"] for one in found["entities"]])
        if found["scrollId"] is None:
            return pages
        full = f"{path}{'&' if '?' in path else '?'}scrollId={found['scrollId']}"


def test_a_scroll_ends(tagged):
    assert scrolled(tagged, f"{V3}/TAG?count=2") == [TAGS[:2], TAGS[2:4], TAGS[4:]]
    assert scrolled(tagged, f"{V3}/tag?count=5") == [TAGS]
    assert scrolled(tagged, f"{V3}/tag?count=0") == [[]]
    assert scrolled(tagged, f"{V3}/madeUp") == [[]]
    assert scrolled(tagged, f"{V3}/tag?query=tag+3") == [[TAGS[3]]]
    assert scrolled(tagged, f"{V3}/tag?query=%00") == [[]]
    found = tagged.get(f"{V3}/tag?count=1&aspects=tagProperties").json()
    assert found["entities"] == [{"urn": TAGS[0], "tagProperties": {"value": {"name": "Tag 0"}}}]
    assert found["totalCount"] == 5


def test_a_place_belongs_to_its_scroll(tagged):
    place = tagged.get(f"{V3}/tag?count=2").json()["scrollId"]
    assert tagged.get(f"{V3}/tag?count=3&scrollId={place}").status_code == 200
    for other in (f"{V3}/dataset?scrollId={place}", f"{V3}/tag?query=tag&scrollId={place}"):
        assert tagged.get(other).status_code == 400


def test_a_scroll_goes_on_while_entities_come_and_go(tagged):
    first = tagged.get(f"{V3}/tag?count=2").json()
    tagged.post("/entities?action=delete", {"urn": TAGS[1]})
    tagged.write(proposal("urn:li:tag:a", "tagProperties", {"name": "A"}))
    rest = tagged.get(f"{V3}/tag?count=9&scrollId={first['scrollId']}").json()
    assert [one["urn"] for one in rest["entities"]] == TAGS[2:]


def test_soft_deleted_entities_are_left_out_unless_asked_for(tagged):
    tagged.write(proposal(TAGS[0], "status", {"removed": True}))
    assert scrolled(tagged, f"{V3}/tag") == [TAGS[1:]]
    assert scrolled(tagged, f"{V3}/tag?includeSoftDelete=true") == [TAGS]
    assert tagged.get(f"{V3}/tag/{TAGS[0]}").json()["status"] == {"value": {"removed": True}}


def test_a_scroll_over_several_types(tagged):
    user_services.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    body = {"entities": ["CORPUSER", "tag"]}
    pages = scrolled(tagged, f"{V3}/scroll?count=3", body)
    assert pages == [TAGS[:3], [*TAGS[3:], ROOT], ["urn:li:corpuser:jo"]]
    bare = tagged.post(f"{V3}/scroll", body).json()["entities"][0]
    assert bare == {"urn": TAGS[0]}
    whole = tagged.post(f"{V3}/scroll", body | {"aspects": []}).json()["entities"][0]
    assert whole.keys() == {"urn", "tagKey", "tagProperties"}
    everything = [urn for page in scrolled(tagged, f"{V3}/generic/scroll?count=50", {}) for urn in page]
    assert len(everything) == len(set(everything))
    assert {*TAGS, ROOT, "urn:li:dataHubPolicy:7", "urn:li:dataHubRole:Admin"} <= set(everything)


def test_the_filter_of_a_scroll(tagged):
    criteria = [{"field": "urn", "values": [TAGS[2]], "condition": "EQUAL"}]
    other = [{"field": "urn", "values": [TAGS[4]]}]
    for narrowing in (
        {"and": [{"criteria": criteria}, {"criteria": other}]},
        {"or": [{"and": criteria}, {"and": other}]},
    ):
        assert scrolled(tagged, f"{V3}/scroll", {"filter": narrowing}) == [[TAGS[2], TAGS[4]]]
    wrong: list[dict[str, object]] = [
        {"filter": {"and": [{"criteria": [{"field": "madeUp", "values": []}]}]}},
        {"filter": 5},
        {"filter": {"and": [{"criteria": criteria}]}, "entities": ["corpuser"]},
        {"entities": [5]},
        {"entities": "tag"},
        {"aspects": {}},
        {"entities": ["tag"] * 101},
    ]
    for bad in wrong:
        assert tagged.post(f"{V3}/scroll", bad).status_code == 400, bad


def test_pages_are_cut_at_the_longest(tagged, monkeypatch):
    monkeypatch.setattr(scroll, "MAX_PAGE_SIZE", 2)
    assert scrolled(tagged, f"{V3}/tag?count=5000") == [TAGS[:2], TAGS[2:4], TAGS[4:]]


def queries_of(call):
    with CaptureQueriesContext(connection) as captured:
        assert call().status_code == 200
    return len(captured)


def test_reads_cost_the_same_number_of_queries_whatever_the_page(root):
    urns = [f"urn:li:tag:t{n:03}" for n in range(40)]
    users = [user_services.create(username=f"u{n:03}", by=authorizer.SYSTEM, channel=DOOR).urn for n in range(20)]
    eng = groups.create(identifier="eng", name="Eng", by=authorizer.SYSTEM, channel=DOOR)
    groups.add_members(urn=eng.urn, members=users, by=authorizer.SYSTEM, channel=DOOR)
    owners = {"owners": [{"owner": urn} for urn in users]}
    root.write(*[proposal(urn, "ownership", owners) for urn in urns])
    calls = [
        lambda count: root.get(f"{V3}/tag?count={count}"),
        lambda count: root.get(f"{V3}/corpuser?count={count}"),
        lambda count: root.post(f"{V3}/tag/batchGet", [{"urn": urn} for urn in urns[:count]]),
        lambda count: root.post(f"{V3}/corpuser/batchGet", [{"urn": urn} for urn in users[:count]]),
        lambda count: root.get(
            f"/openapi/relationships/v1/?urn={users[0]}&direction=INCOMING&relationshipTypes=OwnedBy&count={count}"
        ),
    ]
    for position, call in enumerate(calls):
        queries_of(lambda call=call: call(1))
        assert queries_of(lambda call=call: call(2)) == queries_of(lambda call=call: call(20)), position


def test_batches_and_scrolls_leave_out_what_may_not_be_read(tagged, person, settings):
    close_the_reading_policies(tagged)
    only = {"filter": {"criteria": [{"field": "URN", "values": [TAGS[1]], "condition": "EQUALS"}]}}
    jo = person("jo", "VIEW_ENTITY_PAGE", resources=only)
    found = jo.post(f"{V3}/tag/batchGet", [{"urn": urn} for urn in TAGS]).json()
    assert [one["urn"] for one in found] == [TAGS[1]]
    assert jo.get(f"{V3}/tag/{TAGS[0]}").status_code == 403
    assert jo.get(f"{V3}/tag/{TAGS[0]}/tagProperties").status_code == 403
    assert jo.get(f"{V3}/tag/urn:li:tag:none").status_code == 403
    assert jo.post(f"/openapi/v1/trace/write/{'0' * 32}", {TAGS[0]: []}).status_code == 403
    assert jo.get(f"{V3}/corpuser").status_code == 403
    assert jo.post(f"{V3}/scroll", {"entities": ["dataHubPolicy"]}).status_code == 403
    assert ROOT not in json.dumps(jo.post(f"{V3}/scroll?count=1000", {}).json())
    settings.VIEW_AUTHORIZATION_ENABLED = True
    tagged.write(proposal(DATASET, "madeUp", {}))
    assert scrolled(jo, f"{V3}/dataset") == [[]]
