"""A view base class for endpoints with very many short calls, without the framework's repeated work per call.

Authentication, guards and refusals are those of every other API view. The shortcuts apply only where there is nothing
to negotiate: a JSON body, and a JSON answer without format options.
"""

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from policies.http.api.views import ApiView
from policies.writes import strict_json

_JSON_MEDIA_TYPE = JSONRenderer.media_type

#: Accept headers of callers that want JSON or state no preference.
JSON_ACCEPT_HEADERS = frozenset(
    {None, "*/*", _JSON_MEDIA_TYPE, f"{_JSON_MEDIA_TYPE}, */*", f"{_JSON_MEDIA_TYPE}, text/plain, */*"}
)

_RENDERER = JSONRenderer()

#: Built once: the renderer builds an encoder for each answer, which takes as long as encoding a short answer.
_ENCODER = JSONRenderer.encoder_class(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class FastJsonView(ApiView):
    """An API path that is called more often than all others together."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:  # noqa: FBT001, FBT002 - the framework's
        """Return the JSON renderer where the caller asks for nothing else, otherwise the framework's choice."""
        # Direct access: on DRF's Request each attribute of the HttpRequest costs a failed lookup first.
        meta = request._request.META
        if meta.get("HTTP_ACCEPT") in JSON_ACCEPT_HEADERS and not meta.get("QUERY_STRING"):
            return _RENDERER, _JSON_MEDIA_TYPE
        return super().perform_content_negotiation(request, force)

    def parse_body(self) -> Any:
        """Return the parsed body; raises what the framework's parser raises."""
        http_request = self.request._request
        if http_request.META.get("CONTENT_TYPE") == _JSON_MEDIA_TYPE and http_request.META.get(
            "CONTENT_LENGTH"
        ) not in (None, "", "0"):
            return strict_json.loads(http_request.body)
        return self.request.data

    def respond(self, body: dict[str, Any]) -> HttpResponseBase:
        """Return the answer, already rendered where JSON was negotiated."""
        if self.request.accepted_media_type != _JSON_MEDIA_TYPE:
            return Response(body)
        return HttpResponse(_ENCODER.encode(body), content_type=_JSON_MEDIA_TYPE)
