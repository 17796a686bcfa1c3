"""Template context of the statement editor: statements as cards, the actions on offer, and search results for ids."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policies.authoring.pages.datazone_draft import (
    LIST_CONSTRAINTS,
    MAX_VISIBLE_STATEMENTS,
    TYPED_SCOPE,
    DatazoneDraft,
    StatementForm,
    join_lines,
)
from policies.authoring.pages.form_values import FieldNotes
from policies.engine.errors import Problem
from policies.engine.families import datazone_resource_patterns as patterns
from policies.engine.families.datazone import COLUMNS, PATHS, ROWS
from policies.engine.families.datazone_resource_patterns import PatternScope
from policies.engine.selectors import ID
from policies.identity.queries import users_groups_roles
from policies.pdp import authorizer
from policies.pdp.ports import facet_source

#: Most remarks on statements that stand above them.
_MAX_REMARKS = 10
#: Most results of a search for an id.
_MAX_OPTIONS = 12

SCOPE_CHOICES: Sequence[tuple[str, str]] = (
    (PatternScope.EVERYTHING, "Everything, and creating anything"),
    (PatternScope.INSTANCES, "Everything of one type that exists"),
    (PatternScope.CREATION, "Creating new ones of one type"),
    (PatternScope.ONE, "One thing"),
    (PatternScope.CHILDREN, "Everything in one project, and creating in it"),
    (PatternScope.TYPED_CHILDREN, "One type in one project, and creating it there"),
    (PatternScope.ONE_CHILD, "One thing, while it is in one project"),
    (TYPED_SCOPE, "A pattern that I type"),
)
_TYPE_SCOPES = frozenset(
    {
        PatternScope.CREATION,
        PatternScope.INSTANCES,
        PatternScope.ONE,
        PatternScope.TYPED_CHILDREN,
        PatternScope.ONE_CHILD,
    }
)
_PROJECT_SCOPES = frozenset({PatternScope.CHILDREN, PatternScope.TYPED_CHILDREN, PatternScope.ONE_CHILD})
_ID_SCOPES = frozenset({PatternScope.ONE, PatternScope.ONE_CHILD})

_CONSTRAINT_LABELS = {
    ROWS: ("Only rows that meet all of these", "One condition a line, in Spark SQL: region = 'EU'"),
    COLUMNS: ("Only these columns", "One column a line"),
}
#: Members of a statement with a field of their own, besides the constraints.
_STATEMENT_FIELDS = ("resource", "actions", "effect", "branch")
#: Description of the wildcard actions.
_ALL_ACTIONS_TEXT = "Every action of {}, the exceptional ones too."


def build_statement_cards(draft: DatazoneDraft, notes: FieldNotes, sentences: Sequence[str]) -> list[dict[str, Any]]:
    """Return the statements that the form shows, as cards with their sentences.

    A statement with errors is open; a closed one has no fields, and its number of warnings.
    """
    statement_forms = draft.statement_forms[:MAX_VISIBLE_STATEMENTS]
    names = _load_form_names(statement_forms)
    cards = []
    for index, form in enumerate(statement_forms):
        remarks = notes.find(f"/statements/{index}")
        is_open = form.is_open or bool(remarks["errors"])
        fields = _build_card(draft, index, form, notes, names) if is_open else {}
        cards.append(
            {
                **_build_frame(draft, index),
                **fields,
                "is_open": is_open,
                "sentence": sentences[index],
                "lints": remarks["lints"],
            }
        )
    return cards


def list_statement_remarks(problems: Iterable[Problem], count: int) -> list[dict[str, Any]]:
    """Return the first errors and warnings about single statements, each with number and key of its statement."""
    remarks = [
        {"number": index + 1, "key": f"s{index}", "detail": problem.detail}
        for problem in problems
        if (index := _find_statement(problem)) is not None and index < count
    ]
    return remarks[:_MAX_REMARKS]


def _find_statement(problem: Problem) -> int | None:
    first, *rest = problem.pointer.strip("/").split("/")
    return int(rest[0]) if first == "statements" and rest and rest[0].isdecimal() else None


def search_objects(kind: str, text: str) -> list[dict[str, str]]:
    """Return the first objects of a resource type that a text matches, as id, name and hint; three queries at most."""
    if kind == "user":
        users = users_groups_roles.list_users(q=text).prefetch_related(None)[:_MAX_OPTIONS]
        return [{"id": user.object_id, "name": user.name, "hint": user.username} for user in users]
    if kind == "role":
        return [
            {"id": item.object_id, "name": item.name, "hint": item.identifier}
            for item in users_groups_roles.list_roles(q=text)[:_MAX_OPTIONS]
        ]
    entities = authorizer.directory().search(text=text, types=patterns.entity_types(kind), limit=_MAX_OPTIONS)
    facts_by_urn = facet_source().load(urns=[item.urn for item in entities], fields={ID}) if entities else {}
    return [
        {"id": identifier, "name": item.name or item.urn, "hint": item.urn}
        for item in entities
        for identifier in sorted(facts_by_urn[item.urn].values(ID))
    ]


def load_object_names(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the names of objects by type and id; unknown objects are left out."""
    id_pairs = {(kind, identifier.lower()) for kind, identifier in pairs if patterns.is_object_id(identifier)}
    urns = facet_source().find(objects=id_pairs) if id_pairs else {}
    names = authorizer.load_names(urns=set(urns.values())) if urns else {}
    return {pair: names[urn] for pair, urn in urns.items() if urn in names}


def _load_form_names(statement_forms: Iterable[StatementForm]) -> Mapping[tuple[str, str], str]:
    return load_object_names(
        pair for form in statement_forms for pair in ((form.type, form.id), ("project", form.project))
    )


def _build_frame(draft: DatazoneDraft, index: int) -> dict[str, Any]:
    return {
        "key": f"s{index}",
        "place": index,
        "number": index + 1,
        "is_first": index == 0,
        "is_last": index == len(draft.statement_forms) - 1,
    }


def _build_card(
    draft: DatazoneDraft, index: int, form: StatementForm, notes: FieldNotes, names: Mapping[tuple[str, str], str]
) -> dict[str, Any]:
    item, pointer, key = form.item, f"/statements/{index}", f"s{index}"
    constraints, constraints_pointer = item.get("extra_constraints") or {}, f"{pointer}/extra_constraints"
    boxes = [
        {
            "name": f"{key}_{name}",
            "label": label,
            "hint": hint,
            "text": join_lines(constraints.get(name)),
            "notes": notes.find(f"{constraints_pointer}/{name}"),
        }
        for name, (label, hint) in _CONSTRAINT_LABELS.items()
    ]
    return {
        "scopes": [(value, label, value == form.scope) for value, label in SCOPE_CHOICES],
        "is_typed": form.scope == TYPED_SCOPE,
        "text": form.text,
        "types": [(kind, kind.replace("_", " "), kind == form.type) for kind in patterns.list_types()],
        "has_type": form.scope in _TYPE_SCOPES,
        "ids": _build_id_fields(draft, index, form, names),
        "resource": item.get("resource", ""),
        "effects": [(value, value.capitalize(), item.get("effect") == value) for value in ("allow", "deny")],
        "branch": item.get("branch") or "",
        "actions": _action_groups(form),
        "boxes": boxes,
        "path": constraints.get(PATHS, ""),
        "is_restricted": bool(constraints) or bool(notes.find(constraints_pointer)["errors"]),
        "notes": {
            **{name: notes.find(f"{pointer}/{name}") for name in _STATEMENT_FIELDS},
            "path": notes.find(f"{constraints_pointer}/{PATHS}"),
            "constraints": notes.find(
                constraints_pointer,
                without=[f"{constraints_pointer}/{name}" for name in (*LIST_CONSTRAINTS, PATHS)],
            ),
            "whole": notes.find(
                pointer, without=[constraints_pointer, *(f"{pointer}/{name}" for name in _STATEMENT_FIELDS)]
            ),
        },
    }


def _build_id_fields(
    draft: DatazoneDraft, index: int, form: StatementForm, names: Mapping[tuple[str, str], str]
) -> list[dict[str, Any]]:
    parts = (
        ("project", "Project", "project", form.project, form.scope in _PROJECT_SCOPES),
        ("id", "Which one", form.type, form.id, form.scope in _ID_SCOPES),
    )
    return [
        {
            "name": name,
            "key": f"s{index}_{name}",
            "label": label,
            "kind": kind,
            "value": value,
            "is_shown": is_shown,
            "place": index,
            "known_as": names.get((kind, value.lower()), ""),
            "options": search_objects(kind, value[:200]) if draft.search_field == (index, name) else None,
        }
        for name, label, kind, value, is_shown in parts
    ]


def _action_groups(form: StatementForm) -> list[dict[str, Any]]:
    """Return the actions on offer by type; groups without ticked actions are folded, except that of a single type."""
    ticked_names = set(form.item.get("actions") or ())
    kinds = [form.type] if form.scope in _TYPE_SCOPES else list(patterns.list_types())
    if form.scope == PatternScope.CHILDREN:
        kinds.remove(patterns.PROJECT_TYPE)
    groups = [_type_group(kind, ticked_names, is_open=len(kinds) == 1) for kind in kinds]
    verbs = {action["name"].partition(":")[2]: action for group in groups for action in group["members"]}
    generic_rows = [_action_row("*:*", "Everything", _ALL_ACTIONS_TEXT.format("every type"), ticked_names)] + [
        _action_row(f"*:{verb}", f"{verb.replace('_', ' ').capitalize()}, of every type", "", ticked_names)
        for verb in verbs
        if verb != patterns.WILDCARD
    ]
    groups.insert(len(groups) if len(kinds) == 1 else 0, _foldable_group("Every type", generic_rows, is_open=False))
    offered_names = {action["name"] for group in groups for action in group["members"]}
    if other_names := [name for name in dict.fromkeys(form.item.get("actions") or ()) if name not in offered_names]:
        rows = [_action_row(name, name, "Not offered here.", ticked_names) for name in other_names]
        groups.append(_foldable_group("Others", rows, is_open=True))
    return groups


def _type_group(kind: str, ticked_names: set[str], *, is_open: bool) -> dict[str, Any]:
    registry = patterns.load_actions_vocabulary()
    label = registry.resource_types[kind]
    rows = [
        _action_row(f"{kind}:*", "Everything", _ALL_ACTIONS_TEXT.format(f"a {kind.replace('_', ' ')}"), ticked_names)
    ]
    for verb in patterns.list_verbs(kind):
        info = registry.privileges[f"{kind}:{verb}"]
        rows.append(_action_row(info.name, info.display, info.description, ticked_names))
    return _foldable_group(label, rows, is_open=is_open)


def _action_row(name: str, display: str, description: str, ticked_names: set[str]) -> dict[str, Any]:
    return {"name": name, "display": display, "description": description, "is_ticked": name in ticked_names}


def _foldable_group(label: str, rows: list[dict[str, Any]], *, is_open: bool) -> dict[str, Any]:
    count = sum(row["is_ticked"] for row in rows)
    return {"label": label, "members": rows, "ticked": count, "is_open": is_open or count > 0}
