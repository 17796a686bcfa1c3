"""A provider's connector: a service account that may manage users and groups, speaking SCIM."""

import json
from typing import Any

import pytest
from django.test import Client

from policies.identity.services import service_accounts
from policies.pdp import authorizer
from tests.doors.conftest import give, token_of

USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


class Connector:
    """Sends what providers send and reads what they read."""

    def __init__(self, token: str) -> None:
        self.client = Client(headers={"authorization": f"Bearer {token}", "accept": "application/scim+json"})

    def send(self, method: str, path: str, body: object = None, **query: object) -> Any:
        data = body if isinstance(body, str | bytes) else "" if body is None else json.dumps(body)
        return self.client.generic(
            method, f"/scim/v2{path}", data, content_type="application/scim+json", query_params=query or None
        )

    def told(self, method: str, path: str, body: object = None, status: int = 200, **query: Any) -> Any:
        """The body of an answer that has this status."""
        answer = self.send(method, path, body, **query)
        assert answer.status_code == status, answer.content
        assert answer["Content-Type"] == "application/scim+json"
        return answer.json() if answer.content else None

    def refused(self, method: str, path: str, body: object = None, **query: object) -> tuple[int, str | None]:
        """The status of a refusal, checked to be one of SCIM's, and its kind."""
        answer = self.send(method, path, body, **query)
        found = answer.json()
        assert found["schemas"] == [ERROR]
        assert found["status"] == str(answer.status_code)
        assert found["detail"]
        return answer.status_code, found.get("scimType")

    def make(self, user_name: str = "ada@example.com", **more: object) -> str:
        """Create a user; its id."""
        return str(self.told("POST", "/Users", {"schemas": [USER], "userName": user_name, **more}, 201)["id"])

    def make_group(self, name: str, *members: str) -> str:
        """Create a group of these users; its id."""
        body = {"schemas": [GROUP], "displayName": name, "members": [{"value": key} for key in members]}
        return str(self.told("POST", "/Groups", body, 201)["id"])

    def patch(self, path: str, *operations: dict[str, object], status: int = 200) -> Any:
        return self.told("PATCH", path, {"schemas": [PATCH], "Operations": operations}, status)

    def names(self, path: str = "/Users", key: str = "userName", **query: Any) -> list[str]:
        return [one[key] for one in self.told("GET", path, **query)["Resources"]]


@pytest.fixture(scope="module")
def connector_token(_root_token: str) -> str:
    """The token of the connector, for the tests of a module."""
    account = service_accounts.create(display_name="Identity provider", by=authorizer.SYSTEM, channel="test")
    give(account.urn, "MANAGE_USERS_AND_GROUPS", type="PLATFORM")
    return token_of(account.urn)


@pytest.fixture
def connector(connector_token: str, installed: None) -> Connector:
    return Connector(connector_token)
