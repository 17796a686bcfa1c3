"""Repairs in the SQL of Databricks, and words for groups, which belong to the account and to no statement."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame

from catalog.warehouses.databricks.layouts import VIEW_TYPES
from catalog.warehouses.databricks.privileges import ANY_FILE, ANY_FILE_PRIVILEGES, ENTRIES, FILE_PRIVILEGES, SHARED
from catalog.warehouses.difference_details import parse_details, read_entered, read_objects
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.principals import RECIPIENT, SEPARATOR, SHARE, split_principal
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.sql_dialect import SqlDialect, count_missing_parts, find_object_path
from catalog.warehouses.warehouse import DifferenceRow, Export, ExportCoverage

#: Containers of tables by how many parts their names have.
_CONTAINER_TYPES = {1: "CATALOG", 2: "SCHEMA"}


@dataclass(frozen=True)
class DatabricksDialect(SqlDialect):
    """The dialect of Databricks.

    `hides_entries`: the export does not say who gets into schemas and catalogs; `entered` are those of which it does.
    `types` are those of tables and views, by
    their keys, that the export tells.
    """

    hides_entries: bool = False
    entered: frozenset[str] = frozenset()
    types: Mapping[str, str] = field(default_factory=dict)

    def bind(
        self, export: Export, facts: DataFrame, differences: DataFrame, coverage: ExportCoverage
    ) -> "DatabricksDialect":
        """Return the dialect of an export with this coverage, and with the views that these differences are about."""
        return replace(
            self,
            hides_entries=bool(coverage.limits) and not coverage.is_complete,
            entered=read_entered(export, facts),
            types={key: kind for key, (_, kind) in read_objects(export, facts, differences).items()},
        )

    def render_object(self, export: Export, difference: DifferenceRow) -> str:
        """Return the object of a difference, after the word for it."""
        path = find_object_path(export, difference)
        if count_missing_parts(difference, path):
            return super().render_object(export, difference)
        return f"{self._find_type(path, difference['object_type'])} {self.quote_path(path)}"

    def render_scope(self, export: Export, difference: DifferenceRow) -> str:
        """Return the clause ON of a statement."""
        return f"ON {self.render_object(export, difference)}"

    def _find_type(self, path: Sequence[str], said_type: str | None) -> str:
        """Return the word for a table or view: that of the export, else that of the catalog."""
        known_type = self.types.get(".".join(path), said_type)
        return known_type if known_type in VIEW_TYPES else "TABLE"

    def grant_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of the level `wanted`, or of what lets the role into a container."""
        role, path = self.find_role(export, difference), find_object_path(export, difference)
        if difference["object"] and not difference["entity"] and difference["wanted"] is None:
            return self._render_entry(difference["object_type"], path, role)
        statement = super().grant_access(export, difference)
        if not difference["entity"]:
            return statement
        # Of the others there is a finding if the role does not get in.
        unsaid = [size for size in (1, 2) if SEPARATOR.join(path[:size]) not in self.entered]
        entries = [self._render_entry(_CONTAINER_TYPES[size], path[:size], role) for size in unsaid]
        if self.hides_entries:
            words = f"If it does not get in, which no file says: {' '.join(entries)}"
            return f"{statement}\n{render_note(words)}" if entries else statement
        return "\n".join([*(entries if self.entered else ()), statement])

    def render_grant(self, export: Export, difference: DifferenceRow, level: int) -> str:
        """Return the GRANT of a level on a table, or on all that a container has."""
        if difference["object"] and not difference["entity"]:
            return super().render_grant(export, difference, level)
        difference = self.narrow_to_dataset(export, difference)
        path, principal = find_object_path(export, difference), self.render_grantee(export, difference)
        return "\n".join(self._render_table_grant(path, difference["object_type"], level, principal))

    def _render_table_grant(
        self, path: Sequence[str], said_type: str | None, level: int, principal: str
    ) -> Iterator[str]:
        word = self._find_type(path, said_type)
        is_read_only = level == WRITE and word in VIEW_TYPES
        privileges = self.levels[READ if is_read_only else level]
        yield f"GRANT {privileges} ON {word} {self.quote_path(path)} TO {principal};"
        if is_read_only:
            yield render_note(f"Nobody writes a {word.lower()}: {'.'.join(path)} can only be read.")

    def _render_entries(self, path: Sequence[str], role: str) -> Iterator[str]:
        """Yield the GRANTs that let a role into the catalog and the schema of a table."""
        for size, container_type in _CONTAINER_TYPES.items():
            yield self._render_entry(container_type, path[:size], role)

    def _render_entry(self, container_type: str, path: Sequence[str], role: str) -> str:
        principal = self.render_principal(None, role)
        return f"GRANT {ENTRIES[container_type]} ON {container_type} {self.quote_path(path)} TO {principal};"

    def render_revokes(self, export: Export, difference: DifferenceRow, privileges: Sequence[str]) -> list[str]:
        """Return what takes privileges: on the object, on the location of its files, on any file, or in a share."""
        lines = []
        grantee = difference["grantee"] or self.find_role(export, difference)
        for privilege in privileges:
            if privilege in ANY_FILE_PRIVILEGES:
                name = privilege.removesuffix(f" {ANY_FILE}")
                lines.append(f"REVOKE {name} ON {ANY_FILE} FROM {self.render_principal(None, grantee)};")
        if SHARED in privileges:
            lines.append(self._render_unsharing(difference, find_object_path(export, difference), grantee))
        lines += self._render_location_revokes(difference, grantee)
        others = [name for name in privileges if name not in (*ANY_FILE_PRIVILEGES, *FILE_PRIVILEGES, SHARED)]
        return [*super().render_revokes(export, difference, others), *lines]

    def _render_unsharing(self, difference: DifferenceRow, path: Sequence[str], share: str) -> str:
        is_schema = count_missing_parts(difference, path)
        word = "SCHEMA" if is_schema else self._find_type(path, difference["object_type"])
        return f"ALTER SHARE {self.quote_name(split_principal(share)[1][-1])} REMOVE {word} {self.quote_path(path)};"

    def _render_location_revokes(self, difference: DifferenceRow, grantee: str) -> list[str]:
        """Return the REVOKEs on locations; an owner of one hands it on."""
        lines = set()
        for details in parse_details(difference["details"]):
            if location := details.get("location"):
                name = f"EXTERNAL LOCATION {self.quote_name(location)}"
                if details["privilege"] in ("OWN", "OWNERSHIP"):
                    lines.add(render_note(f"Hand {name} on to its right owner."))
                else:
                    principal = self.render_principal(None, grantee)
                    lines.add(f"REVOKE {details['privilege']} ON {name} FROM {principal};")
        return sorted(lines)

    def revoke_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return what takes a share from a recipient, or words about a group."""
        holder = split_principal(difference["grantee"] or "")
        share = split_principal(difference["via"])
        if holder[0] != RECIPIENT or share[0] != SHARE:
            return super().revoke_role(export, difference)
        names = self.quote_name(share[1][-1]), self.quote_name(holder[1][-1])
        return " ".join(("REVOKE SELECT ON SHARE", names[0], "FROM RECIPIENT", f"{names[1]};"))

    def create_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return words about the group, which no statement makes, and the GRANTs of what it should open."""
        name = self.find_role(export, difference)
        command = shlex.join(["databricks", "account", "groups", "create", "--display-name", name])
        lines = [render_note(f"Make the group {name} in the account: {command}")]
        for details in parse_details(difference["details"]):
            people = [*(details.get("accounts") or ()), *(details.get("people") or ())]
            if people:
                lines.append(render_note(f"Its members are {', '.join(people)}."))
            paths = [[export.spell(part) for part in dataset.split(".")] for dataset in details.get("datasets") or ()]
            entries = (entry for path in paths for entry in self._render_entries(path, name))
            lines += dict.fromkeys(entries)
            principal = self.render_principal(None, name)
            types = details.get("types") or {}
            for path in paths:
                lines += self._render_table_grant(path, types.get(".".join(path)), difference["wanted"], principal)
        return "\n".join(lines)


DIALECT = DatabricksDialect(
    name="databricks",
    quote="`",
    levels={READ: "SELECT", WRITE: "SELECT, MODIFY", ADMIN: "ALL PRIVILEGES"},
    scopes=("ON TABLE", "ON SCHEMA", "ON CATALOG"),
    objects=("TABLE", "SCHEMA", "CATALOG"),
    table_parts=3,
    nouns={},
    membership=None,
    owner_change="OWNER TO ",
    owns_containers=True,
)
