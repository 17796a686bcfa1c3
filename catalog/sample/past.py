"""The past of the sample company: a clock that is set back, so that services write down days that have gone by.

Everything of this product, and of Django, that asks for the time calls `django.utils.timezone.now`, which reads the
`datetime` of its module. Here that one name is replaced. So only a program that does nothing else may use this: `make
run`, before it starts a process that serves anybody. Comparisons with the clock of a database are not changed
(`policies.pdp.database_clock`): the two still agree.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from typing import Self

from django.utils import timezone


class PastClock:
    """The clock while it is set back; it goes on from each time that it is set to."""

    def __init__(self, instant: datetime) -> None:
        self.set(instant)

    def set(self, instant: datetime) -> None:
        """Set the clock to an instant."""
        self._seconds_behind = time.time() - instant.timestamp()

    def read(self) -> float:
        """Return the Unix time that it shows."""
        return time.time() - self._seconds_behind


@contextmanager
def set_back(by: timedelta) -> Iterator[PastClock]:
    """Yield a clock that is set back and counts for the whole process; at the end it is right again."""
    clock = PastClock(timezone.now() - by)

    class _Datetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(clock.read(), tz)

    names = vars(timezone)
    names["datetime"] = _Datetime
    try:
        yield clock
    finally:
        names["datetime"] = datetime
