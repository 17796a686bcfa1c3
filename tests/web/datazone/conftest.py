"""Roles, a project and datasets with ids for the tests of the Datazone pages."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import roles
from policies.models import Policy, Role
from policies.pdp import authorizer
from tests.forgetting import forget_rows
from tests.web.conftest import DOOR

VIEWER, EDITOR = "urn:li:dataHubRole:viewer", "urn:li:dataHubRole:editor"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,shop.orders,PROD)"
ORDERS_ID = "507f1f77bcf86cd799439011"
OTHER = "f" * 24


def statement(resource: str, *actions: str, effect: str = "allow", **more: Any) -> dict[str, Any]:
    """Return a statement as a document holds it."""
    return {"resource": resource, "actions": list(actions), "effect": effect, **more}


def store_crew() -> None:
    """Make two roles, which Otto holds."""
    for identifier in ("viewer", "editor"):
        made = roles.create(
            identifier=identifier, name=identifier.title(), description="", by=authorizer.SYSTEM, channel=DOOR
        )
        roles.grant(urn=made.urn, actors=["urn:li:corpuser:otto"], by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture(scope="module")
def crew_of_module(ladder_of_module: None, module_transaction: bool) -> None:
    """The roles, once for the tests of a module whose transactions are taken back."""
    if module_transaction:
        forget_rows()
        store_crew()


@pytest.fixture
def crew(crew_of_module: None, world: Any) -> None:
    """Two roles, and somebody who holds both."""
    if not Role.objects.filter(urn=VIEWER).exists():
        store_crew()


@pytest.fixture
def orders(world: Any) -> str:
    """A dataset with a schema; the answer is its object id."""
    fields = [{"fieldPath": name, "nativeDataType": "TEXT"} for name in ("id", "region", "total")]
    documents = {
        "datasetProperties": {"name": "Orders"},
        "schemaMetadata": {"schemaName": "orders", "fields": fields},
    }
    listed = [Proposal(ORDERS, name, json.dumps(value)) for name, value in documents.items()]
    apply.apply(proposals=listed, by=authorizer.SYSTEM, channel=DOOR)
    Entity.objects.filter(urn=ORDERS).update(object_id=ORDERS_ID)
    return ORDERS_ID


@pytest.fixture
def state() -> Callable[..., Policy]:
    """Store a Datazone policy: `state("id", statement(...), roles=[...])`."""

    def make(identifier: str, *statements: dict[str, Any], name: str = "", **more: Any) -> Policy:
        document = {"name": name or identifier, "statements": list(statements), **more}
        draft = policy_drafts.PolicyInput("datazone", document)
        urn = f"urn:li:dataHubPolicy:{identifier}"
        return policies.create(urn=urn, draft=draft, by=authorizer.SYSTEM, channel=DOOR).policy

    return make
