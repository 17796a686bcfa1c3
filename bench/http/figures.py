"""Requests of a turn, and what the turns of all rounds come to."""

import statistics
from collections.abc import Sequence

from bench.talking import Spent


def slice_turn(requests: Sequence[bytes], number: int, count: int) -> Sequence[bytes]:
    """Return the requests of one turn, from the beginning again where they end."""
    start = number * count % len(requests)
    return (*requests[start : start + count], *requests[: max(0, start + count - len(requests))])


def rate(spent: Sequence[Spent]) -> float:
    """Return the requests a second."""
    return statistics.median(one.requests / one.clock for one in spent)


def work_us(spent: Sequence[Spent]) -> float:
    """Return the microseconds of the server's processors for a request."""
    return statistics.median(one.work * 1e6 / one.requests for one in spent)


def busy(spent: Sequence[Spent]) -> float:
    """Return how many processors the server kept busy."""
    return statistics.median(one.work / one.clock for one in spent)


def ratio(spent: Sequence[Spent], base: Sequence[Spent], what: str = "clock") -> float:
    """Return how many times as fast, round by round: what else the machine did then, both had to suffer."""
    pairs = zip(spent, base, strict=True)
    found = [(getattr(b, what) / b.requests) / (getattr(one, what) / one.requests) for one, b in pairs]
    return float(statistics.median(found))
