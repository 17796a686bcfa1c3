"""Repairs of BigQuery: statements about IAM roles on its objects, and commands for what contains projects."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import DataFrame

from catalog.warehouses.bigquery.privileges import PROJECT_MEMBER_KINDS
from catalog.warehouses.difference_details import parse_details, read_objects
from catalog.warehouses.difference_words import describe_role, find_identifier
from catalog.warehouses.grant_facts import Grantee, list_privileges
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.principals import describe_principal
from catalog.warehouses.repair_statements import render_note
from catalog.warehouses.sql_dialect import find_object_path
from catalog.warehouses.warehouse import Dialect, DifferenceRow, Export, ExportCoverage

_LEVEL_ROLES: Mapping[int, str] = {
    READ: "roles/bigquery.dataViewer",
    WRITE: "roles/bigquery.dataEditor",
    ADMIN: "roles/bigquery.dataOwner",
}
_MEMBERSHIP_COMMAND = ("identity", "groups", "memberships")
#: Types of objects on which no access to one table is granted.
_WIDE_TYPES: Sequence[str] = ("ORGANIZATION", "FOLDER")
_TABLE_PARTS = 3
_OBJECT_TYPES = {1: "PROJECT", 2: "SCHEMA"}
#: Words of statements for the types of tables.
_TABLE_TYPES = {
    **dict.fromkeys(("TABLE", "BASE TABLE", "CLONE", "SNAPSHOT"), "TABLE"),
    **dict.fromkeys(("VIEW", "MATERIALIZED VIEW"), "VIEW"),
    **dict.fromkeys(("EXTERNAL", "EXTERNAL TABLE"), "EXTERNAL TABLE"),
}
#: What to do where IAM policies, which do not tell views from tables, are all that is known.
_UNKNOWN_TYPE = render_note("If it is a view: ON VIEW.")
#: Commands for policies of what contains projects.
_PLACE_COMMANDS = {"organizations": ("organizations",), "folders": ("resource-manager", "folders")}
#: Members of IAM policies that have no kind before their name; statements have one.
_EVERYBODY_NAMES = ("allUsers", "allAuthenticatedUsers")
#: Kinds of members that statements can name.
_STATEMENT_KINDS = ("user", "group", "serviceAccount", "domain")
#: What a row access policy gives, and no binding.
_POLICY_ROLE = "roles/bigquery.filteredDataViewer"
_PROJECT_OWNER_ROLE = PROJECT_MEMBER_KINDS["projectOwner"]
#: The beginning of an account's name in bindings.
_USER_PREFIX = "user:"


@dataclass(frozen=True)
class BigQueryDialect(Dialect):
    """The dialect of BigQuery; `table_types` are the types of tables, by their keys, that the export tells."""

    name: str = "bigquery"
    table_types: Mapping[str, str] = field(default_factory=dict)

    def bind(
        self, export: Export, facts: DataFrame, differences: DataFrame, _coverage: ExportCoverage
    ) -> "BigQueryDialect":
        """Return the dialect with the types of the tables that these differences are about."""
        types = {key: kind for key, (_, kind) in read_objects(export, facts, differences).items()}
        return replace(self, table_types=types)

    def grant_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of the level `wanted`."""
        return self._render_grant(export, difference, difference["wanted"])

    def _render_grant(self, export: Export, difference: DifferenceRow, level: int) -> str:
        role = _LEVEL_ROLES[level]
        if difference["object"] and not difference["entity"]:
            return self._render_container_grant(export, difference, role)
        if difference["object_type"] in _WIDE_TYPES or len(find_object_path(export, difference)) < _TABLE_PARTS:
            # What is granted instead of access to more than the table is granted on the table.
            difference = {**difference, "object": None, "object_type": None}
        return self._render_table_grant(export, difference, role, _find_member(export, difference))

    def _render_table_grant(self, export: Export, difference: DifferenceRow, role: str, member: str) -> str:
        if not _is_nameable(member):
            return render_note(f"Give {member} {role} on {'.'.join(find_object_path(export, difference))}.")
        object_clause = self._render_object(export, difference)
        statement = f"GRANT {_quote_name(role)} ON {object_clause} TO {_quote_member(member)};"
        return statement if self._find_type(export, difference) else f"{statement}\n{_UNKNOWN_TYPE}"

    def _render_object(self, export: Export, difference: DifferenceRow) -> str:
        path = find_object_path(export, difference)
        table_type = _TABLE_TYPES.get(self._find_type(export, difference), "TABLE")
        return f"{_OBJECT_TYPES.get(len(path), table_type)} {_quote_name('.'.join(path))}"

    def _find_type(self, export: Export, difference: DifferenceRow) -> str:
        """Return the type of an object by the export, else by the catalog, '' where none says it."""
        known_type = self.table_types.get(".".join(find_object_path(export, difference)))
        return known_type or difference["object_type"] or ""

    def revoke_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return what removes all bindings of a difference, or the member from a group."""
        if difference["via"]:
            return _describe_group_removal(difference)
        if (role := PROJECT_MEMBER_KINDS.get(_find_kind(difference["grantee"]))) is not None:
            project = difference["grantee"].partition(":")[2]
            return render_note(
                f"Holders of {role} on the project {project} have this: see who they are there. A dataset that they "
                f"should not reach need not name {difference['grantee']}."
            )
        privileges = list_privileges(export, difference["bits"])
        return "\n".join(self._render_binding_removal(export, difference, privilege) for privilege in privileges)

    def change_level(self, export: Export, difference: DifferenceRow) -> str:
        """Remove the bindings that exceed the declared level, or words about the group, then grant that level."""
        target_level = difference["wanted"]
        grant = self._render_grant(export, difference, target_level)
        if difference["level"] < target_level:
            return grant
        if difference["via"]:
            return f"{_describe_group_removal(difference)}\n{grant}"
        held_privileges = list_privileges(export, difference["bits"])
        lines = [
            self._render_binding_removal(export, difference, privilege)
            for privilege in held_privileges
            if export.vocabulary[privilege] > target_level
        ]
        if not any(export.vocabulary[privilege] == target_level for privilege in held_privileges):
            lines.append(grant)
        return "\n".join(lines)

    def _render_container_grant(self, export: Export, difference: DifferenceRow, role: str) -> str:
        """Return the statement or command that grants a role on all that a container has."""
        path, condition, member = (
            ".".join(find_object_path(export, difference)),
            difference["condition"],
            _find_member(export, difference),
        )
        if condition:
            return render_note(f"Give {_quote_text(member)} {role} on {path}, under the condition: {condition}")
        container_kind, _, container = path.partition("/")
        if container_kind in _PLACE_COMMANDS:
            options = (f"--member={member}", f"--role={role}", "--condition=None")
            return _render_command(*_PLACE_COMMANDS[container_kind], "add-iam-policy-binding", container, *options)
        if not _is_nameable(member):
            return render_note(f"Give {member} {role} on {path}.")
        return f"GRANT {_quote_name(role)} ON {self._render_object(export, difference)} TO {_quote_member(member)};"

    def _render_binding_removal(self, export: Export, difference: DifferenceRow, privilege: str) -> str:
        """Return the statement that removes a binding of IAM, or a command or words where no statement can."""
        container_kind, _, container = str(difference["object"] or "").partition("/")
        grantee, condition = difference["grantee"], difference["condition"]
        path = find_object_path(export, difference)
        if condition:
            return render_note(f"Take {privilege} on {'.'.join(path)} from {grantee}, under the condition: {condition}")
        if privilege == _POLICY_ROLE:
            return render_note(f"Take {grantee} off the row access policies of {'.'.join(path)}.")
        options = (f"--member={grantee}", f"--role={privilege}", "--condition=None")
        if container_kind in _PLACE_COMMANDS:
            return _render_command(*_PLACE_COMMANDS[container_kind], "remove-iam-policy-binding", container, *options)
        if privilege == _PROJECT_OWNER_ROLE:
            command = _render_command("projects", "remove-iam-policy-binding", path[0], *options)
            return render_note(f"{grantee} owns the project. If somebody else does, too, and it should not: {command}")
        if not _is_nameable(grantee):
            if len(path) == 1:
                return _render_command("projects", "remove-iam-policy-binding", path[0], *options)
            return render_note(f"Take {privilege} on {'.'.join(path)} from {grantee}.")
        object_clause = self._render_object(export, difference)
        return f"REVOKE {_quote_name(privilege)} ON {object_clause} FROM {_quote_member(grantee)};"

    def create_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return what makes a group, and gives it what it should open, and its members."""
        group = _find_group(export, difference)
        domain = group.partition("@")[2]
        if not domain:
            return ""
        lines = [_render_command("identity", "groups", "create", group, f"--organization={domain}")]
        for details in parse_details(difference["details"]):
            lines += self._render_grants(export, difference, group, details)
            lines += [
                _render_membership("add", group, account.removeprefix(_USER_PREFIX))
                for account in details.get("accounts") or ()
            ]
            lines += [_describe_stranger(person, group) for person in details.get("people") or ()]
        return "\n".join(lines)

    def _render_grants(
        self, export: Export, difference: DifferenceRow, group: str, details: Mapping[str, Any]
    ) -> Iterator[str]:
        role, types = _LEVEL_ROLES[difference["wanted"]], details.get("types") or {}
        for name in details.get("datasets") or ():
            table = {**difference, "name": name, "object": None, "object_type": types.get(name)}
            yield self._render_table_grant(export, table, role, f"group:{group}")

    def drop_role(self, _export: Export, difference: DifferenceRow) -> str:
        """Return words: a group may have other uses."""
        return render_note(f"Name the datasets that {describe_role(difference)} opens, or delete the group.")

    def rename_role(self, _export: Export, _difference: DifferenceRow) -> str:
        """Return nothing: a group keeps its address."""
        return ""

    def add_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the command that takes an account of the export, or a group, into a group."""
        group = difference["object"] or _find_group(export, difference)
        account = str(difference["grantee"] or "").removeprefix(_USER_PREFIX)
        if difference["kind"] == Grantee.GROUP or export.warehouse.guesses_accounts:
            account = export.account_name(find_identifier(difference["actor"]))
        if not account:
            return _describe_stranger(find_identifier(difference["actor"]), group)
        return _render_membership("add", group, account)

    def remove_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the command that removes an account from a group."""
        group = difference["via"] or difference["object"] or _find_group(export, difference)
        return _render_membership("delete", group, difference["grantee"])


def _describe_group_removal(difference: DifferenceRow) -> str:
    return render_note(f"Take {describe_role(difference)} out of {describe_principal(difference['via'])}.")


def _render_membership(command: str, group: str, account: str) -> str:
    return _render_command(*_MEMBERSHIP_COMMAND, command, f"--group-email={group}", f"--member-email={account}")


def _find_group(export: Export, difference: DifferenceRow) -> str:
    if difference["new_name"]:
        return str(difference["new_name"])
    identifier = find_identifier(difference["role_urn"]) if difference["role_urn"] else difference["role"]
    return export.role_name(identifier)


def _find_member(export: Export, difference: DifferenceRow) -> str:
    member = str(difference["grantee"] or export.role_name(difference["role"]))
    return member if ":" in member or member in _EVERYBODY_NAMES else f"group:{member}"


def _describe_stranger(person: str, group: str) -> str:
    return render_note(f"The export names no account of {person}: take it into {group} when you know it.")


def _find_kind(member: str | None) -> str:
    return (member or "").partition(":")[0]


def _is_nameable(member: str) -> bool:
    """Whether a statement can name a member of a policy."""
    return member in _EVERYBODY_NAMES or _find_kind(member) in _STATEMENT_KINDS


def _quote_member(member: str) -> str:
    return _quote_text(f"specialGroup:{member}" if member in _EVERYBODY_NAMES else member)


def _render_command(*words: str) -> str:
    """Return a gcloud command, each word quoted for the shell."""
    return shlex.join(["gcloud", *words])


def _quote_name(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _quote_text(name: str) -> str:
    """Return a string literal."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'
