"""What the statement editor draws: each statement as a card, the actions on offer, and the things that ids may mean."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policies.authoring.pages.builder_fields import Notes
from policies.authoring.pages.datazone_draft import LISTS, SHOWN, TYPED, Row, Writing, lines_of
from policies.engine.families import datazone_resource_patterns as patterns
from policies.engine.families.datazone import COLUMNS, PATHS, ROWS
from policies.engine.families.datazone_resource_patterns import Scope
from policies.engine.selectors import ID
from policies.identity.queries import users_groups_roles
from policies.pdp import authorizer

#: How many things a search for an id shows.
_FOUND = 12

SCOPES: Sequence[tuple[str, str]] = (
    (Scope.EVERYTHING, "Everything, and creating anything"),
    (Scope.INSTANCES, "Everything of one type that exists"),
    (Scope.CREATION, "Creating new ones of one type"),
    (Scope.ONE, "One thing"),
    (Scope.CHILDREN, "Everything in one project, and creating in it"),
    (Scope.TYPED_CHILDREN, "One type in one project, and creating it there"),
    (Scope.ONE_CHILD, "One thing, while it is in one project"),
    (TYPED, "A pattern that I type"),
)
_WITH_TYPE = frozenset({Scope.CREATION, Scope.INSTANCES, Scope.ONE, Scope.TYPED_CHILDREN, Scope.ONE_CHILD})
_WITH_PROJECT = frozenset({Scope.CHILDREN, Scope.TYPED_CHILDREN, Scope.ONE_CHILD})
_WITH_ID = frozenset({Scope.ONE, Scope.ONE_CHILD})

_LABELS = {
    ROWS: ("Only rows that meet all of these", "One condition a line, in Spark SQL: region = 'EU'"),
    COLUMNS: ("Only these columns", "One column a line"),
}
#: What the actions mean that no one type has.
_EVERY = "Every action of {}, the exceptional ones too."


def cards(writing: Writing, notes: Notes) -> list[dict[str, Any]]:
    """Return the statements as cards, as many as the form shows."""
    rows = writing.rows[:SHOWN]
    names = _names(rows)
    return [_card(writing, place, row, notes, names) for place, row in enumerate(rows)]


def objects(kind: str, text: str) -> list[dict[str, str]]:
    """Return the first few things of a resource type that a text may mean, as id and name; three queries at most."""
    if kind == "user":
        people = users_groups_roles.users(q=text).prefetch_related(None)[:_FOUND]
        return [{"id": user.object_id, "name": user.name, "hint": user.username} for user in people]
    if kind == "role":
        return [
            {"id": one.object_id, "name": one.name, "hint": one.identifier}
            for one in users_groups_roles.roles(q=text)[:_FOUND]
        ]
    found = authorizer.directory().search(text=text, types=patterns.entity_types(kind), limit=_FOUND)
    loaded = authorizer.facets().load(urns=[one.urn for one in found], fields={ID}) if found else {}
    return [
        {"id": identifier, "name": one.name or one.urn, "hint": one.urn}
        for one in found
        for identifier in sorted(loaded[one.urn].values(ID))
    ]


def names_of(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the names of things by type and id; who is not known is left out."""
    wanted = {(kind, identifier.lower()) for kind, identifier in pairs if patterns.is_object_id(identifier)}
    urns = authorizer.facets().find(objects=wanted) if wanted else {}
    names = authorizer.names(urns=set(urns.values())) if urns else {}
    return {pair: names[urn] for pair, urn in urns.items() if urn in names}


def _names(rows: Iterable[Row]) -> Mapping[tuple[str, str], str]:
    return names_of(pair for row in rows for pair in ((row.type, row.id), ("project", row.project)))


def _card(writing: Writing, place: int, row: Row, notes: Notes, names: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    item, at, key = row.item, f"/statements/{place}", f"s{place}"
    constraints = item.get("extra_constraints") or {}
    boxes = [_box(key, name, constraints.get(name), notes, f"{at}/extra_constraints/{name}") for name in LISTS]
    inside = notes.at(f"{at}/extra_constraints")
    return {
        "key": key,
        "place": place,
        "number": place + 1,
        "is_first": place == 0,
        "is_last": place == len(writing.rows) - 1,
        "scopes": [(value, label, value == row.scope) for value, label in SCOPES],
        "is_typed": row.scope == TYPED,
        "text": row.text,
        "types": [(kind, kind.replace("_", " "), kind == row.type) for kind in patterns.types()],
        "has_type": row.scope in _WITH_TYPE,
        "ids": _ids(writing, place, row, names),
        "resource": item.get("resource", ""),
        "effects": [(value, value.capitalize(), item.get("effect") == value) for value in ("allow", "deny")],
        "branch": item.get("branch") or "",
        "actions": _actions(row),
        "boxes": boxes,
        "path": constraints.get(PATHS, ""),
        "is_restricted": bool(constraints) or bool(inside["errors"]),
        "notes": {
            **{name: notes.at(f"{at}/{name}") for name in ("resource", "actions", "effect", "branch")},
            "path": notes.at(f"{at}/extra_constraints/{PATHS}"),
            "constraints": _rest(notes, f"{at}/extra_constraints", (*LISTS, PATHS)),
            "whole": _rest(notes, at, ("resource", "actions", "effect", "branch", "extra_constraints")),
        },
    }


def _rest(notes: Notes, at: str, drawn: Iterable[str]) -> dict[str, list[str]]:
    """Return the notes on a place and on what is in it, but for what has a field of its own."""
    fields = tuple(f"{at}/{name}/" for name in drawn)
    listed = (
        (name, [one for one in problems if not f"{one.pointer}/".startswith(fields)])
        for name, problems in (("errors", notes.errors), ("lints", notes.lints))
    )
    return Notes(**dict(listed)).at(at)


def _box(key: str, name: str, values: Any, notes: Notes, at: str) -> dict[str, Any]:
    label, hint = _LABELS[name]
    return {"name": f"{key}_{name}", "label": label, "hint": hint, "text": lines_of(values), "notes": notes.at(at)}


def _ids(writing: Writing, place: int, row: Row, names: Mapping[tuple[str, str], str]) -> list[dict[str, Any]]:
    parts = (
        ("project", "Project", "project", row.project, row.scope in _WITH_PROJECT),
        ("id", "Which one", row.type, row.id, row.scope in _WITH_ID),
    )
    return [
        {
            "name": name,
            "key": f"s{place}_{name}",
            "label": label,
            "kind": kind,
            "value": value,
            "is_shown": is_shown,
            "place": place,
            "known_as": names.get((kind, value.lower()), ""),
            "options": objects(kind, value[:200]) if writing.searched == (place, name) else None,
        }
        for name, label, kind, value, is_shown in parts
    ]


def _actions(row: Row) -> list[dict[str, Any]]:
    """Return the actions on offer by type; a type whose boxes are all empty comes folded when there are many."""
    ticked = set(row.item.get("actions") or ())
    kinds = [row.type] if row.scope in _WITH_TYPE else list(patterns.types())
    if row.scope == Scope.CHILDREN:
        kinds.remove(patterns.PROJECT_TYPE)
    groups = [_group(kind, ticked, is_open=len(kinds) == 1) for kind in kinds]
    verbs = {one["name"].partition(":")[2]: one for group in groups for one in group["members"]}
    every = [_action("*:*", "Everything", _EVERY.format("every type"), ticked)] + [
        _action(f"*:{verb}", f"{verb.replace('_', ' ').capitalize()}, of every type", "", ticked)
        for verb in verbs
        if verb != patterns.ANY
    ]
    groups.insert(len(groups) if len(kinds) == 1 else 0, _folded("Every type", every, is_open=False))
    offered = {one["name"] for group in groups for one in group["members"]}
    if strange := [name for name in dict.fromkeys(row.item.get("actions") or ()) if name not in offered]:
        rows = [_action(name, name, "Not offered here.", ticked) for name in strange]
        groups.append(_folded("Others", rows, is_open=True))
    return groups


def _group(kind: str, ticked: set[str], *, is_open: bool) -> dict[str, Any]:
    known = patterns.actions_vocabulary()
    label = known.resource_types[kind]
    rows = [_action(f"{kind}:*", "Everything", _EVERY.format(f"a {kind.replace('_', ' ')}"), ticked)]
    for verb in patterns.verbs(kind):
        info = known.privileges[f"{kind}:{verb}"]
        rows.append(_action(info.name, info.display, info.description, ticked))
    return _folded(label, rows, is_open=is_open)


def _action(name: str, display: str, description: str, ticked: set[str]) -> dict[str, Any]:
    return {"name": name, "display": display, "description": description, "is_ticked": name in ticked}


def _folded(label: str, rows: list[dict[str, Any]], *, is_open: bool) -> dict[str, Any]:
    count = sum(one["is_ticked"] for one in rows)
    return {"label": label, "members": rows, "ticked": count, "is_open": is_open or count > 0}
