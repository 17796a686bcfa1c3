"""Callers who speak DataHub's GraphQL to an installation after `bootstrap --restricted`."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

from policies.authoring.services import policies
from policies.identity.services import users
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT, give, token_of

PATH = "/api/graphql"


@dataclass(frozen=True)
class Asking:
    """Somebody who sends queries with a token."""

    urn: str
    client: Client

    def send(self, query: str, variables: dict[str, Any] | None = None, **more: Any) -> Any:
        """Return the whole answer."""
        body = {"query": query, "variables": variables or {}, **more}
        return self.client.post(PATH, data=json.dumps(body), content_type="application/json")

    def ask(self, query: str, /, **variables: Any) -> Any:
        """Return the data of an answer without errors."""
        answer = self.send(query, variables)
        assert answer.status_code == 200, answer.content
        assert "errors" not in answer.json(), answer.json()
        return answer.json()["data"]

    def refused(self, query: str, /, **variables: Any) -> tuple[int, str, str]:
        """Return code, type and message of the only error of an answer."""
        answer = self.send(query, variables)
        assert answer.status_code == 200, answer.content
        (error,) = answer.json()["errors"]
        assert error["extensions"].keys() == {"code", "type", "classification"}
        return error["extensions"]["code"], error["extensions"]["type"], error["message"]


def asking(urn: str, token: str = "") -> Asking:
    """Return somebody with this token, or else a new one."""
    return Asking(urn, Client(headers={"authorization": f"Bearer {token or token_of(urn)}"}))


def close_the_reading_policies() -> None:
    """Switch off the two policies that let everybody view everything."""
    names = [f"urn:li:dataHubPolicy:{name}" for name in ("view-entity-page-all", "view-dataset-sensitive")]
    policies.set_states(urns=names, state="INACTIVE", by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def root(_root_token, installed) -> Asking:
    """The root user."""
    return asking(ROOT, _root_token)


@pytest.fixture
def person(installed):
    """Make a user with privileges, on everything unless told otherwise: `person("jo", "MANAGE_POLICIES")`."""

    def make(username: str, *privileges: str, **document: Any) -> Asking:
        user = users.create(username=username, by=authorizer.SYSTEM, channel=DOOR)
        if privileges:
            give(user.urn, *privileges, **document)
        return asking(user.urn)

    return make
