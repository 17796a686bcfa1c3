"""An installation after `bootstrap --restricted`, and callers who speak DataHub's REST protocol to it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from catalog.models import Entity
from policies import bootstrap
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import access_tokens, users
from policies.pdp import authorizer, snapshot_store
from policies.propagation.invalidating_cache import process_cache

DOOR = "test"
ROOT = "urn:li:corpuser:datahub"
DATASET = "urn:li:dataset:(urn:li:dataPlatform:snowflake,sales.orders,PROD)"


@contextmanager
def refreshing_at_once() -> Iterator[None]:
    """Begin with an empty memory, and look for newer policies at each question until the block ends."""
    process_cache.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
        snapshot_store.reset()
        yield
        snapshot_store.reset()


@pytest.fixture(autouse=True)
def _fresh_snapshot() -> Iterator[None]:
    with refreshing_at_once():
        yield


@dataclass(frozen=True)
class Caller:
    """Somebody who sends what DataHub's clients send, with the headers they add."""

    urn: str
    client: Client
    token: str

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(path, content_type="application/json", **more)

    def post(self, path: str, body: object, **more: Any) -> Any:
        data = body if isinstance(body, str | bytes) else json.dumps(body)
        return self.client.post(path, **{"data": data, "content_type": "application/json", **more})

    def write(self, *proposals: dict[str, Any], **more: Any) -> Any:
        """Send one proposal alone, several as a batch."""
        if len(proposals) == 1:
            return self.post("/aspects?action=ingestProposal", {"proposal": proposals[0], "async": "false"}, **more)
        return self.post("/aspects?action=ingestProposalBatch", {"proposals": proposals, "async": "true"}, **more)

    def aspect(self, urn: str, name: str, version: int = 0) -> Any:
        return self.get(f"/aspects/{quote(urn, safe='')}?aspect={name}&version={version}")

    def entity(self, urn: str) -> Any:
        return self.get(f"/entities/{quote(urn, safe='')}")

    def search(self, **body: object) -> list[str]:
        answer = self.post("/entities?action=search", body)
        assert answer.status_code == 200, answer.content
        return [one["entity"] for one in answer.json()["value"]["entities"]]


def proposal(urn: str, aspect: str, value: object = None, /, **more: Any) -> dict[str, Any]:
    """A proposal as clients write it; the value is text, or what JSON can say."""
    text = value if isinstance(value, str) else json.dumps(value)
    return {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"value": text, "contentType": "application/json"},
        "systemMetadata": {"lastObserved": 0, "runId": "no-run-id-provided", "properties": {"clientId": "x"}},
    } | more


def give(urn: str, *privileges: str, **document: object) -> None:
    """Store a metadata policy on everything, unless told otherwise, for one user."""
    whole = {
        "displayName": f"What {urn} may do with {' '.join(privileges)}",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": list(privileges),
        "actors": {"users": [urn]},
    } | document
    policies.create(draft=policy_drafts.PolicyInput("datahub", whole), by=authorizer.SYSTEM, channel=DOOR)


def written() -> list[str]:
    """URNs of all that was written since the bootstrap, which brings ownership types and the CDAP instance."""
    rows = Entity.objects.exclude(type__in=["ownershipType", "instance"]).order_by("urn")
    return list(rows.values_list("urn", flat=True))


def token_of(urn: str) -> str:
    return access_tokens.create(owner=urn, name="test", by=authorizer.SYSTEM, channel=DOOR).text


def calling(urn: str, token: str = "") -> Caller:
    """Return somebody with this token, or else a new one."""
    token = token or token_of(urn)
    headers = {
        "authorization": f"Bearer {token}",
        "accept": "*/*",
        "x-restli-protocol-version": "2.0.0",
        "x-datahub-client-mode": "SDK",
        "user-agent": "DataHub-Client/1.0 (sdk; datahub; 1.7.0.17)",
    }
    return Caller(urn, Client(headers=headers), token)


def make_person(username: str, *privileges: str, **document: object) -> Caller:
    """Make a user who holds these metadata privileges on everything, unless told otherwise."""
    user = users.create(username=username, by=authorizer.SYSTEM, channel=DOOR)
    if privileges:
        give(user.urn, *privileges, **document)
    return calling(user.urn)


@pytest.fixture(scope="module")
def _bootstrapped(module_transaction: bool) -> None:
    """One bootstrap for the tests of a module."""
    assert module_transaction
    bootstrap.run(is_restricted=True)


@pytest.fixture(scope="module")
def _root_token(_bootstrapped: None) -> str:
    """One token of the root user for the tests of a module."""
    return token_of(ROOT)


@pytest.fixture
def installed(_root_token: str, db: None) -> None:
    """What a test starts from, and what is there again for the next one."""


@pytest.fixture
def root(_root_token: str, installed: None) -> Caller:
    """The root user."""
    return calling(ROOT, _root_token)


@pytest.fixture
def person(installed: None) -> Callable[..., Caller]:
    """Make a user who holds these metadata privileges on everything: `person("jo", "EDIT_ENTITY")`."""
    return make_person


@pytest.fixture
def nobody(installed: None) -> Client:
    """A caller without a token."""
    return Client()
