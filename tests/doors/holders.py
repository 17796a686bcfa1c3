"""People who hold some privileges of the registry and nothing else."""

from collections.abc import Collection, Mapping

from policies.aspects import services as people_aspects
from policies.aspects.services import AspectChange
from policies.pdp import authorizer, snapshot_store
from tests.doors.conftest import DOOR


def holder_urn(name: str) -> str:
    """Return the URN of the person of this name."""
    return f"urn:li:corpuser:holder_{name}"


def make_holders(privileges_by_name: Mapping[str, Collection[str]]) -> None:
    """Make a person for each name, who holds these privileges on the platform and on everything."""
    changes = [
        AspectChange(holder_urn(name), "corpuser", "corpUserInfo", {"active": True}) for name in privileges_by_name
    ]
    changes += [
        AspectChange(
            f"urn:li:dataHubPolicy:only_{name}",
            "dataHubPolicy",
            "dataHubPolicyInfo",
            {
                "displayName": f"only {name}",
                "description": "",
                "type": "METADATA",
                "state": "ACTIVE",
                "editable": True,
                "privileges": sorted(privileges),
                "actors": {"users": [holder_urn(name)]},
            },
        )
        for name, privileges in privileges_by_name.items()
    ]
    people_aspects.apply(changes=changes, by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.reset()
