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
from policies.propagation.pubsub import AWAY, Bell

log = logging.getLogger(__name__)


def start() -> None:
    """Follow from now on, until this process ends."""
    threading.Thread(target=_follow, name="following", daemon=True).start()


#: Seconds between two looks: so often that requests never find the last one too old.
EVERY = snapshot_store.LOOK_EVERY / 2

#: Seconds that the database has for its answers to one look, those that load many policies included.
LOOK_SECONDS = 10


class Follower:
    """Looks and tells; keeps when it looked, what it told last, and whether looking went well."""

    def __init__(self) -> None:
        self._looked_at = float("-inf")
        self._told: int | None = None
        self._told_at = float("-inf")
        self._is_well = True

    def step(self, bell: Bell | None) -> None:
        """Wait for the bell (without one half a second), look, and tell the others what this process answers from.

        Raises one of AWAY when the bell cannot be heard any more.
        """
        messages = bell.wait(EVERY) if bell is not None else ()
        if bell is None:
            threading.Event().wait(EVERY)
        # Each is heard, also after one that has this process look.
        is_plain = [invalidation.heard(message) for message in messages]
        if not all(is_plain) or time.monotonic() - self._looked_at >= EVERY:
            snapshot_store.forget()
            self.look()

    def look(self) -> None:
        """Look once. What is away is said in the log once, and looked for again next time."""
        self._looked_at = time.monotonic()
        try:
            with deadlines.within(LOOK_SECONDS):
                version = snapshot_store.current().version
            if version != self._told or time.monotonic() - self._told_at >= process_registry.TELL_EVERY:
                self._told, self._told_at = version, time.monotonic()
                process_registry.tell()
            self._is_well = True
        except (*AWAY, Unavailable, PolicyVersion.DoesNotExist) as error:
            if self._is_well:
                log.warning("policies_not_followed", extra={"error": str(error)})
            self._is_well = False


def _follow() -> None:
    follower = Follower()
    follower.look()
    connection.close()
    # The policies and the program stay as they are: the collector need not go through them again and again.
    gc.freeze()
    is_heard = True
    while True:
        try:
            with pubsub.hung() as bell:
                is_heard = True
                # What was rung while nobody listened is in the database by now.
                snapshot_store.forget()
                while True:
                    follower.step(bell)
                    # Between two looks the thread keeps no connection from the requests.
                    connection.close()
        except AWAY as error:
            if is_heard:
                log.warning("bell_lost", extra={"error": str(error)})
            is_heard = False
            follower.step(None)
            connection.close()
