"""Bodies of requests are read before the request takes a slot.

The server hands a request over as soon as its head is there, and `read` then waits for the body without a limit. So a
client that sends slowly would keep a slot (`authzsite.admission`) for as long as it likes. Here the body is read in
front of everything else, by a thread that holds nothing. So that slow clients leave threads for others, a body is
refused with 503 while MAX_SLOW_READS have lasted longer than SLOW_PART of BODY_SECONDS, or MAX_SLOW_READS_OF_ADDRESS
of its address. Bodies that arrive at once, however many, are no reason: a proxy sends those of all its clients from one
address. As many as may wait for a slot are read at once, half of them for one address. A body that took longer than
BODY_SECONDS is answered 408.

A read must end before its request is answered: while another thread reads, granian (2.8) answers that request and then
nothing more in the whole process. So a read is never given up (docs/adr/0021), and only a proxy can hang up on a client
that sends nothing at all. Bodies of more than MAX_EARLY_BYTES are left to whoever reads them, because together they
would fill the memory.
"""

import json
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from io import BytesIO
from itertools import count
from threading import Lock
from typing import Any

from django.conf import settings

from authzsite import middleware
from policies.outages import RETRY_SECONDS
from policies.propagation import metrics

Environ = dict[str, Any]
Application = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

#: Longest body that is read early, in bytes.
MAX_EARLY_BYTES = 1024 * 1024

#: After this part of BODY_SECONDS a read is slow.
SLOW_PART = 0.1

#: Most slow reads at once, of all clients and of one address.
MAX_SLOW_READS, MAX_SLOW_READS_OF_ADDRESS = 64, 16

_DETAILS = {
    HTTPStatus.REQUEST_TIMEOUT: "The body did not arrive in time.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Too many bodies arrive slowly at the moment; ask again.",
}


class EarlyBodies:
    """A WSGI application that reads the body of each request before it hands the request to `application`."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._lock = Lock()
        # Number of a read in progress → the address of its client, and when it began.
        self._reads: dict[int, tuple[str, float]] = {}
        self._numbers = count()

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request; 408 or 503 if its body is not there."""
        text = environ.get("CONTENT_LENGTH") or ""
        length = int(text) if text.isascii() and text.isdigit() else 0
        if 0 < length <= MAX_EARLY_BYTES and (
            # One that is too long for its path is refused unread.
            length <= settings.BODY_LIMIT or length <= middleware.find_body_limit(environ["PATH_INFO"])
        ):
            refused_status = self._read_body(environ, length)
            if refused_status is not None:
                return _refuse(environ, start_response, refused_status)
        return self._application(environ, start_response)

    def _read_body(self, environ: Environ, length: int) -> HTTPStatus | None:
        """Replace the stream of a request by its body; return the status of the refusal instead if there is one."""
        started = time.monotonic()
        number = self._begin_read(environ.get("REMOTE_ADDR", ""), started)
        if number is None:
            return HTTPStatus.SERVICE_UNAVAILABLE
        try:
            environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read(length))
        finally:
            with self._lock:
                del self._reads[number]
        return HTTPStatus.REQUEST_TIMEOUT if time.monotonic() - started > settings.BODY_SECONDS else None

    def _begin_read(self, address: str, now: float) -> int | None:
        """Return the number of a read that begins; None if there are too many already."""
        with self._lock:
            # With fewer reads in progress no limit can be reached.
            if len(self._reads) >= MAX_SLOW_READS_OF_ADDRESS and self._is_full(address, now):
                return None
            number = next(self._numbers)
            self._reads[number] = (address, now)
            return number

    def _is_full(self, address: str, now: float) -> bool:
        """Whether a limit is reached, of all clients or of this address."""
        starts_of_address = [started for client, started in self._reads.values() if client == address]
        return (
            len(self._reads) >= settings.REQUESTS_WAITING
            or len(starts_of_address) >= settings.REQUESTS_WAITING / 2
            or _count_slow((started for _, started in self._reads.values()), now) >= MAX_SLOW_READS
            or _count_slow(starts_of_address, now) >= MAX_SLOW_READS_OF_ADDRESS
        )


def _count_slow(starts: Iterable[float], now: float) -> int:
    slow_seconds = SLOW_PART * settings.BODY_SECONDS
    return sum(now - started > slow_seconds for started in starts)


def _refuse(environ: Environ, start_response: Callable[..., Any], status: HTTPStatus) -> Iterable[bytes]:
    problem = {
        "type": "about:blank",
        "title": status.phrase,
        "status": status.value,
        "detail": _DETAILS[status],
    }
    content = json.dumps(problem).encode()
    headers = [
        ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(content))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Connection", "close"),
    ]
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers.append(("Retry-After", str(RETRY_SECONDS)))
    metrics.count_response(method=environ["REQUEST_METHOD"], route=None, status=status.value)
    start_response(f"{status.value} {status.phrase}", headers)
    return [content]
