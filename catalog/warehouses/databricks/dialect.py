"""Repairs in the SQL of Databricks, and words for groups, which belong to the account and to no statement."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from catalog.warehouses.databricks.privileges import ANY_FILE, ANY_FILE_PRIVILEGES, ENTRIES, FILE_PRIVILEGES, SHARED
from catalog.warehouses.difference_details import parse_details
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.principals import RECIPIENT, SHARE, split_principal
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.sql_dialect import SqlDialect, count_missing_parts, find_object_path
from catalog.warehouses.warehouse import DifferenceRow, Export, ExportCoverage


@dataclass(frozen=True)
class DatabricksDialect(SqlDialect):
    """The dialect of Databricks; `hides_entries`: the export does not say who gets into schemas and catalogs."""

    hides_entries: bool = False

    def bind(
        self, _export: Export, _facts: DataFrame, _differences: DataFrame, coverage: ExportCoverage
    ) -> "DatabricksDialect":
        """Return the dialect of an export with this coverage."""
        return replace(self, hides_entries=bool(coverage.limits) and not coverage.is_complete)

    def grant_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of the level `wanted`, or of what lets the role into a container."""
        role, path = self.find_role(export, difference), find_object_path(export, difference)
        if difference["object"] and not difference["entity"] and difference["wanted"] is None:
            return self._render_entry(difference["object_type"], path, role)
        statement = super().grant_access(export, difference)
        if not self.hides_entries or not difference["entity"]:
            return statement
        entries = " ".join(self._render_entries(path, role))
        return f"{statement}\n{render_note(f'If it does not get in, which no file says: {entries}')}"

    def _render_entries(self, path: Sequence[str], role: str) -> Iterator[str]:
        """Yield the GRANTs that let a role into the catalog and the schema of a table."""
        yield self._render_entry("CATALOG", path[:1], role)
        yield self._render_entry("SCHEMA", path[:2], role)

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
        word = "SCHEMA" if count_missing_parts(difference, path) else "TABLE"
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
            principal, privileges = self.render_principal(None, name), self.levels[difference["wanted"]]
            lines += [f"GRANT {privileges} ON TABLE {self.quote_path(path)} TO {principal};" for path in paths]
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
