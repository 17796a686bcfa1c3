"""The statement that would end a difference, in the dialect of its source, and one sentence that says what differs.

Names are quoted as the dialect wants it, so that no name of a source or of the catalog becomes part of the statement.
What a dialect cannot say is a comment of one line.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catalog.reports.kinds.role_mapping_check.differences import Type
from catalog.reports.kinds.role_mapping_check.exports import ADMIN, LEVELS, READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, privileges_of

Difference = Mapping[str, Any]

_NAMES = {level: name for name, level in LEVELS.items()}
#: What to grant for a level.
_GRANTED: Mapping[str, Mapping[int, str]] = {
    "snowflake": {READ: "SELECT", WRITE: "SELECT, INSERT, UPDATE, DELETE, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    "postgres": {READ: "SELECT", WRITE: "SELECT, INSERT, UPDATE, DELETE, TRUNCATE", ADMIN: "ALL PRIVILEGES"},
    "bigquery": {
        READ: "roles/bigquery.dataViewer",
        WRITE: "roles/bigquery.dataEditor",
        ADMIN: "roles/bigquery.dataOwner",
    },
}
_MEMBERSHIPS = ("identity", "groups", "memberships")
_OF_BIGQUERY = {1: "PROJECT", 2: "SCHEMA", 3: "TABLE"}


def repair(export: Export | None, found: Difference) -> str:
    """Return the statements that would end it, one a line; each line that begins with -- is for a person to do."""
    return _REPAIRS[Type(found["type"])](export, found)


def sentence(found: Difference) -> str:
    """Return what differs, in words."""
    words = {
        "role": _role(found),
        "who": found["grantee"] or found["actor"],
        "there": _NAMES.get(found["level"] or 0, ""),
        "wanted": _NAMES.get(found["wanted"] or 0, ""),
        "place": _dotted(found["object"]) or found["name"] or found["entity"],
        "datasets": "1 dataset" if found["count"] == 1 else f"{found['count'] or 0:,} datasets",
        "via": f" through {found['via']}" if found["via"] else "",
    }
    kind = found["type"]
    if kind == Type.EXTRA_GRANT and not found["entity"]:
        place = " on {place}" if found["object"] else ""
        return ("{role} has {there}{via}" + place + ", which opens {datasets} that the catalog does not name.").format(
            **words
        )
    return _SENTENCES[Type(kind)].format(**words)


_SENTENCES: Mapping[Type, str] = {
    Type.GRANT_MISSING: "The catalog says that {role} opens {place}; the source has no such grant.",
    Type.EXTRA_GRANT: "{role} has {there} on {place}; the catalog does not say so.",
    Type.WRONG_LEVEL: "{role} should have {wanted} on {place} and has {there}{via}.",
    Type.ROLE_GONE: "The source has no role {role}, which the catalog says opens {datasets}.",
    Type.ROLE_WITHOUT_DATASETS: "{role} opens nothing that the catalog knows.",
    Type.SENSITIVE_WITHOUT_ROLE: "{place} is sensitive, and no role says how it is reached.",
    Type.MEMBER_MISSING: "{who} should hold {role} and does not.",
    Type.EXTRA_MEMBER: "{who} holds {role}{via}; the catalog does not say so.",
    Type.DIRECT_USER_GRANT: "{who} has {there} on {place} without any role.",
}


def _role(found: Difference) -> str:
    return str(found["role"] if found["role_urn"] else found["grantee"] or found["role"])


def _dotted(name: str | None) -> str:
    return (name or "").replace(SEPARATOR, ".")


# -- names ------------------------------------------------------------------------------------------------------------


def _identifier(export: Export, name: str) -> str:
    if export.dialect == "bigquery":
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    return '"' + name.replace('"', '""') + '"'


def _text(name: str) -> str:
    """Return a text of BigQuery."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'


def _comment(text: str) -> str:
    return "-- " + re.sub(r"[\x00-\x1f\x7f-\xa0\u2028\u2029]+", " ", text)


def _command(*words: str) -> str:
    """Return a command of Google's own program, each word quoted for the shell."""
    return shlex.join(["gcloud", *words])


def _path(export: Export, found: Difference) -> list[str]:
    """Return the parts of the object's name: as the source wrote it, else as it would write what the catalog says."""
    if found["object"]:
        return str(found["object"]).split(SEPARATOR)
    return [export.spelt(part) for part in str(found["name"]).split(".")]


def _place(export: Export, found: Difference) -> str:
    path = _path(export, found)
    if export.dialect == "bigquery":
        kind = _OF_BIGQUERY.get(len(path), "TABLE")
        return f"{kind} {_identifier(export, '.'.join(path))}"
    # PostgreSQL reaches one database at a time, so its own name is not part of the name of a table.
    parts = path[-2:] if export.dialect == "postgres" else path
    is_schema = export.dialect == "postgres" and len(path) < 3 and found["entity"] is None
    kind = "ALL TABLES IN SCHEMA" if is_schema else "TABLE"
    return f"{kind} {'.'.join(_identifier(export, part) for part in (parts[-1:] if is_schema else parts))}"


def _whom(export: Export, found: Difference) -> str:
    """Return who has it, as the source writes it."""
    name = found["grantee"]
    is_user = found["kind"] == "USER"
    if export.dialect == "bigquery":
        return _text(name or f"group:{export.role_name(found['role'])}")
    if is_user:
        return ("USER " if export.dialect == "snowflake" else "") + _identifier(export, name)
    return ("ROLE " if export.dialect == "snowflake" else "") + _identifier(export, name or _role_name(export, found))


def _role_name(export: Export, found: Difference) -> str:
    return export.role_name(_after(found["role_urn"]) if found["role_urn"] else found["role"])


def _after(urn: str) -> str:
    return urn.split(":", 3)[3]


# -- statements -------------------------------------------------------------------------------------------------------


def _grant(export: Export, found: Difference, level: int) -> str:
    right = _GRANTED[export.dialect][level]
    if export.dialect == "bigquery":
        right = _identifier(export, right)
    return f"GRANT {right} ON {_place(export, found)} TO {_whom(export, found)};"


def _revoke(export: Export, found: Difference, privileges: Sequence[str]) -> list[str]:
    """Return statements that take privileges back; whoever owns something hands it on instead."""
    place, whom = _place(export, found), _whom(export, found)
    if export.dialect == "bigquery":
        return [f"REVOKE {_identifier(export, one)} ON {place} FROM {whom};" for one in privileges]
    done = []
    if "OWNERSHIP" in privileges or "OWNER" in privileges:
        done.append(_handed_over(export, place))
    plain = [one for one in privileges if one not in ("OWNERSHIP", "OWNER")]
    known = _plain(plain)
    if known:
        done.append(f"REVOKE {', '.join(known)} ON {place} FROM {whom};")
    return done


def _handed_over(export: Export, place: str) -> str:
    owner = _identifier(export, export.owner)
    if export.dialect == "snowflake":
        return f"GRANT OWNERSHIP ON {place} TO ROLE {owner} COPY CURRENT GRANTS;"
    if not place.startswith("TABLE "):
        return _comment(f"Hand {place} on to {export.owner}, table by table.")
    return f"ALTER {place} OWNER TO {owner};"


def _plain(privileges: Sequence[str]) -> list[str]:
    """Return privileges in the words of SQL, each once; whoever has all loses all."""
    words = {"READ": "SELECT", "WRITE": "INSERT, UPDATE, DELETE, TRUNCATE", "ADMIN": "ALL PRIVILEGES"}
    said = [part for one in privileges for part in words.get(one, one).split(", ")]
    said = ["ALL PRIVILEGES" if one == "ALL" else one for one in said]
    return ["ALL PRIVILEGES"] if "ALL PRIVILEGES" in said else list(dict.fromkeys(said))


def _in_sql(
    work: Callable[[Export, Difference], str], words: Callable[[Difference], str]
) -> Callable[[Export | None, Difference], str]:
    """Return the statement where there is a dialect, else the words for a person as a comment."""

    def done(export: Export | None, found: Difference) -> str:
        if export is None or not export.dialect:
            return _comment(words(found))
        return work(export, found)

    return done


def _missing(export: Export, found: Difference) -> str:
    return _grant(export, found, found["wanted"])


def _extra(export: Export, found: Difference) -> str:
    if found["via"]:
        return _role_back(export, found["via"], found)
    return "\n".join(_revoke(export, found, privileges_of(export, found["bits"])))


def _role_back(export: Export, given: str, found: Difference) -> str:
    holder = _identifier(export, found["grantee"] or _role_name(export, found))
    if export.dialect == "snowflake":
        return f"REVOKE ROLE {_identifier(export, given)} FROM ROLE {holder};"
    if export.dialect == "postgres":
        return f"REVOKE {_identifier(export, given)} FROM {holder};"
    return _comment(f"Take {_role(found)} out of {given}.")


def _level(export: Export, found: Difference) -> str:
    """Take back what goes too far, unless it comes through another role; then grant what is left to grant."""
    wanted = found["wanted"]
    if found["level"] < wanted:
        return _grant(export, found, wanted)
    if found["via"]:
        return f"{_role_back(export, found['via'], found)}\n{_grant(export, found, wanted)}"
    held = privileges_of(export, found["bits"])
    further = [one for one in held if export.vocabulary[one] > wanted]
    lines = _revoke(export, found, further)
    if not any(export.vocabulary[one] == wanted for one in held) or "ALL PRIVILEGES" in _plain(further):
        lines.append(_grant(export, found, wanted))
    return "\n".join(lines)


def _gone(export: Export, found: Difference) -> str:
    name = _role_name(export, found)
    if export.dialect == "bigquery":
        return _command("identity", "groups", "create", name)
    return f"CREATE ROLE {_identifier(export, name)};"


def _idle(export: Export, found: Difference) -> str:
    if export.dialect == "bigquery":
        return _comment(f"Name the datasets that {_role(found)} opens, or delete the group.")
    return f"DROP ROLE {_identifier(export, found['grantee'])};"


def _member_missing(export: Export, found: Difference) -> str:
    account = export.account(_after(found["actor"]))
    if export.dialect == "bigquery":
        return _command(*_MEMBERSHIPS, "add", f"--group-email={_role_name(export, found)}", f"--member-email={account}")
    to = {"snowflake": {"USER": "USER ", "GROUP": "ROLE "}[found["kind"]]}.get(export.dialect, "")
    verb = "GRANT ROLE" if export.dialect == "snowflake" else "GRANT"
    return f"{verb} {_identifier(export, _role_name(export, found))} TO {to}{_identifier(export, account)};"


def _extra_member(export: Export, found: Difference) -> str:
    given = found["via"] or found["object"] or _role_name(export, found)
    if export.dialect == "bigquery":
        whom = f"--member-email={found['grantee']}"
        return _command(*_MEMBERSHIPS, "delete", f"--group-email={given}", whom)
    to = {"snowflake": {"USER": "USER ", "GROUP": "ROLE "}[found["kind"]]}.get(export.dialect, "")
    verb = "REVOKE ROLE" if export.dialect == "snowflake" else "REVOKE"
    return f"{verb} {_identifier(export, given)} FROM {to}{_identifier(export, found['grantee'])};"


def _direct(export: Export, found: Difference) -> str:
    return "\n".join(_revoke(export, found, privileges_of(export, found["bits"])))


def _unreached(_: Export | None, found: Difference) -> str:
    return _comment(f"Name an external role on {found['entity']}, or take its tag off.")


_REPAIRS: Mapping[Type, Callable[[Export | None, Difference], str]] = {
    Type.GRANT_MISSING: _in_sql(_missing, lambda it: f"Give {_role(it)} access to {it['name']}."),
    Type.EXTRA_GRANT: _in_sql(_extra, lambda it: f"Take the access to {_dotted(it['object'])} from {_role(it)}."),
    Type.WRONG_LEVEL: _in_sql(
        _level, lambda it: f"Give {_role(it)} {_NAMES[it['wanted']]} on {_dotted(it['object'])} and no more."
    ),
    Type.ROLE_GONE: _in_sql(_gone, lambda it: f"Make the role {_role(it)}, or take it off its datasets."),
    Type.ROLE_WITHOUT_DATASETS: _in_sql(_idle, lambda it: f"Name {_role(it)} on what it opens, or delete it."),
    Type.SENSITIVE_WITHOUT_ROLE: _unreached,
    Type.MEMBER_MISSING: _in_sql(_member_missing, lambda it: f"Give {_role(it)} to {it['actor']}."),
    Type.EXTRA_MEMBER: _in_sql(_extra_member, lambda it: f"Take {_role(it)} from {it['grantee']}."),
    Type.DIRECT_USER_GRANT: _in_sql(
        _direct, lambda it: f"Take the access to {_dotted(it['object'])} from {it['grantee']}."
    ),
}
