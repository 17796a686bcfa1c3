"""A small company that asks for access: owners of data, a group, a role, and an administrator."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from catalog.ingest.apply import Proposal
from policies.identity.services import groups
from policies.pdp import authorizer
from tests.api.conftest import _fresh_snapshot, make_client  # noqa: F401 - it applies here, too
from tests.catalog.conftest import said, tell

JO, ADA, BOB, EVE, ADMIN = (f"urn:li:corpuser:{name}" for name in ("jo", "ada", "bob", "eve", "admin"))
CREW = "urn:li:corpGroup:crew"
ORDERS, ITEMS = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "items"))
FINANCE = "urn:li:domain:finance"
REQUESTS = "/api/v1/requests/"
RULES = "/api/v1/approval-rules/"

#: Clients by the names of the people of `company`.
Company = dict[str, APIClient]

TAGS = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": ORDERS}}


def own(urn: str, *owners: str) -> Proposal:
    """Return the aspect in which these people own an entity."""
    entries = [{"owner": owner, "type": "TECHNICAL_OWNER"} for owner in owners]
    return said(urn, "ownership", {"owners": entries, "lastModified": {"time": 0, "actor": ADA}})


@pytest.fixture
def company(db: None) -> dict[str, APIClient]:
    """Clients of jo (nobody special), ada (owns orders), bob and eve (in the crew, which owns items), and admin."""
    clients = {name: make_client(name) for name in ("jo", "ada", "bob", "eve")}
    clients["admin"] = make_client("admin", "MANAGE_POLICIES")
    groups.create(name="Crew", identifier="crew", members=[BOB, EVE], by=authorizer.SYSTEM, channel="test")
    tell(
        *[said(urn, "datasetProperties", {"name": urn}) for urn in (ORDERS, ITEMS)],
        said(FINANCE, "domainProperties", {"name": "Finance"}),
        own(ORDERS, ADA),
        own(ITEMS, CREW),
    )
    return clients


def days(number: float) -> str:
    """Return the time in this many days."""
    return (timezone.now() + timedelta(days=number)).isoformat()


def ask(client: APIClient, *items: dict[str, Any], **members: Any) -> Any:
    """Ask for items, with a reason unless another is given."""
    return client.post(REQUESTS, {"items": list(items), "reason": "for the audit", **members}, format="json")


def act(client: APIClient, request: dict[str, Any], action: str, **members: Any) -> Any:
    """Approve, deny, withdraw, comment, hand over or renew."""
    return client.post(f"{REQUESTS}{request['urn']}/{action}/", members, format="json")


def get(client: APIClient, request: dict[str, Any]) -> dict[str, Any]:
    """Return a request as it is now."""
    answer = client.get(f"{REQUESTS}{request['urn']}/")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def may(client: APIClient, actor: str, privilege: str = "EDIT_ENTITY_TAGS", urn: str | None = ORDERS) -> bool:
    """Return whether somebody may use a privilege on an entity, or on the platform without one."""
    body = {"actor": actor, "privilege": privilege} | ({"resource": {"urn": urn}} if urn else {})
    answer = client.post("/api/v1/authorize", body, format="json")
    assert answer.status_code == 200, answer.content
    return bool(answer.json()["decision"] == "ALLOW")


@pytest.fixture
def make_rule(company: dict[str, APIClient]) -> Callable[..., dict[str, Any]]:
    """What stores a rule with these terms."""

    def make(name: str, **terms: Any) -> dict[str, Any]:
        answer = company["admin"].post(RULES, {"name": name, **terms}, format="json")
        assert answer.status_code == 201, answer.content
        return dict(answer.json())

    return make


def step(name: str, **approvers: Any) -> dict[str, Any]:
    """Return a step of a rule with these approvers."""
    settings: dict[str, Any] = {key: approvers.pop(key) for key in ("needs", "within", "then") if key in approvers}
    return {"name": name, "approvers": approvers, **settings}
