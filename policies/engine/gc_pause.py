"""Python's collector of cycles, kept away from what makes millions of objects that stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_gc() -> Iterator[None]:
    """Let the collector rest in the block: going through everything over and over would double its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
