"""The people of the ladder, and a catalog that rows can be about."""

from tests.web.catalog.conftest import shelves, shelves_of_module

__all__ = ["shelves", "shelves_of_module"]
