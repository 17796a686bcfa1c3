"""Roles of the warehouses of the sample company, as facts: who has them and which tables they open."""

from collections.abc import Iterator
from functools import cache

from catalog.sample.rules import Facts, holds, load_data
from catalog.sample.tables import list_tables

ROLES = load_data("roles")
DEFAULTS: Facts = ROLES["defaults"]
PLATFORMS = load_data("vocabulary")["dataPlatform"]


@cache
def list_roles(platform: str = "") -> tuple[Facts, ...]:
    """Return the roles, of one platform or of all; `opens` is the rule for the tables that a role opens."""
    every = (_describe_role(key, role) for key, role in ROLES["roles"].items())
    return tuple(role for role in every if platform in ("", role["platform"]))


def _describe_role(key: str, role: Facts) -> Facts:
    role = DEFAULTS | role
    platform, _, purpose = key.partition("_")
    rule: Facts = {"platform": platform, "layer": role["layers"], "not": {"instance": "us"}}
    return role | {
        "role": key,
        "platform": platform,
        "platform_name": PLATFORMS[platform]["name"],
        "purpose": purpose,
        "opens": rule | ({"area": role["areas"]} if role["areas"] else {}),
        "opened_areas": ", ".join(role["areas"]) or "everything",
        "opened_layers": " and ".join(role["layers"]),
        "has_members": role["users"] or role["groups"],
        "user_entries": [{"user": f"urn:li:corpuser:{name}"} for name in role["users"]],
        "group_entries": [{"group": f"urn:li:corpGroup:{name}"} for name in role["groups"]],
    }


def list_opened(role: Facts) -> Iterator[Facts]:
    """Yield the tables that a role opens."""
    return (table for table in list_tables() if holds(role["opens"], table))


def list_role_urns(table: Facts) -> list[str]:
    """Return the roles that open a table, and a forgotten one where the dice say so."""
    urns = [f"urn:li:role:{role['role']}" for role in list_roles() if holds(role["opens"], table)]
    return [*urns, ROLES["legacy"]["who"]] if holds(ROLES["legacy"]["when"], table) else urns
