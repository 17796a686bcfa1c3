"""The people and the catalog of the tests of pages, for the table of who gets which answer."""

from tests.web.catalog.conftest import shelves, shelves_of_module
from tests.web.conftest import _fresh_snapshot, browse, ladder_of_module, world, write

__all__ = ["_fresh_snapshot", "browse", "ladder_of_module", "shelves", "shelves_of_module", "world", "write"]
