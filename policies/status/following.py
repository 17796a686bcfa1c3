"""A thread of every web process that follows the policies beside the requests.

It waits for a bell and looks at the version row when one rings, and once a second in any case. So an idle process knows
of a change as soon as a busy one, and what a change costs is seldom paid by a request. Answers do not rest on it: every
question looks for itself when the last look is older than a second.
"""

import logging
import threading
import time

from django.db import connection

from policies import store
from policies.errors import Unavailable
from policies.models import PolicyVersion
from policies.status import bells, processes
from policies.status.bells import AWAY, Bell

log = logging.getLogger(__name__)


def start() -> None:
    """Follow from now on, until this process ends."""
    threading.Thread(target=_follow, name="following", daemon=True).start()


class Follower:
    """Looks and tells; keeps what it told last, and whether looking went well."""

    def __init__(self) -> None:
        self._told: int | None = None
        self._told_at = float("-inf")
        self._is_well = True

    def step(self, bell: Bell | None) -> None:
        """Wait for the bell (without one a second), look, and tell the others what this process answers from.

        Raises one of AWAY when the bell cannot be heard any more.
        """
        if bell is None:
            threading.Event().wait(store.LOOK_EVERY)
        elif bell.wait(store.LOOK_EVERY):
            store.forget()
        self.look()

    def look(self) -> None:
        """Look once. What is away is said in the log once, and looked for again next time."""
        try:
            version = store.current().version
            if version != self._told or time.monotonic() - self._told_at >= processes.TELL_EVERY:
                self._told, self._told_at = version, time.monotonic()
                processes.tell()
            self._is_well = True
        except (*AWAY, Unavailable, PolicyVersion.DoesNotExist) as error:
            if self._is_well:
                log.warning("policies_not_followed", extra={"error": str(error)})
            self._is_well = False


def _follow() -> None:
    follower = Follower()
    follower.look()
    connection.close()
    is_heard = True
    while True:
        try:
            with bells.hung() as bell:
                is_heard = True
                # What was rung while nobody listened is in the database by now.
                store.forget()
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
