"""Processes and their policy versions: web processes write heartbeats to the cache, workers answer on request.

A web process writes a heartbeat when its version changes, and every HEARTBEAT_SECONDS
(policies.pdp.snapshot_listener). Each heartbeat is a cache entry of its own, so processes do not overwrite one another;
one list holds the process names. The heartbeat of an ended process expires.
"""

import logging
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache

from policies.pdp import snapshot_store
from policies.propagation import task_queue
from policies.propagation.pubsub import list_connection_errors

log = logging.getLogger(__name__)

#: Seconds between two heartbeats of one process, and until one expires.
HEARTBEAT_SECONDS = 10.0
_HEARTBEAT_TTL_SECONDS = 25

#: Seconds that workers have to reply.
WORKER_REPLY_SECONDS = 1

_LIST_KEY = "policies:followed"


@dataclass(frozen=True, slots=True)
class Process:
    """A process: the policy version it answers from, and `age`, the seconds since it last compared it.

    `since` is the Unix time at which it changed to that version; None if it began with it, or for a worker.
    """

    name: str
    version: int
    age: float | None
    since: float | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """The kind of broker (None if it cannot be reached), and worker name → reply."""

    kind: str | None
    answers: Mapping[str, Mapping[str, Any]]

    @property
    def processes(self) -> tuple[Process, ...]:
        """The workers whose reply has a policy version."""
        return tuple(
            Process(name, answer["policy_version"], answer["age_seconds"])
            for name, answer in sorted(self.answers.items())
            if "policy_version" in answer
        )


def describe_own_process() -> Process:
    """Return this process; loads a snapshot if there is none."""
    version = snapshot_store.get_current().version
    loaded_snapshot = snapshot_store.loaded_snapshot()
    return Process(
        _process_name(),
        version,
        snapshot_store.age(),
        loaded_snapshot.since if loaded_snapshot and loaded_snapshot.snapshot.version == version else None,
    )


def list_web_processes() -> tuple[Process, ...]:
    """Return the web processes with a heartbeat that has not expired, this one first; it alone while the cache is away.

    An entry that this release cannot read is left out.
    """
    web_processes = [describe_own_process()]
    try:
        names = [name for name in cache.get(_LIST_KEY, ()) if name != web_processes[0].name]
        heartbeats = cache.get_many([_heartbeat_key(name) for name in names])
    except list_connection_errors() as error:
        log.warning("heartbeats_not_read", extra={"error": str(error)})
        return tuple(web_processes)
    for name in names:
        match heartbeats.get(_heartbeat_key(name)):
            case [int(version), float(looked_at), (float() | None) as since]:
                web_processes.append(Process(name, version, max(time.time() - looked_at, 0.0), since))
            case _:
                # Expired, or written by another release.
                pass
    return tuple(web_processes)


def inspect_queue() -> Queue:
    """Return broker and workers; takes up to WORKER_REPLY_SECONDS, since the number of workers is not known."""
    try:
        with task_queue.connect_broker(connect_timeout=WORKER_REPLY_SECONDS) as broker_connection:
            broker_connection.ensure_connection(
                max_retries=1, interval_start=0, interval_step=0, timeout=WORKER_REPLY_SECONDS
            )
            kind = str(broker_connection.transport.driver_type)
            replies = task_queue.load_application().control.broadcast(
                "policy_version", reply=True, timeout=WORKER_REPLY_SECONDS, connection=broker_connection
            )
    except OSError:
        return Queue(None, {})
    return Queue(kind, {name: answer for reply in replies or () for name, answer in reply.items()})


def send_heartbeat() -> None:
    """Write the heartbeat of this process; none before a snapshot is loaded. A cache that is away is only logged."""
    loaded_snapshot = snapshot_store.loaded_snapshot()
    if loaded_snapshot is None:
        return
    looked_at = time.time() - (time.monotonic() - loaded_snapshot.looked_at)
    try:
        cache.set(
            _heartbeat_key(_process_name()),
            [loaded_snapshot.snapshot.version, looked_at, loaded_snapshot.since],
            timeout=_HEARTBEAT_TTL_SECONDS,
        )
        names = cache.get(_LIST_KEY, [])
        if _process_name() not in names:
            heartbeats = cache.get_many([_heartbeat_key(name) for name in names])
            live_names = [name for name in names if _heartbeat_key(name) in heartbeats]
            cache.set(_LIST_KEY, [*live_names, _process_name()], timeout=None)
    except list_connection_errors() as error:
        log.warning("heartbeat_not_sent", extra={"error": str(error)})


def _process_name() -> str:
    return f"web-{socket.gethostname()}-{os.getpid()}"


def _heartbeat_key(name: str) -> str:
    return f"{_LIST_KEY}:{name}"
