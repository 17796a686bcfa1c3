"""Writes the generated worlds of `tests.strategies` into the catalog and the tables of people."""

from tests.catalog.conftest import said, tell
from tests.worlds import World

_PARENTS = {
    "domain": ("domainProperties", "parentDomain"),
    "container": ("container", "container"),
    "glossaryTerm": ("glossaryTermInfo", "parentNode"),
    "glossaryNode": ("glossaryNodeInfo", "parentNode"),
}


def proposals(world: World) -> list:
    """Return what tells the catalog everything about the entities of a world."""
    found = []
    for urn, entity in world.raw["entities"].items():
        documents = {
            "ownership": {
                "owners": [{"owner": owner, **({"typeUrn": kind} if kind else {})} for owner, kind in entity["owners"]]
            },
            "globalTags": {"tags": [{"tag": tag} for tag in entity["tags"]]},
            "domains": {"domains": entity["domains"]},
            "glossaryTerms": {"terms": [{"urn": term} for term in entity["terms"]]},
            "structuredProperties": {"properties": [_assigned(*pair) for pair in entity["properties"].items()]},
        }
        found += [said(urn, aspect, document) for aspect, document in documents.items()]
        found += [said(urn, "container", {"container": container}) for container in entity["containers"]]
        for instance in entity["instances"]:
            platform = "urn:li:dataPlatform:hive"
            found.append(said(urn, "dataPlatformInstance", {"platform": platform, "instance": instance}))
    for child, parent in world.raw["parents"].items():
        aspect, key = _PARENTS[child.split(":")[2]]
        name = {"name": child} if aspect == "domainProperties" else {}
        found.append(said(child, aspect, {**name, key: parent}))
    return found


def people(world: World) -> list:
    """Return what tells the house everything about the people of a world, roles aside."""
    found = [
        said(
            user,
            "corpUserInfo",
            {"active": user not in world.raw["suspended"], "customProperties": _known(world, user)},
        )
        for user in world.raw["users"]
    ]
    found += [
        said(group, "corpGroupInfo", {"admins": [], "members": [], "groups": []}) for group in world.raw["groups"]
    ]
    for user in world.raw["users"]:
        groups = [group for member, group in world.raw["memberships"] if member == user]
        found.append(said(user, "nativeGroupMembership", {"nativeGroups": groups}))
    return found


def _assigned(name: str, values: list[str]) -> dict:
    return {"propertyUrn": f"urn:li:structuredProperty:{name}", "values": [{"string": value} for value in values]}


def _known(world: World, user: str) -> dict:
    """Return the properties of a user; one that has several values is a list."""
    return {name: values if values[1:] else values[0] for name, values in world.raw["known"].get(user, {}).items()}


def store(world: World) -> None:
    """Write a world without its policies."""
    tell(*proposals(world), *people(world))
