"""Privileges of PostgreSQL, and the roles and attributes that are worth as much as one."""

from collections.abc import Mapping

from catalog.warehouses.levels import ADMIN, READ, WRITE

#: What is added to a privilege on single columns.
ON_COLUMNS = " (COLUMNS)"
OWNER, SUPERUSER, BYPASS = "OWNER", "SUPERUSER", "BYPASSRLS"

_WRITING = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
#: Privileges on single columns.
COLUMN_PRIVILEGES: Mapping[str, int] = {
    f"SELECT{ON_COLUMNS}": READ,
    **dict.fromkeys((f"INSERT{ON_COLUMNS}", f"UPDATE{ON_COLUMNS}"), WRITE),
}
#: Predefined roles whose members reach all tables, or the files and programs of the server, which is as much.
DATA_ROLES: Mapping[str, int] = {
    "pg_read_all_data": READ,
    "pg_write_all_data": WRITE,
    "pg_read_server_files": READ,
    **dict.fromkeys(("pg_write_server_files", "pg_execute_server_program"), ADMIN),
}
PRIVILEGES: Mapping[str, int] = {
    "SELECT": READ,
    **dict.fromkeys(_WRITING, WRITE),
    **dict.fromkeys((OWNER, "ALL PRIVILEGES"), ADMIN),
    **COLUMN_PRIVILEGES,
    **{name.upper(): level for name, level in DATA_ROLES.items()},
    SUPERUSER: ADMIN,
}
