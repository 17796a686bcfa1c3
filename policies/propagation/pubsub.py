"""How processes tell one another at once that policies changed; who misses it finds out within a second.

Redis carries it where there is one, else PostgreSQL. On SQLite alone nobody rings. A message says which facts a write
touched (policies.propagation.invalidation), or nothing but "look": what changed is in the database, so a message that
is lost, late, doubled or forged is made good within a second.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Protocol

import psycopg
import redis
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from redis.exceptions import RedisError

from policies import deadlines
from policies.deadlines import BoundedConnection

CHANNEL = "policies_changed"

#: What goes wrong when whoever carries the messages is away.
AWAY = (RedisError, psycopg.Error, DatabaseError, OSError)

#: Seconds to reach who carries the messages, and for which a Redis that did not answer is not asked again.
_PATIENCE = 1
_AWAY_SECONDS = 5.0

#: Bytes of the longest message that PostgreSQL carries.
_LONGEST = 7999


class Bell(Protocol):
    """Waits for others to ring."""

    def wait(self, seconds: float) -> Sequence[str]:
        """Return what is said as soon as somebody rings, nothing after that many seconds; raises one of AWAY."""
        ...


class _Redis:
    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    def wait(self, seconds: float) -> Sequence[str]:
        message = self._subscription.get_message(timeout=seconds)
        return () if message is None else (message["data"].decode(errors="replace"),)


class _Postgres:
    def __init__(self, link: psycopg.Connection[Any]) -> None:
        self._link = link

    def wait(self, seconds: float) -> Sequence[str]:
        return [heard.payload for heard in self._link.notifies(timeout=seconds, stop_after=1)]


class _Silent:
    def wait(self, seconds: float) -> Sequence[str]:
        threading.Event().wait(seconds)
        return ()


class _Absence:
    """Until when (monotonic) a Redis that did not answer counts as away, so that not every write waits for it."""

    def __init__(self) -> None:
        self.until = float("-inf")


_absence = _Absence()


def ring(message: str = "") -> None:
    """Say this to every process, or nothing but that it is to look at once; raises one of AWAY.

    What is too long to be carried becomes the latter. A Redis that did not answer is not asked again for some seconds.
    """
    if settings.REDIS_URL:
        if time.monotonic() < _absence.until:
            raise redis.ConnectionError("Redis did not answer a moment ago.")
        # A server that is there and says nothing must not hold the writer for longer than one that is away.
        try:
            with closing(_redis(socket_timeout=_PATIENCE)) as client:
                client.publish(CHANNEL, message)
        except (RedisError, OSError):
            _absence.until = time.monotonic() + _AWAY_SECONDS
            raise
    elif connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, message if len(message) <= _LONGEST else ""])


def check_redis(*, seconds: float = _PATIENCE) -> None:
    """Return once Redis has answered, at once where the site runs without; raises RedisError or OSError.

    To be called before what would wait longer for a server that says nothing.
    """
    if settings.REDIS_URL:
        limits = {"socket_connect_timeout": seconds, "socket_timeout": seconds}
        with closing(redis.Redis.from_url(settings.REDIS_URL, **limits)) as client:
            client.ping()


@contextmanager
def hung() -> Iterator[Bell]:
    """A bell of this process's own, which hears whatever is rung from now on; raises one of AWAY."""
    if settings.REDIS_URL:
        with closing(_redis()) as client, client.pubsub(ignore_subscribe_messages=True) as subscription:
            subscription.subscribe(CHANNEL)
            # The answer to the subscription: from then on nothing is missed.
            subscription.get_message(timeout=_PATIENCE)
            yield _Redis(subscription)
    elif connection.vendor == "postgresql":
        # A connection apart from the pool: it listens as long as the process lives.
        parameters = connection.get_connection_params() | {"autocommit": True, "connect_timeout": _PATIENCE}
        with BoundedConnection.connect(**parameters) as link:
            with deadlines.within(_PATIENCE):
                link.execute(f"LISTEN {CHANNEL}")
            yield _Postgres(link)
    else:
        yield _Silent()


def _redis(**more: float) -> Any:
    return redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=_PATIENCE, **more)
