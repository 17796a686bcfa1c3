"""Results that follow from the policies alone, memoized per snapshot."""

from collections.abc import Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from policies.engine.snapshot import Snapshot
from policies.pdp import snapshot_store

Result = TypeVar("Result")

#: Most results of one snapshot.
_MAX_RESULTS = 1024

#: An entry is dropped when its snapshot is no longer referenced.
_results_by_snapshot: WeakKeyDictionary[Snapshot, dict[Hashable, Any]] = WeakKeyDictionary()


def memoize(key: Hashable, make: Callable[[], Result]) -> Result:
    """Return the result of `make` for this key and the current snapshot, calling it only if there is none yet.

    `make` may use `authorizer` for anything that follows from the policies and the values in the key, and must read
    nothing else that changes; its result must not hold the snapshot, which would stay for ever. Begin the key with a
    name of the caller. Raises what `snapshot_store.get_current` raises.
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


def find(key: Hashable) -> Any:
    """Return the result that `memoize` has kept for this key and the current snapshot; None if there is none."""
    return _results_by_snapshot.get(snapshot_store.get_current(), {}).get(key)
