"""The world of the fault tests: facts that can be one thing or another, policies that are written anew all the time."""

from collections.abc import Mapping
from random import Random
from typing import Any, Final

from tests import stored
from tests.worlds import World, criterion, document, matching_all, urn, urns

Facts = Mapping[str, int]

#: The facts that change while the site is watched, each of which is 0 or 1, and the aspect that says which.
FACTS: Final = {
    "group": (urn("ben"), "nativeGroupMembership"),
    "role": (urn("cleo"), "roleMembership"),
    "owner": (urn("dataset:orders"), "ownership"),
    "tag": (urn("dataset:stock"), "globalTags"),
    "parent": (urn("domain:child"), "domainProperties"),
}
AT_FIRST: Final = dict.fromkeys(FACTS, 0)

PRIVILEGES: Final = ("EDIT_ENTITY_TAGS", "EDIT_ENTITY_OWNERS")
POLICIES: Final = tuple(f"urn:li:dataHubPolicy:faults-{number}" for number in range(6))

_USERS = urns(("ann", "ben", "cleo"))
_DATASETS = urns(("orders", "sales", "stock", "plain"), "dataset")

#: Everything that is asked: who, for what, on what.
QUESTIONS: Final = tuple((user, privilege, name) for user in _USERS for privilege in PRIVILEGES for name in _DATASETS)


def world(facts: Facts) -> World:
    """Return the world in which these are the facts; its policies grant nothing yet."""
    made = World()
    made.group("crew", roles=["Steward"])
    made.group("guild")
    made.user("ann")
    made.user("ben", groups=[("guild", "crew")[facts["group"]]])
    made.user("cleo", roles=[("Auditor", "Steward")[facts["role"]]])
    made.under("domain:child", ("domain:top", "domain:other")[facts["parent"]])
    made.entity("dataset:orders", owners=[("ann", "ben")[facts["owner"]]], domains=["child"])
    made.entity("dataset:sales", owners=["group:crew"], domains=["top"], tags=["red"])
    made.entity("dataset:stock", tags=[("red", "blue")[facts["tag"]]])
    made.entity("dataset:plain")
    for name in POLICIES:
        made.policy(name.rpartition(":")[2], document())
    return made


def said(name: str, facts: Facts) -> dict[str, Any]:
    """Return the document of the aspect that says what this fact is."""
    found: dict[str, Any] = stored.documents(world(facts))[FACTS[name]]
    return found


def drawn(random: Random) -> dict[str, Any]:
    """Return some policy document that the world gives a meaning to."""
    actors: dict[str, Any] = random.choice(
        [
            {"users": [random.choice(_USERS)]},
            {"groups": [urn(f"group:{random.choice(('crew', 'guild'))}")]},
            {"roles": [urn(f"role:{random.choice(('Steward', 'Auditor'))}")]},
            {"resourceOwners": True},
            {"allUsers": True},
        ]
    )
    resources = random.choice(
        [
            None,
            matching_all(criterion("DOMAIN", urn(f"domain:{random.choice(('top', 'other', 'child'))}"))),
            matching_all(criterion("TAG", urn(f"tag:{random.choice(('red', 'blue'))}"))),
            matching_all(criterion("TAG", urn("tag:red"), condition="NOT_EQUALS")),
            matching_all(criterion("URN", random.choice(_DATASETS))),
        ]
    )
    return document(
        displayName=f"Fault {random.getrandbits(64):x}",
        state="INACTIVE" if random.random() < 0.2 else "ACTIVE",
        privileges=random.sample(PRIVILEGES, random.randint(1, 2)),
        actors=actors,
        **({} if resources is None else {"resources": resources}),
    )
