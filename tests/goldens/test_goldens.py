"""What users see of the product is what the files beside this one say; GOLDENS=write writes them (`make goldens`)."""

from collections.abc import Callable, Iterable

import pytest
from django.db import connection

from policies.changes import proofs
from tests.goldens import explanations, listings, pages, product, world
from tests.goldens.files import compare
from tests.goldens.masks import Masker

pytestmark = [
    pytest.mark.django_db,
    # What asks the broker leaves files of its queue for the collector to close.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def installation(module_transaction, tmp_path_factory):
    if connection.vendor != "sqlite":
        pytest.skip("The goldens are made on SQLite.")
    assert module_transaction
    with product.always_current(), pytest.MonkeyPatch.context() as patch:
        # Beside other programs a proof would be given up, and its page say so.
        patch.setattr(proofs, "MAX_SECONDS", 60.0)
        world.build(tmp_path_factory.mktemp("goldens"))
        yield


LISTS: dict[str, Callable[[], Iterable[str]]] = {
    "addresses.txt": listings.list_addresses,
    "channels.txt": listings.list_channels,
    "access.txt": listings.list_access,
    "openapi.json": lambda: listings.print_openapi().splitlines(),
    "graphql.graphql": lambda: listings.print_graphql().splitlines(),
    "metrics.txt": listings.list_metrics,
    "sample.txt": listings.list_files,
}


@pytest.mark.parametrize("name", LISTS)
def test_what_the_product_offers_is_as_it_was(name):
    compare(name, LISTS[name]())


def test_explanations_are_as_they_were():
    found = list(explanations.list_explanations())
    assert len([line for line in found if line.startswith(" ")]) >= explanations.SENTENCES
    compare("explanations.txt", found)


def test_pages_are_as_they_were():
    found, count = [], 0
    for heading, lines in pages.list_pages(Masker()):
        found += [f"=== {heading}", *lines]
        count += 1
    assert count >= 200
    compare("pages.txt.gz", found)
