"""The people of the ladder, and a catalog that rows can be about."""

from tests.web.catalog.conftest import shelves

__all__ = ["shelves"]
