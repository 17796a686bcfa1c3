"""Description of each operation in the OpenAPI document: its id, shapes, and every status it can answer.

Descriptions are collected while views are imported and attached to them when the document is made: the library that
makes it is not loaded before.
"""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, TypeVar

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_serializer
from rest_framework import serializers

from policies.http.api.problem_details import MEDIA_TYPE

MethodT = TypeVar("MethodT", bound=Callable[..., Any])
BodySchema = type[serializers.Serializer[Any]] | serializers.Serializer[Any] | OpenApiTypes


class MistakeOut(serializers.Serializer[Any]):
    """One thing wrong with what was sent."""

    code = serializers.CharField()
    pointer = serializers.CharField(allow_blank=True, help_text="A JSON pointer into what was sent.")
    detail = serializers.CharField()


@extend_schema_serializer(component_name="LackingOut")
class ProblemPrivilegeOut(serializers.Serializer[Any]):
    """A privilege that the caller lacks, on an entity or (null) on the platform."""

    entity = serializers.CharField(allow_null=True)
    privilege = serializers.CharField()


class ProblemOut(serializers.Serializer[Any]):
    """The reason of a refusal (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField(min_value=400, max_value=599)
    detail = serializers.CharField(allow_blank=True)
    code = serializers.CharField(required=False)
    errors = MistakeOut(  # type: ignore[assignment]  # the base has a property of this name
        many=True, required=False, help_text="With 400: everything that is wrong."
    )
    missing = ProblemPrivilegeOut(
        many=True,
        required=False,
        help_text="With 403: every privilege that is lacking; of alternatives, the shortest list.",
    )
    missing_any = serializers.ListField(
        child=ProblemPrivilegeOut(many=True),
        required=False,
        help_text="With 403: every list of privileges that would be enough, the narrowest first.",
    )


STATUS_DESCRIPTIONS = {
    400: "The request is wrong; `errors` names every problem.",
    401: "Nobody is signed in, or the token is not valid.",
    403: "The caller may not do this; `missing` and `missing_any` name the privileges.",
    404: "There is no such object.",
    405: "The path does not support this method.",
    406: "The answer is not available in a media type that the caller accepts.",
    409: "The stored state contradicts this: a name that is taken, or something still in use.",
    410: "The event that the cursor points at was deleted; `oldest` is where the rest begins.",
    412: "The object has moved on since the version in If-Match.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    429: "The caller asked too often; `Retry-After` says after how many seconds to go on.",
    503: "The facts for an answer cannot be loaded now; nothing is allowed. `Retry-After` says how long.",
    507: "There is no room left on the disk, so nothing was stored.",
}

_BODY_STATUSES = (413, 415)
_COMMON_STATUSES = (400, 401, 403, 404, 405, 406, 429, 503, 507)

IF_MATCH = OpenApiParameter(
    "If-Match", OpenApiTypes.STR, OpenApiParameter.HEADER, description='The version that is to be changed, as in "3".'
)
_POLICY_VERSION = OpenApiParameter(
    "Policy-Version",
    OpenApiTypes.INT,
    OpenApiParameter.HEADER,
    response=True,
    description="The version of all policies after this write.",
)


#: What attaches the collected descriptions to the methods of views.
_descriptions: deque[Callable[[], object]] = deque()
_descriptions_lock = Lock()


def openapi_operation(
    name: str,
    summary: str,
    *,
    body: BodySchema | None = None,
    answer: BodySchema | None = None,
    status: int = 200,
    statuses: Sequence[int] = (),
    query: type[serializers.Serializer[Any]] | None = None,
    is_versioned: bool = False,
    moves_version: bool = False,
    tag: str | None = None,
    media_type: str = "application/json",
) -> Callable[[MethodT], MethodT]:
    """Decorate one method of a view with its operation id, summary, body, answer and every status it can answer."""
    error_statuses = {
        *_COMMON_STATUSES,
        *statuses,
        *(_BODY_STATUSES if body is not None else ()),
        *((412,) if is_versioned else ()),
    }
    parameters: list[Any] = [query] if query is not None else []
    parameters += [IF_MATCH] if is_versioned else []
    parameters += [_POLICY_VERSION] if moves_version else []
    success_response = OpenApiResponse(answer, "Done.") if answer is not None else OpenApiResponse(None, "Done.")
    attach = extend_schema(
        operation_id=name,
        summary=summary,
        request=body,
        parameters=parameters,
        tags=[tag] if tag else None,
        responses={
            (status, media_type): success_response,
            **{
                (code, MEDIA_TYPE): OpenApiResponse(ProblemOut, STATUS_DESCRIPTIONS[code])
                for code in sorted(error_statuses)
            },
        },
    )

    def describe_method(method: MethodT) -> MethodT:
        add_description(lambda: attach(method))
        return method

    return describe_method


def add_description(attach: Callable[[], object]) -> None:
    """Have `apply_descriptions` call this, which attaches a description to a method."""
    _descriptions.append(attach)


def apply_descriptions() -> None:
    """Attach the description of every operation to its method, of each once; call it when all views are imported."""
    with _descriptions_lock:
        while _descriptions:
            _descriptions.popleft()()
