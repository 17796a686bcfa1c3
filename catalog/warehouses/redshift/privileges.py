"""Privileges of Redshift, and the names that it keeps for itself."""

from collections.abc import Mapping

from catalog.warehouses.levels import ADMIN, READ, WRITE

#: What is added to a privilege on single columns.
ON_COLUMNS = " (COLUMNS)"
#: USAGE is a privilege on data where a schema is external: its tables have none of their own.
OWNER, SUPERUSER, USAGE = "OWNER", "SUPERUSER", "USAGE"
#: What the members of some roles of the system may do: empty all tables, and read what row filters leave out.
EMPTYING, BYPASS = "TRUNCATE ALL TABLES", "IGNORE RLS"
SYSTEM_ROLES: Mapping[str, str] = {"sys:superuser": SUPERUSER, "sys:dba": EMPTYING, "sys:secadmin": BYPASS}
#: The user by which the service works on each cluster.
SERVICE_USER = "rdsdb"
#: Beginnings of the names of roles that stand for a datashare, and of those that the system defines.
SHARE_PREFIX, SYSTEM_PREFIX = "ds:", "sys:"

COLUMN_PRIVILEGES: Mapping[str, int] = {f"SELECT{ON_COLUMNS}": READ, f"UPDATE{ON_COLUMNS}": WRITE}
PRIVILEGES: Mapping[str, int] = {
    "SELECT": READ,
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "TRUNCATE"), WRITE),
    **dict.fromkeys((OWNER, "ALL PRIVILEGES"), ADMIN),
    **COLUMN_PRIVILEGES,
    USAGE: READ,
    EMPTYING: WRITE,
    SUPERUSER: ADMIN,
}
#: Privileges on tables that do not reach their rows.
HARMLESS = ("REFERENCES", "RULE", "TRIGGER", "DROP", "ALTER")
#: Privileges on a schema or database as such.
CONTAINER_PRIVILEGES = ("CREATE", "USAGE", "ALTER", "DROP", "TEMP", "TEMPORARY", "OWNER", "EXECUTE")
