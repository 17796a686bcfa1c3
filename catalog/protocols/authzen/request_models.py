"""Request bodies of AuthZEN as pydantic models: subject, action, resource, context, options, page.

Unknown members are ignored, as the standard requires. One error text names every malformed or missing member.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from django.http import HttpRequest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

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
_UNPRINTABLE = f"must be printable text of at most {urns.MAX_URN_BYTES} characters"

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


def _check_text(text: str) -> str:
    if len(text) > urns.MAX_URN_BYTES or not is_storable(text) or not text.isprintable():
        raise ValueError(_UNPRINTABLE)
    return text


Text = Annotated[str, Field(min_length=1), AfterValidator(_check_text)]


class _RequestModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class _Party(_RequestModel):
    properties: dict[str, Any] | None = None

    def facets(self, prefix: str) -> dict[str, frozenset[str]]:
        """Return the properties as facet field → values; each field begins with `prefix`."""
        return property_conditions.to_facets(self.properties, prefix) if self.properties else {}


class TypeRef(_Party):
    """A subject or resource of which only the type counts, in a search for it."""

    type: Text


class EntityRef(TypeRef):
    """A subject or a resource."""

    id: Text


class Action(_Party):
    """An action."""

    name: Text


class PageRequest(_RequestModel):
    """The requested page of a search."""

    token: str | None = None
    limit: int | None = Field(default=None, ge=0)


class Evaluation(_RequestModel):
    """One evaluation; the content of the context has no effect."""

    subject: EntityRef
    action: Action
    resource: EntityRef
    context: dict[str, Any] | None = None


class _Search(_RequestModel):
    context: dict[str, Any] | None = None
    page: PageRequest | None = None


class SubjectSearch(_Search):
    """A search for subjects."""

    subject: TypeRef
    action: Action
    resource: EntityRef


class ResourceSearch(_Search):
    """A search for resources."""

    subject: EntityRef
    action: Action
    resource: TypeRef


class ActionSearch(_Search):
    """A search for actions."""

    subject: EntityRef
    resource: EntityRef


class Options(_RequestModel):
    """Options of a batch; other options are ignored."""

    evaluations_semantic: EvaluationsSemantic | None = Field(default=None, strict=False)


class Batch(_RequestModel):
    """A batch of evaluations, each validated on its own with the defaults of the batch."""

    options: Options | None = None
    evaluations: list[Any] | None = Field(default=None, max_length=MAX_ITEMS)

    @property
    def semantic(self) -> EvaluationsSemantic:
        """The rule by which the batch stops."""
        return (self.options and self.options.evaluations_semantic) or EvaluationsSemantic.EXECUTE_ALL


ModelT = TypeVar("ModelT", bound=BaseModel)

#: Type of a problem of pydantic → what the member must be.
_MESSAGES: Mapping[str, str] = {
    "dict_type": "must be an object",
    "enum": f"must be one of {', '.join(EvaluationsSemantic)}",
    "greater_than_equal": "must be a whole number from 0",
    "int_type": "must be a whole number from 0",
    "list_type": "must be a list",
    "missing": "is required",
    "model_type": "must be an object",
    "string_too_short": "is required",
    "string_type": "must be text",
    "string_unicode": _UNPRINTABLE,
    "too_long": f"may have {MAX_ITEMS} entries",
    "value_error": _UNPRINTABLE,
}


def parse(model: type[ModelT], members: RequestObject) -> ModelT:
    """Return a request as a model. Raises MalformedRequest with every problem."""
    try:
        return model.model_validate(members)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise MalformedRequest("; ".join(map(_describe, problems))) from None


def _describe(problem: ErrorDetails) -> str:
    message = "is required" if problem["input"] is None else _MESSAGES.get(problem["type"], problem["msg"])
    return f"{'.'.join(map(str, problem['loc']))} {message}"


def parse_body(request: HttpRequest) -> RequestObject:
    """Return the JSON object in the body. Raises MalformedRequest."""
    if request.content_type != _JSON_CONTENT_TYPE:
        raise MalformedRequest(f"The body must be {_JSON_CONTENT_TYPE}.")
    try:
        body = strict_json.loads(request.body, max_signs=MAX_SIGNS, max_depth=MAX_DEPTH, is_lenient=True)
    except Invalid as error:
        raise MalformedRequest(error.problems[0].detail) from None
    if not isinstance(body, dict):
        raise MalformedRequest("The body must be a JSON object.")
    return body
