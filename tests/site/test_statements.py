"""A web process does not wait for ever for its database."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from authzsite import statement_timeout
from policies import deadlines

POSTGRESQL = "authzsite.postgresql"


@pytest.fixture(autouse=True)
def _limited_as_before() -> Iterator[None]:
    yield
    statement_timeout.limit_waits(settings.TASK_STATEMENT_SECONDS)


def test_waits_are_bounded_on_this_side_a_little_later():
    assert deadlines.find_seconds_left() == settings.TASK_STATEMENT_SECONDS + statement_timeout.MARGIN_SECONDS
    statement_timeout.limit_statements({"ENGINE": POSTGRESQL, "OPTIONS": {}}, 30)
    assert deadlines.find_seconds_left() == 30 + statement_timeout.MARGIN_SECONDS
    statement_timeout.limit_waits(0)
    assert deadlines.find_seconds_left() is None


def test_the_limit_stands_beside_other_options():
    database: dict[str, Any] = {"ENGINE": POSTGRESQL, "OPTIONS": {"options": "-c jit=off"}}
    statement_timeout.limit_statements(database, 30)
    assert database["OPTIONS"]["options"] == "-c jit=off -c statement_timeout=30s"
    statement_timeout.limit_statements(untouched := {"ENGINE": POSTGRESQL, "OPTIONS": {}}, 0)
    statement_timeout.limit_statements(other := {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {}}, 30)
    assert untouched["OPTIONS"] == other["OPTIONS"] == {}


@pytest.mark.django_db
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite knows no limit.")
def test_what_takes_longer_is_ended():
    database = connection.settings_dict | {"OPTIONS": dict(connection.settings_dict["OPTIONS"])}
    statement_timeout.limit_statements(database, 1)
    options = database["OPTIONS"]["options"]
    parameters = {name: database[name.upper()] for name in ("host", "port", "user", "password")}
    with (
        psycopg.connect(dbname=database["NAME"], options=options, **parameters) as link,
        pytest.raises(psycopg.errors.QueryCanceled),
    ):
        link.execute("SELECT pg_sleep(60)")
