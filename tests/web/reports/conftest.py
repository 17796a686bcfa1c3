"""The people of the ladder, and a catalog that rows can be about."""

import pytest

from tests.web.catalog.conftest import shelves

__all__ = ["shelves"]


@pytest.fixture(scope="module")
def shelves_of_module() -> None:
    """Nothing: few tests here ask for the catalog, and the others start without one."""
