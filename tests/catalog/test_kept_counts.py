"""Entities are counted by type once, and counted anew after each write that another one of them shows or hides."""

import itertools

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.access import browsing
from catalog.entities import services as entity_services
from catalog.models import Entity
from policies.pdp import authorizer, snapshot_store
from tests.catalog.conftest import DOOR, said, tell

pytestmark = pytest.mark.django_db(transaction=True)

BY = authorizer.SYSTEM
WRITES = (
    lambda: tell(said("urn:li:tag:c", "tagProperties", {"name": "c"})),
    lambda: tell(said("urn:li:tag:a", "status", {"removed": True})),
    lambda: tell(said("urn:li:tag:a", "status", {"removed": False})),
    lambda: tell(said("urn:li:dataProduct:new", "status", {"removed": False})),
    lambda: entity_services.delete(urn="urn:li:tag:b", by=BY, channel=DOOR),
)


def count_again() -> dict[str, int]:
    rows = Entity.objects.filter(is_removed=False).exclude(type__in=browsing.UNLISTED_TYPES).order_by()
    types = list(rows.values_list("type", flat=True))
    return {type_: types.count(type_) for type_ in types}


def counts() -> list[str]:
    """Return the statements that count entities."""
    with CaptureQueriesContext(connection) as captured:
        assert dict(browsing.count_types(by=BY)) == count_again()
    return [query["sql"] for query in captured.captured_queries if "COUNT(" in query["sql"]]


def test_entities_are_counted_once_until_something_is_written():
    tell(*[said(f"urn:li:tag:{name}", "tagProperties", {"name": name}) for name in "ab"])
    snapshot_store.refresh()
    counts()
    for write in WRITES:
        assert counts() == []
        write()
        assert len(counts()) == 1


def test_a_list_has_the_number_of_its_rows():
    tell(*[said(f"urn:li:tag:{name}", "tagProperties", {"name": name}) for name in "abc"])
    tell(said("urn:li:dataProduct:a", "status", {"removed": False}))
    tell(said("urn:li:role:a", "status", {"removed": False}))
    tell(
        said("urn:li:tag:gone", "tagProperties", {"name": "a b"}), said("urn:li:tag:gone", "status", {"removed": True})
    )
    texts = ("", "a", "b", "a b", "*", "none", "urn:li:tag:", "\0", " ")
    types = ("", "tag", "role", "none")
    for text, type_ in itertools.product(texts, types):
        rows = browsing.find_counted(by=BY, q=text, type=type_)
        assert [row.urn for row in rows[0:100]] == [row.urn for row in browsing.find(by=BY, q=text, type=type_)]
        assert len(rows) == len(rows[0:100])
        assert [row.urn for row in rows[1:2]] == [row.urn for row in rows[0:2]][1:]
