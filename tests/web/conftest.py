"""An installation as bootstrap --restricted leaves it, with a few people, for the tests of the pages."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from django.test import Client

from policies import bootstrap
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import roles, users
from policies.models import Policy, User
from policies.models.people import USER_PREFIX
from policies.pdp import authorizer, snapshot_store

DOOR = "test"
PASSWORD = "correct horse battery"

Document = dict[str, Any]


@pytest.fixture(autouse=True)
def _fresh_snapshot(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    snapshot_store.reset()
    yield
    snapshot_store.reset()


def document_of(**changes: Any) -> Document:
    """Return a document that can be stored, with these fields changed."""
    return {
        "displayName": "A policy",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY_TAGS"],
        "actors": {"users": [], "groups": [], "allUsers": False, "allGroups": False, "resourceOwners": False},
        "editable": True,
    } | changes


def write_policy(identifier: str, **changes: Any) -> Policy:
    """Store a policy: `write_policy("id", displayName=...)`; the id is what follows the prefix of the URN."""
    draft = policy_drafts.PolicyInput("datahub", document_of(**changes))
    urn = f"urn:li:dataHubPolicy:{identifier}"
    return policies.create(urn=urn, draft=draft, by=authorizer.SYSTEM, channel=DOOR).policy


def write_policies(documents: Mapping[str, Document]) -> None:
    """Store many policies by their ids, as one version: each by itself would take as many times as long."""
    drafts = {
        f"urn:li:dataHubPolicy:{identifier}": policy_drafts.PolicyInput("datahub", document_of(**changes))
        for identifier, changes in documents.items()
    }
    policies.put_many(drafts=drafts, by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def write() -> Callable[..., Policy]:
    """What stores a policy."""
    return write_policy


#: The people of the ladder: nobody, an outsider, a steward (may ask about others), an admin and root.
LADDER = {"anonymous": "", "outsider": "otto", "steward": "stella", "admin": "ada", "root": "datahub"}


def store_ladder() -> None:
    """Write an installation as bootstrap --restricted leaves it, and the people of the ladder."""
    bootstrap.run(is_restricted=True)
    for username, display_name in (("otto", "Otto Outsider"), ("stella", "Stella Steward"), ("ada", "Ada Admin")):
        users.create(username=username, display_name=display_name, by=authorizer.SYSTEM, channel=DOOR)
    asking = document_of(
        displayName="Stewards ask about others",
        type="PLATFORM",
        privileges=["CHECK_ACCESS"],
        actors={"users": [f"{USER_PREFIX}stella"]},
    )
    draft = policy_drafts.PolicyInput("datahub", asking)
    policies.create(urn="urn:li:dataHubPolicy:stewards-ask", draft=draft, by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn="urn:li:dataHubRole:Admin", actors=[f"{USER_PREFIX}ada"], by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture(scope="module")
def ladder_of_module(module_transaction: bool) -> None:
    """The ladder, once for the tests of a module whose transactions are taken back."""
    if module_transaction:
        store_ladder()


@pytest.fixture
def world(ladder_of_module: None, db: None) -> dict[str, User | None]:
    """Return the people of the ladder."""
    found = {user.username: user for user in User.objects.filter(username__in=LADDER.values())}
    if not found:
        store_ladder()
        found = {user.username: user for user in User.objects.filter(username__in=LADDER.values())}
    return {name: found[username] if username else None for name, username in LADDER.items()}


def client_of(name: str) -> Client:
    """Return a client of one of the people of the ladder, before there is a test."""
    client = Client(raise_request_exception=True)
    client.force_login(User.objects.get(username=LADDER[name]), backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def browse(world: dict[str, User | None]) -> Callable[[str], Client]:
    """Return a client of one of the people of the ladder."""

    def make(name: str) -> Client:
        client = Client(raise_request_exception=True)
        user = world[name]
        if user is not None:
            client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return make
