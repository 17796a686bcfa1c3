"""Wording of a Datazone statement as one English sentence, with names in place of ids."""

from collections.abc import Iterable, Mapping
from typing import Any

from policies.authoring.pages.datazone_fields import load_object_names
from policies.engine.families.datazone_resource_patterns import PatternScope, ResourcePattern, parse_pattern
from policies.engine.selectors import MAIN_BRANCH
from policies.engine.wording import join_words

_RESOURCE_PHRASES: Mapping[str, str] = {
    PatternScope.EVERYTHING: "on everything, and on creating anything",
    PatternScope.CREATION: "on creating a new {type}",
    PatternScope.INSTANCES: "on every {type}",
    PatternScope.ONE: "on the {type} {id}",
    PatternScope.CHILDREN: "on everything in the project {project}, and on creating in it",
    PatternScope.TYPED_CHILDREN: "on every {type} in the project {project}, and on creating one there",
    PatternScope.ONE_CHILD: "on the {type} {id} while it is in the project {project}",
}


def describe_statements(statements: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the sentence for each statement of a stored document; all names are loaded in one batch."""
    items = list(statements)
    parse_results = [parse_pattern(str(item.get("resource")), "") for item in items]
    patterns = [pattern if isinstance(pattern, ResourcePattern) else None for pattern in parse_results]
    pairs = [
        pair
        for parsed_pattern in patterns
        if parsed_pattern is not None
        for pair in ((parsed_pattern.type, parsed_pattern.id), ("project", parsed_pattern.project))
        if pair[1]
    ]
    names = load_object_names(pairs)
    return [_describe_statement(item, pattern, names) for item, pattern in zip(items, patterns, strict=True)]


def _describe_statement(
    item: Mapping[str, Any], pattern: ResourcePattern | None, names: Mapping[tuple[str, str], str]
) -> str:
    modal = "May not" if item.get("effect") == "deny" else "May"
    branch = item.get("branch") or MAIN_BRANCH
    branch_phrase = "" if branch == MAIN_BRANCH else f", on the branch {branch}"
    return f"{modal} {_verb_phrase(item.get('actions') or ())} {_resource_phrase(item, pattern, names)}{branch_phrase}."


def _verb_phrase(actions: Iterable[str]) -> str:
    verbs = dict.fromkeys(action.partition(":")[2].replace("_", " ") for action in actions)
    if "*" in verbs:
        return "do everything"
    return join_words(verbs, "and") or "do nothing"


def _resource_phrase(
    item: Mapping[str, Any], pattern: ResourcePattern | None, names: Mapping[tuple[str, str], str]
) -> str:
    if pattern is None:
        return f"on {item.get('resource')}"
    return _RESOURCE_PHRASES[pattern.scope].format(
        type=pattern.type.replace("_", " "),
        id=names.get((pattern.type, pattern.id), pattern.id),
        project=names.get(("project", pattern.project), pattern.project),
    )
