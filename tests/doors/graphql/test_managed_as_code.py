"""What is managed as code at the doors of DataHub's clients: refused; what Terraform keeps stays its own."""

import json

import pytest

from policies.authoring.services.bundles import applying
from policies.authoring.services.bundles.planning import BundleOptions
from policies.models import Policy, Role
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, proposal
from tests.doors.graphql.test_terraform import DELETE, LIST, UPDATE, URN, WANTED, read

pytestmark = pytest.mark.django_db

MANAGED, ROLE = "urn:li:dataHubPolicy:editors", "urn:li:dataHubRole:steward"
SOURCE = "https://git.example.com/access"
EDITORS = f"""\
urn: {MANAGED}
family: datahub
document:
  displayName: Editors
  type: METADATA
  state: ACTIVE
  privileges: [EDIT_ENTITY_TAGS]
  actors: {{roles: [{ROLE}]}}
"""
FILES = {"policies/editors.yaml": EDITORS, "roles/steward.yaml": f"urn: {ROLE}\nname: Steward\n"}
INFO = {
    "displayName": "Taken over",
    "description": "",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["EDIT_ENTITY"],
    "actors": {"users": [], "groups": [], "resourceOwners": False, "allUsers": True, "allGroups": False},
    "editable": True,
}


def apply(texts, **options):
    return applying.apply_bundle(
        texts=texts, options=BundleOptions(source=SOURCE, **options), by=authorizer.SYSTEM, channel=DOOR
    )


def send(caller, method, path, body=None):
    return caller.client.generic(method, path, json.dumps(body) if body is not None else "", "application/json")


@pytest.fixture
def bundle(root):
    """A bundle in force."""
    apply(FILES)
    return root


WRITES = {
    "rest": lambda caller: send(
        caller, "POST", "/aspects?action=ingestProposal", {"proposal": proposal(MANAGED, "dataHubPolicyInfo", INFO)}
    ),
    "rest delete": lambda caller: send(caller, "POST", "/entities?action=delete", {"urn": MANAGED}),
    "openapi": lambda caller: send(
        caller,
        "POST",
        "/openapi/v3/entity/dataHubPolicy?async=false",
        [{"urn": MANAGED, "dataHubPolicyInfo": {"value": INFO}}],
    ),
    "openapi patch": lambda caller: send(
        caller,
        "PATCH",
        "/openapi/v3/entity/dataHubPolicy?async=false",
        [
            {
                "urn": MANAGED,
                "dataHubPolicyInfo": {"value": {"patch": [{"op": "replace", "path": "/state", "value": "INACTIVE"}]}},
            }
        ],
    ),
    "openapi delete": lambda caller: send(caller, "DELETE", f"/openapi/v3/entity/datahubpolicy/{MANAGED}"),
    "role": lambda caller: send(
        caller,
        "POST",
        "/openapi/v3/entity/dataHubRole?async=false",
        [{"urn": ROLE, "dataHubRoleInfo": {"value": {"name": "Taken over", "description": "", "editable": True}}}],
    ),
    "role delete": lambda caller: send(caller, "DELETE", f"/openapi/v3/entity/datahubrole/{ROLE}"),
    "api put": lambda caller: send(
        caller, "PUT", f"/api/v1/policies/{MANAGED}/", {"family": "datahub", "document": INFO}
    ),
    "api patch": lambda caller: send(caller, "PATCH", f"/api/v1/policies/{MANAGED}/", {"state": "INACTIVE"}),
    "api delete": lambda caller: send(caller, "DELETE", f"/api/v1/policies/{MANAGED}/"),
    "api role": lambda caller: send(caller, "PATCH", f"/api/v1/roles/{ROLE}/", {"name": "Taken over"}),
    "api role delete": lambda caller: send(caller, "DELETE", f"/api/v1/roles/{ROLE}/"),
}


@pytest.mark.parametrize("door", WRITES)
def test_a_write_of_what_is_managed_is_refused_with_its_source(bundle, door):
    answer = WRITES[door](bundle)
    assert answer.status_code == 409, answer.content
    assert SOURCE in answer.content.decode()
    policy = Policy.objects.get(urn=MANAGED)
    assert (policy.name, policy.state, policy.is_managed) == ("Editors", "ACTIVE", True)
    assert Role.objects.get(urn=ROLE).name == "Steward"


def test_graphql_refuses_it_too(bundle):
    for query, variables in ((UPDATE, {"urn": MANAGED, "input": WANTED}), (DELETE, {"urn": MANAGED})):
        code, _, message = bundle.refused(query, **variables)
        assert (code, SOURCE in message) == (409, True)
    assert Policy.objects.get(urn=MANAGED).name == "Editors"


def test_terraform_keeps_its_own_policies_beside_a_bundle(bundle):
    for _ in range(2):
        assert bundle.ask(UPDATE, urn=URN, input=WANTED)["updatePolicy"] == URN
        # What Terraform made is in no folder, and no folder deletes it.
        plan, _ = apply(FILES, is_pruning=True)
        assert plan.is_empty
    document = read(bundle, "datahubpolicy", URN, "dataHubPolicyInfo")
    assert (document["displayName"], document["privileges"]) == (WANTED["name"], WANTED["privileges"])
    listed = bundle.ask(LIST, input={"start": 0, "count": 100})["listPolicies"]["policies"]
    assert {URN, MANAGED} <= {one["urn"] for one in listed}
    apply({}, is_pruning=True, is_empty_confirmed=True)
    assert not Policy.objects.filter(urn=MANAGED).exists()
    assert Policy.objects.get(urn=URN).name == WANTED["name"]
    assert bundle.ask(DELETE, urn=URN)["deletePolicy"] == URN
    assert read(bundle, "datahubpolicy", URN, "dataHubPolicyInfo") is None
