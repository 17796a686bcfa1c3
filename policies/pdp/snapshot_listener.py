"""A thread of every web process that follows the policies beside the requests.

It waits for a bell, forgets what a message says was touched, looks at the version row when one says no more than that,
and twice a second in any case. So an idle process knows of a change as soon as a busy one, and neither the looking nor
what a change costs is paid by a request. Answers do not rest on it: every question looks for itself when the last look
is older than a second.
"""

import gc
import logging
import threading
import time

from django.db import connection

from policies import deadlines
from policies.errors import Unavailable
from policies.models import PolicyVersion
from policies.pdp import process_registry, snapshot_store
from policies.propagation import invalidation, pubsub
from policies.propagation.pubsub import CONNECTION_ERRORS, Subscription

log = logging.getLogger(__name__)


def start() -> None:
    """Follow from now on, until this process ends."""
    threading.Thread(target=_follow, name="following", daemon=True).start()


#: Seconds between two looks: so often that requests never find the last one too old.
POLL_SECONDS = snapshot_store.VERSION_CHECK_SECONDS / 2

#: Seconds that the database has for its answers to one look, those that load many policies included.
POLL_BUDGET_SECONDS = 10


class SnapshotListener:
    """Looks and tells; keeps when it looked, what it told last, and whether looking went well."""

    def __init__(self) -> None:
        self._polled_at = float("-inf")
        self._published_version: int | None = None
        self._published_at = float("-inf")
        self._is_healthy = True

    def step(self, subscription: Subscription | None) -> None:
        """Wait for the bell (without one half a second), look, and tell the others what this process answers from.

        Raises one of AWAY when the bell cannot be heard any more.
        """
        messages = subscription.wait(POLL_SECONDS) if subscription is not None else ()
        if subscription is None:
            threading.Event().wait(POLL_SECONDS)
        # Each is heard, also after one that has this process look.
        are_applied = [invalidation.receive(message) for message in messages]
        if not all(are_applied) or time.monotonic() - self._polled_at >= POLL_SECONDS:
            snapshot_store.mark_stale()
            self.poll()

    def poll(self) -> None:
        """Look once. What is away is said in the log once, and looked for again next time."""
        self._polled_at = time.monotonic()
        try:
            with deadlines.open_budget(POLL_BUDGET_SECONDS):
                version = snapshot_store.get_current().version
            if (
                version != self._published_version
                or time.monotonic() - self._published_at >= process_registry.HEARTBEAT_SECONDS
            ):
                self._published_version, self._published_at = version, time.monotonic()
                process_registry.send_heartbeat()
            self._is_healthy = True
        except (*CONNECTION_ERRORS, Unavailable, PolicyVersion.DoesNotExist) as error:
            if self._is_healthy:
                log.warning("policies_not_followed", extra={"error": str(error)})
            self._is_healthy = False


def _follow() -> None:
    listener = SnapshotListener()
    listener.poll()
    connection.close()
    # The policies and the program stay as they are: the collector need not go through them again and again.
    gc.freeze()
    is_connected = True
    while True:
        try:
            with pubsub.subscribe() as subscription:
                is_connected = True
                # What was rung while nobody listened is in the database by now.
                snapshot_store.mark_stale()
                while True:
                    listener.step(subscription)
                    # Between two looks the thread keeps no connection from the requests.
                    connection.close()
        except CONNECTION_ERRORS as error:
            if is_connected:
                log.warning("bell_lost", extra={"error": str(error)})
            is_connected = False
            listener.step(None)
            connection.close()
