"""Connections: a snapshot of a real PostgreSQL, taken by a worker and read by the role mapping check as an export."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
import servers
from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from authzsite import warehouse_dsns
from catalog.connections import overview, snapshots
from catalog.models import Report, WarehouseSnapshot
from catalog.reports.kinds.role_mapping_check import connected_exports
from catalog.reports.kinds.role_mapping_check import spec as role_mapping_check
from catalog.reports.storage import parse_address
from policies.engine.model import Actor
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.pdp.authorizer import SYSTEM

pytestmark = pytest.mark.django_db

SECRET = "s3cr3t"
VARIABLE = "WAREHOUSE_POSTGRES_SHOP_READ_DSN"
Status = WarehouseSnapshot.Status


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """The port of a server with a role that reads, and one table."""
    if servers.postgres_folder() is None:
        pytest.skip("needs PostgreSQL")
    with servers.postgres() as address:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE snoop LOGIN PASSWORD '{SECRET}'; CREATE TABLE orders (id int)".encode())
        yield urlsplit(address).port or 0


@pytest.fixture
def shop(port: int, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The name of a connection to that server."""
    monkeypatch.setenv(VARIABLE, f"postgresql://snoop:{SECRET}@127.0.0.1:{port}/postgres")
    settings.WAREHOUSE_CONNECTIONS = {"shop": {"system": "postgres", "read": VARIABLE}}
    settings.REPORTS_DIR = str(tmp_path / "reports")
    return "shop"


def take(name: str) -> WarehouseSnapshot:
    """Return a snapshot that a worker has taken."""
    snapshot = snapshots.request_snapshot(name=name, by=SYSTEM)
    snapshots.take(snapshot.pk)
    snapshot.refresh_from_db()
    return snapshot


def prepare(folder: Path) -> dict[str, str]:
    """Return the files that a run of the role mapping check would read."""
    target = parse_address(folder)
    target.create()
    role_mapping_check.prepare(Report(), target)
    exports = folder / "exports"
    return {path.relative_to(exports).as_posix(): path.read_text() for path in exports.rglob("*") if path.is_file()}


def test_a_snapshot_is_an_export_that_is_never_older_than_it_says(shop: str, tmp_path: Path) -> None:
    begun_at = timezone.now()
    snapshot = take(shop)
    assert (snapshot.status, snapshot.problem) == (Status.READY, "")
    assert snapshot.taken_at is not None
    assert begun_at <= snapshot.taken_at
    files = prepare(tmp_path / "run")
    (entry,) = json.loads(files.pop("exports.json"))["exports"]
    assert (entry["name"], entry["form"], entry["database"]) == ("shop", "postgres", "postgres")
    assert sorted(entry["grants"] + entry["members"] + entry["policies"]) == sorted(files)
    assert "postgres,public,orders,TABLE,postgres" in files["connections/shop/relation_grants.csv"]
    state = overview.describe_connection(shop)
    assert SECRET not in repr((state, state.address, snapshot.reading, files))
    assert (state.problem, state.is_moved, state.last) == ("", False, snapshot)


def test_an_entry_of_the_file_says_how_names_are_mapped(shop: str, settings: Any, tmp_path: Path) -> None:
    take(shop)
    folder = tmp_path / "grants"
    folder.mkdir()
    entry: dict[str, object] = {"name": "shop", "platform": "postgres", "form": "postgres", "role_prefix": "pg_"}
    entry |= {"grants": ["connections/shop/relation_grants.csv"], "database": "postgres"}
    (folder / "exports.json").write_text(json.dumps({"exports": [entry]}))
    settings.GRANTS_EXPORTS = str(folder)
    files = prepare(tmp_path / "run")
    assert json.loads(files["exports.json"])["exports"] == [entry]
    assert "connections/shop/roles.csv" in files
    (folder / "exports.json").write_text(json.dumps({"exports": [entry | {"database": "elsewhere"}]}))
    with pytest.raises(Invalid, match="leads to the database postgres, and its entry in exports"):
        prepare(tmp_path / "second")
    (folder / "exports.json").write_text(json.dumps({"exports": [entry | {"name": "mine"}]}))
    with pytest.raises(Invalid, match="has to have its name"):
        prepare(tmp_path / "third")
    settings.GRANTS_EXPORTS = "s3a://bucket/exports"
    with pytest.raises(Invalid, match="folder of this machine alone"):
        prepare(tmp_path / "fourth")


def test_one_is_taken_at_a_time(shop: str) -> None:
    first = snapshots.request_snapshot(name=shop, by=SYSTEM)
    with pytest.raises(Conflict, match="queued or running already"):
        snapshots.request_snapshot(name=shop, by=SYSTEM)
    assert snapshots.request_nightly() == 0
    assert snapshots.take(first.pk) == Status.READY
    # The message arrives twice.
    assert snapshots.take(first.pk) == ""
    assert snapshots.request_nightly() == 1


def test_a_failure_is_a_sentence_and_leaves_the_last_good_snapshot(
    shop: str, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = take(shop)
    monkeypatch.setenv(VARIABLE, f"postgresql://snoop:wrong@127.0.0.1:{port}/nowhere")
    bad = take(shop)
    assert (bad.status, bad.problem) == (Status.FAILED, f"The server 127.0.0.1:{port} has no database nowhere.")
    state = overview.describe_connection(shop)
    assert (state.last_good, state.last, state.is_moved) == (good, bad, True)
    assert connected_exports.list_connected() == [good]
    names = connected_exports.find_folder(good).parent.list_names()
    assert names == [str(good.pk)]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({VARIABLE: ""}, f"{VARIABLE} is empty here."),
        ({VARIABLE: "nonsense"}, "The DSN cannot be read"),
    ],
)
def test_a_dsn_that_is_not_there_is_said(
    shop: str, monkeypatch: pytest.MonkeyPatch, values: dict[str, str], sentence: str
) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert take(shop).problem.startswith(sentence)
    assert overview.describe_connection(shop).problem.startswith(sentence)


def test_a_dsn_may_stand_in_a_file(
    shop: str, port: int, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "dsn"
    monkeypatch.setenv(f"{VARIABLE}_FILE", str(file))
    settings.WAREHOUSE_CONNECTIONS = {shop: {"system": "postgres", "read": f"{VARIABLE}_FILE"}}
    assert take(shop).problem == f"The file that {VARIABLE}_FILE names cannot be read here."
    file.write_text(f"host=127.0.0.1 port={port} user=snoop password={SECRET} dbname=postgres\n")
    assert take(shop).status == Status.READY


def test_a_worker_that_went_away_is_said_when_its_time_is_over(shop: str, settings: Any) -> None:
    snapshot = snapshots.request_snapshot(name=shop, by=SYSTEM)
    WarehouseSnapshot.objects.filter(pk=snapshot.pk).update(status=Status.RUNNING, started_at=timezone.now())
    assert snapshots.expire() == 0
    begun_at = timezone.now() - timedelta(seconds=settings.SNAPSHOT_SECONDS + 120)
    WarehouseSnapshot.objects.filter(pk=snapshot.pk).update(started_at=begun_at)
    assert snapshots.expire() == 1
    snapshot.refresh_from_db()
    assert (snapshot.status, snapshot.problem.split(" was")[0]) == (
        Status.FAILED,
        "The worker that took this snapshot went away before it",
    )


def test_old_snapshots_go_and_the_last_good_one_stays(
    shop: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SNAPSHOTS_KEPT = 1
    oldest, good = take(shop), take(shop)
    monkeypatch.setenv(VARIABLE, "")
    failed = [take(shop) for _ in range(2)]
    snapshots.delete_old(shop)
    assert set(WarehouseSnapshot.objects.all()) == {good, failed[-1]}
    assert connected_exports.find_folder(good).parent.list_names() == [str(good.pk)]
    assert not connected_exports.find_folder(oldest).is_there()


def test_only_who_manages_warehouses_asks_for_one(shop: str) -> None:
    with pytest.raises(Forbidden, match="MANAGE_WAREHOUSES"):
        snapshots.request_snapshot(name=shop, by=Actor("urn:li:corpuser:otto"))
    with pytest.raises(NotFound):
        snapshots.request_snapshot(name="none", by=SYSTEM)


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ((VARIABLE, f"{VARIABLE}_FILE"), "are one DSN: set one of them"),
        (("WAREHOUSE_POSTGRES_SHOP_APPLY_DSN",), "shop cannot be read"),
        ((VARIABLE, "WAREHOUSE_OTHER_SHOP_READ_DSN"), "has a connection of the name shop, too"),
    ],
)
def test_variables_that_contradict_each_other_stop_the_start(
    monkeypatch: pytest.MonkeyPatch, variables: tuple[str, ...], sentence: str
) -> None:
    for name in variables:
        monkeypatch.setenv(name, SECRET)
    with pytest.raises(ImproperlyConfigured, match=sentence) as caught:
        warehouse_dsns.find_connections()
    assert SECRET not in str(caught.value)


def test_variables_name_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAREHOUSE_POSTGRES_SALES_EU_READ_DSN_FILE", "place")
    monkeypatch.setenv("WAREHOUSE_POSTGRES_SALES_EU_APPLY_DSN", SECRET)
    expected = {
        "system": "postgres",
        "read": "WAREHOUSE_POSTGRES_SALES_EU_READ_DSN_FILE",
        "apply": "WAREHOUSE_POSTGRES_SALES_EU_APPLY_DSN",
    }
    assert warehouse_dsns.find_connections()["sales_eu"] == expected
