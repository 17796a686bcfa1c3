"""Repairs of a run at a real PostgreSQL: proposed, previewed and applied by workers, confirmed by somebody else."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import servers
from django.utils import timezone

from catalog.connections import repairs, snapshots
from catalog.models import Report, WarehouseChange, WarehouseSnapshot
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid
from policies.pdp.authorizer import SYSTEM
from tests import finished

pytestmark = pytest.mark.django_db

READ, APPLY = "WAREHOUSE_POSTGRES_SHOP_READ_DSN", "WAREHOUSE_POSTGRES_SHOP_APPLY_DSN"
REVOKE = 'REVOKE SELECT ON TABLE "public"."orders" FROM "ann";'
GRANT = 'GRANT SELECT ON TABLE "public"."people" TO "reader";'
Status = WarehouseChange.Status


class Shop:
    """A connection, and the server that it leads to."""

    def __init__(self, port: int) -> None:
        self.port = port

    def run(self, statements: str) -> list[Any]:
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            cursor = connection.execute(statements.encode())
            return cursor.fetchall() if cursor.description else []

    def dsn(self, role: str) -> str:
        return f"postgresql://{role}@127.0.0.1:{self.port}/postgres"

    def reads(self, role: str, table: str) -> bool:
        ((answer,),) = self.run(f"SELECT has_table_privilege('{role}', 'public.{table}', 'SELECT')")
        return bool(answer)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    if servers.postgres_folder() is None:
        pytest.skip("needs PostgreSQL")
    with servers.postgres() as address:
        yield urlsplit(address).port or 0


@pytest.fixture
def shop(port: int, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shop]:
    """A connection with a snapshot, and a run whose findings have two repairs for it and one for another export."""
    shop = Shop(port)
    shop.run(
        "CREATE ROLE snoop LOGIN; CREATE ROLE ann LOGIN; CREATE ROLE reader; CREATE TABLE orders (id int);"
        "CREATE TABLE people (id int); GRANT SELECT ON orders TO ann"
    )
    monkeypatch.setenv(READ, shop.dsn("snoop"))
    monkeypatch.setenv(APPLY, shop.dsn("postgres"))
    settings.WAREHOUSE_CONNECTIONS = {"shop": {"system": "postgres", "read": READ, "apply": APPLY}}
    settings.REPORTS_DIR = str(tmp_path / "reports")
    snapshots.take(snapshots.request_snapshot(name="shop", by=SYSTEM).pk)
    rows = [
        {"key": "1", "export": "shop", "repair": f"-- First\n{GRANT}", "sentence": "reader lacks READ on people."},
        {"key": "2", "export": "shop", "repair": REVOKE, "sentence": "ann has READ on orders."},
        {"key": "3", "export": "other", "repair": REVOKE, "sentence": "Elsewhere."},
        {"key": "4", "export": "shop", "repair": "-- Only words", "sentence": "Somebody has to look."},
    ]
    finished.ready(tmp_path / "runs", "role_mapping_check", {"findings": rows})
    yield shop
    shop.run("DROP TABLE orders, people; DROP ROLE snoop; DROP ROLE IF EXISTS ann; DROP ROLE reader")


def propose(*keys: str) -> WarehouseChange:
    """Return a set that a worker has previewed."""
    change = repairs.propose(name="shop", keys=keys or None, by=SYSTEM)
    repairs.preview(change.pk)
    change.refresh_from_db()
    return change


def apply(change: WarehouseChange) -> WarehouseChange:
    """Return a set that a worker has applied."""
    repairs.apply(change.pk)
    change.refresh_from_db()
    return change


def confirm(change: WarehouseChange, settings: Any) -> WarehouseChange:
    settings.REPAIRS_NEED_TWO = False
    return repairs.confirm(name="shop", change_id=change.pk, by=SYSTEM)


def test_what_is_confirmed_is_applied_as_it_was_previewed_and_read_again(shop: Shop, settings: Any) -> None:
    change = propose()
    assert [entry["statement"] for entry in change.statements] == [GRANT, REVOKE]
    assert (change.status, change.preview) == (
        Status.PREVIEWED,
        {"gained": [["reader", "SELECT", "public.people"]], "lost": [["ann", "SELECT", "public.orders"]]},
    )
    assert (shop.reads("ann", "orders"), shop.reads("reader", "people")) == (True, False)
    with pytest.raises(Forbidden, match="another holder of MANAGE_WAREHOUSES"):
        repairs.confirm(name="shop", change_id=change.pk, by=SYSTEM)
    # Nobody has confirmed it yet.
    assert apply(change).status == Status.PREVIEWED
    confirmed = confirm(change, settings)
    assert (apply(confirmed).status, confirmed.done, confirmed.problem) == (Status.APPLIED, 2, "")
    assert (shop.reads("ann", "orders"), shop.reads("reader", "people")) == (False, True)
    queued = WarehouseSnapshot.objects.get(status="QUEUED")
    assert not Report.objects.filter(status="QUEUED").exists()
    assert snapshots.take(queued.pk) == "READY"
    # What is left is compared without anybody asking, once.
    assert Report.objects.get(status="QUEUED").kind == "role_mapping_check"
    assert snapshots.take(snapshots.request_snapshot(name="shop", by=SYSTEM).pk) == "READY"
    assert Report.objects.filter(status="QUEUED").count() == 1
    # A message that arrives twice changes nothing.
    shop.run("GRANT SELECT ON orders TO ann")
    assert apply(confirmed).status == Status.APPLIED
    assert shop.reads("ann", "orders")


def test_the_source_has_the_last_word(shop: Shop, settings: Any) -> None:
    change = confirm(propose(), settings)
    shop.run("DROP OWNED BY ann; DROP ROLE ann")
    failed = apply(change)
    assert (failed.status, failed.done) == (Status.FAILED, 1)
    assert 'role "ann" does not exist' in failed.problem
    assert not shop.reads("reader", "people")
    assert not WarehouseSnapshot.objects.filter(status="QUEUED").exists()


def test_a_preview_that_fails_says_which_statement(shop: Shop) -> None:
    shop.run("DROP TABLE people")
    change = propose()
    assert (change.status, change.done) == (Status.FAILED, 0)
    assert 'relation "public.people" does not exist' in change.problem
    shop.run("CREATE TABLE people (id int)")


def test_only_one_set_is_applied_at_a_time_and_each_once(shop: Shop, settings: Any) -> None:
    assert shop
    first, second = confirm(propose("1"), settings), propose("2")
    with pytest.raises(Conflict, match="Another set of repairs of shop is being applied"):
        confirm(second, settings)
    with pytest.raises(Conflict, match="Only a set that is previewed"):
        repairs.confirm(name="shop", change_id=first.pk, by=SYSTEM)
    repairs.cancel(name="shop", change_id=second.pk, by=SYSTEM)
    with pytest.raises(Conflict, match="waits for confirmation"):
        repairs.cancel(name="shop", change_id=first.pk, by=SYSTEM)
    assert apply(first).status == Status.APPLIED


def test_what_cannot_be_proposed_is_said(shop: Shop, settings: Any, tmp_path: Path) -> None:
    assert shop
    with pytest.raises(Invalid, match="no statements for the finding 3"):
        propose("1", "3")
    with pytest.raises(Forbidden, match="MANAGE_WAREHOUSES"):
        repairs.propose(name="shop", keys=None, by=Actor("urn:li:corpuser:otto"))
    evil = 'REVOKE "x" FROM "a\n"; DROP ROLE "ann";'
    rows = [{"key": "5", "export": "shop", "repair": evil, "sentence": "A name with a line in it."}]
    finished.ready(tmp_path / "later", "role_mapping_check", {"findings": rows})
    with pytest.raises(Invalid, match="no statement of a repair, so it is not run"):
        propose("5")
    with pytest.raises(Invalid, match="nothing to repair"):
        propose()
    settings.WAREHOUSE_CONNECTIONS = {"shop": {"system": "postgres", "read": READ}}
    with pytest.raises(Conflict, match="only read"):
        propose("5")


def test_a_set_whose_worker_went_away_ends_in_words(shop: Shop, settings: Any) -> None:
    assert shop
    change = confirm(propose(), settings)
    long_ago = timezone.now() - timedelta(hours=2)
    WarehouseChange.objects.filter(pk=change.pk).update(status=Status.RUNNING, moved_at=long_ago)
    assert repairs.expire() == 1
    found = repairs.get_change(name="shop", change_id=change.pk)
    assert (found.status, "take a snapshot to know" in found.problem) == (Status.FAILED, True)
