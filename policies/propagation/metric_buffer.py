"""Increments of metrics, added together in memory first.

A metric that processes share is a number in a file, and each increment takes a lock and rewrites the number: four of
them took a tenth of the time of a decision. So a request queues its increments, and a thread of the process adds them
up and writes each number once. `flush` writes at once, before a scrape of this process.
"""

from bisect import bisect_left
from collections import deque
from typing import TypeVar

from prometheus_client import Counter, Histogram

from policies.propagation.batch_thread import BatchThread

Item = TypeVar("Item")

#: Seconds for which increments are collected, so the numbers of other processes are at most that old in a scrape.
COLLECT_SECONDS = 0.25


class MetricBuffer:
    """The queued increments of this process."""

    def __init__(self) -> None:
        self._increments: deque[tuple[Counter, float]] = deque()
        self._observations: deque[tuple[Histogram, float]] = deque()
        self._thread = BatchThread(self.flush, name="metrics", collect_seconds=COLLECT_SECONDS)

    def add(self, counter: Counter, number: float = 1) -> None:
        """Add to a counter, soon."""
        self._increments.append((counter, number))
        self._thread.wake()

    def observe(self, histogram: Histogram, amount: float) -> None:
        """Add an observation to a histogram without labels, soon."""
        self._observations.append((histogram, amount))
        self._thread.wake()

    def stop(self) -> None:
        """Write what is queued and end the thread."""
        self._thread.stop()

    def flush(self) -> None:
        """Write what is queued; several threads may do so at the same time."""
        numbers: dict[Counter, float] = {}
        for counter, number in _take_all(self._increments):
            numbers[counter] = numbers.get(counter, 0) + number
        for counter, number in numbers.items():
            counter.inc(number)
        amounts_by_histogram: dict[Histogram, list[float]] = {}
        for histogram, amount in _take_all(self._observations):
            amounts_by_histogram.setdefault(histogram, []).append(amount)
        for histogram, amounts in amounts_by_histogram.items():
            _observe_all(histogram, amounts)


def _observe_all(histogram: Histogram, amounts: list[float]) -> None:
    """Do what `Histogram.observe` does for each amount, with one increment of each number."""
    counts = [0] * len(histogram._upper_bounds)
    for amount in amounts:
        counts[bisect_left(histogram._upper_bounds, amount)] += 1
    histogram._sum.inc(sum(amounts))
    for bucket, count in zip(histogram._buckets, counts, strict=True):
        if count:
            bucket.inc(count)


def _take_all(queue: deque[Item]) -> list[Item]:
    """Take the items that are queued now; another thread may take some of them."""
    items: list[Item] = []
    for _ in range(len(queue)):
        try:
            items.append(queue.popleft())
        except IndexError:
            break
    return items


#: The buffer of this process.
metric_buffer = MetricBuffer()
