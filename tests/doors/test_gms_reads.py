"""Reads, searches and deletes through DataHub's REST door (clients.md 1.1, 1.2, 1.4, 1.6, 1.7)."""

import json
from urllib.parse import quote

import pytest

from catalog.protocols.datahub_rest import search
from policies.identity.services import roles, users
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, proposal, written

pytestmark = pytest.mark.django_db

ROLE = "urn:li:role:snowflake_reader_role"
PROPERTIES = {"name": "Snowflake Reader Role", "description": "Reads", "type": "READ", "requestUrl": "https://x/y"}
ACTORS = {"users": [{"user": "urn:li:corpuser:john.doe"}], "groups": [{"group": "urn:li:corpGroup:analysts"}]}


@pytest.fixture
def described(root):
    """The external role of source 003."""
    root.write(proposal(ROLE, "roleProperties", PROPERTIES), proposal(ROLE, "actors", ACTORS))
    return root


def test_the_configuration_is_public_and_what_clients_look_for(nobody):
    answer = nobody.get("/config")
    assert answer.status_code == 200
    found = answer.json()
    assert found["noCode"] == "true"
    assert found["retention"] == "true"
    assert found["timeZone"] == "GMT"
    assert found["datahub"] == {"serverEnv": "core", "serverType": "prod"}
    assert found["telemetry"] == {"enabledCli": False}
    assert found["managedIngestion"]["enabled"] is False
    assert found["supportsImpactAnalysis"] is False
    assert isinstance(found["patchCapable"], bool)
    assert isinstance(found["statefulIngestionCapable"], bool)
    assert found["versions"]["acryldata/datahub"].keys() == {"version", "commit"}


def test_health_is_public(nobody):
    assert nobody.get("/health").status_code == 200


def test_an_entity_reads_as_source_003_shows_it(described):
    assert described.entity(ROLE).json() == {
        "urn": ROLE,
        "aspects": {
            "roleKey": {"value": {"id": "snowflake_reader_role"}},
            "actors": {"value": ACTORS},
            "roleProperties": {"value": PROPERTIES},
        },
    }


def test_an_entity_in_envelopes(described):
    found = described.get(f"/entitiesV2/{ROLE}").json()
    assert (found["urn"], found["entityName"]) == (ROLE, "role")
    assert found["aspects"].keys() == {"roleKey", "roleProperties", "actors"}
    envelope = found["aspects"]["actors"]
    assert envelope.keys() == {"name", "type", "version", "value", "created", "systemMetadata"}
    assert (envelope["name"], envelope["type"], envelope["version"]) == ("actors", "VERSIONED", 0)
    assert envelope["created"]["actor"] == ROOT
    assert envelope["created"]["time"] > 1_600_000_000_000


@pytest.mark.parametrize("listed", ["List(actors)", "List(actors,neverHeardOf)", " List( actors ) "])
def test_envelopes_of_some_aspects_come_with_the_key(described, listed):
    found = described.get(f"/entitiesV2/{ROLE}?aspects={quote(listed)}").json()
    assert found["aspects"].keys() == {"roleKey", "actors"}


def test_what_nobody_knows(root):
    assert root.entity(ROLE).status_code == 404
    assert root.aspect(ROLE, "roleProperties").status_code == 404
    assert root.aspect(ROLE, "roleKey").status_code == 404
    found = root.get(f"/entitiesV2/{quote(ROLE)}")
    assert (found.status_code, list(found.json()["aspects"])) == (200, ["roleKey"])


def test_every_stored_entity_has_its_key(described):
    found = described.aspect(ROLE, "roleKey").json()["aspect"]
    assert found == {"com.linkedin.metadata.key.RoleKey": {"id": "snowflake_reader_role"}}
    described.write(proposal(DATASET, "madeUp", {}))
    key = described.aspect(DATASET, "datasetKey").json()["aspect"]["com.linkedin.metadata.key.DatasetKey"]
    assert key == {"platform": "urn:li:dataPlatform:snowflake", "name": "sales.orders", "origin": "PROD"}


@pytest.mark.parametrize(
    "query",
    ["", "?version=0", "?aspect=actors&version=x", "?aspect=actors&version=-1", "?aspect=actors&version=9999999999"],
)
def test_a_question_that_is_none(described, query):
    answer = described.get(f"/aspects/{ROLE}{query}")
    assert answer.status_code == 400
    assert answer.json()["exceptionClass"]


@pytest.mark.parametrize(
    "text", ["dataset", "urn:li:dataset", "urn%3Ali%3Adataset%3A(a", "urn:li:tag:a%0Ab", "urn:li:tag:a%00"]
)
@pytest.mark.parametrize("path", ["entities", "entitiesV2", "aspects"])
def test_what_is_no_urn(root, path, text):
    answer = root.get(f"/{path}/{text}?aspect=status")
    assert answer.status_code == 400
    assert "/urn" in answer.json()["message"]


NAMES = ["a/b//c", "a b+c", "100%", "%41", "(x)", "ü😀", "a?b#c", "a;b=c", "../x", "a'b\"c"]


@pytest.mark.parametrize("name", NAMES)
def test_a_urn_is_decoded_exactly_once(root, name):
    urn = f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"
    assert root.write(proposal(urn, "madeUp", {"name": name})).status_code == 200
    for path in (quote(urn, safe=""), quote(urn), quote(urn, safe=":(),/!$&'*+;=@")):
        assert root.get(f"/entities/{path}").json()["urn"] == urn
        assert root.get(f"/entitiesV2/{path}").json()["aspects"]["madeUp"]["value"] == {"name": name}
        assert root.get(f"/aspects/{path}?aspect=madeUp&version=0").status_code == 200


def test_an_unknown_version_of_an_aspect_nobody_can_have(root):
    root.write(proposal(DATASET, "madeUp", {}))
    assert root.aspect(DATASET, "madeUp\x00").status_code == 404


def test_head_answers_like_get(described):
    for path in (f"/entities/{ROLE}", f"/entitiesV2/{ROLE}", f"/aspects/{ROLE}?aspect=actors"):
        assert described.client.head(path).status_code == 200
    assert described.client.head("/entities/urn:li:role:none").status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("put", "/aspects"),
        ("get", "/aspects"),
        ("delete", "/entities"),
        ("post", f"/entities/{ROLE}"),
        ("get", "/entities/"),
    ],
)
def test_other_methods_are_refused_in_json(root, method, path):
    answer = getattr(root.client, method)(path)
    assert answer.status_code == 405
    assert answer.headers["Allow"]
    assert answer.json()["status"] == 405


@pytest.mark.parametrize("text", ["reader", "Snowflake", "snow read", "*", "", ROLE, "Snowflake Reader Role"])
def test_a_search_finds_by_name(described, text):
    body = {"entity": "role", "input": text, "start": 0, "count": 10}
    answer = described.post("/entities?action=search", body)
    assert answer.json() == {"value": {"from": 0, "pageSize": 10, "numEntities": 1, "entities": [{"entity": ROLE}]}}


def test_a_search_of_another_type_or_word_finds_nothing(described):
    assert described.search(entity="dataset", input="reader") == []
    assert described.search(entity="role", input="writer") == []
    assert described.search(entity="role", input="a\x00") == []
    assert described.search(entity="role\x00", input="reader") == []


def test_a_search_finds_people_roles_and_policies(root):
    jo = users.create(username="jo", display_name="Johanna Reader", by=authorizer.SYSTEM, channel=DOOR)
    role = roles.create(name="Reader of all", identifier="r", by=authorizer.SYSTEM, channel=DOOR)
    assert jo.urn in root.search(entity="corpuser", input="Johanna")
    assert role.urn in root.search(entity="dataHubRole", input="reader of")
    assert "urn:li:dataHubPolicy:7" in root.search(entity="dataHubPolicy", input="*", count=100)
    assert root.search(entity="corpGroup", input="*") == []
    assert root.post("/entities?action=search", {"entity": "corpuser", "filter": {"or": []}}).status_code == 400


def test_pages_of_a_list(root):
    urns = [f"urn:li:tag:{n}" for n in range(5)]
    root.write(*[proposal(urn, "tagProperties", {"name": urn}) for urn in urns])

    def listed(start, count):
        return root.post("/entities?action=listUrns", {"entity": "tag", "start": start, "count": count}).json()["value"]

    assert listed(0, 3) == {"start": 0, "count": 3, "total": 5, "entities": urns[:3]}
    assert listed(3, 3) == {"start": 3, "count": 2, "total": 5, "entities": urns[3:]}
    assert listed(6, 3) == {"start": 6, "count": 0, "total": 5, "entities": []}
    assert ROOT in root.post("/entities?action=listUrns", {"entity": "corpuser"}).json()["value"]["entities"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"entity": 5},
        {"entity": "role", "input": 5},
        {"entity": "role", "start": -1},
        {"entity": "role", "start": "0"},
        {"entity": "role", "count": True},
        {"entity": "role", "count": 10**30},
        {"entity": "role", "start": 1.5},
        {"entity": "role", "filter": []},
        {"entity": "role", "filter": {}},
        {"entity": "role", "filter": {"or": [5]}},
        {"entity": "role", "filter": {"or": [{"and": [{}]}]}},
        {"entity": "role", "filter": {"or": [{"and": [{"field": "madeUp", "values": ["x"]}]}]}},
        {"entity": "role", "filter": {"or": [{"and": [{"field": "urn", "values": "x"}]}]}},
        {"entity": "role", "filter": {"or": [{"and": [{"field": "urn", "values": [5]}]}]}},
        {"entity": "role", "filter": {"or": [{"and": [{"field": "urn", "values": [], "condition": "NEAR"}]}]}},
    ],
)
def test_a_search_that_is_none(root, body):
    answer = root.post("/entities?action=search", body)
    assert answer.status_code == 400, answer.content


def criteria(*found):
    return {"or": [{"and": list(found)}]}


def test_filters_of_a_search(root):
    orders, lines = DATASET, DATASET.replace("orders", "lines")
    root.write(
        proposal(orders, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]}),
        proposal(orders, "domains", {"domains": ["urn:li:domain:sales"]}),
        proposal(lines, "globalTags", {"tags": []}),
    )

    def found(*asked):
        return root.search(entity="dataset", input="*", filter=criteria(*asked))

    pii = {"field": "tags.keyword", "values": ["urn:li:tag:pii"], "condition": "EQUAL"}
    assert found(pii) == [orders]
    assert found(pii | {"negated": True}) == [lines]
    assert found(pii, {"field": "domains", "value": "urn:li:domain:other"}) == []
    assert found({"field": "urn", "values": [lines, "\ud800"], "condition": "IN"}) == [lines]
    assert found({"field": "platform", "values": ["urn:li:dataPlatform:snowflake"]}) == [lines, orders]
    either = {"or": [{"and": [pii]}, {"and": [{"field": "urn", "values": [lines]}]}]}
    everything = set(root.search(entity="dataset", input="*"))
    assert set(root.search(entity="dataset", input="*", filter={"or": [{"and": [pii]}, {"and": []}]})) == everything
    assert root.search(entity="dataset", input="*", filter=either) == [lines, orders]


def test_a_soft_delete_leaves_searches_and_not_reads(described):
    assert described.write(proposal(ROLE, "status", {"removed": True})).status_code == 200
    assert described.search(entity="role", input="reader") == []
    removed = criteria({"field": "removed", "values": ["true"]})
    assert described.search(entity="role", input="reader", filter=removed) == [ROLE]
    assert described.entity(ROLE).json()["aspects"]["status"] == {"value": {"removed": True}}
    assert described.post("/entities?action=listUrns", {"entity": "role"}).json()["value"]["entities"] == [ROLE]
    described.write(proposal(ROLE, "status", {"removed": False}))
    assert described.search(entity="role", input="reader") == [ROLE]


def test_a_hard_delete_takes_everything_and_may_be_repeated(described):
    answer = described.post("/entities?action=delete", {"urn": ROLE})
    assert answer.json() == {"value": {"urn": ROLE, "rows": 2, "timeseriesRows": 0}}
    assert described.entity(ROLE).status_code == 404
    again = described.post("/entities/?action=delete", {"urn": ROLE})
    assert again.json()["value"]["rows"] == 0


def test_a_delete_of_one_aspect_does_not_take_the_entity(described):
    body = {"urn": ROLE, "aspectName": "actors"}
    assert described.post("/entities?action=delete", body | {"startTimeMillis": 0}).status_code == 400
    assert described.post("/entities?action=delete", body | {"aspectName": "roleKey"}).status_code == 400
    assert described.post("/entities?action=delete", body).status_code == 200
    assert described.entity(ROLE).json()["aspects"].keys() == {"roleKey", "roleProperties"}


def test_references_are_counted_and_removed(described):
    access = {"roles": [{"urn": ROLE}, {"urn": "urn:li:role:other"}]}
    described.write(proposal(DATASET, "access", access))
    body = {"urn": ROLE, "dryRun": True}
    found = described.post("/entities?action=deleteReferences", body).json()["value"]
    assert found == {
        "total": 1,
        "relatedAspects": [{"entity": DATASET, "relationship": "AssociatedWith", "aspect": "access"}],
    }
    assert described.entity(DATASET).json()["aspects"]["access"]["value"] == access
    described.post("/entities?action=deleteReferences", {"urn": ROLE, "dryRun": False})
    assert described.entity(DATASET).json()["aspects"]["access"]["value"] == {"roles": [{"urn": "urn:li:role:other"}]}
    again = described.post("/entities?action=deleteReferences", {"urn": ROLE}).json()["value"]
    assert again == {"total": 0, "relatedAspects": []}


@pytest.mark.parametrize("action", ["delete", "deleteReferences"])
@pytest.mark.parametrize("body", [{}, {"urn": 5}, {"urn": "x"}, {"urn": ROLE, "dryRun": "yes", "aspectName": 5}])
def test_a_delete_of_nothing(root, action, body):
    assert root.post(f"/entities?action={action}", body).status_code == 400


def test_people_read_as_entities(root):
    jo = users.create(username="jo", display_name="Jo", by=authorizer.SYSTEM, channel=DOOR)
    found = root.entity(jo.urn).json()["aspects"]
    assert found["corpUserKey"] == {"value": {"username": "jo"}}
    info = root.aspect(jo.urn, "corpUserInfo").json()["aspect"]["com.linkedin.identity.CorpUserInfo"]
    assert info["displayName"] == "Jo"
    policy = root.aspect("urn:li:dataHubPolicy:7", "dataHubPolicyInfo").json()["aspect"]
    assert policy["com.linkedin.policy.DataHubPolicyInfo"]["editable"] is True
    assert root.aspect("urn:li:dataHubRole:Admin", "dataHubRoleKey").status_code == 200


def test_secrets_are_read_by_nobody(root):
    urn = "urn:li:dataHubSecret:s"
    root.write(proposal(urn, "dataHubSecretValue", {"name": "s", "value": "hush"}))
    for answer in (root.entity(urn), root.get(f"/entitiesV2/{urn}"), root.aspect(urn, "dataHubSecretValue")):
        assert "hush" not in answer.content.decode()
    assert root.aspect(urn, "dataHubSecretValue").status_code == 404
    everything = json.dumps(root.entity(ROOT).json()) + root.get(f"/entitiesV2/{ROOT}").content.decode()
    assert "argon2" not in everything
    assert "azs_" not in everything


def test_pages_are_cut_at_the_longest(root, monkeypatch):
    monkeypatch.setattr(search, "MAX_PAGE_SIZE", 2)
    root.write(*[proposal(f"urn:li:tag:{n}", "madeUp", {}) for n in range(3)])
    found = root.post("/entities?action=search", {"entity": "tag", "count": 50}).json()["value"]
    assert (found["pageSize"], len(found["entities"]), found["numEntities"]) == (2, 2, 3)
    assert len(written()) == 3
