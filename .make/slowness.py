"""How slow this machine is now, beside the one that budgets and limits are meant for."""

import time

#: What the reference loop takes on that machine, when nothing else runs there, in seconds of a thread.
REFERENCE_SECONDS = 0.078


def measure_slowness() -> float:
    """Return how many times as long as there this machine takes for the same work now; below 1 it is faster."""
    numbers: dict[str, tuple[int, int]] = {}
    start = time.thread_time()
    for number in range(400_000):
        numbers[f"k{number % 5000}"] = (number, number * 2)
    return (time.thread_time() - start) / REFERENCE_SECONDS
