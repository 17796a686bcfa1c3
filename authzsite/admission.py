"""Admission of requests: the number that run at once, and the time for which each may wait.

A liveness check must find a free thread, however many requests wait for a database that does not answer. So a process
has more threads (`authzsite.serving`) than requests that it runs: REQUESTS_AT_ONCE run, REQUESTS_WAITING wait for a
slot, and any further one is answered 503 at once. A quarter of the slots is reserved for decisions, so that slow pages
and writes leave room for them.

Every request has a budget of seconds for waiting (`policies.deadlines`): for its slot, for the database and for locks.
A decision has DECISION_SECONDS, everything else REQUEST_SECONDS.
"""

from collections.abc import Callable
from http import HTTPStatus
from queue import Empty, SimpleQueue

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


class SlotPool:
    """A number of equal slots. They are members of a queue of the interpreter, quicker than `threading.Semaphore`."""

    __slots__ = ("_free_slots",)

    def __init__(self, count: int) -> None:
        self._free_slots: SimpleQueue[None] = SimpleQueue()
        for _ in range(count):
            self._free_slots.put(None)

    def take(self) -> None:
        """Take a free slot. Raises NoFreeSlot if there is none."""
        try:
            self._free_slots.get_nowait()
        except Empty:
            raise NoFreeSlot from None

    def wait(self) -> None:
        """Take a slot once one is free. Raises NoFreeSlot if there is none before the budget is spent."""
        try:
            self.take()
        except NoFreeSlot:
            with deadlines.spend():
                try:
                    self._free_slots.get(timeout=deadlines.find_seconds_left())
                except Empty:
                    raise NoFreeSlot from None

    def put_back(self) -> None:
        """Give a slot back."""
        self._free_slots.put(None)


class SlotHolder:
    """A block that holds a slot; raises NoFreeSlot at its beginning if it cannot have one."""

    __slots__ = ("_acquired_pools", "_admitted_slots", "_pools")

    def __init__(self, admitted_slots: SlotPool, pools: tuple[SlotPool, ...]) -> None:
        self._admitted_slots = admitted_slots
        self._pools = pools
        self._acquired_pools: list[SlotPool] = []

    def __enter__(self) -> None:
        """Take a slot of every pool."""
        self._admitted_slots.take()
        self._acquired_pools.append(self._admitted_slots)
        try:
            for pool in self._pools:
                pool.wait()
                self._acquired_pools.append(pool)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_error: object) -> None:
        """Give every slot back."""
        for pool in self._acquired_pools:
            pool.put_back()


class RequestSlots:
    """The slots of a process: `max_running` requests run, `max_waiting` more wait for a slot."""

    def __init__(self, *, max_running: int, max_waiting: int) -> None:
        all_slots = SlotPool(max_running)
        other_slots = SlotPool(max(max_running - max_running // _DECISION_SLOTS_DIVISOR, 1))
        self._admitted_slots = SlotPool(max_running + max_waiting)
        self._decision_pools, self._other_pools = (all_slots,), (other_slots, all_slots)

    def acquire(self, *, is_decision: bool) -> SlotHolder:
        """Return a block that holds a slot; it raises NoFreeSlot if none is free before the budget is spent."""
        return SlotHolder(self._admitted_slots, self._decision_pools if is_decision else self._other_pools)


def create_slots() -> RequestSlots:
    """Return slots in the numbers of the settings."""
    return RequestSlots(max_running=settings.REQUESTS_AT_ONCE, max_waiting=settings.REQUESTS_WAITING)


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
