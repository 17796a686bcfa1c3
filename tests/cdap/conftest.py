"""A CDAP instance with callers: the root user administers it, everybody else holds what the test gives."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from catalog.cdap import grant_services, operation_services
from catalog.cdap.grant_requests import GrantRequest
from catalog.entities import bootstrap
from catalog.models import Entity
from policies.authoring.services import policies, policy_drafts
from policies.engine.families.cdap_requests import OperationRequest
from policies.identity.services import access_tokens, users
from policies.models.people import USER_PREFIX
from policies.pdp import actor_resolution, authorizer, display_names, snapshot_store

DOOR = "test"
INSTANCE = "urn:li:instance:cdap"
ROOT = "urn:li:corpuser:datahub"


def urn(name: str) -> str:
    """Spell a short name out: `jo`, `group:x`, `role:x`, `ns1`-less kinds as `stream:ns1.clicks`; a URN stays one."""
    if name.startswith("urn:"):
        return name
    kind, _, rest = name.partition(":")
    if not rest:
        return f"{USER_PREFIX}{kind}"
    shapes = {
        "group": "urn:li:corpGroup:{}",
        "role": "urn:li:dataHubRole:{}",
        "dataset": "urn:li:dataset:(urn:li:dataPlatform:cdap,{},PROD)",
    }
    return shapes.get(kind, f"urn:li:{kind}:{{}}").format(rest)


def missing(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    """Return what a refusal names: (entity, privilege)."""
    return [{"entity": urn(entity), "privilege": privilege} for entity, privilege in pairs]


@pytest.fixture(autouse=True)
def _fresh_snapshot(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    snapshot_store.reset()
    yield
    snapshot_store.reset()


@pytest.fixture
def instance(db: None) -> None:
    """The instance, and the root user who administers it."""
    bootstrap.register_cdap_instance(by=authorizer.SYSTEM)
    users.create(username="datahub", by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def client_of(instance: None) -> Callable[..., APIClient]:
    """Make a user, unless it is there, and return a client with its token; `privileges` are platform privileges."""

    def make(username: str, *privileges: str) -> APIClient:
        who = urn(username)
        if who not in display_names.load_names(urns=[who]):
            users.create(username=username, by=authorizer.SYSTEM, channel=DOOR)
        if privileges:
            policies.create(
                draft=policy_drafts.PolicyInput("datahub", platform(who, *privileges)),
                by=authorizer.SYSTEM,
                channel=DOOR,
            )
            snapshot_store.reset()
        made = access_tokens.create(owner=who, name="test", by=authorizer.SYSTEM, channel=DOOR)
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {made.text}")
        return client

    return make


@pytest.fixture
def root(client_of: Callable[..., APIClient]) -> APIClient:
    """The root user."""
    return client_of("datahub")


def platform(who: str, *privileges: str) -> dict[str, Any]:
    """Return a policy that gives a user platform privileges."""
    return {
        "displayName": f"Of {who}",
        "description": "",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "editable": True,
        "privileges": list(privileges),
        "actors": {"users": [who]},
    }


def give(principal: str, entity: str, *privileges: str) -> None:
    """Grant as the system does."""
    entity = entity if "*" in entity else urn(entity)
    sent = [GrantRequest(urn(principal), entity, privileges)]
    grant_services.grant(requests=sent, by=authorizer.SYSTEM, channel=DOOR)


def register(*names: str) -> None:
    """Put entities into the catalog without granting anything."""
    from catalog.entities import services as entity_services

    bodies = [{"type": urn(name).split(":")[2], "urn": urn(name)} for name in names]
    entity_services.create(bodies=bodies, by=authorizer.SYSTEM, channel=DOOR)


def do(client: APIClient, operation: str, entity: str | None = None, **more: Any) -> Any:
    """Post an operation."""
    body = {"operation": operation, **({} if entity is None else {"entity": urn(entity)}), **more}
    return client.post("/api/v1/operations", body, format="json")


def may(client: APIClient, operation: str, entity: str, **more: Any) -> dict[str, Any]:
    """Ask about an operation without doing it."""
    body = {"operation": operation, "resource": {"urn": urn(entity)}, **more}
    answer = client.post("/api/v1/authorize", body, format="json")
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def performed(operation: str, entity: str, actor: str, **more: Any) -> Any:
    """Do an operation through the service, as a user."""
    said = OperationRequest(operation, urn(entity), **more)
    return operation_services.perform(
        operation_request=said, actor=None, by=actor_resolution.load_actor(urn=urn(actor)), channel=DOOR
    )


def known(*names: str) -> set[str]:
    """Return those of the entities that are there."""
    wanted = {urn(name) for name in names}
    return set(Entity.objects.filter(urn__in=wanted).values_list("urn", flat=True))
