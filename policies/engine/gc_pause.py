"""A pause of Python's cyclic garbage collector, for code that creates millions of long-lived objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_gc() -> Iterator[None]:
    """Pause the collector in the block: scanning all those objects repeatedly would double the time it takes."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
