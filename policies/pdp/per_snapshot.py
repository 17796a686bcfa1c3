"""Results that follow from the policies alone, kept as long as these stay as they are."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from policies.engine.snapshot import Snapshot
from policies.pdp import snapshot_store

Result = TypeVar("Result")

#: How many results are kept of one snapshot.
_MAX_RESULTS = 512

#: They go when nobody holds their snapshot any more.
_results_by_snapshot: WeakKeyDictionary[Snapshot, dict[Hashable, Any]] = WeakKeyDictionary()


def memoize(key: Hashable, make: Callable[[], Result]) -> Result:
    """Return what `make` gave when it was last called with this key and the policies of now.

    `make` may ask `authority` for whatever follows from the policies and from what the key holds, and must not look at
    anything else that changes. The key begins with the name of who asks. Raises what `store.current` raises.
    """
    results = _results_by_snapshot.setdefault(snapshot_store.get_current(), {})
    try:
        result: Result = results[key]
    except KeyError:
        result = make()
        if len(results) >= _MAX_RESULTS:
            results.clear()
        results[key] = result
    return result
