"""Datazone policies: from the published document to statements (rules/datazone.md DZ-1 to DZ-71).

A policy binds to roles and speaks for their holders. Its document is `{"name", "statements": [...], "roles": [urn]}`.
"""

from collections.abc import Collection, Mapping
from typing import Any

from policies.engine.errors import Problem, quote
from policies.engine.families import datazone_resource_patterns as patterns
from policies.engine.families import datazone_row_conditions as rows
from policies.engine.families.document_reader import Json, Reader, escape, kind
from policies.engine.model import Effect, Origin, Statement
from policies.engine.requirements import Requirement
from policies.engine.restrictions import Restriction, normal_path
from policies.engine.selectors import MAIN_BRANCH, NEVER, ActorMatch, Selector

NAME = "datazone"

#: Most statements of one policy.
MAX_STATEMENTS = 2_000

_ROLE = "urn:li:dataHubRole:"

ROWS, COLUMNS, PATHS = "row_level_restrictions", "column_level_restrictions", "path_prefix"

_POLICY_FIELDS = ("name", "statements", "roles")
_STATEMENT_FIELDS = ("resource", "actions", "effect", "branch", "extra_constraints")
_READS = {"dataset": "dataset:read", "view": "view:read"}
_PATH_ACTIONS = frozenset({"project:read", "project:write", "project:read_repository"})


def parse(
    document: Json,
    *,
    custom: Collection[str] = (),  # noqa: ARG001 - every family takes it
    keeps_unknown: bool = False,  # noqa: ARG001 - every family takes it
) -> dict[str, Json]:
    """Check a policy and return it as it is to be stored, which is as it was sent.

    Raises InvalidPolicy with every problem, under the codes of rules/datazone.md section 9. `custom` privileges belong
    to other families and change nothing here. Unknown fields are always refused: no foreign program sends statements.
    """
    reader = _Reader()
    policy = reader.mapping(document, "")
    if not reader.problems:
        _check_policy(reader, policy)
    reader.finish()
    return dict(policy)


def compile(document: Mapping[str, Json], origin: Origin) -> tuple[Statement, ...]:
    """Return the statements of a stored document. They speak for the holders of its roles; without roles, for nobody.

    Only a role is a role: another token in an old document names nobody.
    """
    actors = ActorMatch(frozenset(urn for urn in document.get("roles") or () if str(urn).startswith(_ROLE)))
    return tuple(
        _statement(item, Origin(origin.policy, origin.name, index), actors)
        for index, item in enumerate(document["statements"])
    )


def columns(document: Mapping[str, Json]) -> dict[str, Json]:
    """Return what a list shows of a checked document; description and state stand beside it."""
    return {"name": document["name"], "type": ""}


def activated(document: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return the document as if it were in force: it has no state of its own."""
    return document


def unknown(document: Mapping[str, Json]) -> tuple[Problem, ...]:  # noqa: ARG001 - every family has one
    """Return the fields of a stored document that keep it out of force: none, `parse` refuses them."""
    return ()


def implicit() -> tuple[tuple[str, tuple[Statement, ...]], ...]:
    """Return what holds without being stored: nothing."""
    return ()


def operations() -> Mapping[str, Requirement]:
    """Return the operations of this family: it asks for actions only."""
    return {}


def bound(document: Json) -> tuple[tuple[str, str], ...]:
    """Return the URNs that must exist when a document is stored, each with its pointer: its roles (api.md 3.1)."""
    roles = document.get("roles") if isinstance(document, dict) else None
    listed = enumerate(roles) if isinstance(roles, list) else ()
    return tuple((f"/roles/{index}", urn) for index, urn in listed if isinstance(urn, str) and urn.startswith(_ROLE))


def mentioned(document: Mapping[str, Json]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the actions and the resource patterns of a checked document, as it spells them."""
    statements = document["statements"]
    actions = frozenset(action for item in statements for action in item["actions"])
    return actions, frozenset(item["resource"] for item in statements)


# -- checking ---------------------------------------------------------------------------------------------------------


class _Reader(Reader):
    """Reads statements under the codes of this family."""

    def strings(self, value: Json, pointer: str, code: str) -> list[tuple[str, str]]:
        """Return the texts of a list with their pointers, after noting whatever is no text."""
        if not isinstance(value, list):
            self.note(f"{code}.type", pointer, f"This must be a list of texts, not {kind(value)}.")
            return []
        if not value:
            self.note(f"{code}.empty", pointer, "The list must not be empty.")
        if not self.is_short(value, pointer):
            return []
        found = []
        for index, item in enumerate(value):
            place = f"{pointer}/{index}"
            if not isinstance(item, str):
                self.note(f"{code}.type", place, f"This must be a text, not {kind(item)}.")
            elif not item.strip() and code == "constraint":
                self.note("constraint.empty", place, "This must not be blank.")
            else:
                found.append((item, place))
        return found


def _check_policy(reader: _Reader, policy: Mapping[str, Json]) -> None:
    name = policy.get("name")
    if not isinstance(name, str) or not name.strip():
        reader.note("policy.name", "/name", "Give the policy a name.")
    reader.known_keys(policy, _POLICY_FIELDS, "")
    reader.urns(policy.get("roles"), "/roles", _ROLE)
    statements = policy.get("statements")
    if not isinstance(statements, list) or not statements:
        reader.note("policy.no_statements", "/statements", "A policy needs at least one statement.")
        statements = []
    for index, item in enumerate(reader.items(statements, "/statements", limit=MAX_STATEMENTS)):
        _check_statement(reader, item, index)
    if not reader.is_storable(policy):
        reader.note("text.invalid", "", "The document holds a character that cannot be stored.")


def _check_statement(reader: _Reader, item: Json, index: int) -> None:
    place = f"/statements/{index}"
    statement = reader.mapping(item, place)
    if not isinstance(item, dict):
        return
    for name in ("resource", "actions", "effect"):
        if name not in statement:
            reader.note("statement.missing_field", f"{place}/{name}", f"Statement {index + 1}: {name} is missing.")
    for name in statement:
        if name not in _STATEMENT_FIELDS:
            detail = f"Statement {index + 1}: unknown field {name[:100]}."
            reader.note("statement.unknown_field", f"{place}/{escape(name)}", detail)
    pattern = _check_pattern(reader, statement, place)
    _check_actions(reader, statement, pattern, place)
    if "effect" in statement and statement["effect"] not in ("allow", "deny"):
        reader.note("effect.invalid", f"{place}/effect", "Effect is allow or deny.")
    _check_branch(reader, statement.get("branch"), f"{place}/branch")
    _check_constraints(reader, statement, pattern, place)


def _check_pattern(reader: _Reader, statement: Mapping[str, Json], place: str) -> patterns.Pattern | None:
    text = statement.get("resource")
    if "resource" not in statement:
        return None
    if not isinstance(text, str):
        reader.note("resource.format", f"{place}/resource", f"A resource is a text, not {kind(text)}.")
        return None
    found = patterns.parse_pattern(text, f"{place}/resource")
    if isinstance(found, patterns.Pattern):
        return found
    reader.add(found)
    return None


def _check_actions(
    reader: _Reader, statement: Mapping[str, Json], pattern: patterns.Pattern | None, place: str
) -> None:
    if "actions" not in statement:
        return
    for text, pointer in reader.strings(statement["actions"], f"{place}/actions", "actions"):
        problem = patterns.parse_action(text, pattern, pointer)
        if problem is not None:
            reader.add(problem)


def _check_branch(reader: _Reader, value: Json, pointer: str) -> None:
    """A branch is a name, not a pattern (DZ-7)."""
    if value is None:
        return
    is_name = isinstance(value, str) and value != "" and not any(c.isspace() or c == "*" for c in value)
    if not is_name or ".." in value:
        reader.note("branch.invalid", pointer, "A branch is a name without blanks, * and .., or null for main.")


def _check_constraints(
    reader: _Reader, statement: Mapping[str, Json], pattern: patterns.Pattern | None, place: str
) -> None:
    value = statement.get("extra_constraints")
    place = f"{place}/extra_constraints"
    if value is not None and not isinstance(value, dict):
        reader.note("constraint.type", place, f"This must be an object, not {kind(value)}.")
    if not isinstance(value, dict):
        return
    for name in value:
        if name not in (ROWS, COLUMNS, PATHS):
            reader.note("constraint.unknown_key", f"{place}/{escape(name)}", f"There is no constraint {quote(name)}.")
    if value and statement.get("effect") == "deny":
        reader.note("constraint.deny", place, "A deny cannot carry restrictions.")
    if ROWS in value or COLUMNS in value:
        _check_table(reader, statement, pattern, place.removesuffix("/extra_constraints"))
        _check_rows_and_columns(reader, value, place)
    if PATHS in value:
        _check_path(reader, statement, pattern, value[PATHS], f"{place}/{PATHS}")


def _check_rows_and_columns(reader: _Reader, value: Mapping[str, Json], place: str) -> None:
    if COLUMNS in value:
        reader.strings(value[COLUMNS], f"{place}/{COLUMNS}", "constraint")
    if ROWS in value:
        for text, pointer in reader.strings(value[ROWS], f"{place}/{ROWS}", "constraint"):
            complaint = rows.complaint(text)
            if complaint:
                reader.note("constraint.sql", pointer, f"{text[:80]}: {complaint}")


def _check_table(reader: _Reader, statement: Mapping[str, Json], pattern: patterns.Pattern | None, place: str) -> None:
    """Row and column restrictions go with one dataset or view by id and its read action alone (DZ-45 to DZ-47)."""
    if pattern is not None and (pattern.scope is not patterns.Scope.ONE or pattern.type not in _READS):
        detail = "Row and column restrictions need one dataset or view by id."
        reader.note("constraint.resource_not_specific", f"{place}/resource", detail)
    actions = statement.get("actions")
    if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
        return
    sentence = "Restrictions go with exactly one action, dataset:read or view:read."
    if len(set(actions)) > 1:
        reader.note("constraint.multiple_actions", f"{place}/actions", sentence)
    for index, action in enumerate(actions):
        if "*" in action:
            reader.note("constraint.wildcard_action", f"{place}/actions/{index}", sentence)
        elif action not in _READS.values():
            reader.note("constraint.action_not_read", f"{place}/actions/{index}", sentence)


def _check_path(
    reader: _Reader, statement: Mapping[str, Json], pattern: patterns.Pattern | None, value: Json, pointer: str
) -> None:
    """A path prefix goes with one project and its repository actions (DZ-63, DZ-64)."""
    if pattern is not None and not (pattern.scope is patterns.Scope.ONE and pattern.type == patterns.PROJECT_TYPE):
        reader.note("constraint.path", pointer, "A path prefix needs one project by id.")
    actions = statement.get("actions")
    if isinstance(actions, list) and any(action not in _PATH_ACTIONS for action in actions if isinstance(action, str)):
        detail = f"A path prefix goes with {', '.join(sorted(_PATH_ACTIONS))}."
        reader.note("constraint.path", pointer, detail)
    if not isinstance(value, str) or normal_path(value) is None:
        reader.note(
            "constraint.path", pointer, "A path is relative, with / between its parts and no . or .. among them."
        )


# -- compiling --------------------------------------------------------------------------------------------------------


def _statement(item: Mapping[str, Any], origin: Origin, actors: ActorMatch) -> Statement:
    pattern = patterns.parse_pattern(item["resource"], "")
    effect = Effect(item["effect"])
    # What `parse` would refuse (an old document) allows nothing and denies everything.
    unread = (NEVER,) if effect is Effect.ALLOW else ()
    criteria = pattern.criteria if isinstance(pattern, patterns.Pattern) else unread
    branch = patterns.branch_criterion(item.get("branch") or MAIN_BRANCH)
    return Statement(
        origin=origin,
        effect=effect,
        actors=actors,
        privileges=patterns.expand(item["actions"]),
        resources=Selector((*criteria, branch), needs_resource=True),
        restriction=_restriction(item.get("extra_constraints") or {}),
    )


def _restriction(constraints: Mapping[str, Any]) -> Restriction | None:
    if not constraints:
        return None
    columns = constraints.get(COLUMNS)
    path = constraints.get(PATHS)
    return Restriction(
        rows=tuple(dict.fromkeys(constraints.get(ROWS) or ())),
        columns=None if columns is None else tuple(dict.fromkeys(columns)),
        paths=None if path is None else (normal_path(path) or "",),
    )
