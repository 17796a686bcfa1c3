"""People and policies for tests that write through the services."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from policies.authoring.services import policies, policy_drafts
from policies.engine.model import Actor
from policies.identity.services import groups, roles, users
from policies.models import GroupProfile, Role, User
from policies.pdp import actor_resolution, authorizer, snapshot_store

DOOR = "test"


@pytest.fixture(autouse=True)
def _fresh_snapshot() -> Iterator[None]:
    snapshot_store.reset()
    yield
    snapshot_store.reset()


@pytest.fixture
def system(db: None) -> Actor:
    return authorizer.SYSTEM


@pytest.fixture
def user(system: Actor) -> Callable[..., User]:
    """Make a user: `user("jo", state="SUSPENDED")`."""
    return lambda username, **more: users.create(username=username, by=system, channel=DOOR, **more)


@pytest.fixture
def group(system: Actor) -> Callable[..., GroupProfile]:
    """Make a group: `group("eng", members=[...])`; its name is its id unless given."""
    return lambda identifier, **more: groups.create(
        **{"name": identifier, "identifier": identifier, "by": system, "channel": DOOR} | more
    )


@pytest.fixture
def role(system: Actor) -> Callable[..., Role]:
    """Make a role: `role("Steward")`; its name is its id unless given."""
    return lambda identifier, **more: roles.create(
        **{"name": identifier, "identifier": identifier, "by": system, "channel": DOOR} | more
    )


@pytest.fixture
def holding(system: Actor, user: Callable[..., User]) -> Callable[..., Actor]:
    """Make a user with these privileges and return it as an actor: `holding("MANAGE_POLICIES")`.

    `resources` makes it a metadata policy with that block.
    """

    def make(*privileges: str, username: str = "holder", resources: object = None) -> Actor:
        urn = user(username).urn
        document: dict[str, Any] = {
            "displayName": f"What {username} may do",
            "type": "PLATFORM" if resources is None else "METADATA",
            "state": "ACTIVE",
            "privileges": list(privileges),
            "actors": {"users": [urn], "resourceOwners": False, "allUsers": False, "allGroups": False},
        }
        if resources is not None:
            document["resources"] = resources
        if privileges:
            policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=system, channel=DOOR)
            snapshot_store.reset()
        return actor_resolution.load_actor(urn=urn)

    return make
