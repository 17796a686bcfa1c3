"""Policies as code over the API: the same plan, apply and export as those of the command."""

import pytest

from policies.models import Policy, PolicyVersion
from tests.catalog.conftest import said, tell

EDITORS_URN = "urn:li:dataHubPolicy:editors"
JO, ORDERS = "urn:li:corpuser:jo", "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
EDITORS = f"""\
urn: {EDITORS_URN}
family: datahub
document:
  displayName: Editors
  type: METADATA
  state: ACTIVE
  privileges: [EDIT_ENTITY_TAGS]
  actors: {{users: [{JO}]}}
  resources: {{filter: {{criteria: [{{field: TYPE, values: [dataset]}}]}}}}
"""
FILES = {"policies/editors.yaml": EDITORS}
SOURCE = "https://git.example.com/access"


def call(client, path, **body):
    return client.post(f"/api/v1/bundles/{path}", body)


def test_files_are_planned_with_their_effect_and_applied(manager, client_of):
    client_of("jo")
    tell(said(ORDERS, "datasetProperties", {"name": "orders"}))
    plan = call(manager, "plan", files=FILES).json()
    assert plan["counts"]["create"] == 1
    assert plan["changes"][0] | {"diff": ""} == {
        "action": "create",
        "kind": "policies",
        "file": "policies/editors.yaml",
        "key": EDITORS_URN,
        "name": "Editors",
        "diff": "",
    }
    assert "+  - EDIT_ENTITY_TAGS" in plan["changes"][0]["diff"].splitlines()
    [item] = plan["effect"]["gained"]["items"]
    assert (item["actor"], item["privilege"], item["entities"]) == (JO, "EDIT_ENTITY_TAGS", 1)
    proof = plan["effect"]["proof"]
    assert (proof["allows_more"]["verdict"], proof["allows_less"]["verdict"]) == ("yes", "no")
    assert proof["allows_more"]["example"]["privilege"] == "EDIT_ENTITY_TAGS"
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()
    answer = call(manager, "apply", files=FILES, source=SOURCE, expect_version=plan["policy_version"])
    assert answer.status_code == 200, answer.content
    assert int(answer["Policy-Version"]) == answer.json()["policy_version"] == PolicyVersion.load_version()
    again = call(manager, "plan", files=FILES, source=SOURCE).json()
    assert (again["changes"], again["effect"]) == ([], None)


def test_what_is_managed_is_refused_with_its_source(manager):
    call(manager, "apply", files=FILES, source=SOURCE)
    for answer in (
        manager.patch(f"/api/v1/policies/{EDITORS_URN}/", {"state": "INACTIVE"}),
        manager.delete(f"/api/v1/policies/{EDITORS_URN}/"),
    ):
        assert answer.status_code == 409
        assert SOURCE in answer.json()["detail"]
    assert manager.get(f"/api/v1/policies/{EDITORS_URN}/").json()["managed"] == {"source": SOURCE}
    refused = call(manager, "apply", files={}, source=SOURCE, prune=True)
    assert [(entry["code"], entry["pointer"]) for entry in refused.json()["errors"]] == [("prune.empty", "/files")]
    taken = call(manager, "apply", files=FILES, source="https://git.example.com/other")
    assert (taken.status_code, SOURCE in taken.json()["detail"]) == (409, True)
    assert call(manager, "apply", files={}, source=SOURCE, prune=True, confirm_empty=True).status_code == 200
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()


def test_another_version_is_refused(manager):
    assert call(manager, "apply", files=FILES, expect_version=PolicyVersion.load_version() + 1).status_code == 412


def test_an_export_says_what_is_stored(manager):
    call(manager, "apply", files=FILES)
    exported = manager.get("/api/v1/bundles/export", {"only": "policies"}).json()["files"]
    assert "policies/editors.yaml" in exported
    assert call(manager, "plan", files=exported).json()["counts"]["change"] == 0
    assert manager.get("/api/v1/bundles/export", {"only": "wings"}).status_code == 400


@pytest.mark.parametrize(
    ("files", "pointer"),
    [
        ([], "/files"),
        ({"policies/a.yaml": 1}, "policies/a.yaml:1"),
        ({"policies/a.yaml": "a: 1\na: 2"}, "policies/a.yaml:2"),
        ({f"policies/{number}.yaml": "" for number in range(1_001)}, "/files"),
    ],
)
def test_bad_files_are_refused_with_their_lines(manager, files, pointer):
    answer = call(manager, "plan", files=files)
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_answers_say_what_is_managed_and_bodies_may_send_it_back(manager, client_of):
    keeper = client_of("keeper", "MANAGE_GUARDRAILS", "MANAGE_POLICIES")
    files = FILES | {
        "roles/steward.yaml": "urn: urn:li:dataHubRole:steward\nname: Steward\n",
        "guardrails/g.yaml": "urn: urn:li:guardrail:g\nname: G\n"
        "rule: {no_policy: {actors: {allUsers: true}, privileges: [EDIT_ENTITY_TAGS]}}\n",
    }
    assert call(keeper, "apply", files=files, source=SOURCE).status_code == 200
    urls = (
        f"/api/v1/policies/{EDITORS_URN}/",
        "/api/v1/roles/urn:li:dataHubRole:steward/",
        "/api/v1/guardrails/urn:li:guardrail:g/",
    )
    for url in urls:
        body = keeper.get(url).json()
        assert body["managed"] == {"source": SOURCE}
        assert keeper.put(url, body).status_code == 409
    call(keeper, "apply", files=files, release=True)
    for url in urls:
        body = keeper.get(url).json()
        assert body["managed"] is None
        assert keeper.put(url, body).status_code == 200
