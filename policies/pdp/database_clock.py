"""The clock of the database, by which things begin and end, and how far the clock of this process is from it.

A process compares the two whenever it reads the version of the policies, which is once a second, and before it writes
what has come due; what asks for the time compares them if that was longer ago than COMPARE_SECONDS. While they are more
than MAX_APART_SECONDS apart it decides nothing: one of them is wrong, and nobody knows which. A database in a file has
the clock of this machine.
"""

import logging
import time
from datetime import datetime, timedelta

from django.utils import timezone

from policies.errors import Unavailable
from policies.models import PolicyVersion
from policies.propagation import metrics

log = logging.getLogger(__name__)

#: Seconds for which a comparison counts.
COMPARE_SECONDS = 30.0
#: Seconds for which it does while they are apart.
_RETRY_SECONDS = 1.0
#: Seconds by which the clocks may differ.
MAX_APART_SECONDS = 5.0


class _Comparison:
    """The last comparison of this process: when it was, in monotonic time, and how far its clock is ahead."""

    def __init__(self) -> None:
        self.valid_until = float("-inf")
        self.seconds_ahead = 0.0
        self.is_apart = False


_last = _Comparison()


class ClocksApart(Unavailable):
    """The clock of this process and that of the database differ too much to decide anything."""


def check_clock() -> float:
    """Compare the clocks if it is time to, and return the seconds by which that of this process is ahead.

    Raises ClocksApart.
    """
    if time.monotonic() >= _last.valid_until:
        compare_clock()
    if _last.is_apart:
        raise _describe_difference(_last.seconds_ahead)
    return _last.seconds_ahead


def compare_clock() -> datetime:
    """Compare the clocks now and return the time of the database. Raises ClocksApart."""
    asked_at = time.time()
    note_time(_read_database_time(), asked_at=asked_at)
    return timezone.now() - timedelta(seconds=_last.seconds_ahead)


def note_time(database_time: float | None, *, asked_at: float) -> None:
    """Compare the clocks by an answer of the database, None of one without a clock. Raises ClocksApart.

    `asked_at` is the Unix time at which it was asked.
    """
    ahead = 0.0 if database_time is None else _find_seconds_ahead(database_time, asked_at, time.time())
    is_apart = abs(ahead) > MAX_APART_SECONDS
    if is_apart != _last.is_apart:
        event, level = ("clocks_apart", logging.ERROR) if is_apart else ("clocks_agree", logging.WARNING)
        log.log(level, event, extra={"seconds_ahead": round(ahead, 2)})
    _last.seconds_ahead, _last.is_apart = ahead, is_apart
    _last.valid_until = time.monotonic() + (_RETRY_SECONDS if is_apart else COMPARE_SECONDS)
    metrics.record_clock(seconds_ahead=ahead)
    if is_apart:
        raise _describe_difference(ahead)


def estimate_time() -> float:
    """Return the Unix time of the database, as of the last comparison."""
    return timezone.now().timestamp() - _last.seconds_ahead


def get_estimated_now() -> datetime:
    """Return the time of the database as of the last comparison: for drafts, which need no database."""
    return timezone.now() - timedelta(seconds=_last.seconds_ahead)


def get_now() -> datetime:
    """Return the time of the database, by which what is written begins and ends. Raises ClocksApart."""
    return timezone.now() - timedelta(seconds=check_clock())


def _read_database_time() -> float | None:
    return PolicyVersion.load_numbers_and_time()[1]


def _find_seconds_ahead(database_time: float, asked_at: float, answered_at: float) -> float:
    """Return how far this clock is ahead at least: the database read its own at some moment between the two times."""
    if asked_at <= database_time <= answered_at:
        return 0.0
    return asked_at - database_time if database_time < asked_at else answered_at - database_time


def _describe_difference(ahead: float) -> ClocksApart:
    direction = "ahead of" if ahead > 0 else "behind"
    return ClocksApart(
        f"The clock of this process is {abs(ahead):,.0f} seconds {direction} that of the database. Nothing is decided "
        "until they agree."
    )
