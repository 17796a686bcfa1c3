"""Request bodies of AuthZEN, parsed: subject, action, resource, context, options, page.

Unknown members are ignored, as the standard requires. One error text names every malformed or missing member.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django.http import HttpRequest

from catalog import urns
from policies.engine import property_conditions
from policies.errors import Invalid, PolicyAppError
from policies.models.fields import is_storable
from policies.writes import strict_json

#: Most evaluations of one call, and most results of one page.
MAX_ITEMS = 1_000

#: Most commas and opening brackets of a body, and most levels of nested lists and objects.
MAX_SIGNS = 100_000
MAX_DEPTH = 150

_JSON_CONTENT_TYPE = "application/json"

RequestObject = Mapping[str, Any]


class MalformedRequest(PolicyAppError):
    """The request is malformed or incomplete; the detail names every member that is."""

    code = "malformed"
    status = 400


class EvaluationsSemantic(StrEnum):
    """Rule by which a batch stops: never, at the first deny or at the first permit."""

    EXECUTE_ALL = "execute_all"
    DENY_ON_FIRST_DENY = "deny_on_first_deny"
    PERMIT_ON_FIRST_PERMIT = "permit_on_first_permit"

    def should_stop_after(self, *, is_allowed: bool) -> bool:
        """Whether the batch ends after such an answer."""
        return (self is self.DENY_ON_FIRST_DENY and not is_allowed) or (
            self is self.PERMIT_ON_FIRST_PERMIT and is_allowed
        )


@dataclass(frozen=True, slots=True)
class EntityRef:
    """A subject or a resource: type, id (empty if only the type counts) and properties as facet field → values."""

    type: str
    id: str
    properties: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Action:
    """An action: name, and properties as facet field → values."""

    name: str
    properties: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested page of a search; `limit` None means the default page size."""

    token: str = ""
    limit: int | None = None


@dataclass(slots=True)
class RequestReader:
    """Reader of the members of a JSON object; collects the problems that it finds."""

    members: RequestObject
    problems: list[str] = field(default_factory=list)

    def read_subject(self, *, is_type_only: bool = False) -> EntityRef:
        """Return the subject; with `is_type_only` (a subject search) only its type is read."""
        return self._read_entity("subject", is_type_only=is_type_only)

    def read_resource(self, *, is_type_only: bool = False) -> EntityRef:
        """Return the resource; with `is_type_only` (a resource search) only its type is read."""
        return self._read_entity("resource", is_type_only=is_type_only)

    def read_action(self) -> Action:
        """Return the action."""
        action = self._read_object("action")
        if action is None:
            return Action("")
        return Action(
            self._read_text(action, "action", "name"),
            self._read_properties(action, property_conditions.ACTION),
        )

    def check_context(self) -> None:
        """Check that the context, if any, is an object; its content has no effect."""
        if self.members.get("context") is not None and not isinstance(self.members["context"], dict):
            self.problems.append("context must be an object")

    def read_page(self) -> PageRequest:
        """Return the requested page; a limit above MAX_ITEMS is cut to it."""
        page = self.members.get("page")
        if page is None:
            return PageRequest()
        if not isinstance(page, dict):
            self.problems.append("page must be an object")
            return PageRequest()
        token, limit = page.get("token"), page.get("limit")
        if token is not None and not isinstance(token, str):
            self.problems.append("page.token must be text")
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
            self.problems.append("page.limit must be a whole number from 0")
        if self.problems:
            return PageRequest()
        return PageRequest(token or "", None if limit is None else min(limit, MAX_ITEMS))

    def read_semantic(self) -> EvaluationsSemantic:
        """Return the rule by which the batch stops; other options are ignored."""
        options = self.members.get("options")
        if options is None:
            return EvaluationsSemantic.EXECUTE_ALL
        if not isinstance(options, dict):
            self.problems.append("options must be an object")
            return EvaluationsSemantic.EXECUTE_ALL
        semantic = options.get("evaluations_semantic")
        if semantic is None:
            return EvaluationsSemantic.EXECUTE_ALL
        if semantic not in tuple(EvaluationsSemantic):
            self.problems.append(f"options.evaluations_semantic must be one of {', '.join(EvaluationsSemantic)}")
            return EvaluationsSemantic.EXECUTE_ALL
        return EvaluationsSemantic(semantic)

    def read_evaluations(self) -> list[Any]:
        """Return the entries of `evaluations`, unparsed; an empty list if there are none."""
        evaluations = self.members.get("evaluations")
        if evaluations is None:
            return []
        if not isinstance(evaluations, list):
            self.problems.append("evaluations must be a list")
            return []
        if len(evaluations) > MAX_ITEMS:
            self.problems.append(f"evaluations may have {MAX_ITEMS} entries, not {len(evaluations)}")
            return []
        return evaluations

    def raise_problems(self) -> None:
        """Raise MalformedRequest with every problem, if there are any."""
        if self.problems:
            raise MalformedRequest("; ".join(self.problems))

    def _read_entity(self, name: str, *, is_type_only: bool) -> EntityRef:
        entity = self._read_object(name)
        if entity is None:
            return EntityRef("", "")
        kind = self._read_text(entity, name, "type")
        if is_type_only:
            return EntityRef(kind, "")
        prefix = property_conditions.ACTOR if name == "subject" else property_conditions.RESOURCE
        return EntityRef(kind, self._read_text(entity, name, "id"), self._read_properties(entity, prefix))

    def _read_object(self, name: str) -> RequestObject | None:
        """Return a required object, None if it is absent or no object; its `properties`, if any, must be an object."""
        value = self.members.get(name)
        if not isinstance(value, dict):
            self.problems.append(f"{name} is required" if value is None else f"{name} must be an object")
            return None
        if value.get("properties") is not None and not isinstance(value["properties"], dict):
            self.problems.append(f"{name}.properties must be an object")
        return value

    def _read_properties(self, entity: RequestObject, prefix: str) -> Mapping[str, frozenset[str]]:
        """Return the properties as facet field → values; each field begins with `prefix`."""
        raw_properties = entity.get("properties")
        return property_conditions.to_facets(raw_properties, prefix) if isinstance(raw_properties, dict) else {}

    def _read_text(self, entity: RequestObject, name: str, member: str) -> str:
        value = entity.get(member)
        if value is None or value == "":
            self.problems.append(f"{name}.{member} is required")
        elif not isinstance(value, str):
            self.problems.append(f"{name}.{member} must be text")
        elif len(value) > urns.MAX_URN_BYTES or not is_storable(value) or not value.isprintable():
            self.problems.append(f"{name}.{member} must be printable text of at most {urns.MAX_URN_BYTES} characters")
        else:
            return value
        return ""


def parse_body(request: HttpRequest) -> RequestReader:
    """Return a reader of the JSON object in the body. Raises MalformedRequest."""
    if request.content_type != _JSON_CONTENT_TYPE:
        raise MalformedRequest(f"The body must be {_JSON_CONTENT_TYPE}.")
    try:
        body = strict_json.loads(request.body, max_signs=MAX_SIGNS, max_depth=MAX_DEPTH, is_lenient=True)
    except Invalid as error:
        raise MalformedRequest(error.problems[0].detail) from None
    if not isinstance(body, dict):
        raise MalformedRequest("The body must be a JSON object.")
    return RequestReader(body)
