"""A batch of 200 costs the queries of a batch of 5, whoever writes it."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.engine.model import Actor
from policies.pdp import snapshot_store
from policies.pdp.authorizer import SYSTEM
from tests.catalog.conftest import owners, said, tags, tell

pytestmark = pytest.mark.django_db

#: Django cuts an INSERT into pieces of 999 parameters on SQLite; everything else is one statement whatever the size.
PIECES = 40
#: Statements of one batch, with every INSERT counted once.
MOST = 30


def batch(size: int, place: str, word: str) -> list:
    found = []
    for number in range(size // 5):
        dataset = f"urn:li:dataset:(urn:li:dataPlatform:hive,{place}{number},PROD)"
        found += [
            said(dataset, "globalTags", tags(word, "b")),
            said(dataset, "ownership", owners("urn:li:corpuser:a")),
            said(dataset, "domains", {"domains": [f"urn:li:domain:{place}{number}"]}),
            said(dataset, "datasetProperties", {"name": f"Table {word}"}),
            said(
                f"urn:li:domain:{place}{number}",
                "domainProperties",
                {"name": word, "parentDomain": f"urn:li:domain:{word}"},
            ),
        ]
    return found


def statements(size: int, place: str, word: str, by: Actor) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        tell(*batch(size, place, word), by=by)
    found = [query["sql"] for query in captured.captured_queries]
    return [sql for sql in found if not sql.startswith('INSERT INTO "')] + sorted(
        {sql.split("(")[0] for sql in found if sql.startswith('INSERT INTO "')}
    )


@pytest.mark.parametrize("is_system", [True, False])
def test_the_number_of_queries_does_not_grow(
    holding: Callable[..., Actor], is_system: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Looking for newer policies is one more, whenever a second has passed.
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 3600.0)
    by = SYSTEM if is_system else holding("EDIT_ENTITY")
    tell(said("urn:li:tag:first", "tagProperties", {"name": "warm"}), by=by)
    for word in ("new", "changed", "changed again"):
        few, many = statements(5, "few", word, by), statements(200, "many", word, by)
        assert len(few) == len(many), f"{few}\n{many}"
        assert len(many) <= MOST


def test_inserts_are_cut_into_few_pieces() -> None:
    with CaptureQueriesContext(connection) as captured:
        tell(*batch(200, "x", "x"))
    inserts = [query for query in captured.captured_queries if query["sql"].startswith("INSERT")]
    assert len(inserts) <= PIECES


def test_postgresql_does_not_compile_statements() -> None:
    """Compiling one takes seconds where it is long, and running it never does."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW jit")
            assert cursor.fetchone() == ("off",)
