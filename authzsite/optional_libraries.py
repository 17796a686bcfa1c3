"""Libraries that another one imports wherever they are installed, for what this site does not use."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def exclude_modules(*names: str) -> Iterator[None]:
    """Have these modules count as not installed for imports in the block; those that are loaded already stay."""
    excluded = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(excluded))  # type: ignore[arg-type]  # None is how the import system marks them
    try:
        yield
    finally:
        for name in excluded:
            del sys.modules[name]
