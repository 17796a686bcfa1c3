"""The short way for decisions: plain calls of the decision endpoints are answered in front of Django's handler.

A decision takes the engine microseconds, and Django's middleware, DRF's request and the URL resolver many times as
long. So a call that leaves nothing to choose (POST, a bearer token, a JSON body, headers without effect on the answer)
is answered here. Everything else, and every call that would be refused or fails, goes to Django as if nothing had
happened: its views are the reference, the documented endpoints and the place of every rule. Nothing is decided here;
tokens, limits, slots, questions, decisions, metrics and the decision log are those of the functions that the views use.

The first call of a path, host and scheme goes to Django, too, and its answer has the headers of all later answers: so
they are what the middleware makes of them, and no host is answered that Django would refuse. A test compares both ways
for generated calls (tests/site/test_decision_gateway.py).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from io import BytesIO
from typing import Any

import structlog
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.urls import resolve
from django.utils.http import http_date

from authzsite import admission, middleware, request_log, throttling
from policies import deadlines, registries
from policies.decisions.api.plain_calls import LeftToView
from policies.engine.model import Actor
from policies.errors import PolicyAppError
from policies.http import guard, public_address
from policies.http.api.fast_json import JSON_ACCEPT_HEADERS
from policies.identity.api import bearer_authentication
from policies.identity.services import access_tokens
from policies.kept_settings import kept_settings
from policies.outages import find_outage
from policies.pdp import authorizer, fact_cache
from policies.pdp.log import decision_log
from policies.pdp.thread_connection import close_used_connections
from policies.propagation import metrics

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
WsgiApplication = Callable[[Environ, StartResponse], Iterable[bytes]]
Headers = list[tuple[str, str]]
#: Path, host, and scheme as a proxy names it.
HeadersKey = tuple[str, str | None, str | None]

log = structlog.get_logger(__name__)

_JSON_MEDIA_TYPE = "application/json"
_OK_STATUS = HTTPStatus.OK.value
_OK = f"{_OK_STATUS} {HTTPStatus.OK.phrase}"

#: Errors that the view answers as it should; any other one is a fault of the gateway, or of both.
_EXPECTED_ERRORS = (LeftToView, PolicyAppError, admission.NoFreeSlot)

#: Headers of a request that may be sent: those that the gateway reads, and those that have no effect on the answer.
_PLAIN_HEADERS = frozenset(
    {
        "HTTP_ACCEPT",
        "HTTP_ACCEPT_ENCODING",
        "HTTP_ACCEPT_LANGUAGE",
        "HTTP_AUTHORIZATION",
        "HTTP_CACHE_CONTROL",
        "HTTP_CONNECTION",
        "HTTP_HOST",
        "HTTP_PRAGMA",
        "HTTP_TRACEPARENT",
        "HTTP_TRACESTATE",
        "HTTP_USER_AGENT",
        "HTTP_X_FORWARDED_FOR",
        "HTTP_X_FORWARDED_HOST",
        "HTTP_X_FORWARDED_PORT",
        "HTTP_X_FORWARDED_PROTO",
        "HTTP_X_REAL_IP",
        "HTTP_X_REQUEST_ID",
    }
)
#: Values of the header that names the scheme behind a proxy.
_SCHEMES = frozenset({None, "http", "https"})

#: Headers of an answer that belong to this one answer, and those that belong to all answers of a path. With a header
#: that is in neither list, calls of the path go to Django. An answer that must not be kept expires when it is sent.
_EXPIRES = "Expires"
_OWN_HEADERS = frozenset({"Content-Length", "X-Request-ID", _EXPIRES})
_COMMON_HEADERS = frozenset(
    {
        "Allow",
        "Cache-Control",
        "Content-Security-Policy",
        "Content-Type",
        "Cross-Origin-Opener-Policy",
        "Referrer-Policy",
        "Strict-Transport-Security",
        "Vary",
        "X-Content-Type-Options",
        "X-Frame-Options",
    }
)

#: Most combinations of path, host and scheme whose headers are kept, and most sets of names of headers; calls with
#: further combinations go to Django, further sets are looked at anew.
_MAX_KEPT_HEADERS = 200


@dataclass(frozen=True, slots=True)
class DecisionEndpoint:
    """A path that answers decisions, and the function that answers the body of a plain call to it."""

    path: str
    answer: Callable[[bytes, Actor], bytes]
    route: str
    channel: str
    max_bytes: int


def load_endpoint(path: str) -> DecisionEndpoint | None:
    """Return the endpoint of a path, with what the URLs and the settings say about it; None for any other path."""
    if path not in settings.REGISTRIES["plain_calls"]:
        return None
    match = resolve(path)
    max_bytes = middleware.find_body_limit(path)
    return DecisionEndpoint(
        path, registries.load_entry("plain_calls", path), match.route, guard.get_channel(match), max_bytes
    )


@dataclass(frozen=True, slots=True)
class KeptHeaders:
    """The headers that all answers to calls of one path have; `is_expiring` if `Expires` is the time of the answer."""

    common: Headers
    is_expiring: bool

    @classmethod
    def from_answer(cls, headers: Headers) -> "KeptHeaders | None":
        """Return the headers of an answer of the view; None if there is one that cannot be repeated."""
        names = {name for name, _ in headers}
        if not names <= _OWN_HEADERS | _COMMON_HEADERS:
            return None
        return cls([(name, value) for name, value in headers if name not in _OWN_HEADERS], _EXPIRES in names)

    def complete(self, *, length: int, request_id: str) -> Headers:
        """Return the headers of one answer."""
        expiry = [(_EXPIRES, http_date())] if self.is_expiring else []
        return [*self.common, *expiry, ("Content-Length", str(length)), ("X-Request-ID", request_id)]


class DecisionGateway:
    """A WSGI application that answers plain calls of decision endpoints and hands all others to `application`."""

    def __init__(self, application: WsgiApplication) -> None:
        self._application = application
        # Path → its endpoint, once it was called.
        self._endpoints: dict[str, DecisionEndpoint] = {}
        self._call_limits = throttling.CallLimits()
        self._slots = admission.create_slots()
        # (Path, host, forwarded scheme) → headers of the view's answers; None where they cannot be repeated.
        self._kept_headers: dict[HeadersKey, KeptHeaders | None] = {}
        # Names in the environment of a call → whether the headers among them are plain.
        self._plain_names: dict[tuple[str, ...], bool] = {}

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one call."""
        # Both ways count against the same limits and slots.
        environ[throttling.LIMITS_KEY] = self._call_limits
        environ[admission.SLOTS_KEY] = self._slots
        endpoint = self._endpoints.get(environ["PATH_INFO"]) or self._load_endpoint(environ["PATH_INFO"])
        if endpoint is None or not _is_plain(environ, endpoint.max_bytes) or not self._has_plain_headers(environ):
            return self._application(environ, start_response)
        key = (endpoint.path, environ.get("HTTP_HOST"), environ.get("HTTP_X_FORWARDED_PROTO"))
        kept_headers = self._kept_headers.get(key)
        if kept_headers is None:
            if key not in self._kept_headers and len(self._kept_headers) < _MAX_KEPT_HEADERS:
                start_response = partial(self._keep_headers, key, start_response)
            return self._application(environ, start_response)
        answer = self._answer(endpoint, environ)
        if answer is None:
            return self._application(environ, start_response)
        body, request_id = answer
        start_response(_OK, kept_headers.complete(length=len(body), request_id=request_id))
        return [body]

    def _load_endpoint(self, path: str) -> DecisionEndpoint | None:
        """Return the endpoint of a path that is called for the first time, or of none; keep it."""
        endpoint = load_endpoint(path)
        if endpoint is not None:
            self._endpoints[path] = endpoint
        return endpoint

    def _has_plain_headers(self, environ: Environ) -> bool:
        """Return whether all headers of a call are plain; clients send the same ones again and again."""
        names = tuple(environ)
        is_plain = self._plain_names.get(names)
        if is_plain is None:
            is_plain = all(name in _PLAIN_HEADERS for name in names if name.startswith("HTTP_"))
            if len(self._plain_names) < _MAX_KEPT_HEADERS:
                self._plain_names[names] = is_plain
        return is_plain

    def _keep_headers(
        self,
        key: HeadersKey,
        start_response: StartResponse,
        status: str,
        headers: Headers,
        *more: object,
    ) -> Any:
        """Keep what Django's answer has as headers, then start that answer."""
        if status == _OK:
            self._kept_headers[key] = KeptHeaders.from_answer(headers)
        return start_response(status, headers, *more)

    def _answer(self, endpoint: DecisionEndpoint, environ: Environ) -> tuple[bytes, str] | None:
        """Return the body and the request id of an answer; None where Django has to answer, with all that it needs."""
        wait_seconds = environ[throttling.WAIT_SECONDS_KEY] = self._call_limits.count_call(environ)
        if wait_seconds:
            return None
        request_id = environ["HTTP_X_REQUEST_ID"] = middleware.choose_request_id(environ)
        body = None
        with deadlines.open_budget(kept_settings.DECISION_SECONDS) as budget:
            try:
                with self._slots.acquire(is_decision=True), middleware.LogContext(environ) as address:
                    actor = _authenticate(environ["HTTP_AUTHORIZATION"])
                    body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
                    answer = _answer_body(endpoint, body, actor, environ)
                    request_log.log_answer(environ, _OK_STATUS, address=address, request_id=request_id)
                metrics.count_response(method="POST", route=endpoint.route, status=_OK_STATUS)
            except Exception as error:
                if not isinstance(error, _EXPECTED_ERRORS) and find_outage(error) is None:
                    log.exception("plain_call_failed")
                environ[admission.SECONDS_LEFT_KEY] = max(budget.seconds_left, 0.0)
                if body is not None:
                    environ["wsgi.input"] = BytesIO(body)
                return None
            finally:
                close_used_connections()
        return answer, request_id


def _is_plain(environ: Environ, max_bytes: int) -> bool:
    """Return whether a call leaves nothing to choose: a bearer token, a body of JSON, and JSON as the answer."""
    length = environ.get("CONTENT_LENGTH") or ""
    return (
        environ["REQUEST_METHOD"] == "POST"
        and environ.get("CONTENT_TYPE") == _JSON_MEDIA_TYPE
        and not environ.get("QUERY_STRING")
        and not environ.get("SCRIPT_NAME")
        and environ.get("HTTP_ACCEPT") in JSON_ACCEPT_HEADERS
        and environ.get("HTTP_AUTHORIZATION", "").startswith("Bearer ")
        and environ.get("HTTP_X_FORWARDED_PROTO") in _SCHEMES
        and length.isascii()
        and length.isdigit()
        and 0 < int(length) <= max_bytes
    )


def _authenticate(authorization: str) -> Actor:
    """Return the caller with groups and roles. Raises LeftToView without a valid token."""
    text = bearer_authentication.parse_token(authorization)
    token = None if text is None else access_tokens.find_valid_token(text=text)
    if token is None:
        raise LeftToView
    return fact_cache.get_actor(urn=token.user.urn)


def _answer_body(endpoint: DecisionEndpoint, body: bytes, actor: Actor, environ: Environ) -> bytes:
    """Return the answer to the body of a plain call. Raises LeftToView, and whatever the view meets as well."""
    request_id = environ["HTTP_X_REQUEST_ID"]
    channel = decision_log.RequestChannel(
        name=lambda: endpoint.channel, by=lambda: actor.urn, request_id=lambda: request_id
    )
    with (
        authorizer.bind_viewer(lambda: actor),
        decision_log.bind_request(channel),
        public_address.bind_request(lambda: WSGIRequest(environ)),
    ):
        return endpoint.answer(body, actor)
