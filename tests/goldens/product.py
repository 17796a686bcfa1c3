"""The few parts of the product that the goldens need and that no address or command shows."""

from policies.guard import _door_name as channel_of
from tests.architecture.test_urls import patterns as list_routes
from tests.finished import shelve as store_report_runs

__all__ = ["channel_of", "list_routes", "store_report_runs"]
