"""People to look at: a group with members, an external group, a role of our own, a service account with a token."""

from copy import deepcopy
from typing import Any

import pytest

from policies.identity.services import access_tokens, groups, roles, service_accounts, users
from policies.pdp import authorizer
from tests.forgetting import forget_rows
from tests.web.conftest import DOOR

SYSTEM = authorizer.SYSTEM


def store_crew() -> dict[str, Any]:
    """Make the people to look at; return what was made, by name."""
    members = ["urn:li:corpuser:otto", "urn:li:corpuser:stella"]
    made: dict[str, Any] = {
        "group": groups.create(identifier="crew", name="Crew", members=members, by=SYSTEM, channel=DOOR),
        "external": groups.create(
            identifier="hr", name="From HR", origin="EXTERNAL", members=members[:1], by=SYSTEM, channel=DOOR
        ),
        "role": roles.create(identifier="steward", name="Data Steward", by=SYSTEM, channel=DOOR),
        "service": service_accounts.create(display_name="Nightly load", by=SYSTEM, channel=DOOR),
    }
    roles.grant(urn=made["role"].urn, actors=[members[0], made["group"].urn], by=SYSTEM, channel=DOOR)
    made["token"] = access_tokens.create(owner=made["service"].urn, name="loader", by=SYSTEM, channel=DOOR)
    return made


@pytest.fixture(scope="module")
def crew_of_module(ladder_of_module: None, module_transaction: bool) -> dict[str, Any]:
    """What was made once for the tests of a module whose transactions are taken back; nothing for others."""
    if not module_transaction:
        return {}
    forget_rows()
    return store_crew()


@pytest.fixture
def crew(crew_of_module, world):
    """Return what was made, by name."""
    # Copies: a test may change them, or read them anew.
    return deepcopy(crew_of_module) or store_crew()


@pytest.fixture
def manager(browse, world, write):
    """Return a client of somebody who manages users and groups, and nothing else."""

    def make(*privileges: str):
        actors = {"users": ["urn:li:corpuser:otto"]}
        write("managers", displayName="Managers", type="PLATFORM", privileges=list(privileges), actors=actors)
        return browse("outsider")

    return make


@pytest.fixture
def person(world):
    """Make a person with a password: `person("jo")`."""

    def make(username, **more):
        return users.create(username=username, by=SYSTEM, channel=DOOR, **more)

    return make
