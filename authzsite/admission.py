"""Admission of requests: the number that run at once, and the time for which each may wait.

A liveness check must find a free thread, however many requests wait for a database that does not answer. So a process
has more threads (`authzsite.serving`) than requests that it runs: REQUESTS_AT_ONCE run, REQUESTS_WAITING wait for a
slot, and any further one is answered 503 at once. A quarter of the slots is reserved for decisions, so that slow pages
and writes leave room for them.

Every request has a budget of seconds for waiting (`policies.deadlines`): for its slot, for the database and for locks.
A decision has DECISION_SECONDS, everything else REQUEST_SECONDS.
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

#: Paths answered at once, without a slot.
HEALTH_PATHS = ("/health", "/health/live", "/health/ready")

#: Prefixes of the paths that answer decisions.
DECISION_PATHS = (
    "/access/",
    "/api/v1/authorize",
    "/api/v1/granted-privileges",
    "/api/v1/what",
    "/api/v1/who",
)

#: One slot in so many is reserved for decisions.
_DECISION_SLOTS_DIVISOR = 4

#: Keys of a request's META: the slots that its process shares, and the seconds left of a budget opened before.
SLOTS_KEY, SECONDS_LEFT_KEY = "authzsite.request_slots", "authzsite.seconds_left"

_BUSY_DETAIL = "As many requests as this process serves at once are waiting already; ask again."


class NoFreeSlot(Exception):
    """No slot was free for a request in time."""


class RequestSlots:
    """The slots of a process: `max_running` requests run, `max_waiting` more wait for a slot."""

    def __init__(self, *, max_running: int, max_waiting: int) -> None:
        self._all_slots = threading.Semaphore(max_running)
        self._other_slots = threading.Semaphore(max(max_running - max_running // _DECISION_SLOTS_DIVISOR, 1))
        self._admitted_slots = threading.Semaphore(max_running + max_waiting)

    @contextmanager
    def acquire(self, *, is_decision: bool) -> Iterator[None]:
        """Hold a slot during the block; raises NoFreeSlot if none is free before the budget is spent."""
        semaphores = (self._all_slots,) if is_decision else (self._other_slots, self._all_slots)
        with ExitStack() as stack:
            if not self._admitted_slots.acquire(blocking=False):
                raise NoFreeSlot
            stack.callback(self._admitted_slots.release)
            for semaphore in semaphores:
                _acquire(semaphore)
                stack.callback(semaphore.release)
            yield


def create_slots() -> RequestSlots:
    """Return slots in the numbers of the settings."""
    return RequestSlots(max_running=settings.REQUESTS_AT_ONCE, max_waiting=settings.REQUESTS_WAITING)


def _acquire(semaphore: threading.Semaphore) -> None:
    if semaphore.acquire(blocking=False):
        return
    with deadlines.spend():
        is_acquired = semaphore.acquire(timeout=deadlines.find_seconds_left())
    if not is_acquired:
        raise NoFreeSlot


def admit(get_response: GetResponse) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: give each request its budget and a slot, and add Retry-After to every 503."""
    own_slots = create_slots()

    def handle(request: HttpRequest) -> HttpResponseBase:
        if request.path in HEALTH_PATHS:
            return get_response(request)
        slots: RequestSlots = request.META.get(SLOTS_KEY) or own_slots
        is_decision = request.path.startswith(DECISION_PATHS)
        seconds = settings.DECISION_SECONDS if is_decision else settings.REQUEST_SECONDS
        with deadlines.open_budget(request.META.get(SECONDS_LEFT_KEY, seconds)):
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
