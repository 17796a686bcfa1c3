"""Repairs in the SQL of PostgreSQL."""

from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.sql_dialect import READ_AND_WRITE, SqlDialect

DIALECT = SqlDialect(
    name="postgres",
    quote='"',
    levels={READ: "SELECT", WRITE: f"{READ_AND_WRITE}, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    scopes=("ON TABLE", "ON ALL TABLES IN SCHEMA", ""),
    objects=("TABLE", "SCHEMA", "DATABASE"),
    table_parts=2,
    nouns={},
    membership="",
    owner_change="OWNER TO ",
    has_public=True,
    can_rename_roles=True,
    tells_quoted_tables=True,
)
