"""A Datazone document while it is being written: what the form and the JSON box posted is put into it.

The document as it was when the page was drawn travels with the form, so that it shows on the way back which of the two
was changed. What the form does not show stays as it was, and a text that cannot be taken over stays in its box.
"""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Self

from django.http import QueryDict

from policies.authoring.pages.datahub_draft import is_line, merged
from policies.authoring.pages.datahub_presenter import pretty
from policies.engine.errors import Problem
from policies.engine.families.datazone import COLUMNS, PATHS, ROWS
from policies.engine.families.datazone_resource_patterns import Scope, types
from policies.errors import Invalid
from policies.http.pages.people_picker import Picker
from policies.writes import strict_json

#: How many statements the form shows; further ones stay as they are and are edited as JSON.
SHOWN = 60

#: The choice beside the scopes: a resource pattern as it is typed.
TYPED = "typed"

#: Scope → how its pattern is written.
FORMS: Mapping[str, str] = {
    Scope.EVERYTHING: "*",
    Scope.CREATION: "{type}",
    Scope.INSTANCES: "{type}:*",
    Scope.ONE: "{type}:{id}",
    Scope.CHILDREN: "project:{project}:*",
    Scope.TYPED_CHILDREN: "project:{project}:{type}:*",
    Scope.ONE_CHILD: "project:{project}:{type}:{id}",
}

#: The lists of restrictions that the form shows line by line.
LISTS = (ROWS, COLUMNS)

_BLANK = {"resource": "dataset:*", "actions": [], "effect": "allow"}


@dataclass(slots=True)
class Row:
    """One statement, and its resource pattern taken apart: `scope` is a Scope or TYPED, the others its parts."""

    item: dict[str, Any]
    scope: str = TYPED
    type: str = ""
    project: str = ""
    id: str = ""
    text: str = ""

    @classmethod
    def of(cls, item: dict[str, Any]) -> Self:
        """Return a statement with its pattern taken apart by the colons, whether or not its parts are sound."""
        text = item.get("resource", "")
        match text.split(":"):
            case ["*"]:
                return cls(item, Scope.EVERYTHING, text=text)
            case [kind] if kind in types():
                return cls(item, Scope.CREATION, kind, text=text)
            case [kind, "*"] if kind in types():
                return cls(item, Scope.INSTANCES, kind, text=text)
            case [kind, identifier] if kind in types():
                return cls(item, Scope.ONE, kind, id=identifier, text=text)
            case ["project", project, "*"]:
                return cls(item, Scope.CHILDREN, project=project, text=text)
            case ["project", project, kind, "*"] if kind in types():
                return cls(item, Scope.TYPED_CHILDREN, kind, project, text=text)
            case ["project", project, kind, identifier] if kind in types():
                return cls(item, Scope.ONE_CHILD, kind, project, identifier, text)
            case _:
                return cls(item, text=text)

    @property
    def resource(self) -> str:
        """The pattern as its parts say it."""
        if self.scope == TYPED:
            return self.text
        return FORMS[self.scope].format(type=self.type, project=self.project, id=self.id)

    def take(self, data: QueryDict, key: str) -> None:
        """Put the fields that a form posted for this statement into it."""
        if f"{key}_at" not in data:
            return
        self._take_resource(data, key)
        before = self.item.get("actions") or []
        actions = merged(before, data.getlist(f"{key}_actions"))
        if actions != before:
            self.item["actions"] = actions
        if data.get(f"{key}_effect"):
            self.item["effect"] = data[f"{key}_effect"]
        branch = data.get(f"{key}_branch", "")
        if branch != (self.item.get("branch") or ""):
            if branch:
                self.item["branch"] = branch
            else:
                del self.item["branch"]
        self._take_constraints(data, key)

    def _take_resource(self, data: QueryDict, key: str) -> None:
        scope, kind = data.get(f"{key}_scope", ""), data.get(f"{key}_type", "")
        was_typed = self.scope == TYPED
        if scope in FORMS or scope == TYPED:
            self.scope = scope
        if self.scope == TYPED:
            # Coming from the parts, the text begins with what they said.
            self.text = data.get(f"{key}_text", self.text).strip() if was_typed else self.text
        self.type = kind if kind in types() else self.type or types()[0]
        self.project = data.get(f"{key}_project", self.project).strip()
        self.id = data.get(f"{key}_id", self.id).strip()
        if self.resource != self.item.get("resource", ""):
            self.item["resource"] = self.resource

    def _take_constraints(self, data: QueryDict, key: str) -> None:
        before = self.item.get("extra_constraints") or {}
        after = dict(before)
        for name in LISTS:
            if f"{key}_{name}" in data:
                lines = [line.strip() for line in data.get(f"{key}_{name}", "").splitlines() if line.strip()]
                _put(after, name, lines, list(before.get(name) or ()))
        _put(after, PATHS, data.get(f"{key}_{PATHS}", ""), before.get(PATHS) or "")
        _put(self.item, "extra_constraints", after, before)


@dataclass(slots=True)
class Writing:
    """A policy being written.

    `base` is the document that the page was drawn from, `document` what it is now, `json` the text in its box.
    `problems` are those that keep the box from being taken over, and `is_torn` says that form and box were both
    changed. `searched` names the statement and part whose text is to be looked up.
    """

    base: dict[str, Any]
    document: dict[str, Any]
    rows: list[Row]
    json: str
    state: str = "ACTIVE"
    description: str = ""
    problems: list[Problem] = field(default_factory=list)
    is_torn: bool = False
    searched: tuple[int, str] | None = None

    @classmethod
    def of(cls, document: Mapping[str, Any], *, state: str = "ACTIVE", description: str = "") -> Self:
        """Return what begins with a document of the right shape."""
        own = deepcopy(dict(document))
        rows = [Row.of(item) for item in own["statements"]]
        return cls(deepcopy(own), own, rows, pretty(own), state, description)

    @classmethod
    def posted(cls, data: QueryDict, *, wants: str) -> Self | None:
        """Return what was posted; None when it is no form that was given out.

        `wants` says which side counts when both may have been changed: "apply" the box, "form" the form, anything else
        the one that was.
        """
        try:
            base = strict_json.loads(data.get("base", "").encode())
        except (Invalid, UnicodeEncodeError):
            return None
        if list(shapes(base)):
            return None
        found = cls.of(base, state=data.get("state", ""), description=data.get("description", "").replace("\r\n", "\n"))
        found._take(data)
        text = data.get("json", "").replace("\r\n", "\n")
        is_typed = text.strip() != pretty(base).strip()
        is_filled = found.document != base
        if wants == "form" or not (is_typed or wants == "apply"):
            return found.settled()
        if is_filled and wants != "apply":
            found.json, found.is_torn = text, True
            return found
        return found._applied(text)

    def settled(self) -> Self:
        """Let box and base say what the document says."""
        self.document["statements"] = [row.item for row in self.rows]
        self.base, self.json = deepcopy(self.document), pretty(self.document)
        return self

    @property
    def sealed(self) -> str:
        """The base as it travels with the form: without line ends, which browsers change."""
        return json.dumps(self.base)

    def change(self, verb: str, place: str, name: str = "", value: str = "") -> None:
        """Do what a button of a statement says: add, copy, remove, up, down, find or use; nonsense changes nothing."""
        at = int(place) if place.isdecimal() and len(place) < 6 else -1
        if verb == "add":
            self.rows.append(Row.of(deepcopy(_BLANK)))
        elif 0 <= at < len(self.rows):
            self._change_at(verb, at, name, value)
        self.settled()

    def _change_at(self, verb: str, at: int, name: str, value: str) -> None:
        match verb:
            case "copy":
                self.rows.insert(at + 1, deepcopy(self.rows[at]))
            case "remove":
                del self.rows[at]
            case "up" | "down":
                to = max(at - 1, 0) if verb == "up" else at + 1
                self.rows.insert(to, self.rows.pop(at))
            case "find" if name in ("project", "id"):
                self.searched = (at, name)
            case "use" if name in ("project", "id"):
                row = self.rows[at]
                setattr(row, name, value)
                row.item["resource"] = row.resource
            case _:
                pass

    def _take(self, data: QueryDict) -> None:
        if data.get("name", "") != self.document.get("name", ""):
            self.document["name"] = data.get("name", "")
        before = self.document.get("roles") or []
        roles = merged(before, Picker("roles", "Roles", "role").read(data).urns)
        _put(self.document, "roles", roles, before)
        for place, row in enumerate(self.rows[:SHOWN]):
            row.take(data, f"s{place}")

    def _applied(self, text: str) -> Self:
        """Take over the box, or keep its text beside the form and say what is wrong with it."""
        found: Any = None
        try:
            found = strict_json.loads(text.encode(), what="The text")
            self.problems = list(shapes(found))
        except UnicodeEncodeError:
            self.problems = [Problem("text.invalid", "", "The text holds a character that cannot be stored.")]
        except Invalid as refusal:
            self.problems = list(refusal.problems)
        if self.problems:
            self.json = text
            return self
        return type(self).of(found, state=self.state, description=self.description)


def shapes(document: Any) -> Iterator[Problem]:
    """Return what keeps a document from being shown as a form: things that are no text, list or object."""
    if not isinstance(document, dict):
        yield Problem("document.invalid", "", "A policy is an object with a name and statements.")
        return
    yield from _kinds(document, "", {"name": str, "statements": list})
    yield from _texts(document.get("roles"), "/roles")
    if "statements" not in document:
        yield Problem("policy.no_statements", "/statements", "A policy needs at least one statement.")
    statements = document.get("statements")
    for place, item in enumerate(statements if isinstance(statements, list) else ()):
        yield from _of_statement(item, f"/statements/{place}")


def _of_statement(item: Any, pointer: str) -> Iterator[Problem]:
    if not isinstance(item, dict):
        yield _wrong(pointer, dict)
        return
    yield from _kinds(item, pointer, {"resource": str, "effect": str})
    if item.get("branch") is not None:
        yield from _kinds(item, pointer, {"branch": str})
    yield from _texts(item.get("actions"), f"{pointer}/actions")
    constraints = item.get("extra_constraints")
    if isinstance(constraints, dict):
        inside = f"{pointer}/extra_constraints"
        yield from _kinds(constraints, inside, {PATHS: str})
        for name in LISTS:
            yield from _texts(constraints.get(name), f"{inside}/{name}")
    elif constraints is not None:
        yield _wrong(f"{pointer}/extra_constraints", dict)


def _kinds(value: Mapping[str, Any], pointer: str, wanted: Mapping[str, type]) -> Iterator[Problem]:
    for name, kind in wanted.items():
        if name in value and not isinstance(value[name], kind):
            yield _wrong(f"{pointer}/{name}", kind)


def _texts(value: Any, pointer: str) -> Iterator[Problem]:
    if value is not None and not isinstance(value, list):
        yield _wrong(pointer, list)
        return
    for place, one in enumerate(value or ()):
        if not isinstance(one, str):
            yield _wrong(f"{pointer}/{place}", str)


def _wrong(pointer: str, kind: type) -> Problem:
    words: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    return Problem("document.invalid", pointer, f"This must be {words[kind]}.")


def lines_of(values: Any) -> str | None:
    """Return a list as the lines of a text box, or None when a value is no line and so can be edited as JSON only."""
    listed = list(values or ())
    return "\n".join(listed) if all(is_line(one) for one in listed) else None


def _put(where: dict[str, Any], name: str, value: Any, before: Any) -> None:
    """Write a value that changed; an empty one goes away."""
    if value == before:
        return
    if value:
        where[name] = value
    else:
        where.pop(name, None)
