"""Results that follow from the policies alone, kept as long as these stay as they are."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from policies.engine.snapshot import Snapshot
from policies.pdp import snapshot_store

Result = TypeVar("Result")

#: How many results are kept of one snapshot.
_MOST = 512

#: They go when nobody holds their snapshot any more.
_kept: WeakKeyDictionary[Snapshot, dict[Hashable, Any]] = WeakKeyDictionary()


def kept(key: Hashable, make: Callable[[], Result]) -> Result:
    """Return what `make` gave when it was last called with this key and the policies of now.

    `make` may ask `authority` for whatever follows from the policies and from what the key holds, and must not look at
    anything else that changes. The key begins with the name of who asks. Raises what `store.current` raises.
    """
    results = _kept.setdefault(snapshot_store.current(), {})
    try:
        found: Result = results[key]
    except KeyError:
        found = make()
        if len(results) >= _MOST:
            results.clear()
        results[key] = found
    return found
