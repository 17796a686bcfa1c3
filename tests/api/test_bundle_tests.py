"""Tests of policies as code over the API: what the bundle would answer once it is applied, and nothing stored."""

import xml.etree.ElementTree as ElementTree

from catalog.bundle_tests import present_bundle, present_facts
from policies.models import Policy
from tests.api.test_bundles import EDITORS, EDITORS_URN, FILES, JO, ORDERS, call
from tests.catalog.conftest import said, tell

TABLE = f"""\
table:
  - [{JO}, EDIT_ENTITY_TAGS, "{ORDERS}", ALLOW]
  - [{JO}, MANAGE_POLICIES, DENY]
  - [urn:li:corpuser:manager, MANAGE_POLICIES, ALLOW]
assertions:
  - name: Only Jo edits
    nobody: {{outside: {JO}, may: EDIT_ENTITY_TAGS, on: {{type: dataset}}}}
"""
TESTS = {"tests/editors.yaml": TABLE}


def test_the_tests_are_answered_as_if_the_bundle_had_been_applied(manager, client_of):
    client_of("jo")
    tell(said(ORDERS, "datasetProperties", {"name": "orders"}))
    answer = call(manager, "test", files=FILES | TESTS, junit=True).json()
    assert (answer["passed"], answer["failed"]) == (4, 0)
    assert ElementTree.fromstring(answer["junit"]).get("tests") == "4"
    assert not Policy.objects.filter(urn=EDITORS_URN).exists()
    before = call(manager, "test", files=TESTS).json()
    assert (before["passed"], before["failed"]) == (3, 1)
    [failed] = [result for result in before["results"] if result["failures"]]
    assert (failed["file"], failed["line"], "junit" in before) == ("tests/editors.yaml", 2, False)
    assert failed["failures"][0]["message"].startswith(f"{JO} EDIT_ENTITY_TAGS on {ORDERS}: DENY, not ALLOW.")
    everybody = {"policies/editors.yaml": EDITORS.replace(f"users: [{JO}]", "allUsers: true")}
    wrong = call(manager, "test", files=everybody | TESTS).json()
    assert [(failure["line"]) for result in wrong["results"] for failure in result["failures"]] == [6]
    call(manager, "apply", files=FILES)
    pruned = call(manager, "test", files=TESTS, prune=True).json()
    assert (call(manager, "test", files=TESTS).json()["failed"], pruned["failed"]) == (0, 1)


def test_an_assertion_of_the_folder_is_asked_of_what_is_stored(manager, client_of):
    client_of("jo")
    tell(said(ORDERS, "datasetProperties", {"name": "orders"}))
    assertion = {"assertions/nobody.yaml": "name: Nobody edits\nnobody: {may: EDIT_ENTITY_TAGS}\n"}
    answer = call(manager, "test", files=FILES | assertion).json()
    [failure] = answer["results"][0]["failures"]
    assert failure["message"].startswith(f"{JO} EDIT_ENTITY_TAGS on ")


def test_the_problems_of_tests_and_bundle_are_named_at_once(manager):
    files = {
        "tests/a.yaml": TABLE.replace("EDIT_ENTITY_TAGS", "FLY"),
        "policies/p.yaml": EDITORS.replace("EDIT_ENTITY_TAGS", "FLY"),
        "assertions/a.yaml": "name: A\n",
    }
    answer = call(manager, "test", files=files)
    assert answer.status_code == 400
    assert {error["pointer"] for error in answer.json()["errors"]} == {
        "tests/a.yaml:2",
        "tests/a.yaml:7",
        "policies/p.yaml:7",
        "assertions/a.yaml:1",
    }
    assert call(manager, "test", files=FILES).status_code == 400


def test_what_grants_decide_and_what_is_too_much_is_refused(manager, monkeypatch):
    granted = {"tests/a.yaml": f'table:\n  - [{JO}, READ, "{ORDERS}", DENY]\n'}
    answer = call(manager, "test", files=granted)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "tests/a.yaml:2")
    for limit in ("MAX_PEOPLE", "MAX_STEPS"):
        monkeypatch.setattr(present_facts, limit, 0)
        assert call(manager, "test", files=TESTS).json()["errors"][0]["code"] == "tests.large"
        monkeypatch.undo()
    monkeypatch.setattr(present_bundle, "MAX_QUESTIONS", 2)
    assert call(manager, "test", files=TESTS).json()["errors"][0]["code"] == "tests.large"
    monkeypatch.undo()
    monkeypatch.setattr(present_facts, "MAX_STEPS", 0)
    own_facts = {"tests/a.yaml": f"facts: {{people: {{{JO}: {{}}}}}}\n{TABLE}"}
    assert call(manager, "test", files=own_facts).json()["errors"][0]["code"] == "tests.large"
    monkeypatch.undo()
    tell(said(ORDERS, "datasetProperties", {"name": "orders"}))
    monkeypatch.setattr(present_facts, "MAX_ENTITIES", 0)
    assert call(manager, "test", files=TESTS).json()["errors"][0]["code"] == "tests.large"


def test_who_does_not_manage_policies_is_refused(client_of):
    keeper = client_of("keeper", "MANAGE_GUARDRAILS")
    assert call(keeper, "test", files=FILES | TESTS).status_code == 403
