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

from authzsite.middleware import GetResponse, drain_body
from authzsite.middleware_responses import render_refusal
from policies import deadlines
from policies.outages import RETRY_SECONDS

#: Answered at once and beside all others.
HEALTH_PATHS = ("/health", "/health/live", "/health/ready")

#: Where decisions are asked for; everything below these paths is one.
DECISION_PATHS = (
    "/access/",
    "/api/v1/authorize",
    "/api/v1/granted-privileges",
    "/api/v1/what",
    "/api/v1/who",
)

#: The part of the places that only decisions take.
_DECISION_SLOTS_DIVISOR = 4

_BUSY_DETAIL = "As many requests as this process serves at once are waiting already; ask again."


class NoFreeSlot(Exception):
    """A request that did not get its turn in time."""


class RequestSlots:
    """The places of a process: `at_once` requests work, `waiting` more wait for one of these."""

    def __init__(self, *, max_running: int, max_waiting: int) -> None:
        self._all_slots = threading.Semaphore(max_running)
        self._other_slots = threading.Semaphore(max(max_running - max_running // _DECISION_SLOTS_DIVISOR, 1))
        self._admitted_slots = threading.Semaphore(max_running + max_waiting)

    @contextmanager
    def acquire(self, *, is_decision: bool) -> Iterator[None]:
        """Hold a place while the block lasts; raises NoTurn where none is free before the budget is spent."""
        semaphores = (self._all_slots,) if is_decision else (self._other_slots, self._all_slots)
        with ExitStack() as stack:
            if not self._admitted_slots.acquire(blocking=False):
                raise NoFreeSlot
            stack.callback(self._admitted_slots.release)
            for semaphore in semaphores:
                _acquire(semaphore)
                stack.callback(semaphore.release)
            yield


def _acquire(semaphore: threading.Semaphore) -> None:
    if semaphore.acquire(blocking=False):
        return
    with deadlines.spend():
        is_acquired = semaphore.acquire(timeout=deadlines.find_seconds_left())
    if not is_acquired:
        raise NoFreeSlot


def admit(get_response: GetResponse) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: give each request its budget and its turn, and say with every 503 when to ask again."""
    slots = RequestSlots(max_running=settings.REQUESTS_AT_ONCE, max_waiting=settings.REQUESTS_WAITING)

    def handle(request: HttpRequest) -> HttpResponseBase:
        if request.path in HEALTH_PATHS:
            return get_response(request)
        is_decision = request.path.startswith(DECISION_PATHS)
        with deadlines.open_budget(settings.DECISION_SECONDS if is_decision else settings.REQUEST_SECONDS):
            try:
                with slots.acquire(is_decision=is_decision):
                    response = get_response(request)
            except NoFreeSlot:
                response = _refuse(request)
        if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            response.headers.setdefault("Retry-After", str(RETRY_SECONDS))
        return response

    return handle


def _refuse(request: HttpRequest) -> HttpResponse:
    drain_body(request)
    return render_refusal(request, HTTPStatus.SERVICE_UNAVAILABLE, _BUSY_DETAIL)
