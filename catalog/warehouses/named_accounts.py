"""Repairs in dialects of systems whose exports name the accounts: only these are given roles, and none is guessed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catalog.warehouses.difference_details import parse_details
from catalog.warehouses.difference_words import describe_role, describe_stranger, find_identifier
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.principals import describe_principal
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.sql_dialect import SqlDialect
from catalog.warehouses.warehouse import DifferenceRow, Export


@dataclass(frozen=True)
class NamedAccountsDialect(SqlDialect):
    """A dialect that makes a role with all that it should open and its members, and drops none.

    A system overrides `render_opening`, `render_hold` and `is_nameable`.
    """

    def is_nameable(self, *names: str) -> bool:
        """Whether statements can name these."""
        return all(name and "\0" not in name for name in names)

    def render_opening(
        self, export: Export, difference: DifferenceRow, role: str, paths: Sequence[Sequence[str]]
    ) -> Iterator[str]:
        """Yield the statements that give a new role the level `wanted` on tables."""
        del export
        for path in paths:
            table = self.quote_path(path[-self.table_parts :])
            grantee = self.render_principal(Grantee.ROLE, role)
            yield f"GRANT {self.levels[difference['wanted']]} ON TABLE {table} TO {grantee};"

    def render_hold(
        self, export: Export, difference: DifferenceRow, verb: str, role: str, kind: str | None, account: str
    ) -> str:
        """Return the statement that gives ("GRANT") or takes ("REVOKE") a role, by what is known of the difference."""
        del export, difference
        return self.render_membership(verb, role, kind, account)

    def render_creation(self, export: Export, difference: DifferenceRow) -> str:
        """Return the statement that makes a role."""
        return super().create_role(export, difference)

    def create_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the CREATE ROLE of a role that the source lacks, with what it should open, and to whom."""
        role = self.find_role(export, difference)
        if not self.is_nameable(role):
            return ""
        lines = [self.render_creation(export, difference)]
        for details in parse_details(difference["details"]):
            paths = [[export.spell(part) for part in name.split(".")] for name in details.get("datasets") or ()]
            lines += self.render_opening(export, difference, role, paths)
            accounts, people = (details.get(name) or [] for name in ("accounts", "people"))
            if export.warehouse.guesses_accounts:
                accounts, people = [*accounts, *map(export.account_name, people)], []
            lines += [self.render_hold(export, difference, "GRANT", role, Grantee.USER, name) for name in accounts]
            lines += [describe_stranger(person, role) for person in people]
        return "\n".join(lines)

    def drop_role(self, _export: Export, difference: DifferenceRow) -> str:
        """Return words: the catalog has the role, and what an export does not show may depend on it."""
        return render_note(
            f"Name {describe_role(difference)} on what it opens, or delete it in the catalog. Before you drop it, see "
            "what depends on it: it may have members, and grants that the export does not show."
        )

    def add_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of a role to the account that the export names; only a plain export has others guessed."""
        role = difference["object"] or self.find_role(export, difference)
        account, person = difference["grantee"], find_identifier(difference["actor"])
        if not account and not export.warehouse.guesses_accounts:
            return describe_stranger(person, describe_principal(role))
        account = account or export.account_name(person)
        if not self.is_nameable(role, account):
            return ""
        return self.render_hold(export, difference, "GRANT", role, difference["kind"], account)

    def remove_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the REVOKE of a role from an account."""
        role = difference["via"] or difference["object"] or self.find_role(export, difference)
        if not self.is_nameable(role, difference["grantee"]):
            return ""
        return self.render_hold(export, difference, "REVOKE", role, difference["kind"], difference["grantee"])

    def revoke_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return what takes the inherited role from the role of a difference."""
        holder = difference["grantee"] or self.find_role(export, difference)
        return self.render_hold(export, difference, "REVOKE", difference["via"], Grantee.ROLE, holder)

    def revoke_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return what takes the privileges of a difference, or the role that they come through."""
        names = (difference["grantee"] or self.find_role(export, difference), difference["via"] or "")
        return super().revoke_access(export, difference) if self.is_nameable(*filter(None, names)) else ""
