"""Repairs in the SQL of Redshift: never against owners, or the roles that it keeps for itself."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from catalog.warehouses.difference_details import parse_details
from catalog.warehouses.difference_words import dotted_name, render_owner_doubts
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.named_accounts import NamedAccountsDialect
from catalog.warehouses.principals import SHARE, split_principal
from catalog.warehouses.redshift.privileges import (
    COLUMN_PRIVILEGES,
    EMPTYING,
    OWNER,
    SHARE_PREFIX,
    SUPERUSER,
    SYSTEM_PREFIX,
    USAGE,
)
from catalog.warehouses.redshift.source import RedshiftSource, read_source
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.sql_dialect import READ_AND_WRITE, count_missing_parts, find_object_path
from catalog.warehouses.warehouse import DifferenceRow, Export, ExportCoverage

_MAX_NAME_BYTES = 127


@dataclass(frozen=True)
class RedshiftDialect(NamedAccountsDialect):
    """The dialect of Redshift; `source` is what it knows of the server."""

    source: RedshiftSource = field(default_factory=RedshiftSource)

    def bind(
        self, export: Export, facts: DataFrame, _differences: DataFrame, _coverage: ExportCoverage
    ) -> "RedshiftDialect":
        """Return the dialect with what the facts of the export say beside these differences."""
        return replace(self, source=read_source(export, facts)) if USAGE in export.vocabulary else self

    def is_nameable(self, *names: str) -> bool:
        """Whether statements can name these: names are cut off at 127 bytes."""
        return super().is_nameable(*names) and all(len(name.encode()) <= _MAX_NAME_BYTES for name in names)

    # -- grants --------------------------------------------------------------------------------------------------------

    def grant_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of the level `wanted`, or of what lets the role into a schema."""
        grantee = difference["grantee"] or self.find_role(export, difference)
        if not self.is_nameable(grantee, *find_object_path(export, difference)):
            return ""
        if difference["object"] and not difference["entity"] and difference["wanted"] is None:
            return self._render_usage(find_object_path(export, difference)[-1], self.render_grantee(export, difference))
        statement = super().grant_access(export, difference)
        path = find_object_path(export, difference)
        if not self.source.hides_entries or len(path) < self.table_parts or not difference["entity"]:
            return statement
        usage = self._render_usage(path[-self.table_parts], self.render_grantee(export, difference))
        return f"{statement}\n{render_note(f'If it does not get into the schema, which no file says: {usage}')}"

    def _render_usage(self, schema: str, grantee: str) -> str:
        return f"GRANT USAGE ON SCHEMA {self.quote_name(schema)} TO {grantee};"

    def render_grant(self, export: Export, difference: DifferenceRow, level: int) -> str:
        """Return the GRANT of a level; a datashare gets a table, and an external schema is opened as a whole."""
        path = find_object_path(export, self.narrow_to_dataset(export, difference))
        principal_type, parts = split_principal(difference["grantee"] or "")
        if principal_type == SHARE:
            table = self.quote_path(path[-self.table_parts :])
            return f"ALTER DATASHARE {self.quote_name(parts[-1])} ADD TABLE {table};"
        if ".".join(path[:-1]) in self.source.external:
            return "\n".join(self._open_external(path[-2], self.render_grantee(export, difference), level))
        return super().render_grant(export, difference, level)

    def _open_external(self, schema: str, grantee: str, level: int) -> Iterator[str]:
        yield render_note(
            f"{schema} is an external schema: USAGE opens all of its tables, which have no grants of their own."
        )
        if level > READ:
            yield render_note("Whether they can be written to is decided where the data lies.")
        yield self._render_usage(schema, grantee)

    def render_revokes(self, export: Export, difference: DifferenceRow, privileges: Sequence[str]) -> list[str]:
        """Return what takes privileges: from a datashare, a superuser, an owner, or by a REVOKE."""
        name = difference["grantee"] or self.find_role(export, difference)
        principal_type, parts = split_principal(name)
        grantee, path = self.render_grantee(export, difference), find_object_path(export, difference)
        if principal_type == SHARE:
            table = self.quote_path(path[-self.table_parts :])
            return [
                render_note(f"{parts[-1]} is a datashare: its consumers are other clusters and accounts."),
                f"ALTER DATASHARE {self.quote_name(parts[-1])} REMOVE TABLE {table};",
            ]
        if name.startswith((SHARE_PREFIX, SYSTEM_PREFIX)):
            return [render_note(f"{name} is a role of the system, from which nothing is taken: see who holds it.")]
        lines = list(self._render_power_ends(difference, grantee)) if {SUPERUSER, EMPTYING} & {*privileges} else []
        if OWNER in privileges:
            return [*lines, self.render_owner_change(export, difference)]
        if USAGE in privileges:
            lines.append(f"REVOKE USAGE ON SCHEMA {self.quote_name(path[-1])} FROM {grantee};")
        table_privileges = [name for name in privileges if name not in (SUPERUSER, EMPTYING, USAGE, *COLUMN_PRIVILEGES)]
        revokes = super().render_revokes(export, difference, table_privileges)
        words = []
        if revokes and any(item.get("is_grantable") for item in parse_details(difference["details"])):
            words.append(
                render_note(f"CASCADE also takes what {name} has passed on: no view of Redshift says who has it now.")
            )
            revokes = [f"{line.removesuffix(';')} CASCADE;" for line in revokes]
        if self.source.hides_owners and difference["kind"] == Grantee.USER and difference["entity"]:
            revokes = render_owner_doubts(name, revokes)
        return [*lines, *words, *revokes, *self._render_column_revokes(export, difference, grantee, table_privileges)]

    def _render_power_ends(self, difference: DifferenceRow, grantee: str) -> Iterator[str]:
        """Yield what ends rights on all tables: memberships, or words where it is an attribute."""
        roles = sorted({item["role"] for item in parse_details(difference["details"]) if item.get("role")})
        for role in roles:
            yield f"REVOKE ROLE {self.quote_name(role)} FROM {grantee};"
        if not roles:
            words = f"{difference['grantee']} is a superuser. If it need not be one: ALTER USER {grantee} NOCREATEUSER;"
            yield render_note(words)

    def _render_column_revokes(
        self, export: Export, difference: DifferenceRow, grantee: str, table_privileges: Sequence[str]
    ) -> Iterator[str]:
        """Yield the REVOKEs of privileges on columns; one on the whole table takes those, too."""
        columns: dict[str, set[str]] = defaultdict(set)
        for details in parse_details(difference["details"]):
            if details.get("column") and details["privilege"] not in table_privileges:
                columns[details["privilege"]].add(details["column"])
        for privilege, names in sorted(columns.items()):
            column_names = ", ".join(map(self.quote_name, sorted(names)))
            yield f"REVOKE {privilege} ({column_names}) {self.render_scope(export, difference)} FROM {grantee};"

    def revoke_future(self, export: Export, difference: DifferenceRow) -> str:
        """Return what ends the default privileges of a difference, or what a datashare gets of a schema."""
        principal_type, parts = split_principal(difference["grantee"])
        if principal_type == SHARE:
            share, schema = self.quote_name(parts[-1]), self.quote_name(find_object_path(export, difference)[-1])
            return f"ALTER DATASHARE {share} SET INCLUDENEW = FALSE FOR SCHEMA {schema};"
        if not self.is_nameable(difference["grantee"]):
            return ""
        names: dict[tuple[str, str], set[str]] = defaultdict(set)
        for details in parse_details(difference["details"]):
            names[details["owner"], details.get("schema") or ""].add(details["privilege"])
        grantee, order = self.render_grantee(export, difference), list(export.vocabulary)
        return "\n".join(
            f"ALTER DEFAULT PRIVILEGES FOR USER {self.quote_name(owner)}"
            f"{f' IN SCHEMA {self.quote_name(schema)}' if schema else ''}"
            f" REVOKE {', '.join(sorted(privileges, key=order.index))} ON TABLES FROM {grantee};"
            for (owner, schema), privileges in sorted(names.items())
        )

    def render_owner_change(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that gives a table or view to the usual owner, or words where there is none."""
        path = find_object_path(export, difference)
        if not export.owner or count_missing_parts(difference, path):
            return render_note(f"Hand {dotted_name(difference['object'])} on to its right owner.")
        # ALTER TABLE changes the owners of views, too.
        table = self.quote_path(path[-self.table_parts :])
        return f"ALTER TABLE {table} OWNER TO {self.quote_name(export.owner)};"

    # -- roles ---------------------------------------------------------------------------------------------------------

    def create_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the CREATE ROLE of a role; names of the system's own roles are reserved."""
        is_reserved = self.find_role(export, difference).startswith((SHARE_PREFIX, SYSTEM_PREFIX))
        return "" if is_reserved else super().create_role(export, difference)

    def render_opening(
        self, export: Export, difference: DifferenceRow, role: str, paths: Sequence[Sequence[str]]
    ) -> Iterator[str]:
        """Yield USAGE on schemas that not everybody gets into, and the GRANTs on their tables."""
        grantee = self.render_principal(Grantee.ROLE, role)
        for schema in sorted({tuple(path[:-1]) for path in paths if len(path) >= self.table_parts}):
            key = ".".join(schema)
            if key in self.source.external:
                yield from self._open_external(schema[-1], grantee, difference["wanted"])
            elif key not in self.source.open_schemas:
                yield self._render_usage(schema[-1], grantee)
        tables = [path for path in paths if ".".join(path[:-1]) not in self.source.external]
        yield from super().render_opening(export, difference, role, tables)


DIALECT = RedshiftDialect(
    name="redshift",
    quote='"',
    levels={READ: "SELECT", WRITE: f"{READ_AND_WRITE}, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    scopes=("ON TABLE", "FOR TABLES IN SCHEMA", "FOR TABLES IN DATABASE"),
    objects=("TABLE", "SCHEMA", "DATABASE"),
    table_parts=2,
    nouns={Grantee.ROLE: "ROLE ", Grantee.GROUP: "GROUP "},
    membership="ROLE ",
    owner_change="OWNER TO ",
    has_public=True,
    can_rename_roles=True,
)
