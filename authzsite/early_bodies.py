"""Bodies of requests are read before the request takes a slot.

The server hands a request over as soon as its head is there, and `read` then waits for the body without a limit. So a
client that sends slowly would keep a slot (`authzsite.admission`) for as long as it likes. Here the body is read in
front of everything else, by a thread that holds nothing: at most MAX_READS at once, MAX_READS_OF_ADDRESS of them for
one address, so that slow clients leave threads for others. A further body is refused with 503, one that took longer
than BODY_SECONDS with 408.

A read must end before its request is answered: while another thread reads, granian (2.8) answers that request and then
nothing more in the whole process. So a read is never given up (docs/adr/0021), and only a proxy can hang up on a client
that sends nothing at all. Bodies of more than MAX_EARLY_BYTES are left to whoever reads them, because together they
would fill the memory.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable
from http import HTTPStatus
from io import BytesIO
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

#: Most bodies that are read at once, of all clients and of one address.
MAX_READS, MAX_READS_OF_ADDRESS = 64, 16

_DETAILS = {
    HTTPStatus.REQUEST_TIMEOUT: "The body did not arrive in time.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Too many bodies arrive slowly at the moment; ask again.",
}


class EarlyBodies:
    """A WSGI application that reads the body of each request before it hands the request to `application`."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._lock = Lock()
        # Address → number of its bodies that are being read.
        self._reads_by_address: Counter[str] = Counter()
        self._read_count = 0

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
        address = environ.get("REMOTE_ADDR", "")
        if not self._begin_read(address):
            return HTTPStatus.SERVICE_UNAVAILABLE
        started = time.monotonic()
        try:
            environ["wsgi.input"] = BytesIO(environ["wsgi.input"].read(length))
        finally:
            self._end_read(address)
        return HTTPStatus.REQUEST_TIMEOUT if time.monotonic() - started > settings.BODY_SECONDS else None

    def _begin_read(self, address: str) -> bool:
        """Count a read that begins; return False if there are too many already."""
        with self._lock:
            if self._read_count >= MAX_READS or self._reads_by_address[address] >= MAX_READS_OF_ADDRESS:
                return False
            self._read_count += 1
            self._reads_by_address[address] += 1
            return True

    def _end_read(self, address: str) -> None:
        with self._lock:
            self._read_count -= 1
            self._reads_by_address[address] -= 1
            if not self._reads_by_address[address]:
                del self._reads_by_address[address]


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
