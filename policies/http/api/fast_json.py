"""What a door for very many short calls leaves out of what the framework does again for each.

It stays a view of the framework: who calls, who may pass, and every refusal are as everywhere. Only a call that leaves
nothing to choose takes the short way: a JSON body, and an answer in JSON without a wish about its looks.
"""

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from policies.http.api.views import ApiView
from policies.writes import strict_json

_JSON_MEDIA_TYPE = JSONRenderer.media_type

#: What callers that want JSON, or do not say what they want, send as Accept.
_JSON_ACCEPT_HEADERS = frozenset(
    {None, "*/*", _JSON_MEDIA_TYPE, f"{_JSON_MEDIA_TYPE}, */*", f"{_JSON_MEDIA_TYPE}, text/plain, */*"}
)

_RENDERER = JSONRenderer()

#: Made once, where the renderer makes one for each answer, which takes as long as writing a short one.
_ENCODER = JSONRenderer.encoder_class(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


class FastJsonView(ApiView):
    """A path of the API that is asked more often than all others together."""

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:  # noqa: FBT001, FBT002 - the framework's
        """Return JSON where nothing else is wished for, else what the framework finds."""
        # The framework's request finds this by failing to find it in itself first.
        meta = request._request.META
        if meta.get("HTTP_ACCEPT") in _JSON_ACCEPT_HEADERS and not meta.get("QUERY_STRING"):
            return _RENDERER, _JSON_MEDIA_TYPE
        return super().perform_content_negotiation(request, force)

    def parse_body(self) -> Any:
        """Return the value of the body; raises what the framework's parser raises."""
        http_request = self.request._request
        if http_request.META.get("CONTENT_TYPE") == _JSON_MEDIA_TYPE and http_request.META.get(
            "CONTENT_LENGTH"
        ) not in (None, "", "0"):
            return strict_json.loads(http_request.body)
        return self.request.data

    def respond(self, body: dict[str, Any]) -> HttpResponseBase:
        """Return the answer, rendered at once."""
        if self.request.accepted_media_type != _JSON_MEDIA_TYPE:
            return Response(body)
        return HttpResponse(_ENCODER.encode(body), content_type=_JSON_MEDIA_TYPE)
