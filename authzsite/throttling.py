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

from authzsite.middleware import Handler, drain
from authzsite.middleware_responses import DOORS, refusal

#: Where somebody sends a name and a password, or a secret instead of them.
SIGN_INS = frozenset(
    {"/login", "/logIn", "/logIn/", "/reset", "/signup", "/signUp", "/signUp/", "/auth/signUp", "/auth/signUp/"}
)

MINUTE = 60

#: How many callers a process tells apart; where there are more in a minute, it lets the new ones pass.
MOST = 100_000

_NOWHERE = "::"

#: Which part of the limit a process counts before it tells the others.
_PART = 50

log = structlog.get_logger(__name__)


class Meter:
    """Counts the calls of each caller in this minute, up to a limit; 0 counts nothing."""

    def __init__(self, name: str, limit: int, clock: Callable[[], float] = time.time) -> None:
        self.name = name
        self.limit = limit
        self.clock = clock
        self._lock = Lock()
        self._minute = 0
        # Caller → what was counted here since the others were told, and what all had counted by then.
        self._counts: dict[bytes, list[int]] = {}
        self._alone_in = -1

    def wait(self, caller: bytes) -> int:
        """Count a call, and return for how many seconds the caller has to wait: 0 where it may pass."""
        if not self.limit:
            return 0
        now = self.clock()
        minute = int(now // MINUTE)
        with self._lock:
            if minute != self._minute:
                self._minute, self._counts = minute, {}
            counted = self._counts.get(caller)
            if counted is None:
                if len(self._counts) >= MOST:
                    return 0
                counted = self._counts[caller] = [0, 0]
            counted[0] += 1
            told = 0
            if settings.REDIS_URL and counted[0] >= max(1, self.limit // _PART) and self._alone_in != minute:
                told, counted[0] = counted[0], 0
                counted[1] += told
        if told:
            self._tell(caller, minute, counted, told)
        return 0 if counted[0] + counted[1] <= self.limit else max(1, int((minute + 1) * MINUTE - now))

    def _tell(self, caller: bytes, minute: int, counted: list[int], told: int) -> None:
        key = f"throttle:{self.name}:{minute}:{caller.hex()}"
        try:
            cache.add(key, 0, timeout=2 * MINUTE)
            total = cache.incr(key, told)
        except (RedisError, ValueError):
            self._alone_in = minute
            log.warning("throttle_alone", meter=self.name)
            return
        with self._lock:
            counted[1] = max(counted[1], total)


def limited(get_response: Handler, clock: Callable[[], float] = time.time) -> Handler:
    """Turn away with 429 and Retry-After who calls too often, in the form of the door."""
    of_token = Meter("token", settings.CALLS_PER_TOKEN, clock)
    of_address = Meter("address", settings.CALLS_PER_ADDRESS, clock)
    of_sign_in = Meter("sign-in", settings.SIGN_INS_PER_ADDRESS, clock)

    def handle(request: HttpRequest) -> HttpResponseBase:
        wait = 0
        if request.path.startswith(DOORS):
            wait = of_address.wait(_network(address_of(request)))
            header = request.META.get("HTTP_AUTHORIZATION")
            if header and not wait:
                wait = of_token.wait(hashlib.blake2b(header.encode(), digest_size=16).digest())
        if not wait and request.method == "POST" and request.path in SIGN_INS:
            wait = of_sign_in.wait(_network(address_of(request)))
        if not wait:
            return get_response(request)
        drain(request)
        return refusal(
            request,
            HTTPStatus.TOO_MANY_REQUESTS,
            f"These are too many calls in one minute; call again in {wait} s.",
            {"Retry-After": str(wait)},
        )

    return handle


def address_of(request: HttpRequest) -> str:
    """Return the address of who calls: that of the connection, or what the nearest PROXIES proxies say of it.

    Each proxy adds at the end of X-Forwarded-For who called it; what stands before those is anybody's word. What is no
    address is the empty one.
    """
    connected: str = request.META.get("REMOTE_ADDR") or _NOWHERE
    if not settings.PROXIES:
        return connected
    named = [one.strip() for one in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    if len(named) < settings.PROXIES:
        return connected
    try:
        return str(ip_address(named[-settings.PROXIES]))
    except ValueError:
        return _NOWHERE


@lru_cache(10_000)
def _network(address: str) -> bytes:
    """Return what tells one caller from another: with the newer addresses a household has a whole network."""
    found = ip_address(address)
    is_newer = isinstance(found, IPv6Address) and found.ipv4_mapped is None
    return ip_network((found, 64), strict=False).network_address.packed if is_newer else found.packed
