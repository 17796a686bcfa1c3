"""Repairs in the SQL of Snowflake, which names the type of every object and principal."""

from collections.abc import Sequence

from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.principals import DATABASE_ROLE, SEPARATOR
from catalog.warehouses.sql_dialect import READ_AND_WRITE, SqlDialect, find_object_path
from catalog.warehouses.warehouse import DifferenceRow, Export

#: Types of objects on which no access to one table is granted.
_WIDE_TYPES: Sequence[str] = ("SCHEMA", "DATABASE")


class SnowflakeDialect(SqlDialect):
    """The dialect of Snowflake."""

    def render_scope(self, export: Export, difference: DifferenceRow) -> str:
        """Return the clause ON of a statement."""
        return f"ON {self.render_object(export, difference)}"

    def render_object(self, export: Export, difference: DifferenceRow) -> str:
        """Return the object of a difference after its type."""
        path = self.quote_path(find_object_path(export, difference))
        return f"{difference['object_type'] or 'TABLE'} {path}"

    def render_container_scope(self, export: Export, difference: DifferenceRow) -> str:
        """Return the clause ON for all tables of a container."""
        return f"ON ALL TABLES IN {self.render_object(export, difference)}"

    def narrow_to_dataset(self, _export: Export, difference: DifferenceRow) -> DifferenceRow:
        """Return the difference about its dataset."""
        if difference["object_type"] in _WIDE_TYPES:
            return {**difference, "object": None, "object_type": None}
        return difference

    def render_principal(self, kind: str | None, name: str) -> str:
        """Return a user or a role of any type; groups are roles."""
        return f"USER {self.quote_name(name)}" if kind == Grantee.USER else self.render_role(name)

    def find_declared_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the name that a role should have in the source: DATABASE.ROLE is one of a database."""
        name = super().find_declared_role(export, difference)
        is_scoped = "." in name and not export.email_domain
        return SEPARATOR.join([DATABASE_ROLE, *name.split(".", 1)]) if is_scoped else name

    def render_owner_change(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that gives an object to the usual owner."""
        object_clause, owner = self.render_object(export, difference), self.quote_name(export.owner)
        return f"GRANT OWNERSHIP ON {object_clause} TO ROLE {owner} COPY CURRENT GRANTS;"


DIALECT = SnowflakeDialect(
    name="snowflake",
    quote='"',
    levels={READ: "SELECT", WRITE: f"{READ_AND_WRITE}, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    scopes=("", "", ""),
    objects=("", "", ""),
    table_parts=3,
    nouns={},
    membership="ROLE ",
    owner_change="",
    can_rename_roles=True,
    owner="SYSADMIN",
)
