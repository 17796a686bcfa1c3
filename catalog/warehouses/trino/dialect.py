"""Repairs in the SQL of Trino: roles are those of a catalog, which statements about them name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from catalog.sql_text import quote_text
from catalog.warehouses.difference_details import parse_details
from catalog.warehouses.difference_words import render_owner_doubts
from catalog.warehouses.grant_facts import SEPARATOR, FactKind, Grantee
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.named_accounts import NamedAccountsDialect
from catalog.warehouses.principals import CATALOG_ROLE, split_principal
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.sql_dialect import READ_AND_WRITE, count_missing_parts, find_object_path
from catalog.warehouses.trino.privileges import ADMIN_MEMBER, ADMIN_ROLE, OWNERSHIP, SYSTEM
from catalog.warehouses.warehouse import DifferenceRow, Export, ExportCoverage


@dataclass(frozen=True)
class TrinoDialect(NamedAccountsDialect):
    """The dialect of Trino; `catalog` is the one of all grants of the export, '' where there are several."""

    catalog: str = ""

    def bind(
        self, export: Export, facts: DataFrame, _differences: DataFrame, _coverage: ExportCoverage
    ) -> "TrinoDialect":
        """Return the dialect with the catalog that the grants of the export are in."""
        grants = facts.filter(f"export = {quote_text(export.name)} AND what = '{FactKind.GRANT}'")
        names = grants.selectExpr(f"substring_index(object, {quote_text(SEPARATOR)}, 1) AS name").distinct()
        rows = names.limit(2).collect()
        return replace(self, catalog=rows[0]["name"] if len(rows) == 1 else "")

    def _find_catalog(self, export: Export, difference: DifferenceRow, role: str) -> str:
        """Return the catalog of a role, '' where nothing tells it."""
        principal_type, parts = split_principal(role)
        if principal_type == CATALOG_ROLE:
            return parts[0]
        if export.database:
            return export.database
        if difference["object"] or difference["name"]:
            # A grant on a table is one of a role of its catalog.
            path = find_object_path(export, {**difference, "object": None} if difference["name"] else difference)
            if len(path) > 1 or difference["object_type"] == "CATALOG":
                return path[0]
        names = {details["catalog"] for details in parse_details(difference["details"]) if details.get("catalog")}
        for details in parse_details(difference["details"]):
            names |= {export.spell(name.split(".")[0]) for name in details.get("datasets") or ()}
        return names.pop() if len(names) == 1 else self.catalog

    def _render_in_catalog(self, export: Export, difference: DifferenceRow, role: str, statement: str) -> str:
        """Return a statement about a role with its catalog; words where nothing tells which."""
        catalog = self._find_catalog(export, difference, role)
        if not catalog:
            return render_note(f"In the catalog that has the role, which the export does not say: {statement} IN …")
        return f"{statement};" if catalog == SYSTEM else f"{statement} IN {self.quote_name(catalog)};"

    def _quote_role(self, role: str) -> str:
        return self.quote_name(split_principal(role)[1][-1])

    def render_hold(
        self, export: Export, difference: DifferenceRow, verb: str, role: str, kind: str | None, account: str
    ) -> str:
        """Return the statement that gives or takes a role of a catalog."""
        preposition = "TO" if verb == "GRANT" else "FROM"
        statement = f"{verb} {self._quote_role(role)} {preposition} {self.render_principal(kind, account)}"
        return self._render_in_catalog(export, difference, role, statement)

    def render_creation(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that makes a role in its catalog."""
        role = self.find_role(export, difference)
        return self._render_in_catalog(export, difference, role, f"CREATE ROLE {self._quote_role(role)}")

    def render_revokes(self, export: Export, difference: DifferenceRow, privileges: Sequence[str]) -> list[str]:
        """Return what takes privileges: the role admin, the ownership, or grants. Nothing is revoked from an owner."""
        grantee = difference["grantee"] or self.find_role(export, difference)
        lines = []
        if ADMIN_MEMBER in privileges:
            kind = difference["kind"] or Grantee.ROLE
            lines.append(self.render_hold(export, difference, "REVOKE", ADMIN_ROLE, kind, grantee))
        if OWNERSHIP in privileges:
            return [*lines, self.render_owner_change(export, difference)]
        revokes = super().render_revokes(export, difference, [name for name in privileges if name != ADMIN_MEMBER])
        hides_owner = any(details.get("hides_owner") for details in parse_details(difference["details"]))
        is_doubtful = hides_owner and difference["kind"] == Grantee.USER
        return [*lines, *(render_owner_doubts(grantee, revokes) if is_doubtful else revokes)]

    def render_owner_change(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that gives an object to the usual owner, or words where there is none."""
        path = find_object_path(export, difference)
        if difference["object_type"] != "VIEW" or not export.owner or count_missing_parts(difference, path):
            return super().render_owner_change(export, difference)
        return f"ALTER VIEW {self.quote_path(path)} {self.owner_change}{self.quote_name(export.owner)};"


DIALECT = TrinoDialect(
    name="trino",
    quote='"',
    levels={READ: "SELECT", WRITE: READ_AND_WRITE, ADMIN: "ALL PRIVILEGES"},
    scopes=("ON TABLE", "ON SCHEMA", ""),
    objects=("TABLE", "SCHEMA", ""),
    table_parts=3,
    nouns={Grantee.ROLE: "ROLE ", CATALOG_ROLE: "ROLE ", Grantee.USER: "USER "},
    membership="",
    owner_change="SET AUTHORIZATION ROLE ",
    owns_containers=True,
)
