"""Puts a whole world into the database, the way a client would: as one batch of proposals."""

import json

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.pdp import authorizer
from tests.worlds import World

DOOR = "test"
_PLATFORM = "urn:li:dataPlatform:hive"
_PARENTS = {
    "domain": ("domainProperties", "parentDomain", {"name": "a domain"}),
    "container": ("container", "container", {}),
    "glossaryTerm": ("glossaryTermInfo", "parentNode", {"definition": "", "termSource": "INTERNAL"}),
    "glossaryNode": ("glossaryNodeInfo", "parentNode", {"definition": ""}),
}

Documents = dict[tuple[str, str], dict]


def store(world: World) -> None:
    """Write people, entities, hierarchies and policies; what cannot be stored (a deny) raises ValueError."""
    found = [Proposal(urn, aspect, json.dumps(document)) for (urn, aspect), document in documents(world).items()]
    apply.apply(proposals=found, by=authorizer.SYSTEM, channel=DOOR)


def documents(world: World) -> Documents:
    """Return the document of every aspect that a world consists of, by URN and aspect; a deny raises ValueError."""
    return _of_people(world.raw) | _of_entities(world.raw) | _of_policies(world)


def _of_people(raw: dict) -> Documents:
    found: Documents = {}
    for role in dict.fromkeys(role for _, role in raw["roles"]):
        found[role, "dataHubRoleInfo"] = {"name": role.rpartition(":")[2], "description": "", "editable": True}
    groups = dict.fromkeys([*raw["groups"], *(group for _, group in raw["memberships"])])
    for group in groups:
        found[group, "corpGroupInfo"] = {"admins": [], "members": [], "groups": []}
    for user in raw["users"]:
        known = {name: values[0] if len(values) == 1 else values for name, values in raw["known"].get(user, {}).items()}
        found[user, "corpUserInfo"] = {"active": user not in raw["suspended"], "customProperties": known}
        if joined := [group for member, group in raw["memberships"] if member == user]:
            found[user, "nativeGroupMembership"] = {"nativeGroups": joined}
    for holder in [*raw["users"], *groups]:
        if held := [role for one, role in raw["roles"] if one == holder]:
            found[holder, "roleMembership"] = {"roles": held}
    return found


def _of_entities(raw: dict) -> Documents:
    found: Documents = {}
    for urn, entity in raw["entities"].items():
        owners = [{"owner": owner, **({"typeUrn": kind} if kind else {})} for owner, kind in entity["owners"]]
        found[urn, "ownership"] = {"owners": owners}
        lists = {
            "globalTags": {"tags": [{"tag": tag} for tag in entity["tags"]]},
            "domains": {"domains": entity["domains"]},
            "glossaryTerms": {"terms": [{"urn": term} for term in entity["terms"]]},
            "querySubjects": {"subjects": [{"entity": subject} for subject in entity["subjects"]]},
            "structuredProperties": {"properties": [_assigned(*pair) for pair in entity["properties"].items()]},
        }
        found |= {(urn, aspect): said for aspect, said in lists.items() if any(said.values())}
        for container in entity["containers"]:
            found[urn, "container"] = {"container": container}
        for instance in entity["instances"]:
            found[urn, "dataPlatformInstance"] = {"platform": _PLATFORM, "instance": instance}
    for child, parent in raw["parents"].items():
        aspect, key, needed = _PARENTS[child.split(":")[2]]
        found[child, aspect] = {**needed, key: parent}
    return found


def _assigned(name: str, values: list[str]) -> dict:
    return {"propertyUrn": f"urn:li:structuredProperty:{name}", "values": [{"string": value} for value in values]}


def _of_policies(world: World) -> Documents:
    if any("document" in raw for _, raw in world.policies):
        raise ValueError("A deny has no published form.")
    return {(f"urn:li:dataHubPolicy:{name}", "dataHubPolicyInfo"): raw for name, raw in world.policies}
