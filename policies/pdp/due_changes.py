"""Changes that come due: what is valid from, or until, an instant begins and ends by a write like any other.

The row of the policy version says when something begins or ends next. Every process compares that with its clock
before it answers, and writes what is due itself; so an end needs neither the task queue nor messages, and everything
that reads rows sees it. What has ended is written as ended, so that a clock that is set back revives nothing.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from policies.engine.families.validity import to_milliseconds
from policies.models import Gate, PolicyVersion, open_write
from policies.models.version import outermost_block
from policies.models.writes import WriteTransaction

#: Channel of the events of what begins and ends by itself.
CLOCK_CHANNEL = "clock"


class DueChangeSource(Protocol):
    """One kind of thing that has a validity (settings.DUE_CHANGE_SOURCES)."""

    def apply_due_changes(self, *, write: WriteTransaction, now: datetime) -> None:
        """Write what has begun and what has ended by now, inside this write, with its events.

        What it raises undoes the writes of all sources.
        """

    def list_next_boundaries(self) -> Iterable[datetime]:
        """Return the earliest instants at which something of this kind will begin or end; none if nothing will.

        It is asked after `apply_due_changes`, in the same write.
        """


def apply_due_changes() -> None:
    """Write everything that has come due, if no other process has; several processes may try at once.

    Does nothing inside a transaction, which must not wait for other writes. Raises the error of a database that does
    not answer: an answer must not rely on what may have ended.
    """
    if outermost_block(transaction.get_connection()) is not None or not _is_due():
        return
    with open_write(Gate.PEOPLE) as write:
        # Facts that are touched are declared below; without a declaration every process would drop all of them.
        PolicyVersion.touch()
        if not _is_due():
            return
        now, sources = timezone.now(), _load_sources()
        for source in sources:
            source.apply_due_changes(write=write, now=now)
        write.replace_boundaries(boundary for source in sources for boundary in source.list_next_boundaries())


def _is_due() -> bool:
    boundary = PolicyVersion.load_numbers().next_boundary
    return boundary is not None and boundary <= to_milliseconds(timezone.now())


def _load_sources() -> list[DueChangeSource]:
    return [import_string(path)() for path in settings.DUE_CHANGE_SOURCES]
