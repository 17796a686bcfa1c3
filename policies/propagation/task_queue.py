"""The task queue: tasks are queued by their names, and workers import what runs them.

Celery and the broker's library are imported by the first use, since most web processes queue nothing before their first
answers; their errors are QueueUnreachable here, so no other module has to know them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from policies import registries


class QueueUnreachable(OSError):
    """The broker is away or did not answer."""


def load_application() -> Any:
    """Return the Celery application, the port TaskApplication."""
    return registries.load_entry("ports", "TaskApplication")


def enqueue(task: str, *arguments: str, expires: float | None = None) -> None:
    """Queue a task by its name; a worker ignores it after `expires` seconds. Raises QueueUnreachable."""
    with _translate_errors():
        load_application().send_task(task, arguments, expires=expires)


@contextmanager
def connect_broker(**options: Any) -> Iterator[Any]:
    """Open a connection to the broker; everything done with it raises QueueUnreachable if the broker is away."""
    with _translate_errors(), load_application().connection_for_write(**options) as connection:
        yield connection


@contextmanager
def _translate_errors() -> Iterator[None]:
    from kombu.exceptions import OperationalError

    try:
        yield
    except OperationalError as error:
        raise QueueUnreachable(str(error)) from error
