"""How many requests work at once, and how long each may wait.

Whoever asks whether the process is alive must find a thread that is free, however many requests wait for a database
that says nothing. So a process has more threads (`authzsite.serving`) than requests that it lets work: REQUESTS_AT_ONCE
work, REQUESTS_WAITING wait for their turn, and what comes on top is answered 503 at once. A quarter of the places is
for decisions alone, so that slow pages and writes leave room for them.

Every request has a budget of seconds that it may spend on waiting (`policies.deadlines`): for its turn, for the
database and for other requests. A decision has DECISION_SECONDS, everything else REQUEST_SECONDS.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from authzsite.middleware import Handler, drain
from authzsite.middleware_responses import refusal
from policies import deadlines
from policies.outages import RETRY_SECONDS

#: Answered at once and beside all others.
HEALTH = ("/health", "/health/live", "/health/ready")

#: Where decisions are asked for; everything below these paths is one.
DECISIONS = (
    "/access/",
    "/api/v1/authorize",
    "/api/v1/granted-privileges",
    "/api/v1/what",
    "/api/v1/who",
)

#: The part of the places that only decisions take.
_DECISIONS_SHARE = 4

_BUSY = "As many requests as this process serves at once are waiting already; ask again."


class NoTurn(Exception):
    """A request that did not get its turn in time."""


class Places:
    """The places of a process: `at_once` requests work, `waiting` more wait for one of these."""

    def __init__(self, *, at_once: int, waiting: int) -> None:
        self._all = threading.Semaphore(at_once)
        self._others = threading.Semaphore(max(at_once - at_once // _DECISIONS_SHARE, 1))
        self._present = threading.Semaphore(at_once + waiting)

    @contextmanager
    def take(self, *, is_decision: bool) -> Iterator[None]:
        """Hold a place while the block lasts; raises NoTurn where none is free before the budget is spent."""
        wanted = (self._all,) if is_decision else (self._others, self._all)
        with ExitStack() as stack:
            if not self._present.acquire(blocking=False):
                raise NoTurn
            stack.callback(self._present.release)
            for places in wanted:
                _acquire(places)
                stack.callback(places.release)
            yield


def _acquire(places: threading.Semaphore) -> None:
    if places.acquire(blocking=False):
        return
    with deadlines.spend():
        is_acquired = places.acquire(timeout=deadlines.find_seconds_left())
    if not is_acquired:
        raise NoTurn


def admit(get_response: Handler) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: give each request its budget and its turn, and say with every 503 when to ask again."""
    places = Places(at_once=settings.REQUESTS_AT_ONCE, waiting=settings.REQUESTS_WAITING)

    def handle(request: HttpRequest) -> HttpResponseBase:
        if request.path in HEALTH:
            return get_response(request)
        is_decision = request.path.startswith(DECISIONS)
        with deadlines.within(settings.DECISION_SECONDS if is_decision else settings.REQUEST_SECONDS):
            try:
                with places.take(is_decision=is_decision):
                    response = get_response(request)
            except NoTurn:
                response = _refuse(request)
        if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            response.headers.setdefault("Retry-After", str(RETRY_SECONDS))
        return response

    return handle


def _refuse(request: HttpRequest) -> HttpResponse:
    drain(request)
    return refusal(request, HTTPStatus.SERVICE_UNAVAILABLE, _BUSY)
