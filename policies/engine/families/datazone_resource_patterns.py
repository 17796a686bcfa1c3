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
_ACTION = re.compile(r"(\*|[a-z]+(?:_[a-z]+)*):(\*|[a-z]+(?:_[a-z]+)*)\Z")

PROJECT_TYPE = "project"
ANY = "*"

#: What users and roles are called in their URNs.
_ENTITY_TYPES = {"user": "corpuser", "role": "dataHubRole"}


class Scope(StrEnum):
    """What a pattern covers (DZ-15 to DZ-22)."""

    EVERYTHING = "everything"
    CREATION = "creation"
    INSTANCES = "instances"
    ONE = "one"
    CHILDREN = "children"
    TYPED_CHILDREN = "typed_children"
    ONE_CHILD = "one_child"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A parsed pattern. `type` is its terminal type, empty where any type goes; ids are in lower case (DZ-10)."""

    scope: Scope
    type: str = ""
    id: str = ""
    project: str = ""

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria that cover exactly what the pattern covers, the branch left aside."""
        wanted = {ID: self.id, PROJECT: self.project}
        if len(_CREATION[self.scope]) == 1:
            (wanted[CREATION],) = _CREATION[self.scope]
        criteria = [_equals(field, value) for field, value in wanted.items() if value]
        if self.type:
            criteria.append(Criterion(TYPE, Condition.EQUALS, entity_types(self.type)))
        if self.scope is Scope.INSTANCES:
            # An entity that never got an object id is none of Datazone's.
            criteria.append(Criterion(ID, Condition.STARTS_WITH, frozenset({""})))
        if self.scope is Scope.CHILDREN:
            # A project is never a child (DZ-12, DZ-29).
            criteria.append(Criterion(TYPE, Condition.NOT_EQUALS, frozenset({PROJECT_TYPE})))
        return tuple(criteria)

    def contains(self, other: "Pattern") -> bool:
        """Whether everything that another pattern covers is covered by this one, wherever it may lie."""
        if self.scope is Scope.CHILDREN and other.type == PROJECT_TYPE:
            return False
        mine, theirs = (self.type, self.id, self.project), (other.type, other.id, other.project)
        is_wider = all(wanted in ("", found) for wanted, found in zip(mine, theirs, strict=True))
        return is_wider and _CREATION[other.scope] <= _CREATION[self.scope]

    def overlaps(self, other: "Pattern") -> bool:
        """Whether both patterns may cover the same thing."""
        if (other.type == PROJECT_TYPE and self.project) or (self.type == PROJECT_TYPE and other.project):
            return False
        mine, theirs = (self.type, self.id, self.project), (other.type, other.id, other.project)
        agrees = all("" in pair or pair[0] == pair[1] for pair in zip(mine, theirs, strict=True))
        return agrees and not _CREATION[self.scope].isdisjoint(_CREATION[other.scope])


#: Whether a pattern covers making something, things that exist, or both (DZ-36).
_CREATION = {
    Scope.EVERYTHING: frozenset({YES, NO}),
    Scope.CREATION: frozenset({YES}),
    Scope.INSTANCES: frozenset({NO}),
    Scope.ONE: frozenset({NO}),
    Scope.CHILDREN: frozenset({YES, NO}),
    Scope.TYPED_CHILDREN: frozenset({YES, NO}),
    Scope.ONE_CHILD: frozenset({NO}),
}


def branch_criterion(branch: str) -> Criterion:
    """Return the criterion of a statement's branch (DZ-42)."""
    return _equals(BRANCH, branch)


def parse_pattern(text: str, pointer: str) -> Pattern | Problem:
    """Return the pattern, or what is wrong with it."""
    if text == ANY:
        return Pattern(Scope.EVERYTHING)
    segments = text.split(":")
    if not _is_well_formed(segments):
        return _format(text, pointer)
    if segments[0] not in types():
        return _unknown_type(segments[0], pointer)
    return _typed(segments, pointer)


def _is_well_formed(segments: list[str]) -> bool:
    """Whether no segment is empty or holds a blank, and none but the last is a wildcard; capitals: unknown types."""
    if "" in segments or ANY in segments[:-1]:
        return False
    return not any(c.isspace() for segment in segments for c in segment)


def _typed(segments: list[str], pointer: str) -> Pattern | Problem:
    match segments:
        case [kind]:
            return Pattern(Scope.CREATION, type=kind)
        case [kind, "*"]:
            return Pattern(Scope.INSTANCES, type=kind)
        case [kind, identifier]:
            return _bad_id(identifier, pointer) or Pattern(Scope.ONE, type=kind, id=identifier.lower())
        case ["project", parent, *rest]:
            return _bad_id(parent, pointer) or _child(rest, parent.lower(), pointer)
        case _:
            detail = f"Only projects contain other resources, {segments[0]} does not."
            return Problem("resource.bad_parent", pointer, detail)


def parse_action(text: str, pattern: Pattern | None, pointer: str) -> Problem | None:
    """Return what is wrong with an action beside a pattern (None when that is not known), or None."""
    found = _ACTION.match(text)
    if found is None:
        nearest = _nearest_action(text.strip().lower().replace(" ", "_").replace(".", ":"), pattern)
        hint = f"; did you mean {nearest}?" if nearest else "."
        return Problem("action.format", pointer, f"{_quoted(text)} is not resource:action in lower case{hint}")
    kind, verb = found.groups()
    if kind not in (ANY, *types()):
        close = difflib.get_close_matches(kind, types(), n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        return Problem("action.unknown_resource", pointer, f"There is no resource type {kind}.{hint}")
    if verb != ANY and verb not in verbs(kind):
        close = difflib.get_close_matches(verb, verbs(kind), n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        known = ", ".join(verbs(kind))
        return Problem("action.unknown_action", pointer, f"{kind} has no action {verb}; it has {known}.{hint}")
    return _mismatch(kind, text, pattern, pointer) if pattern is not None else None


def _nearest_action(text: str, pattern: Pattern | None) -> str | None:
    """Return the action that is most like a text; one that names no type is of the statement's own."""
    kind, _, verb = text.rpartition(":")
    if not kind:
        own = pattern.type if pattern is not None and pattern.type else ANY
        verbs_like = difflib.get_close_matches(verb, verbs(own), n=1)
        return f"{own}:{verbs_like[0]}" if verbs_like else None
    return next(iter(difflib.get_close_matches(text, actions(), n=1)), None)


def expand(listed: Iterable[str]) -> frozenset[str]:
    """Return every action that listed ones stand for: wildcards and `manage` written out (DZ-31 to DZ-35)."""
    found: set[str] = set()
    for text in listed:
        kind, _, verb = text.partition(":")
        for one in types() if kind == ANY else (kind,):
            found |= {f"{one}:{name}" for name in (verbs(one) if verb == ANY else (verb,))}
    return actions_vocabulary().widen(found & actions_vocabulary().names)


@cache
def types() -> tuple[str, ...]:
    """Return the resource types, in the order of the table."""
    return tuple(entry["name"] for entry in _table()["type"])


def entity_types(kind: str) -> frozenset[str]:
    """Return the entity types that a resource type stands for: itself, and for users and roles their URN's."""
    return frozenset({kind, _ENTITY_TYPES.get(kind, kind)})


@cache
def unversioned() -> frozenset[str]:
    """Return the entity types that are always on the branch main (DZ-43)."""
    return frozenset[str]().union(*map(entity_types, _table()["unversioned"]))


@cache
def verbs(kind: str) -> tuple[str, ...]:
    """Return the actions of a type; for the wildcard those of any type."""
    common = [entry["name"] for entry in _table()["common"]]
    return (*common, *(entry["name"] for entry in _table()["exceptional"] if kind in (ANY, entry["type"])))


@cache
def actions() -> tuple[str, ...]:
    """Return every action of every type."""
    return tuple(f"{kind}:{verb}" for kind in types() for verb in verbs(kind))


@cache
def actions_vocabulary() -> vocabulary.Vocabulary:
    """Return the actions as a vocabulary of privileges, grouped by resource type."""
    table = _table()
    displays = {entry["name"]: entry["display"] for entry in table["type"]}
    listed = []
    implications = []
    for kind, display in displays.items():
        thing = kind.replace("_", " ")
        extra = [entry for entry in table["exceptional"] if entry["type"] == kind]
        for entry in (*table["common"], *extra):
            name = f"{kind}:{entry['name']}"
            listed.append(
                {
                    "name": name,
                    "display": f"{entry['name'].replace('_', ' ').capitalize()} {thing}",
                    "description": entry["description"].format(thing=thing),
                    "scope": vocabulary.METADATA,
                    "category": display,
                    "resource_types": [kind],
                    "offered_for": [kind],
                }
            )
            if "gives" in entry:
                implications.append({"privilege": name, "gives": [f"{kind}:{verb}" for verb in entry["gives"]]})
    resource_types = [{"type": kind, "display": display} for kind, display in displays.items()]
    return vocabulary.Vocabulary.from_table(
        {"resource_type": resource_types, "privilege": listed, "implication": implications}
    )


def is_object_id(text: str) -> bool:
    """Whether a text is 24 hexadecimal digits (DZ-10)."""
    return _OBJECT_ID.match(text) is not None


def _child(rest: list[str], parent: str, pointer: str) -> Pattern | Problem:
    """Read what comes after `project:<id>:` (DZ-12)."""
    kind = rest[0]
    if rest == [ANY]:
        return Pattern(Scope.CHILDREN, project=parent)
    if kind not in types():
        return _unknown_type(kind, pointer)
    if kind == PROJECT_TYPE:
        return Problem("resource.bad_parent", pointer, "A project is not contained in another project.")
    match rest[1:]:
        case ["*"]:
            return Pattern(Scope.TYPED_CHILDREN, type=kind, project=parent)
        case [identifier]:
            child = Pattern(Scope.ONE_CHILD, type=kind, id=identifier.lower(), project=parent)
            return _bad_id(identifier, pointer) or child
        case _:
            return _format(":".join(["project", parent, *rest]), pointer)


def _bad_id(text: str, pointer: str) -> Problem | None:
    return (
        None if is_object_id(text) else Problem("resource.invalid_id", pointer, f"{_quoted(text)} is no 24-digit id.")
    )


def _unknown_type(kind: str, pointer: str) -> Problem:
    close = difflib.get_close_matches(kind.lower(), types(), n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    detail = f"There is no resource type {_quoted(kind)}; types are {', '.join(types())}.{hint}"
    return Problem("resource.unknown_type", pointer, detail)


def _format(text: str, pointer: str) -> Problem:
    forms = "*, type, type:*, type:<id>, project:<id>:*, project:<id>:type:*, project:<id>:type:<id>"
    detail = f"{_quoted(text)} is none of {forms}."
    return Problem("resource.format", pointer, detail)


def _mismatch(kind: str, text: str, pattern: Pattern, pointer: str) -> Problem | None:
    """Say whether an action is for another type than the pattern (DZ-28 to DZ-30)."""
    if pattern.scope is Scope.CHILDREN and kind == PROJECT_TYPE:
        detail = f"{text} is for project, but the statement is about what a project contains."
        return Problem("action.resource_mismatch", pointer, detail)
    if kind == ANY or not pattern.type or kind == pattern.type:
        return None
    detail = f"{text} is for {kind}, but the statement is about {pattern.type}."
    return Problem("action.resource_mismatch", pointer, detail)


def _quoted(text: str) -> str:
    """Return the beginning of what was sent, as a sentence quotes it."""
    return repr(text if len(text) <= 80 else f"{text[:80]}…")


def _equals(field: str, value: str) -> Criterion:
    return Criterion(field, Condition.EQUALS, frozenset({value}))


@cache
def _table() -> dict[str, Any]:
    return vocabulary.read_table("datazone_actions")
