"""Datazone policies: from the published document to statements (rules/datazone.md DZ-1 to DZ-71).

A policy binds to roles and applies to their holders. Its document is `{"name", "statements": [...], "roles": [urn]}`.
"""

from collections.abc import Collection, Mapping
from typing import Any

from policies.engine.errors import Problem, quote
from policies.engine.families import datazone_resource_patterns as patterns
from policies.engine.families.document_reader import DocumentReader, JsonValue, escape, word_json_type
from policies.engine.model import Effect, Statement, StatementOrigin
from policies.engine.requirements import Requirement
from policies.engine.restrictions import Restriction, normalize_path
from policies.engine.selectors import MAIN_BRANCH, NEVER_CRITERION, ActorMatch, Selector

NAME = "datazone"

#: Most statements of one policy.
MAX_STATEMENTS = 2_000

_ROLE_PREFIX = "urn:li:dataHubRole:"

ROWS, COLUMNS, PATHS = "row_level_restrictions", "column_level_restrictions", "path_prefix"

_POLICY_FIELDS = ("name", "statements", "roles")
_STATEMENT_FIELDS = ("resource", "actions", "effect", "branch", "extra_constraints")
_READ_ACTIONS = {"dataset": "dataset:read", "view": "view:read"}
_PATH_ACTIONS = frozenset({"project:read", "project:write", "project:read_repository"})


def parse(
    document: JsonValue,
    *,
    custom: Collection[str] = (),  # noqa: ARG001 - every family takes it
    keeps_unknown: bool = False,  # noqa: ARG001 - every family takes it
) -> dict[str, JsonValue]:
    """Check a policy and return it as it is to be stored, which is unchanged.

    Raises InvalidPolicy with every problem, under the codes of rules/datazone.md section 9. `custom` privileges belong
    to other families and change nothing here. Unknown fields are always refused: no other product sends statements.
    """
    reader = _StatementReader()
    policy = reader.read_mapping(document, "")
    if not reader.problems:
        _check_policy(reader, policy)
    reader.raise_problems()
    return dict(policy)


def compile(document: Mapping[str, JsonValue], origin: StatementOrigin) -> tuple[Statement, ...]:
    """Return the statements of a stored document. They apply to the holders of its roles; without roles, to nobody.

    Only URNs of roles count: another token in an old document names nobody.
    """
    actors = ActorMatch(frozenset(urn for urn in document.get("roles") or () if str(urn).startswith(_ROLE_PREFIX)))
    return tuple(
        _compile_statement(item, StatementOrigin(origin.policy, origin.name, index), actors)
        for index, item in enumerate(document["statements"])
    )


def column_values(document: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the list columns of a checked document; description and state are stored beside it."""
    return {"name": document["name"], "type": ""}


def as_active(document: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the document as if it were active: unchanged, since it has no state of its own."""
    return document


def unknown_fields(document: Mapping[str, JsonValue]) -> tuple[Problem, ...]:  # noqa: ARG001 - every family has one
    """Return the fields of a stored document that keep it inactive: none, `parse` refuses them."""
    return ()


def implicit_policies() -> tuple[tuple[str, tuple[Statement, ...]], ...]:
    """Return the policies in force without being stored: none."""
    return ()


def load_operations() -> Mapping[str, Requirement]:
    """Return the operations of this family: none, its questions name actions."""
    return {}


def required_urns(document: JsonValue) -> tuple[tuple[str, str], ...]:
    """Return the URNs that must exist when a document is stored, as (pointer, URN): its roles (api.md 3.1)."""
    roles = document.get("roles") if isinstance(document, dict) else None
    indexed_roles = enumerate(roles) if isinstance(roles, list) else ()
    return tuple(
        (f"/roles/{index}", urn)
        for index, urn in indexed_roles
        if isinstance(urn, str) and urn.startswith(_ROLE_PREFIX)
    )


def document_terms(document: Mapping[str, JsonValue]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the actions and the resource patterns of a checked document, as it spells them."""
    statements = document["statements"]
    actions = frozenset(action for item in statements for action in item["actions"])
    return actions, frozenset(item["resource"] for item in statements)


# -- checking ---------------------------------------------------------------------------------------------------------


class _StatementReader(DocumentReader):
    """Reads statements under the problem codes of this family."""

    def read_strings(self, value: JsonValue, pointer: str, code: str) -> list[tuple[str, str]]:
        """Return the texts of a list with their pointers, after recording every item that is no text."""
        if not isinstance(value, list):
            self.note(f"{code}.type", pointer, f"This must be a list of texts, not {word_json_type(value)}.")
            return []
        if not value:
            self.note(f"{code}.empty", pointer, "The list must not be empty.")
        if not self.is_short(value, pointer):
            return []
        texts = []
        for index, item in enumerate(value):
            item_pointer = f"{pointer}/{index}"
            if not isinstance(item, str):
                self.note(f"{code}.type", item_pointer, f"This must be a text, not {word_json_type(item)}.")
            elif not item.strip() and code == "constraint":
                self.note("constraint.empty", item_pointer, "This must not be blank.")
            else:
                texts.append((item, item_pointer))
        return texts


def _check_policy(reader: _StatementReader, policy: Mapping[str, JsonValue]) -> None:
    name = policy.get("name")
    if not isinstance(name, str) or not name.strip():
        reader.note("policy.name", "/name", "Give the policy a name.")
    reader.check_keys(policy, _POLICY_FIELDS, "")
    reader.check_urns(policy.get("roles"), "/roles", _ROLE_PREFIX)
    statements = policy.get("statements")
    if not isinstance(statements, list) or not statements:
        reader.note("policy.no_statements", "/statements", "A policy needs at least one statement.")
        statements = []
    for index, item in enumerate(reader.read_items(statements, "/statements", limit=MAX_STATEMENTS)):
        _check_statement(reader, item, index)
    if not reader.is_storable(policy):
        reader.note("text.invalid", "", "The document holds a character that cannot be stored.")


def _check_statement(reader: _StatementReader, item: JsonValue, index: int) -> None:
    statement_pointer = f"/statements/{index}"
    statement = reader.read_mapping(item, statement_pointer)
    if not isinstance(item, dict):
        return
    for name in ("resource", "actions", "effect"):
        if name not in statement:
            reader.note(
                "statement.missing_field", f"{statement_pointer}/{name}", f"Statement {index + 1}: {name} is missing."
            )
    for name in statement:
        if name not in _STATEMENT_FIELDS:
            detail = f"Statement {index + 1}: unknown field {name[:100]}."
            reader.note("statement.unknown_field", f"{statement_pointer}/{escape(name)}", detail)
    pattern = _check_pattern(reader, statement, statement_pointer)
    _check_actions(reader, statement, pattern, statement_pointer)
    if "effect" in statement and statement["effect"] not in ("allow", "deny"):
        reader.note("effect.invalid", f"{statement_pointer}/effect", "Effect is allow or deny.")
    _check_branch(reader, statement.get("branch"), f"{statement_pointer}/branch")
    _check_constraints(reader, statement, pattern, statement_pointer)


def _check_pattern(
    reader: _StatementReader, statement: Mapping[str, JsonValue], statement_pointer: str
) -> patterns.ResourcePattern | None:
    text = statement.get("resource")
    if "resource" not in statement:
        return None
    if not isinstance(text, str):
        reader.note(
            "resource.format", f"{statement_pointer}/resource", f"A resource is a text, not {word_json_type(text)}."
        )
        return None
    pattern = patterns.parse_pattern(text, f"{statement_pointer}/resource")
    if isinstance(pattern, patterns.ResourcePattern):
        return pattern
    reader.add(pattern)
    return None


def _check_actions(
    reader: _StatementReader,
    statement: Mapping[str, JsonValue],
    pattern: patterns.ResourcePattern | None,
    statement_pointer: str,
) -> None:
    if "actions" not in statement:
        return
    for text, pointer in reader.read_strings(statement["actions"], f"{statement_pointer}/actions", "actions"):
        problem = patterns.check_action(text, pattern, pointer)
        if problem is not None:
            reader.add(problem)


def _check_branch(reader: _StatementReader, value: JsonValue, pointer: str) -> None:
    """Check the branch: a name, not a pattern (DZ-7)."""
    if value is None:
        return
    is_name = (
        isinstance(value, str)
        and value != ""
        and not any(character.isspace() or character == "*" for character in value)
    )
    if not is_name or ".." in value:
        reader.note("branch.invalid", pointer, "A branch is a name without blanks, * and .., or null for main.")


def _check_constraints(
    reader: _StatementReader, statement: Mapping[str, JsonValue], pattern: patterns.ResourcePattern | None, pointer: str
) -> None:
    value = statement.get("extra_constraints")
    pointer = f"{pointer}/extra_constraints"
    if value is not None and not isinstance(value, dict):
        reader.note("constraint.type", pointer, f"This must be an object, not {word_json_type(value)}.")
    if not isinstance(value, dict):
        return
    for name in value:
        if name not in (ROWS, COLUMNS, PATHS):
            reader.note("constraint.unknown_key", f"{pointer}/{escape(name)}", f"There is no constraint {quote(name)}.")
    if value and statement.get("effect") == "deny":
        reader.note("constraint.deny", pointer, "A deny cannot carry restrictions.")
    if ROWS in value or COLUMNS in value:
        _check_table(reader, statement, pattern, pointer.removesuffix("/extra_constraints"))
        _check_rows_and_columns(reader, value, pointer)
    if PATHS in value:
        _check_path(reader, statement, pattern, value[PATHS], f"{pointer}/{PATHS}")


def _check_rows_and_columns(reader: _StatementReader, value: Mapping[str, JsonValue], constraints_pointer: str) -> None:
    if COLUMNS in value:
        reader.read_strings(value[COLUMNS], f"{constraints_pointer}/{COLUMNS}", "constraint")
    if ROWS in value:
        # The SQL parser takes longer to import than all of the engine, and few installations restrict rows.
        from policies.engine.families import datazone_row_conditions as rows

        for text, pointer in reader.read_strings(value[ROWS], f"{constraints_pointer}/{ROWS}", "constraint"):
            row_problem = rows.find_problem(text)
            if row_problem:
                reader.note("constraint.sql", pointer, f"{text[:80]}: {row_problem}")


def _check_table(
    reader: _StatementReader,
    statement: Mapping[str, JsonValue],
    pattern: patterns.ResourcePattern | None,
    statement_pointer: str,
) -> None:
    """Check that row and column restrictions have one dataset or view by id, its read action only (DZ-45 to DZ-47)."""
    if pattern is not None and (pattern.scope is not patterns.PatternScope.ONE or pattern.type not in _READ_ACTIONS):
        detail = "Row and column restrictions need one dataset or view by id."
        reader.note("constraint.resource_not_specific", f"{statement_pointer}/resource", detail)
    actions = statement.get("actions")
    if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
        return
    sentence = "Restrictions go with exactly one action, dataset:read or view:read."
    if len(set(actions)) > 1:
        reader.note("constraint.multiple_actions", f"{statement_pointer}/actions", sentence)
    for index, action in enumerate(actions):
        if "*" in action:
            reader.note("constraint.wildcard_action", f"{statement_pointer}/actions/{index}", sentence)
        elif action not in _READ_ACTIONS.values():
            reader.note("constraint.action_not_read", f"{statement_pointer}/actions/{index}", sentence)


def _check_path(
    reader: _StatementReader,
    statement: Mapping[str, JsonValue],
    pattern: patterns.ResourcePattern | None,
    value: JsonValue,
    pointer: str,
) -> None:
    """Check that a path prefix has one project by id and its repository actions (DZ-63, DZ-64)."""
    if pattern is not None and not (
        pattern.scope is patterns.PatternScope.ONE and pattern.type == patterns.PROJECT_TYPE
    ):
        reader.note("constraint.path", pointer, "A path prefix needs one project by id.")
    actions = statement.get("actions")
    if isinstance(actions, list) and any(action not in _PATH_ACTIONS for action in actions if isinstance(action, str)):
        detail = f"A path prefix goes with {', '.join(sorted(_PATH_ACTIONS))}."
        reader.note("constraint.path", pointer, detail)
    if not isinstance(value, str) or normalize_path(value) is None:
        reader.note(
            "constraint.path", pointer, "A path is relative, with / between its parts and no . or .. among them."
        )


# -- compiling --------------------------------------------------------------------------------------------------------


def _compile_statement(item: Mapping[str, Any], origin: StatementOrigin, actors: ActorMatch) -> Statement:
    pattern = patterns.parse_pattern(item["resource"], "")
    effect = Effect(item["effect"])
    # A pattern that `parse` would refuse (an old document) allows nothing and denies everything.
    unreadable_criteria = (NEVER_CRITERION,) if effect is Effect.ALLOW else ()
    criteria = pattern.criteria if isinstance(pattern, patterns.ResourcePattern) else unreadable_criteria
    branch = patterns.branch_criterion(item.get("branch") or MAIN_BRANCH)
    return Statement(
        origin=origin,
        effect=effect,
        actors=actors,
        privileges=patterns.expand(item["actions"]),
        resources=Selector((*criteria, branch), needs_resource=True),
        restriction=_compile_restriction(item.get("extra_constraints") or {}),
    )


def _compile_restriction(constraints: Mapping[str, Any]) -> Restriction | None:
    if not constraints:
        return None
    columns = constraints.get(COLUMNS)
    path = constraints.get(PATHS)
    return Restriction(
        rows=tuple(dict.fromkeys(constraints.get(ROWS) or ())),
        columns=None if columns is None else tuple(dict.fromkeys(columns)),
        paths=None if path is None else (normalize_path(path) or "",),
    )
