"""Publish and subscribe between processes, so that a policy change is seen at once and not only by the next poll.

Redis carries the messages if REDIS_URL is set, else PostgreSQL; on SQLite alone nothing is published. A message holds
an invalidation (policies.propagation.invalidation), or is empty: look at the database. The database holds the change
itself and is polled, so the effect of a message that is lost, late or doubled ends within a second.

The client of Redis is imported by whatever connects to it: it has as many modules as an ORM.
"""

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Protocol

import psycopg
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from policies import deadlines
from policies.deadlines import BoundedConnection

TOPIC = "policies_changed"

#: Seconds to connect to the carrier, and seconds for which a Redis that did not answer is not asked again.
_CONNECT_SECONDS = 1
_REDIS_RETRY_SECONDS = 5.0

#: Bytes of the longest message that PostgreSQL carries.
_MAX_NOTIFY_LENGTH = 7999


def list_connection_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of an unreachable message carrier, and others, for an `except` clause.

    That calls this when an error was raised. A client of Redis that is not loaded by then has not raised it.
    """
    # Missing also while another thread is importing the client.
    redis_error = getattr(sys.modules.get("redis.exceptions"), "RedisError", None)
    return (*((redis_error,) if redis_error else ()), psycopg.Error, DatabaseError, OSError, *others)


class Subscription(Protocol):
    """Waits for published messages."""

    def wait(self, seconds: float) -> Sequence[str]:
        """Return the next message, or nothing after that many seconds; raises one of list_connection_errors()."""
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


class NullSubscription:
    """Nothing is published: waits as long as it may."""

    def wait(self, seconds: float) -> Sequence[str]:
        """Return nothing after that many seconds."""
        threading.Event().wait(seconds)
        return ()


class _RedisOutage:
    """Time (monotonic) until which a failed Redis counts as unreachable, so that not every write waits for it."""

    def __init__(self) -> None:
        self.ends_at = float("-inf")


_redis_outage = _RedisOutage()


def publish(message: str = "") -> None:
    """Publish a message to every process; the empty one only asks it to look; raises one of list_connection_errors().

    A message too long for PostgreSQL is sent empty. A Redis that did not answer is not asked again for some seconds.
    """
    if settings.REDIS_URL:
        import redis

        if time.monotonic() < _redis_outage.ends_at:
            raise redis.ConnectionError("Redis did not answer a moment ago.")
        # A Redis that connects and does not answer must not delay the writer longer than an unreachable one.
        try:
            with closing(_connect_redis(socket_timeout=_CONNECT_SECONDS)) as client:
                client.publish(_name_redis_channel(client), message)
        except (redis.RedisError, OSError):
            _redis_outage.ends_at = time.monotonic() + _REDIS_RETRY_SECONDS
            raise
    elif connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [TOPIC, message if len(message) <= _MAX_NOTIFY_LENGTH else ""])


def check_redis(*, seconds: float = _CONNECT_SECONDS) -> None:
    """Return once Redis has answered, at once where REDIS_URL is not set; raises RedisError or OSError.

    Call it before an operation that would wait longer for a server that does not answer.
    """
    if settings.REDIS_URL:
        import redis

        limits = {"socket_connect_timeout": seconds, "socket_timeout": seconds}
        with closing(redis.Redis.from_url(settings.REDIS_URL, **limits)) as client:
            client.ping()


@contextmanager
def subscribe() -> Iterator[Subscription]:
    """Open a subscription to every message published from now on; raises one of list_connection_errors()."""
    if settings.REDIS_URL:
        with closing(_connect_redis()) as client, client.pubsub(ignore_subscribe_messages=True) as subscription:
            subscription.subscribe(_name_redis_channel(client))
            # The confirmation of the subscription: from here on no message is missed.
            subscription.get_message(timeout=_CONNECT_SECONDS)
            yield _RedisSubscription(subscription)
    elif connection.vendor == "postgresql":
        # A connection outside the pool, because it listens as long as the process lives.
        parameters = connection.get_connection_params() | {"autocommit": True, "connect_timeout": _CONNECT_SECONDS}
        with BoundedConnection.connect(**parameters) as listener:
            with deadlines.open_budget(_CONNECT_SECONDS):
                listener.execute(f"LISTEN {TOPIC}")
            yield _PostgresSubscription(listener)
    else:
        yield NullSubscription()


def _name_redis_channel(client: Any) -> str:
    """Return the channel of the client's database: Redis has one set of channels for all databases of a server."""
    return f"{TOPIC}.{client.get_connection_kwargs().get('db', 0)}"


def _connect_redis(**options: float) -> Any:
    import redis

    return redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=_CONNECT_SECONDS, **options)
