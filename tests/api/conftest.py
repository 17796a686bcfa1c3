"""Callers of the API: users with privileges, and clients that carry their tokens."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from policies.authoring.services import policies, policy_drafts
from policies.identity.services import access_tokens, users
from policies.models.people import USER_PREFIX
from policies.pdp import authorizer, snapshot_store

DOOR = "test"

Document = dict[str, Any]


@pytest.fixture(autouse=True)
def _fresh_snapshot(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(snapshot_store, "VERSION_WAIT_SECONDS", 0.0)
    snapshot_store.reset()
    yield
    snapshot_store.reset()


def store_policy(name: str, **changes: Any) -> str:
    """Store a DataHub policy: `store_policy("tags", privileges=[...], actors={...})`; return its URN."""
    urn = f"urn:li:dataHubPolicy:{name}"
    document = document_of(displayName=name, **changes)
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR, urn=urn)
    return urn


def store_policies(names: Iterable[str]) -> None:
    """Store many policies as one version."""
    drafts = {
        f"urn:li:dataHubPolicy:{name}": policy_drafts.PolicyInput("datahub", document_of(displayName=name))
        for name in names
    }
    policies.put_many(drafts=drafts, by=authorizer.SYSTEM, channel=DOOR)


def make_client(username: str, *privileges: str) -> APIClient:
    """Make a user with platform privileges; return a client with its token: `make_client("jo", "CHECK_ACCESS")`."""
    users.create(username=username, by=authorizer.SYSTEM, channel=DOOR)
    urn = USER_PREFIX + username
    if privileges:
        store_policy(f"of-{username}", type="PLATFORM", privileges=list(privileges), actors={"users": [urn]})
    made = access_tokens.create(owner=urn, name="test", by=authorizer.SYSTEM, channel=DOOR)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {made.text}")
    return client


@pytest.fixture
def stored(db: None) -> Callable[..., str]:
    """What stores a policy."""
    return store_policy


@pytest.fixture
def client_of(db: None) -> Callable[..., APIClient]:
    """What makes users and their clients."""
    return make_client


@pytest.fixture
def manager(client_of: Callable[..., APIClient]) -> APIClient:
    """Somebody who may do everything these tests are about."""
    return client_of(
        "manager",
        "MANAGE_POLICIES",
        "MANAGE_USERS_AND_GROUPS",
        "MANAGE_USER_CREDENTIALS",
        "MANAGE_ACCESS_TOKENS",
        "GENERATE_PERSONAL_ACCESS_TOKENS",
    )


def document_of(**changes: Any) -> Document:
    """Return a valid active metadata policy for nobody, with these fields changed."""
    return {
        "displayName": "A policy",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": [],
        "actors": {},
        "editable": True,
    } | changes


def problem_of(response: Any, status: int) -> dict[str, Any]:
    """Return the body of a refusal, after checking that it is a problem with this status."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail"} <= body.keys()
    assert body["status"] == status
    return body


def pointers_of(response: Any) -> set[tuple[str, str]]:
    """Return (code, pointer) of every problem of a 400."""
    return {(one["code"], one["pointer"]) for one in problem_of(response, 400)["errors"]}
