"""Alive and ready, as a supervisor asks."""

import json
import logging
import sys
from contextlib import closing

import pytest
import redis
import servers
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.test.utils import CaptureQueriesContext

from authzsite import health
from policies.models import PolicyVersion
from policies.pdp import snapshot_store
from tests.site.test_settings import manage


def test_alive_needs_no_database(client):
    answer = client.get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_ready_names_every_part_and_the_policy_version(client):
    answer = client.get("/health/ready")
    assert answer.status_code == 200, answer.content
    checks = answer.json()["checks"]
    assert set(checks) == {"database", "migrations", "broker", "clock", "policies", "disk"}
    assert checks["clock"]["seconds_ahead"] == 0
    assert checks["policies"]["version"] >= 1
    assert checks["broker"]["kind"] == ("redis" if settings.REDIS_URL else "filesystem")


@pytest.mark.parametrize(
    "error",
    [health.NotReady("2 migrations are not applied."), DatabaseError("at 10.0.0.7"), OSError("at 10.0.0.7")],
)
def test_a_part_that_is_away_is_a_sentence_without_addresses(error):
    def part():
        raise error

    found = health.run_check(part)
    assert found["ok"] is False
    assert "10.0.0.7" not in str(found["detail"])


@pytest.mark.django_db
def test_not_ready_is_503_with_the_same_shape(client, monkeypatch):
    def broker():
        raise OSError

    monkeypatch.setattr(health, "CHECKS", (health.database, broker))
    answer = client.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["checks"]["broker"] == {"ok": False, "detail": "broker cannot be reached (OSError)."}


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
def test_health_is_only_read(client, path):
    assert client.post(path).status_code == 405


@pytest.mark.django_db
def test_a_database_of_another_release_is_not_ready(client):
    recorder = MigrationRecorder(connection)
    last = recorder.migration_qs.filter(app="policies").order_by("name").values_list("name", flat=True).reverse()[0]
    recorder.record_unapplied("policies", last)
    told = client.get("/health/ready").json()["checks"]["migrations"]
    assert told == {"ok": False, "detail": f"1 migration is not applied, the first is policies.{last}."}
    recorder.record_applied("policies", last)
    recorder.record_applied("catalog", "9999_of_tomorrow")
    told = client.get("/health/ready").json()["checks"]["migrations"]
    assert told["detail"] == "The database is of a later release: catalog.9999_of_tomorrow is not known here."


@pytest.mark.django_db
def test_a_database_without_migrations_is_not_ready(client):
    MigrationRecorder(connection).flush()
    told = client.get("/health/ready").json()["checks"]["migrations"]
    count = len(health.load_disk_migrations().plan)
    assert told["detail"].startswith(f"{count} migrations are not applied, the first is ")


@pytest.mark.django_db
def test_migrations_are_read_from_the_disk_once(client, monkeypatch):
    loads = []
    load_disk = MigrationLoader.load_disk

    def count(loader):
        loads.append(loader)
        load_disk(loader)

    monkeypatch.setattr(MigrationLoader, "load_disk", count)
    health.load_disk_migrations.cache_clear()
    for _ in range(3):
        assert client.get("/health/ready").json()["checks"]["migrations"] == {"ok": True}
    assert len(loads) == 1
    # Is the table there, and what does it hold.
    with CaptureQueriesContext(connection) as queries:
        health.migrations()
    assert len(queries) == 2


@pytest.mark.django_db
def test_a_squashed_migration_counts_as_applied_when_all_that_it_replaces_are(monkeypatch):
    names = health.load_disk_migrations().names
    replaced = tuple(sorted(key for key in names if key[0] == "policies")[:2])
    squashed = health.DiskMigrations(names, {("policies", "0001_squashed"): replaced})
    monkeypatch.setattr(health, "load_disk_migrations", lambda: squashed)
    assert health.migrations() == {}
    MigrationRecorder(connection).record_unapplied(*replaced[0])
    with pytest.raises(health.NotReady, match=r"^1 migration is not applied, the first is policies\.0001_squashed\.$"):
        health.migrations()


@pytest.mark.django_db
def test_without_the_row_of_the_version_nothing_is_answered(client):
    PolicyVersion.objects.all().delete()
    snapshot_store.reset()
    answer = client.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json()["checks"]["policies"]["ok"] is False


@pytest.mark.skipif(sys.platform != "linux", reason="The limit on the size of files is Linux's.")
def test_a_full_disk_is_said_plainly(tmp_path):
    show = (
        "import json, resource; from authzsite import health; before = health.run_check(health.disk); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); "
        "print(json.dumps([before, health.run_check(health.disk)]))"
    )
    told = manage("shell", "--verbosity", "0", "-c", show, folder=tmp_path)
    before, after = json.loads(told.stdout.splitlines()[-1])
    assert before == {"ok": True}
    assert after == {"ok": False, "detail": "Nothing can be written into VAR_DIR: File too large."}
    assert "not_ready" in told.stderr + told.stdout


def test_a_broker_that_refuses_is_said_plainly(tmp_path):
    show = "import json; from authzsite import health; print(json.dumps(health.run_check(health.broker)))"
    away = f"redis://127.0.0.1:{servers.free_port()}/0"
    told = manage("shell", "--verbosity", "0", "-c", show, folder=tmp_path, REDIS_URL=away)
    assert json.loads(told.stdout.splitlines()[-1]) == {
        "ok": False,
        "detail": "broker cannot be reached (ConnectionError).",
    }


@pytest.mark.redis
def test_a_broker_is_asked_once(tmp_path):
    """A second question could meet a Redis that says nothing any more, and then takes seconds."""
    show = "import json; from authzsite import health; print(json.dumps(health.run_check(health.broker)))"
    with servers.redis_server() as server, closing(redis.Redis.from_url(server.address)) as client:
        before = client.info("stats")["total_connections_received"]
        told = manage("shell", "--verbosity", "0", "-c", show, folder=tmp_path, REDIS_URL=server.address)
        assert client.info("stats")["total_connections_received"] == before + 1
    assert json.loads(told.stdout.splitlines()[-1]) == {"ok": True, "kind": "redis"}


def test_the_log_says_once_what_is_missing_and_when_it_is_back(caplog):
    is_away = True

    def warehouse():
        if is_away:
            raise OSError("at 10.0.0.7")
        return {}

    with caplog.at_level(logging.WARNING, logger="authzsite.health"):
        for _ in range(3):
            health.run_check(warehouse)
        is_away = False
        for _ in range(3):
            health.run_check(warehouse)
    assert [record.getMessage() for record in caplog.records] == ["not_ready", "ready_again"]
    assert caplog.records[0].error == "at 10.0.0.7"
