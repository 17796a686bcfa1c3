"""What every answer carries and what no request may bring, whichever door it comes through."""

import re
import uuid
from collections.abc import Callable
from http import HTTPStatus

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django_structlog.middlewares import RequestMiddleware
from python_ipware.modern.defaults import DEFAULT_PRECEDENCE

from authzsite.middleware_responses import render_refusal
from policies.propagation import metrics

#: How much of a refused body is read before its refusal is sent, and how much at a time, in bytes.
MAX_DRAIN_BYTES = 64 * 1024 * 1024
DRAIN_CHUNK_BYTES = 64 * 1024

GetResponse = Callable[[HttpRequest], HttpResponseBase]

#: What a caller may call its request; anything else could not be found again in a log.
_REQUEST_ID_PATTERN = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")


def set_request_id(get_response: GetResponse) -> GetResponse:
    """Answer with the id of the request, that of the caller (`X-Request-ID`) or a new one.

    django_structlog reads the same header, so the lines of the log and the tasks that the request queues carry it, too.
    """

    def handle(request: HttpRequest) -> HttpResponseBase:
        header = request.META.get("HTTP_X_REQUEST_ID", "")
        identifier = header if _REQUEST_ID_PATTERN.fullmatch(header) else str(uuid.uuid4())
        request.META["HTTP_X_REQUEST_ID"] = identifier
        response = get_response(request)
        response.headers["X-Request-ID"] = identifier
        return response

    return handle


class RequestLogMiddleware(RequestMiddleware):
    """One line for each request: django_structlog's, without the one at its beginning, which would be dropped."""

    def prepare(self, request: HttpRequest) -> None:
        """Let every line and task of the request carry its id, and the address of who calls."""
        structlog.contextvars.bind_contextvars(request_id=request.META["HTTP_X_REQUEST_ID"])
        if request.META.keys().isdisjoint(_FORWARDING_HEADERS):
            structlog.contextvars.bind_contextvars(ip=request.META.get("REMOTE_ADDR"))
        else:
            self.bind_ip(request)


#: Headers in which a proxy may say for whom it calls.
_FORWARDING_HEADERS = frozenset(DEFAULT_PRECEDENCE) - {"REMOTE_ADDR"}


def count_responses(get_response: GetResponse) -> GetResponse:
    """Count every answer by its route and status, for `/metrics`."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        match = request.resolver_match
        metrics.count_response(
            method=request.method or "", route=match.route if match else None, status=response.status_code
        )
        return response

    return handle


def set_security_headers(get_response: GetResponse) -> GetResponse:
    """Add the content security policy, unless a view set one of its own."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        return response

    return handle


def limit_body(get_response: GetResponse) -> GetResponse:
    """Refuse bodies above the limit of their path with 413, and bodies of unknown length with 411, before a view reads.

    Django applies its own limit only where a view asks for ``request.body``; parsers read the stream and pass it by.
    No more of a body is ever read than its declared length, so the header is enough; one that is sent in chunks,
    without that header, would be read as empty.
    """

    def handle(request: HttpRequest) -> HttpResponseBase:
        length = get_declared_length(request)
        if not length and request.META.get("HTTP_TRANSFER_ENCODING"):
            return render_refusal(request, HTTPStatus.LENGTH_REQUIRED, "Send the body with its Content-Length.")
        if length > settings.BODY_LIMIT and length > (limit := find_body_limit(request.path)):
            drain_body(request)
            return render_refusal(
                request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is larger than {limit:,} bytes."
            )
        return get_response(request)

    return handle


def find_body_limit(path: str) -> int:
    """Return how large a body at this path may be, in bytes; never less than BODY_LIMIT."""
    limits: dict[str, int] = settings.BODY_LIMITS
    return next((limit for prefix, limit in limits.items() if path.startswith(prefix)), settings.BODY_LIMIT)


def drain_body(request: HttpRequest) -> None:
    """Read a body and keep nothing of it, up to a bound.

    A client that is still sending when the connection closes reports a broken pipe and never sees the answer.
    """
    remaining_bytes = MAX_DRAIN_BYTES
    while remaining_bytes > 0 and (chunk := request.read(min(remaining_bytes, DRAIN_CHUNK_BYTES))):
        remaining_bytes -= len(chunk)


def get_declared_length(request: HttpRequest) -> int:
    """The length of the body in bytes as its header says; 0 where there is none or it is no number."""
    header: str = request.META.get("CONTENT_LENGTH") or ""
    return int(header) if header.isascii() and header.isdigit() else 0
