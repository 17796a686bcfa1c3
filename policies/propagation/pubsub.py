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

TOPIC = "policies_changed"

#: What goes wrong when whoever carries the messages is away.
CONNECTION_ERRORS = (RedisError, psycopg.Error, DatabaseError, OSError)

#: Seconds to reach who carries the messages, and for which a Redis that did not answer is not asked again.
_CONNECT_SECONDS = 1
_REDIS_RETRY_SECONDS = 5.0

#: Bytes of the longest message that PostgreSQL carries.
_MAX_NOTIFY_LENGTH = 7999


class Subscription(Protocol):
    """Waits for others to ring."""

    def wait(self, seconds: float) -> Sequence[str]:
        """Return what is said as soon as somebody rings, nothing after that many seconds; raises one of AWAY."""
        ...


class _RedisSubscription:
    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    def wait(self, seconds: float) -> Sequence[str]:
        message = self._subscription.get_message(timeout=seconds)
        return () if message is None else (message["data"].decode(errors="replace"),)


class _PostgresSubscription:
    def __init__(self, listener: psycopg.Connection[Any]) -> None:
        self._listener = listener

    def wait(self, seconds: float) -> Sequence[str]:
        return [notification.payload for notification in self._listener.notifies(timeout=seconds, stop_after=1)]


class _NullSubscription:
    def wait(self, seconds: float) -> Sequence[str]:
        threading.Event().wait(seconds)
        return ()


class _RedisOutage:
    """Until when (monotonic) a Redis that did not answer counts as away, so that not every write waits for it."""

    def __init__(self) -> None:
        self.ends_at = float("-inf")


_redis_outage = _RedisOutage()


def publish(message: str = "") -> None:
    """Say this to every process, or nothing but that it is to look at once; raises one of AWAY.

    What is too long to be carried becomes the latter. A Redis that did not answer is not asked again for some seconds.
    """
    if settings.REDIS_URL:
        if time.monotonic() < _redis_outage.ends_at:
            raise redis.ConnectionError("Redis did not answer a moment ago.")
        # A server that is there and says nothing must not hold the writer for longer than one that is away.
        try:
            with closing(_connect_redis(socket_timeout=_CONNECT_SECONDS)) as client:
                client.publish(TOPIC, message)
        except (RedisError, OSError):
            _redis_outage.ends_at = time.monotonic() + _REDIS_RETRY_SECONDS
            raise
    elif connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [TOPIC, message if len(message) <= _MAX_NOTIFY_LENGTH else ""])


def check_redis(*, seconds: float = _CONNECT_SECONDS) -> None:
    """Return once Redis has answered, at once where the site runs without; raises RedisError or OSError.

    To be called before what would wait longer for a server that says nothing.
    """
    if settings.REDIS_URL:
        limits = {"socket_connect_timeout": seconds, "socket_timeout": seconds}
        with closing(redis.Redis.from_url(settings.REDIS_URL, **limits)) as client:
            client.ping()


@contextmanager
def subscribe() -> Iterator[Subscription]:
    """A bell of this process's own, which hears whatever is rung from now on; raises one of AWAY."""
    if settings.REDIS_URL:
        with closing(_connect_redis()) as client, client.pubsub(ignore_subscribe_messages=True) as subscription:
            subscription.subscribe(TOPIC)
            # The answer to the subscription: from then on nothing is missed.
            subscription.get_message(timeout=_CONNECT_SECONDS)
            yield _RedisSubscription(subscription)
    elif connection.vendor == "postgresql":
        # A connection apart from the pool: it listens as long as the process lives.
        parameters = connection.get_connection_params() | {"autocommit": True, "connect_timeout": _CONNECT_SECONDS}
        with BoundedConnection.connect(**parameters) as listener:
            with deadlines.open_budget(_CONNECT_SECONDS):
                listener.execute(f"LISTEN {TOPIC}")
            yield _PostgresSubscription(listener)
    else:
        yield _NullSubscription()


def _connect_redis(**options: float) -> Any:
    return redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=_CONNECT_SECONDS, **options)
