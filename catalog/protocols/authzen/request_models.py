"""What arrives in a body, taken apart: subject, action, resource, context, options, page.

Members that nobody knows are ignored, as the standard wants. Whatever is malformed or incomplete is said in one text
that names every member.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NoReturn

from django.http import HttpRequest

from catalog import urns
from policies.engine import property_conditions
from policies.errors import Invalid, PolicyAppError
from policies.models.fields import is_storable
from policies.writes import strict_json

#: Most evaluations of one call, and most results of one page.
MOST = 1_000

#: Most commas and opening brackets of a body.
MAX_SIGNS = 100_000

_JSON = "application/json"

Members = Mapping[str, Any]


class Malformed(PolicyAppError):
    """The request is malformed or incomplete; the detail names every member that is."""

    code = "malformed"
    status = 400


class Semantic(StrEnum):
    """When the evaluations of a batch stop."""

    EXECUTE_ALL = "execute_all"
    DENY_ON_FIRST_DENY = "deny_on_first_deny"
    PERMIT_ON_FIRST_PERMIT = "permit_on_first_permit"

    def ends_with(self, *, is_allowed: bool) -> bool:
        """Whether nothing is evaluated after an answer like this."""
        return (self is self.DENY_ON_FIRST_DENY and not is_allowed) or (
            self is self.PERMIT_ON_FIRST_PERMIT and is_allowed
        )


@dataclass(frozen=True, slots=True)
class Party:
    """A subject or a resource: its type, its id (empty where a whole type is meant) and what is said of it."""

    type: str
    id: str
    properties: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Action:
    """What is to be done: its name, and what is said of it."""

    name: str
    properties: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a search is wanted; `limit` None leaves it to us."""

    token: str = ""
    limit: int | None = None


@dataclass(slots=True)
class Reader:
    """Takes members out of an object and collects everything that is wrong with them."""

    members: Members
    wrong: list[str] = field(default_factory=list)

    def subject(self, *, is_sought: bool = False) -> Party:
        """Return the subject; of one that is sought only the type is needed."""
        return self._party("subject", is_sought=is_sought)

    def resource(self, *, is_sought: bool = False) -> Party:
        """Return the resource; of one that is sought only the type is needed."""
        return self._party("resource", is_sought=is_sought)

    def action(self) -> Action:
        """Return the action."""
        found = self._object("action")
        if found is None:
            return Action("")
        return Action(
            self._text(found, "action", "name"), self._properties(found, "action", property_conditions.ACTION)
        )

    def context(self) -> None:
        """Check the context, which is optional and has no say."""
        if self.members.get("context") is not None and not isinstance(self.members["context"], dict):
            self.wrong.append("context must be an object")

    def page(self) -> Page:
        """Return which part of a search is wanted."""
        found = self.members.get("page")
        if found is None:
            return Page()
        if not isinstance(found, dict):
            self.wrong.append("page must be an object")
            return Page()
        token, limit = found.get("token"), found.get("limit")
        if token is not None and not isinstance(token, str):
            self.wrong.append("page.token must be text")
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
            self.wrong.append("page.limit must be a whole number from 0")
        if self.wrong:
            return Page()
        return Page(token or "", None if limit is None else min(limit, MOST))

    def semantic(self) -> Semantic:
        """Return when a batch stops; other options are ignored."""
        options = self.members.get("options")
        if options is None:
            return Semantic.EXECUTE_ALL
        if not isinstance(options, dict):
            self.wrong.append("options must be an object")
            return Semantic.EXECUTE_ALL
        named = options.get("evaluations_semantic")
        if named is None:
            return Semantic.EXECUTE_ALL
        if named not in tuple(Semantic):
            self.wrong.append(f"options.evaluations_semantic must be one of {', '.join(Semantic)}")
            return Semantic.EXECUTE_ALL
        return Semantic(named)

    def evaluations(self) -> list[Any]:
        """Return the members `evaluations`, as they came; none where there is nothing to evaluate in turn."""
        found = self.members.get("evaluations")
        if found is None:
            return []
        if not isinstance(found, list):
            self.wrong.append("evaluations must be a list")
            return []
        if len(found) > MOST:
            self.wrong.append(f"evaluations may have {MOST} entries, not {len(found)}")
            return []
        return found

    def finish(self) -> None:
        """Raise Malformed naming everything that was wrong."""
        if self.wrong:
            raise Malformed("; ".join(self.wrong))

    def _party(self, name: str, *, is_sought: bool) -> Party:
        found = self._object(name)
        if found is None:
            return Party("", "")
        kind = self._text(found, name, "type")
        if is_sought:
            return Party(kind, "")
        start = property_conditions.ACTOR if name == "subject" else property_conditions.RESOURCE
        return Party(kind, self._text(found, name, "id"), self._properties(found, name, start))

    def _object(self, name: str) -> Members | None:
        """Return a needed object whose properties, where it has some, are an object."""
        found = self.members.get(name)
        if not isinstance(found, dict):
            self.wrong.append(f"{name} is required" if found is None else f"{name} must be an object")
            return None
        if found.get("properties") is not None and not isinstance(found["properties"], dict):
            self.wrong.append(f"{name}.properties must be an object")
        return found

    def _properties(self, found: Members, name: str, start: str) -> Mapping[str, frozenset[str]]:
        """Return what is said, as facts whose fields begin like this."""
        said = found.get("properties")
        try:
            return property_conditions.facts(said, start) if isinstance(said, dict) else {}
        except RecursionError:
            self.wrong.append(f"{name}.properties are nested too deeply")
            return {}

    def _text(self, found: Members, name: str, member: str) -> str:
        value = found.get(member)
        if value is None or value == "":
            self.wrong.append(f"{name}.{member} is required")
        elif not isinstance(value, str):
            self.wrong.append(f"{name}.{member} must be text")
        elif len(value) > urns.LONGEST or not is_storable(value) or not value.isprintable():
            self.wrong.append(f"{name}.{member} must be printable text of at most {urns.LONGEST} characters")
        else:
            return value
        return ""


def read(request: HttpRequest) -> Reader:
    """Return the members of the body, a JSON object. Raises Malformed."""
    if request.content_type != _JSON:
        raise Malformed(f"The body must be {_JSON}.")
    raw = request.body
    try:
        strict_json.check_signs(raw, most=MAX_SIGNS)
        found = json.loads(raw.decode(), parse_constant=_refuse_constant)
    except Invalid as error:
        raise Malformed(error.problems[0].detail) from None
    except UnicodeDecodeError:
        raise Malformed("The body is not UTF-8.") from None
    except RecursionError:
        raise Malformed("The body is nested too deeply.") from None
    except ValueError as error:
        raise Malformed(f"The body is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise Malformed("The body must be a JSON object.")
    return Reader(found)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value.")
