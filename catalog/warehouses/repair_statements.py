"""Statements of repairs, read by their shape: in which order they run, and which statements take them back. No Spark.

A name may hold anything, so a line is searched for words only after each name between quotation marks was replaced.
A statement of no known shape is run by nobody: a script shows it as a comment.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum

#: A name between quotation marks, which it may hold twice.
_NAME_PATTERN = re.compile(r'"(?:[^"]|"")*"|`(?:[^`]|``)*`')
_NAME = "\0"
_PATH = rf"{_NAME}(?:[.]{_NAME})*"
_WHOM = rf"(?P<whom>(?:[A-Z]+ )*(?:{_PATH}|PUBLIC))"
_RUN_AS = rf"(?P<head>SET ROLE {_NAME}; )?"
_TAIL = rf"(?P<by> GRANTED BY {_NAME})?(?P<cascade> CASCADE)?(?P<place> IN {_NAME})?"
_PRIVILEGE = rf"[A-Z][A-Z_ ]*[A-Z](?: [(]{_NAME}(?:, {_NAME})*[)])?"
_WHAT = rf"(?P<what>{_PRIVILEGE}(?:, {_PRIVILEGE})*|{_NAME})"
_VERB, _PREPOSITION = "(?P<verb>GRANT|REVOKE)", "(?:TO|FROM)"


class ScriptPhase(IntEnum):
    """When a statement runs: what others need comes first, and a role gets a name that no other statement has last."""

    CREATE = 0
    GIVE = 1
    TAKE = 2
    END = 3
    BY_HAND = 4


class _Shape(StrEnum):
    OWNER = "OWNER"
    PRIVILEGE = "GRANT"
    MEMBER = "MEMBER"
    DEFAULT = "DEFAULT"
    ROLE = "EXISTS"
    RENAME = "RENAME"
    PART = "PART"


_PATTERNS = (
    (_Shape.OWNER, rf"(?P<on>ALTER [A-Z ]+ {_PATH} OWNER TO )(?P<whom>{_NAME})(?P<end>);"),
    (_Shape.OWNER, rf"(?P<on>ALTER [A-Z ]+ {_PATH} SET AUTHORIZATION )(?P<whom>(?:ROLE )?{_NAME})(?P<end>);"),
    (_Shape.OWNER, rf"(?P<on>GRANT OWNERSHIP ON [A-Z ]+ {_PATH} TO ){_WHOM}(?P<end> COPY CURRENT GRANTS);"),
    (
        _Shape.PRIVILEGE,
        rf"{_RUN_AS}{_VERB} {_WHAT} (?P<on>(?:ON|FOR) [A-Z ]+(?: {_PATH})?) {_PREPOSITION} {_WHOM}"
        rf"(?P<option> WITH GRANT OPTION)?{_TAIL};(?: RESET ROLE;)?",
    ),
    (
        _Shape.MEMBER,
        rf"{_RUN_AS}{_VERB} (?P<what>(?:[A-Z]+ )*{_PATH}) {_PREPOSITION} {_WHOM}"
        rf"(?P<option> WITH ADMIN OPTION)?{_TAIL};(?: RESET ROLE;)?",
    ),
    (
        _Shape.DEFAULT,
        rf"(?P<on>ALTER DEFAULT PRIVILEGES FOR (?:ROLE|USER) {_NAME}(?: IN SCHEMA {_NAME})?) {_VERB} {_WHAT} ON TABLES "
        rf"{_PREPOSITION} {_WHOM}(?P<option> WITH GRANT OPTION)?;",
    ),
    (
        _Shape.ROLE,
        rf"(?P<verb>CREATE|DROP) (?P<noun>(?:[A-Z]+ )?(?:ROLE|GROUP))(?: IF NOT EXISTS)? (?P<what>{_PATH})"
        rf"(?P<place> IN {_NAME})?;",
    ),
    (
        _Shape.RENAME,
        rf"ALTER (?P<noun>(?:[A-Z]+ )?(?:ROLE|GROUP)) (?P<what>{_PATH}) RENAME TO (?P<whom>{_PATH});",
    ),
    (_Shape.PART, rf"(?P<on>ALTER GROUP {_PATH}) (?P<verb>ADD|DROP) (?P<what>USER {_NAME});"),
    (_Shape.PART, rf"(?P<on>ALTER (?:DATA)?SHARE {_PATH}) (?P<verb>ADD|REMOVE) (?P<what>(?:TABLE|SCHEMA) {_PATH});"),
    (
        _Shape.PART,
        rf"(?P<on>ALTER DATASHARE {_PATH}) SET INCLUDENEW = (?P<verb>TRUE|FALSE) (?P<what>FOR SCHEMA {_NAME});",
    ),
)
_COMPILED_PATTERNS = tuple((shape, re.compile(pattern)) for shape, pattern in _PATTERNS)
#: Commands of a shell, by their beginnings, and those that take them back.
_COMMANDS = {
    "gcloud identity groups memberships add ": "gcloud identity groups memberships delete ",
    "gcloud identity groups create ": "gcloud identity groups delete ",
    **{
        f"gcloud {group} {verb}-iam-policy-binding ": f"gcloud {group} {opposite}-iam-policy-binding "
        for group in ("projects", "organizations", "resource-manager folders")
        for verb, opposite in (("add", "remove"), ("remove", "add"))
    },
}
_COMMANDS |= {"gcloud identity groups memberships delete ": "gcloud identity groups memberships add "}
#: Every privilege on a table.
ALL_PRIVILEGES = "ALL PRIVILEGES"
_TAKING_VERBS = ("REVOKE", "DROP", "REMOVE", "FALSE")
_OTHER_VERBS = {"ADD": "REMOVE", "REMOVE": "ADD", "DROP": "ADD", "TRUE": "FALSE", "FALSE": "TRUE"}


@dataclass(frozen=True, slots=True)
class RepairStatement:
    """One line of a repair: what it gives or takes (`what`), where (`on`), and to or from whom, as SQL writes them."""

    text: str
    shape: _Shape
    parts: dict[str, str]

    @property
    def privilege(self) -> str:
        """The privileges, the role, or the part of a share."""
        return self.parts.get("what", "")

    @property
    def on(self) -> str:
        """The object, after the word for it; "" for a role."""
        return self.parts.get("on", "")

    @property
    def whom(self) -> str:
        """Who gets or loses it."""
        return self.parts.get("whom", "")

    @property
    def is_taking(self) -> bool:
        """Whether it takes something away."""
        return self.parts.get("verb") in _TAKING_VERBS

    @property
    def kind(self) -> str:
        """Its subject: GRANT, MEMBER, EXISTS (a role), OWNER, DEFAULT, RENAME or PART (of a group or share)."""
        return self.shape.value

    @property
    def is_owner_change(self) -> bool:
        """Whether it gives an object to a new owner."""
        return self.shape is _Shape.OWNER

    @property
    def is_renaming(self) -> bool:
        """Whether it renames a role: `what` to `whom`."""
        return self.shape is _Shape.RENAME

    def find_phase(self, *, is_inverse: bool) -> ScriptPhase:
        """Return when it runs: others name a role as it is called before it is renamed."""
        if self.shape is _Shape.RENAME:
            return ScriptPhase.CREATE if is_inverse else ScriptPhase.END
        if self.shape is _Shape.ROLE:
            return ScriptPhase.END if self.is_taking else ScriptPhase.CREATE
        return ScriptPhase.TAKE if self.is_taking or self.is_owner_change else ScriptPhase.GIVE

    def invert(self, *, owner: str, option: str = "") -> str:
        """Return the statement that takes it back, "" where there is none.

        `owner` is the earlier owner of what it hands on, `option` what a grant had beside that it gives back.
        """
        parts = self.parts
        match self.shape:
            case _Shape.OWNER:
                return f"{parts['on']}{owner}{parts['end']};" if owner else ""
            case _Shape.ROLE:
                return "" if self.is_taking else f"DROP {parts['noun']} {parts['what']}{parts['place']};"
            case _Shape.RENAME:
                return f"ALTER {parts['noun']} {parts['whom']} RENAME TO {parts['what']};"
            case _Shape.PART:
                verb = _OTHER_VERBS[parts["verb"]]
                if parts["on"].startswith("ALTER GROUP") and verb == "REMOVE":
                    verb = "DROP"
                setting = f"SET INCLUDENEW = {verb}" if verb in ("TRUE", "FALSE") else verb
                return f"{parts['on']} {setting} {parts['what']};"
            case _Shape.PRIVILEGE | _Shape.MEMBER | _Shape.DEFAULT:
                return self._invert_grant(option)

    def _invert_grant(self, option: str) -> str:
        parts = self.parts
        verb, preposition = ("GRANT", "TO") if self.is_taking else ("REVOKE", "FROM")
        option = option if self.is_taking else ""
        if self.shape is _Shape.DEFAULT:
            return f"{parts['on']} {verb} {parts['what']} ON TABLES {preposition} {parts['whom']}{option};"
        scope = f" {parts['on']}" if "on" in parts else ""
        end = " RESET ROLE;" if parts["head"] else ""
        whom = f"{parts['whom']}{option}{parts['by']}{parts['place']}"
        return f"{parts['head']}{verb} {parts['what']}{scope} {preposition} {whom};{end}"


def render_note(text: str) -> str:
    """Return a text as a comment of one line."""
    return "-- " + re.sub(r"[\x00-\x1f\x7f-\xa0\u2028\u2029]+", " ", text)


def find_names(text: str) -> list[str]:
    """Return the names between quotation marks, with these, in a part of a statement."""
    return _NAME_PATTERN.findall(text)


def split_privileges(text: str) -> list[str]:
    """Return the privileges of a statement, each by itself, and each on one column if they are on columns."""
    names = iter(_NAME_PATTERN.findall(text))
    privileges = []
    for part in re.split(r", (?![^(]*[)])", _NAME_PATTERN.sub(_NAME, text)):
        privilege, has_columns, columns = part.partition(" (")
        columns_of = [re.sub(_NAME, lambda _: next(names), column) for column in columns.rstrip(")").split(", ")]
        privilege = re.sub(_NAME, lambda _: next(names), privilege)
        privileges += [f"{privilege} ({column_name})" for column_name in columns_of] if has_columns else [privilege]
    return privileges


def read_statement(line: str) -> RepairStatement | None:
    """Return a line of a repair by its shape; None for what no dialect of ours writes, such as a command."""
    names = iter(_NAME_PATTERN.findall(line))
    if _NAME in line:
        return None
    masked_line = _NAME_PATTERN.sub(_NAME, line)
    for shape, pattern in _COMPILED_PATTERNS:
        if match := pattern.fullmatch(masked_line):
            return RepairStatement(line, shape, _fill_names(match, list(names)))
    return None


def is_command(line: str) -> bool:
    """Whether a line of a repair is a command of a shell."""
    return any(line.startswith(beginning) for beginning in _COMMANDS)


def invert_command(line: str) -> str:
    """Return the command that takes a command back."""
    beginning = next(beginning for beginning in _COMMANDS if line.startswith(beginning))
    return _COMMANDS[beginning] + line.removeprefix(beginning)


def invert_repair(
    repair: str, *, owner: str = "", option: str = "", holder: str = "", held_privileges: Sequence[str] = ()
) -> str:
    """Return the statements that take a repair back, in their order, with a comment where there is none.

    `owner` and `option` are those of `invert`. `held_privileges` are those that `holder` had before: they stay his.
    """
    lines = []
    for line in reversed([line for line in repair.split("\n") if not line.startswith("--")]):
        statement = read_statement(line)
        if statement is None:
            lines.append(invert_command(line) if is_command(line) else render_note(f"Nothing takes this back: {line}"))
            continue
        names = split_privileges(statement.privilege)
        is_kept = statement.shape is _Shape.PRIVILEGE and not statement.is_taking and statement.whom == holder
        kept_names = [name for name in held_privileges if name in names or names == [ALL_PRIVILEGES]] if is_kept else []
        if kept_names and len(kept_names) == len(names) and names != [ALL_PRIVILEGES]:
            continue
        inverse = statement.invert(owner=owner, option=option)
        if kept_names and names == [ALL_PRIVILEGES]:
            lines += [inverse, f"GRANT {', '.join(kept_names)} {statement.on} TO {statement.whom};"]
        elif kept_names:
            others = ", ".join(name for name in names if name not in kept_names)
            lines.append(inverse.replace(statement.privilege, others, 1))
        else:
            lines.append(inverse or render_note(f"Nothing takes this back: {line}"))
    return "\n".join(lines)


def find_phases(lines: Sequence[str], *, is_inverse: bool = False) -> list[ScriptPhase]:
    """Return when each line of a repair runs.

    No line overtakes another of its repair, since a GRANT may give back what a REVOKE before it took. A comment stands
    before the statement that it precedes. With a line of no known shape, all of them are for the reader.
    """
    statements = [None if line.startswith("--") else read_statement(line) for line in lines]
    if any(
        statement is None and not line.startswith("--") and not is_command(line)
        for line, statement in zip(lines, statements, strict=True)
    ):
        return [ScriptPhase.BY_HAND] * len(lines)
    phases, next_phase = [], ScriptPhase.BY_HAND
    highest = ScriptPhase.CREATE
    ascending = []
    for statement in statements:
        if statement is not None:
            highest = max(highest, statement.find_phase(is_inverse=is_inverse))
        ascending.append(highest)
    for line, statement, phase in reversed(list(zip(lines, statements, ascending, strict=True))):
        if statement is not None:
            next_phase = phase
        elif is_command(line):
            next_phase = ScriptPhase.BY_HAND
        phases.append(next_phase)
    return phases[::-1]


def _fill_names(match: re.Match[str], names: Sequence[str]) -> dict[str, str]:
    """Return the groups of a masked line with its names; "" for those that are not there."""
    parts = {}
    for group, text in match.groupdict().items():
        first = match.string[: match.start(group)].count(_NAME) if text else 0
        values = iter(names[first:])
        parts[group] = re.sub(_NAME, lambda _, values=values: next(values), text or "")
    return parts
