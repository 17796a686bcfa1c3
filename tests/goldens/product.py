"""The few parts of the product that the goldens need and that no address or command shows."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from policies.http.guard import get_channel
from policies.pdp import snapshot_store
from tests.architecture.test_urls import patterns as list_routes
from tests.finished import shelve as store_report_runs

__all__ = ["always_current", "get_channel", "list_routes", "store_report_runs"]


@contextmanager
def always_current() -> Iterator[None]:
    """Let every question look for changes of policies: nothing commits here, which would say that there are any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
        snapshot_store.reset()
        yield
        snapshot_store.reset()
