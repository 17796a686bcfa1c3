"""How often one token and one address may call the doors for programs, and how often one address may try to sign in.

Counted are calls in each minute of the clock. A process counts for itself in memory. Where there is Redis it adds what
it counted to a number that all processes share, once for every fiftieth of the limit, and learns what the others
counted. So a request costs a hash and a look into a dictionary, one in a fiftieth of the limit an exchange with Redis,
and each further process lets pass up to a fiftieth more than it should. While Redis is away each counts alone.

Requests are turned away before their token is looked up, so tokens are told apart by what was sent.
"""

import hashlib
import time
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Lock

import structlog
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase
from redis.exceptions import RedisError

from authzsite.middleware import GetResponse, drain_body
from authzsite.middleware_responses import API_PREFIXES, render_refusal

#: Where somebody sends a name and a password, or a secret instead of them.
SIGN_IN_PATHS = frozenset(
    {"/login", "/logIn", "/logIn/", "/reset", "/signup", "/signUp", "/signUp/", "/auth/signUp", "/auth/signUp/"}
)

MINUTE_SECONDS = 60

#: How many callers a process tells apart; where there are more in a minute, it lets the new ones pass.
MAX_CALLERS = 100_000

_NO_ADDRESS = "::"

#: Which part of the limit a process counts before it tells the others.
_SYNC_DIVISOR = 50

log = structlog.get_logger(__name__)


class RateLimiter:
    """Counts the calls of each caller in this minute, up to a limit; 0 counts nothing."""

    def __init__(self, name: str, limit: int, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.limit = limit
        self.clock = clock
        self._lock = Lock()
        self._minute = 0
        # Caller → what was counted here since the others were told, and what all had counted by then.
        self._counts: dict[bytes, list[int]] = {}
        self._degraded_minute = -1

    def count_call(self, caller: bytes) -> int:
        """Count a call, and return for how many seconds the caller has to wait: 0 where it may pass."""
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
            if (
                settings.REDIS_URL
                and counts[0] >= max(1, self.limit // _SYNC_DIVISOR)
                and self._degraded_minute != minute
            ):
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
        except (RedisError, ValueError):
            self._degraded_minute = minute
            log.warning("throttle_alone", meter=self.name)
            return
        with self._lock:
            counts[1] = max(counts[1], total)


def rate_limit_middleware(get_response: GetResponse, clock: Callable[[], float] = time.time) -> GetResponse:
    """Turn away with 429 and Retry-After who calls too often, in the form of the door."""
    token_limiter = RateLimiter("token", settings.CALLS_PER_TOKEN, clock)
    address_limiter = RateLimiter("address", settings.CALLS_PER_ADDRESS, clock)
    sign_in_limiter = RateLimiter("sign-in", settings.SIGN_INS_PER_ADDRESS, clock)

    def handle(request: HttpRequest) -> HttpResponseBase:
        wait_seconds = 0
        if request.path.startswith(API_PREFIXES):
            wait_seconds = address_limiter.count_call(_network_key(get_client_address(request)))
            header = request.META.get("HTTP_AUTHORIZATION")
            if header and not wait_seconds:
                wait_seconds = token_limiter.count_call(hashlib.blake2b(header.encode(), digest_size=16).digest())
        if not wait_seconds and request.method == "POST" and request.path in SIGN_IN_PATHS:
            wait_seconds = sign_in_limiter.count_call(_network_key(get_client_address(request)))
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


def get_client_address(request: HttpRequest) -> str:
    """Return the address of who calls: that of the connection, or what the nearest PROXIES proxies say of it.

    Each proxy adds at the end of X-Forwarded-For who called it; what stands before those is anybody's word. What is no
    address is the empty one.
    """
    peer_address: str = request.META.get("REMOTE_ADDR") or _NO_ADDRESS
    if not settings.PROXIES:
        return peer_address
    forwarded_addresses = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    if len(forwarded_addresses) < settings.PROXIES:
        return peer_address
    try:
        return str(ip_address(forwarded_addresses[-settings.PROXIES]))
    except ValueError:
        return _NO_ADDRESS


@lru_cache(10_000)
def _network_key(address: str) -> bytes:
    """Return what tells one caller from another: with the newer addresses a household has a whole network."""
    parsed_address = ip_address(address)
    is_ipv6 = isinstance(parsed_address, IPv6Address) and parsed_address.ipv4_mapped is None
    return ip_network((parsed_address, 64), strict=False).network_address.packed if is_ipv6 else parsed_address.packed
