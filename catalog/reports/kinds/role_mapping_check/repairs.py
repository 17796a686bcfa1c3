"""Repairs of differences as statements in the dialect of the source.

Names are quoted for the dialect, so that no name of a source or of the catalog becomes part of the statement. A repair
that the dialect cannot express is a comment of one line.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence

from catalog.reports.kinds.role_mapping_check.dialects import DIALECTS
from catalog.reports.kinds.role_mapping_check.differences import EVERYBODY_NAMES, DifferenceType
from catalog.reports.kinds.role_mapping_check.exports import ADMIN, READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, Grantee, list_privileges
from catalog.reports.kinds.role_mapping_check.principals import (
    DATABASE_ROLE,
    GROUP,
    describe_principal,
    split_principal,
)
from catalog.reports.kinds.role_mapping_check.sentences import (
    MANUAL_STEPS,
    DifferenceRow,
    describe_role,
    dotted_name,
    find_identifier,
    list_words,
)

#: Privileges to grant for each level.
_LEVEL_PRIVILEGES: Mapping[str, Mapping[int, str]] = {
    "snowflake": {READ: "SELECT", WRITE: "SELECT, INSERT, UPDATE, DELETE, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    **{name: dialect.levels for name, dialect in DIALECTS.items()},
    "bigquery": {
        READ: "roles/bigquery.dataViewer",
        WRITE: "roles/bigquery.dataEditor",
        ADMIN: "roles/bigquery.dataOwner",
    },
}
#: Privileges that are taken by giving the object another owner.
_OWNER_PRIVILEGES = ("OWNERSHIP", "OWNER", "OWN")
_MEMBERSHIP_COMMAND = ("identity", "groups", "memberships")
#: Types of objects on which no access to one table is granted.
_WIDE_TYPES: Mapping[str, Sequence[str]] = {
    "snowflake": ("SCHEMA", "DATABASE"),
    "bigquery": ("ORGANIZATION", "FOLDER"),
}
_BIGQUERY_OBJECT_TYPES = {1: "PROJECT", 2: "SCHEMA"}
#: Types of tables that BigQuery's statements name otherwise than its IAM policies do.
_BIGQUERY_TABLE_TYPES = {"VIEW": "VIEW", "MATERIALIZED VIEW": "VIEW", "EXTERNAL": "EXTERNAL TABLE"}
#: Commands for policies of what contains projects.
_PLACE_COMMANDS = {"organizations": ("organizations",), "folders": ("resource-manager", "folders")}


def render_repair(export: Export | None, difference: DifferenceRow) -> str:
    """Return the statements that end a difference, one a line; a line that begins with -- is a manual step."""
    difference_type = DifferenceType(difference["type"])
    render = _RENDERERS.get(difference_type)
    if render is None or export is None or not export.dialect or _has_no_statement(export, difference_type):
        return _render_comment(MANUAL_STEPS[difference_type].format(**list_words(difference)))
    return render(export, difference)


def _has_no_statement(export: Export, difference_type: DifferenceType) -> bool:
    """Whether a difference is about roles and their members, and no statement of the dialect changes these."""
    dialect = DIALECTS.get(export.dialect)
    return dialect is not None and dialect.membership is None and difference_type in _ROLE_DIFFERENCES


#: Differences that are repaired by making, deleting, giving or taking a role.
_ROLE_DIFFERENCES = (
    *(DifferenceType.ROLE_GONE, DifferenceType.ROLE_WITHOUT_DATASETS),
    *(DifferenceType.MEMBER_MISSING, DifferenceType.EXTRA_MEMBER),
)
# -- names ------------------------------------------------------------------------------------------------------------


def _quote_identifier(export: Export, name: str) -> str:
    if dialect := DIALECTS.get(export.dialect):
        return dialect.quote_name(name)
    if export.dialect == "bigquery":
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    return '"' + name.replace('"', '""') + '"'


def _quote_text(name: str) -> str:
    """Return a string literal of BigQuery."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'


def _render_comment(text: str) -> str:
    return "-- " + re.sub(r"[\x00-\x1f\x7f-\xa0\u2028\u2029]+", " ", text)


def _render_command(*words: str) -> str:
    """Return a gcloud command, each word quoted for the shell."""
    return shlex.join(["gcloud", *words])


def _object_path(export: Export, difference: DifferenceRow) -> list[str]:
    """Return the parts of the object's name in the source, else of its name in the catalog as the source spells it."""
    if difference["object"]:
        return str(difference["object"]).split(SEPARATOR)
    return [export.spell(part) for part in str(difference["name"]).split(".")]


def _scope_clause(export: Export, difference: DifferenceRow) -> str:
    """Return the clause ON of a statement; '' where the dialect has none for such an object."""
    if dialect := DIALECTS.get(export.dialect):
        path = _object_path(export, difference)
        return dialect.render_object(dialect.scopes, path, _count_missing_parts(difference, path))
    return f"ON {_object_clause(export, difference)}"


def _object_clause(export: Export, difference: DifferenceRow) -> str:
    path = _object_path(export, difference)
    if export.dialect == "bigquery":
        table_type = _BIGQUERY_TABLE_TYPES.get(difference["object_type"] or "", "TABLE")
        object_type = _BIGQUERY_OBJECT_TYPES.get(len(path), table_type)
        return f"{object_type} {_quote_identifier(export, '.'.join(path))}"
    if dialect := DIALECTS.get(export.dialect):
        return dialect.render_object(dialect.objects, path, _count_missing_parts(difference, path))
    return f"{difference['object_type'] or 'TABLE'} {_quote_path(export, path)}"


def _quote_path(export: Export, parts: Sequence[str]) -> str:
    return ".".join(_quote_identifier(export, part) for part in parts)


def _count_missing_parts(difference: DifferenceRow, path: Sequence[str]) -> int:
    """Return how many parts of the name of a dataset that it contains an object lacks: none if it is a table."""
    return max(len(str(difference["name"]).split(".")) - len(path), 0)


def _grantee_clause(export: Export, difference: DifferenceRow) -> str:
    if export.dialect == "bigquery":
        return _quote_text(_find_iam_member(export, difference))
    return _principal_clause(export, difference["kind"], difference["grantee"] or _role_name(export, difference))


def _find_iam_member(export: Export, difference: DifferenceRow) -> str:
    member = str(difference["grantee"] or export.role_name(difference["role"]))
    return member if ":" in member or member in EVERYBODY_NAMES else f"group:{member}"


def _principal_clause(export: Export, kind: str | None, name: str) -> str:
    """Return a user or role; Snowflake says which it is, and its groups are roles."""
    principal_type, parts = split_principal(name)
    if dialect := DIALECTS.get(export.dialect):
        return dialect.render_principal(principal_type or kind, parts[-1])
    return f"USER {_quote_identifier(export, name)}" if kind == Grantee.USER else _render_role(export, name)


def _role_name(export: Export, difference: DifferenceRow) -> str:
    """Return the name of a role in the source, from the one in the catalog: DATABASE.ROLE is one of Snowflake's."""
    if difference["new_name"]:
        return str(difference["new_name"])
    return _declared_name(export, difference)


def _declared_name(export: Export, difference: DifferenceRow) -> str:
    """Return the name that a role should have in the source."""
    name = export.role_name(find_identifier(difference["role_urn"]) if difference["role_urn"] else difference["role"])
    is_scoped = export.dialect == "snowflake" and "." in name and not export.email_domain
    return SEPARATOR.join([DATABASE_ROLE, *name.split(".", 1)]) if is_scoped else name


# -- statements -------------------------------------------------------------------------------------------------------


def _render_grant(export: Export, difference: DifferenceRow, level: int) -> str:
    privilege_list = _LEVEL_PRIVILEGES[export.dialect][level]
    if difference["object"] and not difference["entity"]:
        return _render_container_grant(export, difference, privilege_list)
    if difference["object_type"] in _WIDE_TYPES.get(export.dialect, ()):
        # What is granted instead of access to more than the table is granted on the table.
        difference = {**difference, "object": None, "object_type": None}
    if export.dialect == "bigquery":
        privilege_list = _quote_identifier(export, privilege_list)
    if export.dialect in DIALECTS and _count_missing_parts(difference, _object_path(export, difference)):
        # What is granted is for the dataset alone, not for everything in its schema.
        difference = {**difference, "object": None}
    return f"GRANT {privilege_list} {_scope_clause(export, difference)} TO {_grantee_clause(export, difference)};"


def _render_container_grant(export: Export, difference: DifferenceRow, privileges: str) -> str:
    """Return the statement that grants privileges on all that a container has, or words where there is none."""
    grantee_clause = _grantee_clause(export, difference)
    path, condition = ".".join(_object_path(export, difference)), difference["condition"]
    if condition:
        return _render_comment(f"Give {grantee_clause} {privileges} on {path}, under the condition: {condition}")
    if export.dialect == "bigquery":
        container_kind, _, container = path.partition("/")
        if container_kind in _PLACE_COMMANDS:
            options = (f"--member={_find_iam_member(export, difference)}", f"--role={privileges}", "--condition=None")
            return _render_command(*_PLACE_COMMANDS[container_kind], "add-iam-policy-binding", container, *options)
        privileges = _quote_identifier(export, privileges)
    scope_clause = _scope_clause(export, difference)
    if export.dialect == "snowflake":
        scope_clause = f"ON ALL TABLES IN {_object_clause(export, difference)}"
    if not scope_clause:
        return _render_comment(f"Give {grantee_clause} {privileges} on every table of {path}.")
    return f"GRANT {privileges} {scope_clause} TO {grantee_clause};"


def _render_revokes(export: Export, difference: DifferenceRow, privileges: Sequence[str]) -> list[str]:
    """Return statements that revoke privileges; ownership is transferred instead."""
    if export.dialect == "bigquery":
        return [_render_binding_removal(export, difference, privilege) for privilege in privileges]
    grantee_clause, statements = _grantee_clause(export, difference), []
    if not set(_OWNER_PRIVILEGES).isdisjoint(privileges):
        statements.append(_render_owner_change(export, difference))
    sql_privileges = _sql_privileges([privilege for privilege in privileges if privilege not in _OWNER_PRIVILEGES])
    if sql_privileges:
        scope_clause = _scope_clause(export, difference)
        statement = f"REVOKE {', '.join(sql_privileges)} {scope_clause} FROM {grantee_clause};"
        statements.append(statement if scope_clause else _render_comment(_describe_revoke(difference)))
    return statements


def _render_binding_removal(export: Export, difference: DifferenceRow, privilege: str) -> str:
    """Return the statement that removes a binding of IAM, or a command or words where no statement can."""
    container_kind, _, container = str(difference["object"] or "").partition("/")
    grantee, condition = difference["grantee"], difference["condition"]
    if condition:
        path = ".".join(_object_path(export, difference))
        return _render_comment(f"Take {privilege} on {path} from {grantee}, under the condition: {condition}")
    if container_kind in _PLACE_COMMANDS:
        options = (f"--member={grantee}", f"--role={privilege}", "--condition=None")
        return _render_command(*_PLACE_COMMANDS[container_kind], "remove-iam-policy-binding", container, *options)
    object_clause = _object_clause(export, difference)
    return f"REVOKE {_quote_identifier(export, privilege)} ON {object_clause} FROM {_quote_text(grantee)};"


def _describe_revoke(difference: DifferenceRow) -> str:
    return MANUAL_STEPS[DifferenceType.DIRECT_USER_GRANT].format(**list_words(difference))


def _render_owner_change(export: Export, difference: DifferenceRow) -> str:
    object_clause, owner = _object_clause(export, difference), _quote_identifier(export, export.owner)
    if export.dialect == "snowflake":
        return f"GRANT OWNERSHIP ON {object_clause} TO ROLE {owner} COPY CURRENT GRANTS;"
    dialect = DIALECTS[export.dialect]
    if not object_clause or not export.owner:
        return _render_comment(f"Hand {dotted_name(difference['object'])} on to its right owner.")
    if not dialect.owns_containers and not object_clause.startswith("TABLE "):
        return _render_comment(f"Hand what {object_clause} contains on to {export.owner}, table by table.")
    return f"ALTER {object_clause} {dialect.owner_change}{owner};"


def _sql_privileges(privileges: Sequence[str]) -> list[str]:
    """Return privileges of a CSV form as SQL, each once; ALL PRIVILEGES replaces all others."""
    words = {"READ": "SELECT", "WRITE": "INSERT, UPDATE, DELETE, TRUNCATE", "ADMIN": "ALL PRIVILEGES"}
    names = [part for name in privileges for part in words.get(name, name).split(", ")]
    names = ["ALL PRIVILEGES" if name == "ALL" else name for name in names]
    return ["ALL PRIVILEGES"] if "ALL PRIVILEGES" in names else list(dict.fromkeys(names))


def _repair_missing_grant(export: Export, difference: DifferenceRow) -> str:
    return _render_grant(export, difference, difference["wanted"])


def _repair_extra_grant(export: Export, difference: DifferenceRow) -> str:
    if difference["via"]:
        return _render_role_revoke(export, difference)
    return "\n".join(_render_revokes(export, difference, list_privileges(export, difference["bits"])))


def _render_role_revoke(export: Export, difference: DifferenceRow) -> str:
    """Return the statement that takes the inherited role from the role of a difference."""
    if export.dialect == "bigquery" or _has_no_statement(export, DifferenceType.EXTRA_MEMBER):
        return _render_comment(f"Take {describe_role(difference)} out of {describe_principal(difference['via'])}.")
    holder = difference["grantee"] or _role_name(export, difference)
    return _render_membership("REVOKE", export, difference["via"], Grantee.ROLE, holder)


def _repair_wrong_level(export: Export, difference: DifferenceRow) -> str:
    """Revoke what exceeds the declared level, or the inherited role, then grant that level if necessary."""
    target_level = difference["wanted"]
    grant = _render_grant(export, difference, target_level)
    if difference["level"] < target_level:
        return grant
    if difference["via"]:
        return f"{_render_role_revoke(export, difference)}\n{grant}"
    held_privileges = list_privileges(export, difference["bits"])
    excess_privileges = [privilege for privilege in held_privileges if export.vocabulary[privilege] > target_level]
    lines = _render_revokes(export, difference, excess_privileges)
    if not any(
        export.vocabulary[privilege] == target_level for privilege in held_privileges
    ) or "ALL PRIVILEGES" in _sql_privileges(excess_privileges):
        lines.append(grant)
    return "\n".join(lines)


def _repair_missing_role(export: Export, difference: DifferenceRow) -> str:
    name = _role_name(export, difference)
    if export.dialect == "bigquery":
        return _render_command("identity", "groups", "create", name)
    return f"CREATE {_render_role(export, name)};"


def _repair_renamed_role(export: Export, difference: DifferenceRow) -> str:
    """Return the entry that tells the new name, and the statement that gives the role its old one again, if any."""
    lines = [_render_comment(MANUAL_STEPS[DifferenceType.ROLE_RENAMED].format(**list_words(difference)))]
    new_name, old_name = difference["new_name"], _declared_name(export, difference)
    (new_type, new_parts), (old_type, old_parts) = split_principal(new_name), split_principal(old_name)
    dialect = DIALECTS.get(export.dialect)
    can_rename = export.dialect == "snowflake" if dialect is None else dialect.can_rename_roles
    # A group has a name of its own kind; a database role stays in its database.
    is_same_kind = new_type in ("", GROUP) and not old_type
    is_same_kind |= new_type == old_type == DATABASE_ROLE and new_parts[0] == old_parts[0]
    if can_rename and is_same_kind and not difference["is_there"]:
        lines.append(f"ALTER {_render_role(export, new_name)} RENAME TO {_quote_path(export, old_parts)};")
    return "\n".join(lines)


def _repair_idle_role(export: Export, difference: DifferenceRow) -> str:
    if export.dialect == "bigquery":
        return _render_comment(f"Name the datasets that {describe_role(difference)} opens, or delete the group.")
    return f"DROP {_render_role(export, difference['grantee'])};"


def _render_role(export: Export, name: str) -> str:
    """Return a role with its type, as statements about it alone name it."""
    principal_type, parts = split_principal(name)
    return f"{principal_type or 'ROLE'} {_quote_path(export, parts)}"


def _repair_missing_member(export: Export, difference: DifferenceRow) -> str:
    account = export.account_name(find_identifier(difference["actor"]))
    role = difference["object"] or _role_name(export, difference)
    return _render_membership("GRANT", export, role, difference["kind"], account)


def _repair_extra_member(export: Export, difference: DifferenceRow) -> str:
    held_role = difference["via"] or difference["object"] or _role_name(export, difference)
    return _render_membership("REVOKE", export, held_role, difference["kind"], difference["grantee"])


def _render_membership(verb: str, export: Export, role: str, kind: str | None, account: str) -> str:
    """Return the statement that gives ("GRANT") or takes ("REVOKE") a role."""
    if export.dialect == "bigquery":
        command = "add" if verb == "GRANT" else "delete"
        return _render_command(*_MEMBERSHIP_COMMAND, command, f"--group-email={role}", f"--member-email={account}")
    principal_type, parts = split_principal(role)
    if principal_type == GROUP:
        action = "ADD" if verb == "GRANT" else "DROP"
        return f"ALTER GROUP {_quote_path(export, parts)} {action} USER {_quote_identifier(export, account)};"
    dialect = DIALECTS.get(export.dialect)
    noun = f"{principal_type or 'ROLE'} " if dialect is None else dialect.membership
    preposition = "TO" if verb == "GRANT" else "FROM"
    principal = _principal_clause(export, kind, account)
    return f"{verb} {noun}{_quote_path(export, parts)} {preposition} {principal};"


_RENDERERS: Mapping[DifferenceType, Callable[[Export, DifferenceRow], str]] = {
    DifferenceType.GRANT_MISSING: _repair_missing_grant,
    DifferenceType.EXTRA_GRANT: _repair_extra_grant,
    DifferenceType.WRONG_LEVEL: _repair_wrong_level,
    DifferenceType.ROLE_GONE: _repair_missing_role,
    DifferenceType.ROLE_RENAMED: _repair_renamed_role,
    DifferenceType.ROLE_WITHOUT_DATASETS: _repair_idle_role,
    DifferenceType.MEMBER_MISSING: _repair_missing_member,
    DifferenceType.EXTRA_MEMBER: _repair_extra_member,
    DifferenceType.DIRECT_USER_GRANT: _repair_extra_grant,
}
