"""The database connection of a thread, kept: finding it by its alias takes longer than looking up a cached fact."""

import threading

from django.db import close_old_connections, connections
from django.db.backends.base.base import BaseDatabaseWrapper


class _ThreadState(threading.local):
    connection: BaseDatabaseWrapper | None = None


_thread = _ThreadState()


def get_thread_connection() -> BaseDatabaseWrapper:
    """Return the connection of this thread. Django keeps it until the thread ends."""
    connection = _thread.connection
    if connection is None:
        connection = _thread.connection = connections["default"]
    return connection


def close_used_connections() -> None:
    """Do what Django does at the end of a request: close what may be closed. Nothing is without an open connection."""
    if get_thread_connection().connection is not None:
        close_old_connections()
