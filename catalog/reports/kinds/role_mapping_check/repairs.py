"""Repairs of differences as statements in the dialect of the source, and their descriptions as sentences.

Names are quoted for the dialect, so that no name of a source or of the catalog becomes part of the statement. A repair
that the dialect cannot express is a comment of one line.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catalog.reports.kinds.role_mapping_check.differences import DifferenceType
from catalog.reports.kinds.role_mapping_check.exports import ADMIN, LEVELS, READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, list_privileges

DifferenceRow = Mapping[str, Any]

_LEVEL_NAMES = {level: name for name, level in LEVELS.items()}
#: Privileges to grant for each level.
_LEVEL_PRIVILEGES: Mapping[str, Mapping[int, str]] = {
    "snowflake": {READ: "SELECT", WRITE: "SELECT, INSERT, UPDATE, DELETE, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    "postgres": {READ: "SELECT", WRITE: "SELECT, INSERT, UPDATE, DELETE, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    "bigquery": {
        READ: "roles/bigquery.dataViewer",
        WRITE: "roles/bigquery.dataEditor",
        ADMIN: "roles/bigquery.dataOwner",
    },
}
_MEMBERSHIP_COMMAND = ("identity", "groups", "memberships")
_BIGQUERY_OBJECT_TYPES = {1: "PROJECT", 2: "SCHEMA", 3: "TABLE"}


def render_repair(export: Export | None, difference: DifferenceRow) -> str:
    """Return the statements that end a difference, one a line; a line that begins with -- is a manual step."""
    return _REPAIRS[DifferenceType(difference["type"])](export, difference)


def render_sentence(difference: DifferenceRow) -> str:
    """Return the description of a difference."""
    words = {
        "role": _role_label(difference),
        "who": difference["grantee"] or difference["actor"],
        "there": _LEVEL_NAMES.get(difference["level"] or 0, ""),
        "wanted": _LEVEL_NAMES.get(difference["wanted"] or 0, ""),
        "place": _dotted_name(difference["object"]) or difference["name"] or difference["entity"],
        "datasets": "1 dataset" if difference["count"] == 1 else f"{difference['count'] or 0:,} datasets",
        "via": f" through {difference['via']}" if difference["via"] else "",
    }
    difference_type = difference["type"]
    if difference_type == DifferenceType.EXTRA_GRANT and not difference["entity"]:
        object_phrase = " on {place}" if difference["object"] else ""
        return (
            "{role} has {there}{via}" + object_phrase + ", which opens {datasets} that the catalog does not name."
        ).format(**words)
    return _SENTENCES[DifferenceType(difference_type)].format(**words)


_SENTENCES: Mapping[DifferenceType, str] = {
    DifferenceType.GRANT_MISSING: "The catalog says that {role} opens {place}; the source has no such grant.",
    DifferenceType.EXTRA_GRANT: "{role} has {there} on {place}; the catalog does not say so.",
    DifferenceType.WRONG_LEVEL: "{role} should have {wanted} on {place} and has {there}{via}.",
    DifferenceType.ROLE_GONE: "The source has no role {role}, which the catalog says opens {datasets}.",
    DifferenceType.ROLE_WITHOUT_DATASETS: "{role} opens nothing that the catalog knows.",
    DifferenceType.SENSITIVE_WITHOUT_ROLE: "{place} is sensitive, and no role says how it is reached.",
    DifferenceType.MEMBER_MISSING: "{who} should hold {role} and does not.",
    DifferenceType.EXTRA_MEMBER: "{who} holds {role}{via}; the catalog does not say so.",
    DifferenceType.DIRECT_USER_GRANT: "{who} has {there} on {place} without any role.",
}


def _role_label(difference: DifferenceRow) -> str:
    return str(difference["role"] if difference["role_urn"] else difference["grantee"] or difference["role"])


def _dotted_name(name: str | None) -> str:
    return (name or "").replace(SEPARATOR, ".")


# -- names ------------------------------------------------------------------------------------------------------------


def _quote_identifier(export: Export, name: str) -> str:
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


def _object_clause(export: Export, difference: DifferenceRow) -> str:
    path = _object_path(export, difference)
    if export.dialect == "bigquery":
        object_type = _BIGQUERY_OBJECT_TYPES.get(len(path), "TABLE")
        return f"{object_type} {_quote_identifier(export, '.'.join(path))}"
    # PostgreSQL connects to one database, so its name is not part of the name of a table.
    parts = path[-2:] if export.dialect == "postgres" else path
    is_schema = export.dialect == "postgres" and len(path) < 3 and difference["entity"] is None
    object_type = "ALL TABLES IN SCHEMA" if is_schema else "TABLE"
    return f"{object_type} {'.'.join(_quote_identifier(export, part) for part in (parts[-1:] if is_schema else parts))}"


def _grantee_clause(export: Export, difference: DifferenceRow) -> str:
    """Return the grantee in the dialect of the source."""
    name = difference["grantee"]
    is_user = difference["kind"] == "USER"
    if export.dialect == "bigquery":
        return _quote_text(name or f"group:{export.role_name(difference['role'])}")
    if is_user:
        return ("USER " if export.dialect == "snowflake" else "") + _quote_identifier(export, name)
    return ("ROLE " if export.dialect == "snowflake" else "") + _quote_identifier(
        export, name or _role_name(export, difference)
    )


def _role_name(export: Export, difference: DifferenceRow) -> str:
    return export.role_name(_urn_identifier(difference["role_urn"]) if difference["role_urn"] else difference["role"])


def _urn_identifier(urn: str) -> str:
    return urn.split(":", 3)[3]


# -- statements -------------------------------------------------------------------------------------------------------


def _render_grant(export: Export, difference: DifferenceRow, level: int) -> str:
    privilege_list = _LEVEL_PRIVILEGES[export.dialect][level]
    if export.dialect == "bigquery":
        privilege_list = _quote_identifier(export, privilege_list)
    return f"GRANT {privilege_list} ON {_object_clause(export, difference)} TO {_grantee_clause(export, difference)};"


def _render_revokes(export: Export, difference: DifferenceRow, privileges: Sequence[str]) -> list[str]:
    """Return statements that revoke privileges; ownership is transferred instead."""
    object_clause, grantee_clause = _object_clause(export, difference), _grantee_clause(export, difference)
    if export.dialect == "bigquery":
        return [
            f"REVOKE {_quote_identifier(export, privilege)} ON {object_clause} FROM {grantee_clause};"
            for privilege in privileges
        ]
    statements = []
    if "OWNERSHIP" in privileges or "OWNER" in privileges:
        statements.append(_render_owner_change(export, object_clause))
    other_privileges = [privilege for privilege in privileges if privilege not in ("OWNERSHIP", "OWNER")]
    sql_privileges = _sql_privileges(other_privileges)
    if sql_privileges:
        statements.append(f"REVOKE {', '.join(sql_privileges)} ON {object_clause} FROM {grantee_clause};")
    return statements


def _render_owner_change(export: Export, object_clause: str) -> str:
    owner = _quote_identifier(export, export.owner)
    if export.dialect == "snowflake":
        return f"GRANT OWNERSHIP ON {object_clause} TO ROLE {owner} COPY CURRENT GRANTS;"
    if not object_clause.startswith("TABLE "):
        return _render_comment(f"Hand {object_clause} on to {export.owner}, table by table.")
    return f"ALTER {object_clause} OWNER TO {owner};"


def _sql_privileges(privileges: Sequence[str]) -> list[str]:
    """Return privileges of a CSV form as SQL, each once; ALL PRIVILEGES replaces all others."""
    words = {"READ": "SELECT", "WRITE": "INSERT, UPDATE, DELETE, TRUNCATE", "ADMIN": "ALL PRIVILEGES"}
    names = [part for name in privileges for part in words.get(name, name).split(", ")]
    names = ["ALL PRIVILEGES" if name == "ALL" else name for name in names]
    return ["ALL PRIVILEGES"] if "ALL PRIVILEGES" in names else list(dict.fromkeys(names))


def _require_dialect(
    render: Callable[[Export, DifferenceRow], str], describe: Callable[[DifferenceRow], str]
) -> Callable[[Export | None, DifferenceRow], str]:
    """Return a repair that renders a statement where the export has a dialect, else the description as a comment."""

    def render_or_comment(export: Export | None, difference: DifferenceRow) -> str:
        if export is None or not export.dialect:
            return _render_comment(describe(difference))
        return render(export, difference)

    return render_or_comment


def _repair_missing_grant(export: Export, difference: DifferenceRow) -> str:
    return _render_grant(export, difference, difference["wanted"])


def _repair_extra_grant(export: Export, difference: DifferenceRow) -> str:
    if difference["via"]:
        return _render_role_revoke(export, difference["via"], difference)
    return "\n".join(_render_revokes(export, difference, list_privileges(export, difference["bits"])))


def _render_role_revoke(export: Export, granted_role: str, difference: DifferenceRow) -> str:
    holder = _quote_identifier(export, difference["grantee"] or _role_name(export, difference))
    if export.dialect == "snowflake":
        return f"REVOKE ROLE {_quote_identifier(export, granted_role)} FROM ROLE {holder};"
    if export.dialect == "postgres":
        return f"REVOKE {_quote_identifier(export, granted_role)} FROM {holder};"
    return _render_comment(f"Take {_role_label(difference)} out of {granted_role}.")


def _repair_wrong_level(export: Export, difference: DifferenceRow) -> str:
    """Revoke what exceeds the declared level, or the inherited role, then grant that level if necessary."""
    target_level = difference["wanted"]
    if difference["level"] < target_level:
        return _render_grant(export, difference, target_level)
    if difference["via"]:
        revoke = _render_role_revoke(export, difference["via"], difference)
        return f"{revoke}\n{_render_grant(export, difference, target_level)}"
    held_privileges = list_privileges(export, difference["bits"])
    excess_privileges = [privilege for privilege in held_privileges if export.vocabulary[privilege] > target_level]
    lines = _render_revokes(export, difference, excess_privileges)
    if not any(
        export.vocabulary[privilege] == target_level for privilege in held_privileges
    ) or "ALL PRIVILEGES" in _sql_privileges(excess_privileges):
        lines.append(_render_grant(export, difference, target_level))
    return "\n".join(lines)


def _repair_missing_role(export: Export, difference: DifferenceRow) -> str:
    name = _role_name(export, difference)
    if export.dialect == "bigquery":
        return _render_command("identity", "groups", "create", name)
    return f"CREATE ROLE {_quote_identifier(export, name)};"


def _repair_idle_role(export: Export, difference: DifferenceRow) -> str:
    if export.dialect == "bigquery":
        return _render_comment(f"Name the datasets that {_role_label(difference)} opens, or delete the group.")
    return f"DROP ROLE {_quote_identifier(export, difference['grantee'])};"


def _repair_missing_member(export: Export, difference: DifferenceRow) -> str:
    account = export.account_name(_urn_identifier(difference["actor"]))
    if export.dialect == "bigquery":
        return _render_command(
            *_MEMBERSHIP_COMMAND, "add", f"--group-email={_role_name(export, difference)}", f"--member-email={account}"
        )
    grantee_type = {"snowflake": {"USER": "USER ", "GROUP": "ROLE "}[difference["kind"]]}.get(export.dialect, "")
    verb = "GRANT ROLE" if export.dialect == "snowflake" else "GRANT"
    role = _quote_identifier(export, _role_name(export, difference))
    return f"{verb} {role} TO {grantee_type}{_quote_identifier(export, account)};"


def _repair_extra_member(export: Export, difference: DifferenceRow) -> str:
    granted_role = difference["via"] or difference["object"] or _role_name(export, difference)
    if export.dialect == "bigquery":
        member_option = f"--member-email={difference['grantee']}"
        return _render_command(*_MEMBERSHIP_COMMAND, "delete", f"--group-email={granted_role}", member_option)
    grantee_type = {"snowflake": {"USER": "USER ", "GROUP": "ROLE "}[difference["kind"]]}.get(export.dialect, "")
    verb = "REVOKE ROLE" if export.dialect == "snowflake" else "REVOKE"
    grantee = _quote_identifier(export, difference["grantee"])
    return f"{verb} {_quote_identifier(export, granted_role)} FROM {grantee_type}{grantee};"


def _repair_direct_grant(export: Export, difference: DifferenceRow) -> str:
    return "\n".join(_render_revokes(export, difference, list_privileges(export, difference["bits"])))


def _repair_uncovered_dataset(_: Export | None, difference: DifferenceRow) -> str:
    return _render_comment(f"Name an external role on {difference['entity']}, or take its tag off.")


_REPAIRS: Mapping[DifferenceType, Callable[[Export | None, DifferenceRow], str]] = {
    DifferenceType.GRANT_MISSING: _require_dialect(
        _repair_missing_grant, lambda it: f"Give {_role_label(it)} access to {it['name']}."
    ),
    DifferenceType.EXTRA_GRANT: _require_dialect(
        _repair_extra_grant, lambda it: f"Take the access to {_dotted_name(it['object'])} from {_role_label(it)}."
    ),
    DifferenceType.WRONG_LEVEL: _require_dialect(
        _repair_wrong_level,
        lambda it: f"Give {_role_label(it)} {_LEVEL_NAMES[it['wanted']]} on {_dotted_name(it['object'])} and no more.",
    ),
    DifferenceType.ROLE_GONE: _require_dialect(
        _repair_missing_role, lambda it: f"Make the role {_role_label(it)}, or take it off its datasets."
    ),
    DifferenceType.ROLE_WITHOUT_DATASETS: _require_dialect(
        _repair_idle_role, lambda it: f"Name {_role_label(it)} on what it opens, or delete it."
    ),
    DifferenceType.SENSITIVE_WITHOUT_ROLE: _repair_uncovered_dataset,
    DifferenceType.MEMBER_MISSING: _require_dialect(
        _repair_missing_member, lambda it: f"Give {_role_label(it)} to {it['actor']}."
    ),
    DifferenceType.EXTRA_MEMBER: _require_dialect(
        _repair_extra_member, lambda it: f"Take {_role_label(it)} from {it['grantee']}."
    ),
    DifferenceType.DIRECT_USER_GRANT: _require_dialect(
        _repair_direct_grant, lambda it: f"Take the access to {_dotted_name(it['object'])} from {it['grantee']}."
    ),
}
