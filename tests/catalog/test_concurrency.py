"""Writers of one entity wait for one another: no version is lost, none is numbered twice."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from catalog.models import Aspect, Facet
from tests.catalog.conftest import said, tags, tell

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
WRITERS, TURNS = 4, 8


@pytest.mark.django_db(transaction=True)
def test_writers_of_one_document_queue() -> None:
    def write(writer: int) -> None:
        try:
            for turn in range(TURNS):
                tell(said(DATASET, "globalTags", tags(f"{writer}-{turn}")))
        finally:
            connection.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    versions = Aspect.objects.filter(name="globalTags").order_by("version").values_list("version", "document")
    assert [version for version, _ in versions] == list(range(WRITERS * TURNS))
    assert len({document for _, document in versions}) == WRITERS * TURNS
    assert Facet.objects.filter(field="TAG").count() == 1
