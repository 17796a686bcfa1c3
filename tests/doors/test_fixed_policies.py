"""Policies that say `editable: false`: their text stays, and whoever manages policies can end them by every door."""

import json
from urllib.parse import quote

import pytest

from policies.models import Policy, User
from tests.doors.conftest import ROOT, give, proposal
from tests.doors.graphql.test_policies import DELETE, UPDATE
from tests.doors.test_unknown_fields import API, INFO, JO, POLICY, document, may_tag, patch_state

pytestmark = pytest.mark.django_db

PAGES = "/settings/permissions/policies"
MANAGER = "urn:li:corpuser:manager"
FIXED = document(editable=False)
GIVEN = {
    "type": "METADATA",
    "name": "Tags",
    "privileges": ["EDIT_ENTITY_TAGS"],
    "actors": {"users": [JO], "resourceOwners": False, "allUsers": False, "allGroups": False},
    "resources": FIXED["resources"],
}


@pytest.fixture(params=["root", "manager"])
def keeper(request, root, person):
    """The root user, and somebody who may manage policies: a client of each."""
    root.write(proposal(POLICY, INFO, FIXED))
    if request.param == "root":
        return root
    keeper = person("manager")
    give(MANAGER, "MANAGE_POLICIES", type="PLATFORM")
    return keeper


def graphql(caller, query, **variables):
    return caller.post("/api/graphql", {"query": query, "variables": variables})


def browse(caller, path, **fields):
    caller.client.force_login(User.objects.get(urn=caller.urn))
    return caller.client.post(f"{PAGES}{path}", fields)


DELETES = {
    "api": lambda caller: caller.client.delete(API),
    "page": lambda caller: browse(caller, f"/delete/{POLICY}"),
    "graphql": lambda caller: graphql(caller, DELETE, urn=POLICY),
    "rest": lambda caller: caller.post("/entities?action=delete", {"urn": POLICY}),
    "aspect": lambda caller: caller.write(proposal(POLICY, INFO, None, changeType="DELETE")),
    "openapi": lambda caller: caller.client.delete(f"/openapi/v3/entity/datahubpolicy/{quote(POLICY, safe='')}"),
}

SWITCHES = {
    "api": patch_state,
    "page": lambda caller, state: browse(caller, f"/state/{POLICY}", state=state),
    "graphql": lambda caller, state: graphql(caller, UPDATE, urn=POLICY, input=GIVEN | {"state": state}),
    "rest": lambda caller, state: caller.write(proposal(POLICY, INFO, FIXED | {"state": state})),
    "patch": lambda caller, state: caller.write(
        proposal(POLICY, INFO, [{"op": "replace", "path": "/state", "value": state}], changeType="PATCH")
    ),
}

CHANGED = FIXED | {"actors": {"allUsers": True}}
EDITS = {
    "api": lambda caller: caller.client.put(
        API, json.dumps({"family": "datahub", "document": CHANGED}), content_type="application/json"
    ),
    "editable": lambda caller: caller.client.put(
        API,
        json.dumps({"family": "datahub", "document": FIXED | {"editable": True}}),
        content_type="application/json",
    ),
    "graphql": lambda caller: graphql(
        caller, UPDATE, urn=POLICY, input=GIVEN | {"state": "INACTIVE", "privileges": ["EDIT_ENTITY"]}
    ),
    "rest": lambda caller: caller.write(proposal(POLICY, INFO, CHANGED | {"state": "INACTIVE"})),
}


@pytest.mark.parametrize("door", DELETES)
def test_it_is_deleted(keeper, door):
    assert may_tag(keeper)
    DELETES[door](keeper)
    assert not Policy.objects.filter(urn=POLICY).exists()
    assert not may_tag(keeper)


@pytest.mark.parametrize("door", SWITCHES)
def test_it_is_deactivated_and_activated_again(keeper, door):
    SWITCHES[door](keeper, "INACTIVE")
    assert Policy.objects.get(urn=POLICY).document == FIXED | {"state": "INACTIVE"}
    assert not may_tag(keeper)
    SWITCHES[door](keeper, "ACTIVE")
    assert Policy.objects.get(urn=POLICY).document == FIXED
    assert may_tag(keeper)


@pytest.mark.parametrize("door", EDITS)
def test_what_it_says_stays(keeper, door):
    EDITS[door](keeper)
    assert Policy.objects.get(urn=POLICY).document == FIXED


def test_its_page_offers_what_can_be_done(root):
    root.write(proposal(POLICY, INFO, FIXED))
    root.client.force_login(User.objects.get(urn=ROOT))
    page = root.client.get(f"{PAGES}/{POLICY}").content.decode()
    assert f"{PAGES}/delete/{POLICY}" in page
    assert f"{PAGES}/state/{POLICY}" in page
    assert f"{PAGES}/edit/{POLICY}" not in page
    system = "urn:li:dataHubPolicy:0"
    page = root.client.get(f"{PAGES}/{system}").content.decode()
    assert f"{PAGES}/delete/" not in page
    assert f"{PAGES}/state/" not in page


def test_nobody_else_ends_it(root, person):
    root.write(proposal(POLICY, INFO, FIXED))
    stranger = person("stranger", "EDIT_ENTITY", "DELETE_ENTITY")
    for door in ("api", "graphql", "rest", "aspect", "openapi"):
        DELETES[door](stranger)
    for door in ("api", "graphql", "rest", "patch"):
        SWITCHES[door](stranger, "INACTIVE")
    assert Policy.objects.get(urn=POLICY).document == FIXED


def test_a_system_policy_stays(root):
    system = "urn:li:dataHubPolicy:1"
    path = f"/api/v1/policies/{quote(system, safe='')}/"
    assert root.client.delete(path).status_code == 403
    answer = root.client.patch(path, json.dumps({"state": "INACTIVE"}), content_type="application/json")
    assert answer.status_code == 403
    assert Policy.objects.get(urn=system).state == "ACTIVE"
