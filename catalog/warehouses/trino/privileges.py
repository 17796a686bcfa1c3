"""Privileges of Trino, and the role that is worth all of them."""

from collections.abc import Mapping

from catalog.warehouses.levels import ADMIN, READ, WRITE

#: A member of the role `admin` of a catalog has everything in it once he has taken the role.
OWNERSHIP, ADMIN_MEMBER, ADMIN_ROLE = "OWNERSHIP", "ADMIN ROLE", "admin"
#: Where roles of the system are, which belong to no catalog.
SYSTEM = "system"

PRIVILEGES: Mapping[str, int] = {
    "SELECT": READ,
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE"), WRITE),
    **dict.fromkeys((OWNERSHIP, "ALL PRIVILEGES", ADMIN_MEMBER), ADMIN),
}
