"""A Datazone statement as one sentence of plain English, with the names of what its ids mean."""

from collections.abc import Iterable, Mapping
from typing import Any

from policies.authoring.pages.datazone_fields import names_of
from policies.engine.families.datazone_resource_patterns import Pattern, Scope, parse_pattern
from policies.engine.selectors import MAIN_BRANCH

_WHERE: Mapping[str, str] = {
    Scope.EVERYTHING: "on everything, and on creating anything",
    Scope.CREATION: "on creating a new {type}",
    Scope.INSTANCES: "on every {type}",
    Scope.ONE: "on the {type} {id}",
    Scope.CHILDREN: "on everything in the project {project}, and on creating in it",
    Scope.TYPED_CHILDREN: "on every {type} in the project {project}, and on creating one there",
    Scope.ONE_CHILD: "on the {type} {id} while it is in the project {project}",
}


def sentences(statements: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what each statement of a stored document says, looking up all names in one go."""
    listed = list(statements)
    read = [parse_pattern(str(item.get("resource")), "") for item in listed]
    parsed = [pattern if isinstance(pattern, Pattern) else None for pattern in read]
    pairs = [
        pair for one in parsed if one is not None for pair in ((one.type, one.id), ("project", one.project)) if pair[1]
    ]
    names = names_of(pairs)
    return [_sentence(item, pattern, names) for item, pattern in zip(listed, parsed, strict=True)]


def _sentence(item: Mapping[str, Any], pattern: Pattern | None, names: Mapping[tuple[str, str], str]) -> str:
    may = "May not" if item.get("effect") == "deny" else "May"
    branch = item.get("branch") or MAIN_BRANCH
    beside = "" if branch == MAIN_BRANCH else f", on the branch {branch}"
    return f"{may} {_verbs(item.get('actions') or ())} {_where(item, pattern, names)}{beside}."


def _verbs(actions: Iterable[str]) -> str:
    verbs = dict.fromkeys(action.partition(":")[2].replace("_", " ") for action in actions)
    if "*" in verbs:
        return "do everything"
    *first, last = list(verbs) or ["do nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def _where(item: Mapping[str, Any], pattern: Pattern | None, names: Mapping[tuple[str, str], str]) -> str:
    if pattern is None:
        return f"on {item.get('resource')}"
    return _WHERE[pattern.scope].format(
        type=pattern.type.replace("_", " "),
        id=names.get((pattern.type, pattern.id), pattern.id),
        project=names.get(("project", pattern.project), pattern.project),
    )
