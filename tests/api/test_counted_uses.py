"""What is read counts as a use, though the decision log leaves it out."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from rest_framework.test import APIClient

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.identity.services import roles
from policies.models import DailyUse, LoggedDecision
from policies.pdp import authorizer
from policies.pdp.log import decision_log
from tests.api.conftest import DOOR

pytestmark = pytest.mark.django_db(transaction=True)

JO = "urn:li:corpuser:jo"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"


@pytest.fixture
def caller(client_of, stored, settings) -> APIClient:
    settings.DECISION_LOG_SAMPLE = 1.0
    apply.apply(proposals=[Proposal(ORDERS, "status", '{"removed": false}')], by=authorizer.SYSTEM, channel=DOOR)
    client: APIClient = client_of("jo")
    return client


@contextmanager
def counting() -> Iterator[dict[tuple[str, str, str], int]]:
    """Count inside the block; what it yields has the uses by policy, actor and privilege after it."""
    found: dict[tuple[str, str, str], int] = {}
    decision_log.start()
    try:
        yield found
    finally:
        decision_log.stop()
    found |= {(row.policy, row.actor, row.privilege): row.uses for row in DailyUse.objects.all()}


def test_the_query_of_what_somebody_may_read(caller):
    roles.create(identifier="analyst", name="analyst", description="", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn="urn:li:dataHubRole:analyst", actors=[JO], by=authorizer.SYSTEM, channel=DOOR)
    document = {
        "name": "readers",
        "statements": [{"resource": "*", "actions": ["dataset:read"], "effect": "allow"}],
        "roles": ["urn:li:dataHubRole:analyst"],
    }
    urn = "urn:li:dataHubPolicy:readers"
    policies.create(draft=PolicyInput("datazone", document), by=authorizer.SYSTEM, channel=DOOR, urn=urn)
    with counting() as uses:
        found = caller.post("/api/v1/render", {"resource": {"urn": ORDERS}, "table": "orders"}, format="json")
        assert found.status_code == 200, found.content
    assert uses == {(urn, JO, "dataset:read"): 1}


def test_an_entity_of_the_openapi_door(caller, stored):
    policy = stored("get", privileges=["GET_ENTITY_PRIVILEGE"], actors={"users": [JO]})
    with counting() as uses:
        found = caller.post("/openapi/v3/entity/dataset/batchGet", [{"urn": ORDERS}], format="json")
        assert found.status_code == 200, found.content
    assert uses.keys() == {(policy, JO, "GET_ENTITY_PRIVILEGE")}


@pytest.mark.parametrize("is_restricted", [False, True])
def test_an_entity_that_is_shown_where_viewing_is_restricted(caller, stored, settings, is_restricted):
    settings.VIEW_AUTHORIZATION_ENABLED = is_restricted
    policy = stored("view", privileges=["VIEW_ENTITY_PAGE"], actors={"users": [JO]})
    with counting() as uses:
        assert caller.get(f"/api/v1/entities/{ORDERS}/").status_code == 200
    assert ((policy, JO, "VIEW_ENTITY_PAGE") in uses) is is_restricted
    assert not LoggedDecision.objects.filter(wanted__contains="VIEW_ENTITY_PAGE").exists()


def test_what_is_only_offered_is_no_use(caller, stored, settings):
    settings.VIEW_AUTHORIZATION_ENABLED = True
    stored("view", privileges=["VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS"], actors={"users": [JO]})
    stored("manage", privileges=["MANAGE_TAGS"], actors={"users": [JO]}, type="PLATFORM")
    granted = f'{{ getGrantedPrivileges(input: {{actorUrn: "{JO}"}}) {{ privileges }} }}'
    spec = f'{{resourceType: DATASET, resourceUrn: "{ORDERS}"}}'
    on_orders = f'{{ getGrantedPrivileges(input: {{actorUrn: "{JO}", resourceSpec: {spec}}}) {{ privileges }} }}'
    switches = "{ me { platformPrivileges { manageTags } } }"
    with counting() as uses:
        for question, name in ((granted, "MANAGE_TAGS"), (on_orders, "EDIT_ENTITY_TAGS"), (switches, "manageTags")):
            found = caller.post("/api/graphql", {"query": question}, format="json")
            assert f'"{name}"' in found.content.decode(), found.content
        found = caller.get("/api/v1/entities/")
        assert ORDERS in found.content.decode(), found.content
    assert {privilege for _, _, privilege in uses} & {"MANAGE_TAGS", "EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE"} == set()
