"""Middleware of all interfaces: request ids, request log, metrics, security headers and body limits."""

import random
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from threading import BoundedSemaphore
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django_structlog.middlewares import RequestMiddleware
from ipware import get_client_ip
from python_ipware.modern.defaults import DEFAULT_PRECEDENCE

from authzsite import request_log
from authzsite.middleware_responses import render_refusal
from policies.propagation import metrics

if TYPE_CHECKING:
    from contextvars import Token

#: Bytes of a refused body that are read before the refusal is sent, seconds for them, and bytes read at a time.
MAX_DRAIN_BYTES = 64 * 1024 * 1024
MAX_DRAIN_SECONDS = 20.0
DRAIN_CHUNK_BYTES = 64 * 1024
#: Most bodies that are drained at once: a client that sends nothing holds a thread for as long as it likes.
MAX_DRAINS = 8

GetResponse = Callable[[HttpRequest], HttpResponseBase]

#: Request ids accepted from callers; others could not be found again in a log.
_REQUEST_ID_PATTERN = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")


def set_request_id(get_response: GetResponse) -> GetResponse:
    """Middleware: answer with the request id, the caller's (`X-Request-ID`) or a new one.

    django_structlog reads the same header, so log lines and tasks of the request carry the id too.
    """

    def handle(request: HttpRequest) -> HttpResponseBase:
        identifier = request.META["HTTP_X_REQUEST_ID"] = choose_request_id(request.META)
        response = get_response(request)
        response.headers["X-Request-ID"] = identifier
        return response

    return handle


def choose_request_id(meta: Mapping[str, Any]) -> str:
    """Return the request id that the caller sent (`X-Request-ID`) if it can be found again in a log, else a new one."""
    header: str = meta.get("HTTP_X_REQUEST_ID", "")
    return header if _REQUEST_ID_PATTERN.fullmatch(header) else _create_request_id()


def _create_request_id() -> str:
    """Return a random UUID; not from the operating system's source, since nothing has to be unable to guess it."""
    digits = f"{random.getrandbits(128) & _UUID_RANDOM_BITS | _UUID_VERSION_BITS:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


#: A random UUID has the digit 4 for its version, and a digit from 8 to b for its variant (RFC 9562, section 5.4).
_UUID_VERSION_BITS = 0x4000_8000_0000_0000_0000
_UUID_RANDOM_BITS = ~0xF000_C000_0000_0000_0000


class RequestLogMiddleware(RequestMiddleware):
    """Log one line per request: django_structlog's middleware without the start event, which would be dropped."""

    def prepare(self, request: HttpRequest) -> None:
        """Bind the request id and the caller's address to every log line and task of the request."""
        _bind_request_facts(request.META, _find_logged_address(request.META))

    def handle_response(self, request: HttpRequest, response: HttpResponse) -> None:
        """Log the end of a request; that of a decision as the gateway does, which takes a tenth of the time."""
        bound = structlog.contextvars.get_contextvars()
        if bound.keys() == _BOUND_NAMES and request_log.has_plain_line(request, response):
            address, request_id = bound["ip"], bound["request_id"]
            request_log.log_answer(request.META, response.status_code, address=address, request_id=request_id)
            structlog.contextvars.clear_contextvars()
        else:
            super().handle_response(request, response)


class LogContext:
    """A block whose log lines and tasks have the request id and the caller's address, of a request without a view."""

    __slots__ = ("_meta", "_tokens")

    def __init__(self, meta: Mapping[str, Any]) -> None:
        self._meta = meta
        self._tokens: Mapping[str, Token[Any]] = {}

    def __enter__(self) -> str | None:
        """Begin the block; return the caller's address, None if the connection has none."""
        address = _find_logged_address(self._meta)
        self._tokens = _bind_request_facts(self._meta, address)
        return address

    def __exit__(self, *_error: object) -> None:
        """End the block."""
        # Removing all that is bound anywhere would take longer than the rest of the log line.
        structlog.contextvars.reset_contextvars(**self._tokens)


#: What `_bind_request_facts` binds.
_BOUND_NAMES = {"request_id", "ip"}


def _bind_request_facts(meta: Mapping[str, Any], address: str | None) -> "Mapping[str, Token[Any]]":
    """Bind the request id and the caller's address; return the tokens that undo it."""
    return structlog.contextvars.bind_contextvars(request_id=meta["HTTP_X_REQUEST_ID"], ip=address)


def _find_logged_address(meta: Mapping[str, Any]) -> str | None:
    """Return the caller's address that log lines have; None if the connection has none."""
    if meta.keys().isdisjoint(_FORWARDING_HEADERS):
        address: str | None = meta.get("REMOTE_ADDR")
    else:
        address, _ = get_client_ip(cast("HttpRequest", SimpleNamespace(META=meta)))
    return address


#: Headers in which a proxy may name the caller.
_FORWARDING_HEADERS = frozenset(DEFAULT_PRECEDENCE) - {"REMOTE_ADDR"}


def count_responses(get_response: GetResponse) -> GetResponse:
    """Middleware: count every response by method, route and status, for `/metrics`."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        match = request.resolver_match
        metrics.count_response(
            method=request.method or "", route=match.route if match else None, status=response.status_code
        )
        return response

    return handle


def set_security_headers(get_response: GetResponse) -> GetResponse:
    """Middleware: add the content security policy, unless the view set one."""

    def handle(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        return response

    return handle


def limit_body(get_response: GetResponse) -> GetResponse:
    """Middleware: refuse bodies above the limit of their path with 413, and bodies of unknown length with 411.

    Django applies its own limit only if a view reads ``request.body``; parsers read the stream and bypass it. No more
    of a body is ever read than its declared length, so the header suffices; a chunked body, without that header, would
    be read as empty.
    """

    def handle(request: HttpRequest) -> HttpResponseBase:
        length = get_declared_length(request)
        if not length and request.META.get("HTTP_TRANSFER_ENCODING"):
            drain_body(request)
            return render_refusal(request, HTTPStatus.LENGTH_REQUIRED, "Send the body with its Content-Length.")
        if length > settings.BODY_LIMIT and length > (limit := find_body_limit(request.path)):
            drain_body(request)
            return render_refusal(
                request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The body is larger than {limit:,} bytes."
            )
        return get_response(request)

    return handle


def find_body_limit(path: str) -> int:
    """Return the longest body allowed at this path, in bytes; at least BODY_LIMIT."""
    limits: dict[str, int] = settings.BODY_LIMITS
    return next((limit for prefix, limit in limits.items() if path.startswith(prefix)), settings.BODY_LIMIT)


def drain_body(request: HttpRequest) -> None:
    """Read and discard a body, up to MAX_DRAIN_BYTES and about MAX_DRAIN_SECONDS.

    A client that is still sending when the connection closes reports a broken pipe and never sees the response. Nothing
    is read while MAX_DRAINS other bodies are. A read has no timeout, and none is given up: granian (2.8) answers
    nothing more in the whole process once a request was answered while another thread still reads its body.
    """
    if get_declared_length(request):
        read = request.read
    elif request.META.get("HTTP_TRANSFER_ENCODING") and request.META.get("wsgi.input_terminated"):
        # Django reads no body without a length; the server knows where this one ends.
        read = request.META["wsgi.input"].read
    else:
        return
    if not _free_drains.acquire(blocking=False):
        return
    try:
        _read_to_end(read)
    finally:
        _free_drains.release()


#: Bodies that may be drained at the same time.
_free_drains = BoundedSemaphore(MAX_DRAINS)


def _read_to_end(read: Callable[[int], bytes]) -> None:
    remaining_bytes, deadline = MAX_DRAIN_BYTES, time.monotonic() + MAX_DRAIN_SECONDS
    # A client that has gone reads no response, either.
    with suppress(OSError):
        while remaining_bytes > 0 and time.monotonic() < deadline:
            chunk = read(min(remaining_bytes, DRAIN_CHUNK_BYTES))
            if not chunk:
                return
            remaining_bytes -= len(chunk)


def get_declared_length(request: HttpRequest) -> int:
    """Return the declared length of the body in bytes; 0 if the header is absent or not a number."""
    header: str = request.META.get("CONTENT_LENGTH") or ""
    return int(header) if header.isascii() and header.isdigit() else 0
