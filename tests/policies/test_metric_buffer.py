"""Increments that are queued first are those that would have been made at once."""

from threading import Thread

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Histogram

from policies.propagation.metric_buffer import MetricBuffer

BUCKETS = (0.5, 1.0, 2.0)
#: Amounts whose sums are exact in every order, bounds of buckets among them.
AMOUNTS = st.lists(st.integers(0, 12).map(lambda number: number / 4))


def samples(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    return {
        (sample.name.replace("late_", "early_"), str(sample.labels)): sample.value
        for metric in registry.collect()
        for sample in metric.samples
        if not sample.name.endswith("_created")
    }


@given(rounds=st.lists(AMOUNTS))
def test_a_histogram_has_what_it_would_have_seen_at_once(rounds: list[list[float]]):
    early, late, buffer = CollectorRegistry(), CollectorRegistry(), MetricBuffer()
    at_once = Histogram("early_seconds", "Seconds.", buckets=BUCKETS, registry=early)
    queued = Histogram("late_seconds", "Seconds.", buckets=BUCKETS, registry=late)
    for amounts in rounds:
        for amount in amounts:
            at_once.observe(amount)
            buffer.observe(queued, amount)
        buffer.flush()
        assert samples(late) == samples(early)
    buffer.stop()


def test_increments_of_many_threads_are_all_written_before_the_end():
    registry, buffer = CollectorRegistry(), MetricBuffer()
    counter = Counter("tries", "Tries.", ["way"], registry=registry)
    ways = [counter.labels("one"), counter.labels("other")]

    def count() -> None:
        for number in range(1000):
            buffer.add(ways[number % 2], 1 + number % 2)

    threads = [Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    buffer.stop()
    assert [registry.get_sample_value("tries_total", {"way": way}) for way in ("one", "other")] == [2000, 4000]
