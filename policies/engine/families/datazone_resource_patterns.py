"""The grammar of Datazone's resource patterns and actions (rules/datazone.md, sections 2 to 4).

A pattern is a selector over facets: `project:<id>:dataset:*` is PROJECT = id and TYPE = dataset; the bare `dataset` is
TYPE = dataset and CREATION = yes. Datazone's users and roles are those of this product, under their own entity types.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from policies.engine.errors import Problem
from policies.engine.families import vocabulary
from policies.engine.selectors import BRANCH, CREATION, ID, NO, PROJECT, TYPE, YES, Condition, Criterion

_OBJECT_ID = re.compile(r"[0-9a-fA-F]{24}\Z")
_ACTION_FORM = re.compile(r"(\*|[a-z]+(?:_[a-z]+)*):(\*|[a-z]+(?:_[a-z]+)*)\Z")

PROJECT_TYPE = "project"
WILDCARD = "*"

#: The entity types of users and roles in URNs.
_ENTITY_TYPES = {"user": "corpuser", "role": "dataHubRole"}


class PatternScope(StrEnum):
    """The scope of a pattern (DZ-15 to DZ-22)."""

    EVERYTHING = "everything"
    CREATION = "creation"
    INSTANCES = "instances"
    ONE = "one"
    CHILDREN = "children"
    TYPED_CHILDREN = "typed_children"
    ONE_CHILD = "one_child"


@dataclass(frozen=True, slots=True)
class ResourcePattern:
    """A parsed pattern. `type` is its terminal type, empty for any type; ids are in lower case (DZ-10)."""

    scope: PatternScope
    type: str = ""
    id: str = ""
    project: str = ""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria that cover exactly the entities of the pattern, without the branch."""
        value_by_field = {ID: self.id, PROJECT: self.project}
        if len(_CREATION_VALUES[self.scope]) == 1:
            (value_by_field[CREATION],) = _CREATION_VALUES[self.scope]
        criteria = [_equals_criterion(field, value) for field, value in value_by_field.items() if value]
        if self.type:
            criteria.append(Criterion(TYPE, Condition.EQUALS, entity_types(self.type)))
        if self.scope is PatternScope.INSTANCES:
            # An entity without an object id is not one of Datazone's.
            criteria.append(Criterion(ID, Condition.STARTS_WITH, frozenset({""})))
        if self.scope is PatternScope.CHILDREN:
            # A project is never a child (DZ-12, DZ-29).
            criteria.append(Criterion(TYPE, Condition.NOT_EQUALS, frozenset({PROJECT_TYPE})))
        return tuple(criteria)

    def contains(self, other: "ResourcePattern") -> bool:
        """Whether this pattern covers every entity that the other one can cover."""
        if self.scope is PatternScope.CHILDREN and other.type == PROJECT_TYPE:
            return False
        own_values, other_values = (self.type, self.id, self.project), (other.type, other.id, other.project)
        is_wider = all(
            own_value in ("", other_value) for own_value, other_value in zip(own_values, other_values, strict=True)
        )
        return is_wider and _CREATION_VALUES[other.scope] <= _CREATION_VALUES[self.scope]

    def overlaps(self, other: "ResourcePattern") -> bool:
        """Whether some entity may be covered by both patterns."""
        if (other.type == PROJECT_TYPE and self.project) or (self.type == PROJECT_TYPE and other.project):
            return False
        own_values, other_values = (self.type, self.id, self.project), (other.type, other.id, other.project)
        is_compatible = all("" in pair or pair[0] == pair[1] for pair in zip(own_values, other_values, strict=True))
        return is_compatible and not _CREATION_VALUES[self.scope].isdisjoint(_CREATION_VALUES[other.scope])


#: The values of CREATION that a pattern covers: creating an entity, existing entities, or both (DZ-36).
_CREATION_VALUES = {
    PatternScope.EVERYTHING: frozenset({YES, NO}),
    PatternScope.CREATION: frozenset({YES}),
    PatternScope.INSTANCES: frozenset({NO}),
    PatternScope.ONE: frozenset({NO}),
    PatternScope.CHILDREN: frozenset({YES, NO}),
    PatternScope.TYPED_CHILDREN: frozenset({YES, NO}),
    PatternScope.ONE_CHILD: frozenset({NO}),
}


def branch_criterion(branch: str) -> Criterion:
    """Return the criterion of a statement's branch (DZ-42)."""
    return _equals_criterion(BRANCH, branch)


def parse_pattern(text: str, pointer: str) -> ResourcePattern | Problem:
    """Return the pattern, or the problem with it."""
    if text == WILDCARD:
        return ResourcePattern(PatternScope.EVERYTHING)
    segments = text.split(":")
    if not _is_well_formed(segments):
        return _format_problem(text, pointer)
    if segments[0] not in list_types():
        return _unknown_type_problem(segments[0], pointer)
    return _parse_segments(segments, pointer)


def _is_well_formed(segments: list[str]) -> bool:
    """Whether no segment is empty or has a blank, and only the last is a wildcard; capitals make an unknown type."""
    if "" in segments or WILDCARD in segments[:-1]:
        return False
    return not any(character.isspace() for segment in segments for character in segment)


def _parse_segments(segments: list[str], pointer: str) -> ResourcePattern | Problem:
    match segments:
        case [kind]:
            return ResourcePattern(PatternScope.CREATION, type=kind)
        case [kind, "*"]:
            return ResourcePattern(PatternScope.INSTANCES, type=kind)
        case [kind, identifier]:
            return _check_object_id(identifier, pointer) or ResourcePattern(
                PatternScope.ONE, type=kind, id=identifier.lower()
            )
        case ["project", parent, *child_segments]:
            return _check_object_id(parent, pointer) or _parse_child(child_segments, parent.lower(), pointer)
        case _:
            detail = f"Only projects contain other resources, {segments[0]} does not."
            return Problem("resource.bad_parent", pointer, detail)


def check_action(text: str, pattern: ResourcePattern | None, pointer: str) -> Problem | None:
    """Return the problem of an action in a statement on a pattern (None: pattern unknown), or None."""
    action_match = _ACTION_FORM.match(text)
    if action_match is None:
        nearest_action = _find_nearest_action(text.strip().lower().replace(" ", "_").replace(".", ":"), pattern)
        hint = f"; did you mean {nearest_action}?" if nearest_action else "."
        return Problem("action.format", pointer, f"{_quote(text)} is not resource:action in lower case{hint}")
    kind, verb = action_match.groups()
    if kind not in (WILDCARD, *list_types()):
        close_matches = difflib.get_close_matches(kind, list_types(), n=1)
        hint = f" Did you mean {close_matches[0]}?" if close_matches else ""
        return Problem("action.unknown_resource", pointer, f"There is no resource type {kind}.{hint}")
    if verb != WILDCARD and verb not in list_verbs(kind):
        close_matches = difflib.get_close_matches(verb, list_verbs(kind), n=1)
        hint = f" Did you mean {close_matches[0]}?" if close_matches else ""
        known_verbs = ", ".join(list_verbs(kind))
        return Problem("action.unknown_action", pointer, f"{kind} has no action {verb}; it has {known_verbs}.{hint}")
    return _find_mismatch(kind, text, pattern, pointer) if pattern is not None else None


def _find_nearest_action(text: str, pattern: ResourcePattern | None) -> str | None:
    """Return the action most similar to a text; a text without a type gets the statement's."""
    kind, _, verb = text.rpartition(":")
    if not kind:
        own_type = pattern.type if pattern is not None and pattern.type else WILDCARD
        close_verbs = difflib.get_close_matches(verb, list_verbs(own_type), n=1)
        return f"{own_type}:{close_verbs[0]}" if close_verbs else None
    return next(iter(difflib.get_close_matches(text, list_actions(), n=1)), None)


def expand(action_texts: Iterable[str]) -> frozenset[str]:
    """Return every action that the listed ones stand for: wildcards and `manage` expanded (DZ-31 to DZ-35)."""
    action_names: set[str] = set()
    for text in action_texts:
        kind, _, verb = text.partition(":")
        for type_name in list_types() if kind == WILDCARD else (kind,):
            action_names |= {f"{type_name}:{name}" for name in (list_verbs(type_name) if verb == WILDCARD else (verb,))}
    return load_actions_vocabulary().widen(action_names & load_actions_vocabulary().names)


@cache
def list_types() -> tuple[str, ...]:
    """Return the resource types, in the order of the table."""
    return tuple(entry["name"] for entry in _load_table()["type"])


def entity_types(kind: str) -> frozenset[str]:
    """Return the entity types of a resource type: itself, and for users and roles also the type in their URNs."""
    return frozenset({kind, _ENTITY_TYPES.get(kind, kind)})


@cache
def list_action_types(action: str) -> frozenset[str]:
    """Return the entity types that an action is about; none for what is no action of Datazone's."""
    return entity_types(action.partition(":")[0]) if action in load_actions_vocabulary().names else frozenset()


def check_question(action: str, resource_type: str, pointer: str) -> Problem | None:
    """Return the problem of a question whose action is about another type than its resource (DZ-28)."""
    if ":" not in action:  # privileges of the other families are about any type
        return None
    types = list_action_types(action)
    if not types or resource_type in types:
        return None
    detail = f"{action} is for {action.partition(':')[0]}, but the question is about {resource_type}."
    return Problem("action.resource_mismatch", pointer, detail)


@cache
def unversioned_types() -> frozenset[str]:
    """Return the entity types that are always on the branch main (DZ-43)."""
    return frozenset[str]().union(*map(entity_types, _load_table()["unversioned"]))


@cache
def list_verbs(kind: str) -> tuple[str, ...]:
    """Return the actions of a type; for the wildcard those of any type."""
    common_verbs = [entry["name"] for entry in _load_table()["common"]]
    return (
        *common_verbs,
        *(entry["name"] for entry in _load_table()["exceptional"] if kind in (WILDCARD, entry["type"])),
    )


@cache
def list_actions() -> tuple[str, ...]:
    """Return every action of every type."""
    return tuple(f"{kind}:{verb}" for kind in list_types() for verb in list_verbs(kind))


@cache
def load_actions_vocabulary() -> vocabulary.Vocabulary:
    """Return the actions as a vocabulary of privileges, grouped by resource type."""
    table = _load_table()
    display_by_type = {entry["name"]: entry["display"] for entry in table["type"]}
    privileges = []
    implications = []
    for kind, display in display_by_type.items():
        type_words = kind.replace("_", " ")
        extra_entries = [entry for entry in table["exceptional"] if entry["type"] == kind]
        for entry in (*table["common"], *extra_entries):
            name = f"{kind}:{entry['name']}"
            privileges.append(
                {
                    "name": name,
                    "display": f"{entry['name'].replace('_', ' ').capitalize()} {type_words}",
                    "description": entry["description"].format(thing=type_words),
                    "scope": vocabulary.METADATA,
                    "category": display,
                    "resource_types": [kind],
                    "offered_for": [kind],
                }
            )
            if "gives" in entry:
                implications.append({"privilege": name, "gives": [f"{kind}:{verb}" for verb in entry["gives"]]})
    resource_types = [{"type": kind, "display": display} for kind, display in display_by_type.items()]
    return vocabulary.Vocabulary.from_table(
        {"resource_type": resource_types, "privilege": privileges, "implication": implications}
    )


def is_object_id(text: str) -> bool:
    """Whether a text is 24 hexadecimal digits (DZ-10)."""
    return _OBJECT_ID.match(text) is not None


def _parse_child(segments: list[str], parent: str, pointer: str) -> ResourcePattern | Problem:
    """Parse the segments after `project:<id>:` (DZ-12)."""
    kind = segments[0]
    if segments == [WILDCARD]:
        return ResourcePattern(PatternScope.CHILDREN, project=parent)
    if kind not in list_types():
        return _unknown_type_problem(kind, pointer)
    if kind == PROJECT_TYPE:
        return Problem("resource.bad_parent", pointer, "A project is not contained in another project.")
    match segments[1:]:
        case ["*"]:
            return ResourcePattern(PatternScope.TYPED_CHILDREN, type=kind, project=parent)
        case [identifier]:
            child = ResourcePattern(PatternScope.ONE_CHILD, type=kind, id=identifier.lower(), project=parent)
            return _check_object_id(identifier, pointer) or child
        case _:
            return _format_problem(":".join(["project", parent, *segments]), pointer)


def _check_object_id(text: str, pointer: str) -> Problem | None:
    return None if is_object_id(text) else Problem("resource.invalid_id", pointer, f"{_quote(text)} is no 24-digit id.")


def _unknown_type_problem(kind: str, pointer: str) -> Problem:
    close_matches = difflib.get_close_matches(kind.lower(), list_types(), n=1)
    hint = f" Did you mean {close_matches[0]}?" if close_matches else ""
    detail = f"There is no resource type {_quote(kind)}; types are {', '.join(list_types())}.{hint}"
    return Problem("resource.unknown_type", pointer, detail)


def _format_problem(text: str, pointer: str) -> Problem:
    forms = "*, type, type:*, type:<id>, project:<id>:*, project:<id>:type:*, project:<id>:type:<id>"
    detail = f"{_quote(text)} is none of {forms}."
    return Problem("resource.format", pointer, detail)


def _find_mismatch(kind: str, text: str, pattern: ResourcePattern, pointer: str) -> Problem | None:
    """Return the problem of an action for another type than the pattern's, or None (DZ-28 to DZ-30)."""
    if pattern.scope is PatternScope.CHILDREN and kind == PROJECT_TYPE:
        detail = f"{text} is for project, but the statement is about what a project contains."
        return Problem("action.resource_mismatch", pointer, detail)
    if kind == WILDCARD or not pattern.type or kind == pattern.type:
        return None
    detail = f"{text} is for {kind}, but the statement is about {pattern.type}."
    return Problem("action.resource_mismatch", pointer, detail)


def _quote(text: str) -> str:
    """Return the beginning of an input text, quoted for a sentence."""
    return repr(text if len(text) <= 80 else f"{text[:80]}…")


def _equals_criterion(field: str, value: str) -> Criterion:
    return Criterion(field, Condition.EQUALS, frozenset({value}))


@cache
def _load_table() -> dict[str, Any]:
    return vocabulary.read_table("datazone_actions")
