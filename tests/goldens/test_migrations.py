"""The SQL of every migration, which is never changed: outside of the transaction that the other goldens are made in."""

import hashlib
import io
import re
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from tests.goldens.files import compare
from tests.goldens.masks import Masker


def list_migrations() -> Iterator[str]:
    """Yield every migration of the product with the sha256 of its SQL on SQLite."""
    for label, name in sorted(MigrationLoader(connection).disk_migrations):
        if label in {"policies", "catalog"}:
            printed = io.StringIO()
            call_command("sqlmigrate", label, name, stdout=printed, no_color=True)
            # An id that is drawn as the default of a column.
            text = re.sub("'[0-9a-f]{32}'", "'ID'", Masker().mask(printed.getvalue()))
            yield f"{label} {name} {hashlib.sha256(text.encode()).hexdigest()}"


def test_no_migration_has_changed(django_db_setup, django_db_blocker):
    if connection.vendor != "sqlite":
        pytest.skip("The goldens are made on SQLite.")
    with django_db_blocker.unblock():
        compare("migrations.txt", list_migrations())
        connection.close()
