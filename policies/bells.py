"""How processes tell one another at once that policies changed; who misses it finds out within a second.

Redis carries it where there is one, else PostgreSQL. On SQLite alone nobody rings. A message says which facts a write
touched (policies.word), or nothing but "look": what changed is in the database, so a message that is lost, late,
doubled or forged is made good within a second.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Protocol

import psycopg
import redis
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection
from redis.exceptions import RedisError

CHANNEL = "policies_changed"

#: What goes wrong when whoever carries the messages is away.
AWAY = (RedisError, psycopg.Error, DatabaseError, OSError)

#: Seconds to reach who carries the messages.
_PATIENCE = 2

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


def ring(message: str = "") -> None:
    """Say this to every process, or nothing but that it is to look at once; raises one of AWAY.

    What is too long to be carried becomes the latter.
    """
    if settings.REDIS_URL:
        # A server that is there and says nothing must not hold the writer for longer than one that is away.
        with closing(_redis(socket_timeout=_PATIENCE)) as client:
            client.publish(CHANNEL, message)
    elif connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, message if len(message) <= _LONGEST else ""])


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
        with psycopg.connect(
            **connection.get_connection_params(),
            autocommit=True,
            connect_timeout=_PATIENCE,
        ) as link:
            link.execute(f"LISTEN {CHANNEL}")
            yield _Postgres(link)
    else:
        yield _Silent()


def _redis(**more: float) -> Any:
    return redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=_PATIENCE, **more)
