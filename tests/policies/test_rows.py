"""Many rows at once: all of them or none, and every error one of Django's."""

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, transaction

from policies.pdp.log import bulk_insert

pytestmark = pytest.mark.django_db


def test_rows_are_stored_and_numbered():
    bulk_insert.insert_rows(Group, ["name"], ([f"n{number}"] for number in range(3)))
    assert list(Group.objects.order_by("id").values_list("name", flat=True)) == ["n0", "n1", "n2"]


def test_no_row_is_stored_when_one_is_refused():
    with pytest.raises(DatabaseError), transaction.atomic():
        bulk_insert.insert_rows(Group, ["name"], [["a"], ["b"], ["a"]])
    assert not Group.objects.exists()
