"""An installation as bootstrap --restricted leaves it, with a few people, for the tests of the pages."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from policies import authority, store
from policies.models import Policy, User
from policies.models.people import USER_PREFIX
from policies.services import bootstrap, people, policies, roles

DOOR = "test"
PASSWORD = "correct horse battery"

Document = dict[str, Any]


@pytest.fixture(autouse=True)
def _fresh_snapshot(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(store, "LOOK_EVERY", 0.0)
    store.drop()
    yield
    store.drop()


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


@pytest.fixture
def write() -> Callable[..., Policy]:
    """Store a policy: `write("id", displayName=...)`; the id is what follows the prefix of the URN."""

    def make(identifier: str, **changes: Any) -> Policy:
        draft = policies.Draft("datahub", document_of(**changes))
        urn = f"urn:li:dataHubPolicy:{identifier}"
        return policies.create(urn=urn, draft=draft, by=authority.SYSTEM, door=DOOR).policy

    return make


@pytest.fixture
def world(db: None, write: Callable[..., Policy]) -> dict[str, User | None]:
    """Return the people of the ladder: nobody, an outsider, a steward (may ask about others), an admin and root."""
    bootstrap.run(is_restricted=True)

    def person(username: str, **more: Any) -> User:
        return people.create(username=username, by=authority.SYSTEM, door=DOOR, **more)

    found: dict[str, User | None] = {
        "anonymous": None,
        "outsider": person("otto", display_name="Otto Outsider"),
        "steward": person("stella", display_name="Stella Steward"),
        "admin": person("ada", display_name="Ada Admin"),
        "root": User.objects.get(username="datahub"),
    }
    write(
        "stewards-ask",
        displayName="Stewards ask about others",
        type="PLATFORM",
        privileges=["CHECK_ACCESS"],
        actors={"users": [f"{USER_PREFIX}stella"]},
    )
    roles.give(urn="urn:li:dataHubRole:Admin", actors=[f"{USER_PREFIX}ada"], by=authority.SYSTEM, door=DOOR)
    return found


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
