"""A thread of every web process that keeps the snapshot current beside the requests.

It waits for published messages, applies the invalidations in them, compares the version row if a message is not an
invalidation, and compares it twice a second in any case. So an idle process learns of a change as soon as a busy one,
and no request pays for the comparison or the reload; requests wait for it only after a message. Decisions do not depend
on it: every question compares by itself if the last comparison is older than a second.
"""

import gc
import logging
import threading
import time

from django.db import connection

from policies import deadlines
from policies.pdp import process_registry, snapshot_store
from policies.propagation import invalidation, pubsub
from policies.propagation.pubsub import NullSubscription, Subscription

log = logging.getLogger(__name__)


def start() -> None:
    """Start the thread, which runs until this process ends."""
    threading.Thread(target=_follow, name="following", daemon=True).start()


#: Seconds between two comparisons: short enough that requests never find the last one too old.
POLL_SECONDS = snapshot_store.VERSION_CHECK_SECONDS / 2

#: Seconds that the database has for one comparison, including the load of many policies.
POLL_BUDGET_SECONDS = 10


class SnapshotListener:
    """Compares versions and sends heartbeats; remembers the last of each and whether the last comparison worked."""

    def __init__(self) -> None:
        self._polled_at = float("-inf")
        self._published_version: int | None = None
        self._published_at = float("-inf")
        self._is_healthy = True
        self._is_subscribed = True

    def follow(self) -> None:
        """Apply messages until the subscription is lost, whatever the reason, and then poll once without one."""
        try:
            # Between two comparisons the thread holds no connection of the pool.
            connection.close()
            with pubsub.subscribe() as subscription:
                self._is_subscribed = True
                # Whatever was published while there was no subscription is in the database by now.
                snapshot_store.mark_stale()
                while True:
                    self.step(subscription)
                    connection.close()
        # Whatever it is: a thread that ends would never hear of a change again.
        except Exception as error:
            if self._is_subscribed:
                log.warning(
                    "subscription_lost",
                    extra={"error": str(error)},
                    exc_info=not snapshot_store.is_load_error(error),
                )
            self._is_subscribed = False
        self.step(None)

    def step(self, subscription: Subscription | None) -> None:
        """Wait for messages (without a subscription, POLL_SECONDS), apply them, compare and send a heartbeat if due.

        Raises one of list_connection_errors() when the subscription is lost.
        """
        messages = (NullSubscription() if subscription is None else subscription).wait(POLL_SECONDS)
        # Every message is applied, also after one that requires a comparison.
        are_applied = [invalidation.receive(message) for message in messages]
        if not all(are_applied):
            snapshot_store.mark_stale()
            self.poll()
        elif time.monotonic() - self._polled_at >= POLL_SECONDS:
            self.poll()

    def poll(self) -> None:
        """Compare the version once. A failure is logged the first time and tried again at the next call."""
        self._polled_at = time.monotonic()
        try:
            with deadlines.open_budget(POLL_BUDGET_SECONDS):
                version = snapshot_store.refresh()
            if (
                version != self._published_version
                or time.monotonic() - self._published_at >= process_registry.HEARTBEAT_SECONDS
            ):
                self._published_version, self._published_at = version, time.monotonic()
                process_registry.send_heartbeat()
            self._is_healthy = True
        except Exception as error:
            if self._is_healthy:
                log.warning(
                    "policies_not_followed",
                    extra={"error": str(error)},
                    exc_info=not snapshot_store.is_load_error(error),
                )
            self._is_healthy = False


def _follow() -> None:
    listener = SnapshotListener()
    listener.poll()
    # Policies and code stay in memory, so the collector need not traverse them again.
    gc.freeze()
    while True:
        listener.follow()
