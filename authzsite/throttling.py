"""Rate limits per minute: calls of one token and one address to interfaces for programs, sign-in attempts per address.

Calls are counted by minutes of the clock. A process counts in memory. With Redis it adds its count to a number shared
by all processes, once for every fiftieth of the limit, and reads the total. So a request costs a hash and a dictionary
lookup, and one in a fiftieth of the limit an exchange with Redis; each further process may exceed the limit by up to a
fiftieth. While Redis is away each process counts alone.

Requests are refused before their token is looked up, so tokens are identified by the header sent.
"""

import hashlib
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase

from authzsite.middleware import GetResponse, drain_body
from authzsite.middleware_responses import API_PREFIXES, render_refusal
from policies.kept_settings import kept_settings
from policies.propagation.pubsub import list_connection_errors

#: Paths that accept a name and a password, or a secret instead of them.
SIGN_IN_PATHS = frozenset(
    {"/login", "/logIn", "/logIn/", "/reset", "/signup", "/signUp", "/signUp/", "/auth/signUp", "/auth/signUp/"}
)

MINUTE_SECONDS = 60

#: Most callers that a process counts in a minute; further ones pass uncounted.
MAX_CALLERS = 100_000

#: Keys of a request's META: the limits that its process shares, and what counting the call has answered already.
LIMITS_KEY, WAIT_SECONDS_KEY = "authzsite.call_limits", "authzsite.wait_seconds"

_NO_ADDRESS = "::"

#: The share of the limit that a process counts before it adds its count to Redis.
_SYNC_DIVISOR = 50

log = structlog.get_logger(__name__)


class RateLimiter:
    """Counts the calls of each caller in the current minute, up to a limit; a limit of 0 counts nothing."""

    def __init__(self, name: str, limit: int, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.limit = limit
        self.clock = clock
        self._max_unsynced = max(1, limit // _SYNC_DIVISOR)
        self._lock = Lock()
        self._minute = 0
        # Caller → [calls counted here since the last exchange with Redis, total at that time].
        self._counts: dict[bytes, list[int]] = {}
        self._degraded_minute = -1

    def count_call(self, caller: bytes) -> int:
        """Count a call; return the seconds for which the caller has to wait: 0 if it may pass."""
        if not self.limit:
            return 0
        now = self.clock()
        minute = int(now // MINUTE_SECONDS)
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, {}
            counts = self._counts.get(caller)
            if counts is None:
                if len(self._counts) >= MAX_CALLERS:
                    return 0
                counts = self._counts[caller] = [0, 0]
            counts[0] += 1
            unsynced_count = 0
            if counts[0] >= self._max_unsynced and self._degraded_minute != minute and settings.REDIS_URL:
                unsynced_count, counts[0] = counts[0], 0
                counts[1] += unsynced_count
        if unsynced_count:
            self._sync_with_redis(caller, minute, counts, unsynced_count)
        return 0 if counts[0] + counts[1] <= self.limit else max(1, int((minute + 1) * MINUTE_SECONDS - now))

    def _sync_with_redis(self, caller: bytes, minute: int, counts: list[int], unsynced_count: int) -> None:
        key = f"throttle:{self.name}:{minute}:{caller.hex()}"
        try:
            cache.add(key, 0, timeout=2 * MINUTE_SECONDS)
            total = cache.incr(key, unsynced_count)
        except list_connection_errors(ValueError):
            self._degraded_minute = minute
            log.warning("rate_not_shared", meter=self.name)
            return
        with self._lock:
            counts[1] = max(counts[1], total)


class CallLimits:
    """The limits of a process: calls of one address and of one token, and sign-in attempts of one address."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._by_token = RateLimiter("token", settings.CALLS_PER_TOKEN, clock)
        self._by_address = RateLimiter("address", settings.CALLS_PER_ADDRESS, clock)
        self._sign_ins = RateLimiter("sign-in", settings.SIGN_INS_PER_ADDRESS, clock)

    def count_call(self, meta: Mapping[str, Any]) -> int:
        """Count a call to an interface for programs; return the seconds for which the caller has to wait, else 0."""
        wait_seconds = self._by_address.count_call(_build_network_key(_find_address_text(meta)))
        header = meta.get("HTTP_AUTHORIZATION")
        if header and not wait_seconds:
            wait_seconds = self._by_token.count_call(_digest_header(header))
        return wait_seconds

    def count_sign_in(self, meta: Mapping[str, Any]) -> int:
        """Count a sign-in attempt; return the seconds for which the caller has to wait, else 0."""
        return self._sign_ins.count_call(_build_network_key(_find_address_text(meta)))


def rate_limit_middleware(get_response: GetResponse, clock: Callable[[], float] = time.time) -> GetResponse:
    """Middleware: refuse callers above a limit with 429 and Retry-After, in the format of the interface.

    A call that `authzsite.decision_gateway` has counted is not counted again.
    """
    own_limits = CallLimits(clock)

    def handle(request: HttpRequest) -> HttpResponseBase:
        limits: CallLimits = request.META.get(LIMITS_KEY) or own_limits
        wait_seconds = 0
        if request.path.startswith(API_PREFIXES):
            counted_seconds = request.META.get(WAIT_SECONDS_KEY)
            wait_seconds = limits.count_call(request.META) if counted_seconds is None else counted_seconds
        if not wait_seconds and request.method == "POST" and request.path in SIGN_IN_PATHS:
            wait_seconds = limits.count_sign_in(request.META)
        if not wait_seconds:
            return get_response(request)
        drain_body(request)
        return render_refusal(
            request,
            HTTPStatus.TOO_MANY_REQUESTS,
            f"These are too many calls in one minute; call again in {wait_seconds} s.",
            {"Retry-After": str(wait_seconds)},
        )

    return handle


def _digest_header(header: str) -> bytes:
    """Return the bytes that identify a token in the counts, which do not contain it."""
    return hashlib.blake2b(header.encode(), digest_size=16).digest()


def get_client_address(request: HttpRequest) -> str:
    """Return the address of the caller of a request, as `find_client_address`."""
    return find_client_address(request.META)


def find_client_address(meta: Mapping[str, Any]) -> str:
    """Return the address of the caller: that of the connection, or the one the nearest PROXIES proxies report.

    Each proxy appends its caller to X-Forwarded-For; earlier entries are not trustworthy. Anything there that is not
    an address, and a connection without one (a Unix socket), becomes `::`.
    """
    return _normalize_address(_find_address_text(meta))


def _find_address_text(meta: Mapping[str, Any]) -> str:
    """Return the caller's address as the connection or a proxy names it; the text need not be an address."""
    text: str = meta.get("REMOTE_ADDR") or ""
    proxies = kept_settings.PROXIES
    if proxies:
        forwarded_addresses = meta.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(forwarded_addresses) >= proxies:
            text = forwarded_addresses[-proxies].strip()
    return text


@lru_cache(10_000)
def _normalize_address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        return _NO_ADDRESS


@lru_cache(10_000)
def _build_network_key(text: str) -> bytes:
    """Return the bytes that identify a caller: its IPv4 address, or the /64 network of its IPv6 address."""
    parsed_address = ip_address(_normalize_address(text))
    is_ipv6 = isinstance(parsed_address, IPv6Address) and parsed_address.ipv4_mapped is None
    return ip_network((parsed_address, 64), strict=False).network_address.packed if is_ipv6 else parsed_address.packed
