"""What this process keeps in memory of rows."""

from policies.pdp import snapshot_store
from policies.propagation.invalidating_cache import process_cache


def forget_rows() -> None:
    """Forget the rows of the tests before, which are gone: a fixture of a module may come between two tests."""
    process_cache.clear()
    snapshot_store.reset()
