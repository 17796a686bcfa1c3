"""Repairs of BigQuery: statements about IAM roles on its objects, and commands for what contains projects."""

import shlex
from collections.abc import Mapping, Sequence

from catalog.warehouses.difference_words import describe_role, find_identifier, render_note
from catalog.warehouses.grant_facts import list_privileges
from catalog.warehouses.levels import ADMIN, READ, WRITE
from catalog.warehouses.principals import describe_principal
from catalog.warehouses.sql_dialect import find_object_path
from catalog.warehouses.warehouse import Dialect, DifferenceRow, Export

_LEVEL_ROLES: Mapping[int, str] = {
    READ: "roles/bigquery.dataViewer",
    WRITE: "roles/bigquery.dataEditor",
    ADMIN: "roles/bigquery.dataOwner",
}
_MEMBERSHIP_COMMAND = ("identity", "groups", "memberships")
#: Types of objects on which no access to one table is granted.
_WIDE_TYPES: Sequence[str] = ("ORGANIZATION", "FOLDER")
_OBJECT_TYPES = {1: "PROJECT", 2: "SCHEMA"}
#: Types of tables that statements name otherwise than IAM policies do.
_TABLE_TYPES = {"VIEW": "VIEW", "MATERIALIZED VIEW": "VIEW", "EXTERNAL": "EXTERNAL TABLE"}
#: Commands for policies of what contains projects.
_PLACE_COMMANDS = {"organizations": ("organizations",), "folders": ("resource-manager", "folders")}
#: Members of IAM policies that have no kind before their name.
_EVERYBODY_NAMES = ("allUsers", "allAuthenticatedUsers")


class BigQueryDialect(Dialect):
    """The dialect of BigQuery."""

    name = "bigquery"

    def grant_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return the GRANT of the level `wanted`."""
        return self._render_grant(export, difference, difference["wanted"])

    def _render_grant(self, export: Export, difference: DifferenceRow, level: int) -> str:
        role = _LEVEL_ROLES[level]
        if difference["object"] and not difference["entity"]:
            return _render_container_grant(export, difference, role)
        if difference["object_type"] in _WIDE_TYPES:
            # What is granted instead of access to more than the table is granted on the table.
            difference = {**difference, "object": None, "object_type": None}
        member = _quote_text(_find_member(export, difference))
        return f"GRANT {_quote_name(role)} ON {_render_object(export, difference)} TO {member};"

    def revoke_access(self, export: Export, difference: DifferenceRow) -> str:
        """Return what removes all bindings of a difference, or the member from a group."""
        if difference["via"]:
            return _describe_group_removal(difference)
        privileges = list_privileges(export, difference["bits"])
        return "\n".join(_render_binding_removal(export, difference, privilege) for privilege in privileges)

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
            _render_binding_removal(export, difference, privilege)
            for privilege in held_privileges
            if export.vocabulary[privilege] > target_level
        ]
        if not any(export.vocabulary[privilege] == target_level for privilege in held_privileges):
            lines.append(grant)
        return "\n".join(lines)

    def create_role(self, export: Export, difference: DifferenceRow) -> str:
        """Return the command that makes a group."""
        return _render_command("identity", "groups", "create", _find_group(export, difference))

    def drop_role(self, _export: Export, difference: DifferenceRow) -> str:
        """Return words: a group may have other uses."""
        return render_note(f"Name the datasets that {describe_role(difference)} opens, or delete the group.")

    def rename_role(self, _export: Export, _difference: DifferenceRow) -> str:
        """Return nothing: a group keeps its address."""
        return ""

    def add_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the command that takes an account into a group."""
        account = export.account_name(find_identifier(difference["actor"]))
        group = difference["object"] or _find_group(export, difference)
        return _render_membership("add", group, account)

    def remove_member(self, export: Export, difference: DifferenceRow) -> str:
        """Return the command that removes an account from a group."""
        group = difference["via"] or difference["object"] or _find_group(export, difference)
        return _render_membership("delete", group, difference["grantee"])


def _render_object(export: Export, difference: DifferenceRow) -> str:
    path = find_object_path(export, difference)
    table_type = _TABLE_TYPES.get(difference["object_type"] or "", "TABLE")
    return f"{_OBJECT_TYPES.get(len(path), table_type)} {_quote_name('.'.join(path))}"


def _render_container_grant(export: Export, difference: DifferenceRow, role: str) -> str:
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
    return f"GRANT {_quote_name(role)} ON {_render_object(export, difference)} TO {_quote_text(member)};"


def _render_binding_removal(export: Export, difference: DifferenceRow, privilege: str) -> str:
    """Return the statement that removes a binding of IAM, or a command or words where no statement can."""
    container_kind, _, container = str(difference["object"] or "").partition("/")
    grantee, condition = difference["grantee"], difference["condition"]
    if condition:
        path = ".".join(find_object_path(export, difference))
        return render_note(f"Take {privilege} on {path} from {grantee}, under the condition: {condition}")
    if container_kind in _PLACE_COMMANDS:
        options = (f"--member={grantee}", f"--role={privilege}", "--condition=None")
        return _render_command(*_PLACE_COMMANDS[container_kind], "remove-iam-policy-binding", container, *options)
    object_clause = _render_object(export, difference)
    return f"REVOKE {_quote_name(privilege)} ON {object_clause} FROM {_quote_text(grantee)};"


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


def _render_command(*words: str) -> str:
    """Return a gcloud command, each word quoted for the shell."""
    return shlex.join(["gcloud", *words])


def _quote_name(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _quote_text(name: str) -> str:
    """Return a string literal."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'
