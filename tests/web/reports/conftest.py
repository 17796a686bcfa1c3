"""The people of the ladder, and a catalog that rows can be about."""

import pytest

from tests.web.catalog.conftest import shelves

__all__ = ["shelves", "shelves_of_module"]


@pytest.fixture(scope="module")
def shelves_of_module() -> None:
    """Leave the catalog to each test: its run that has not ended would stand in the way of those of other tests."""
