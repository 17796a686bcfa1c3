"""Alive and ready, as a supervisor asks."""

import pytest
from django.conf import settings
from django.db import DatabaseError

from authzsite import health


def test_alive_needs_no_database(client):
    answer = client.get("/health/live")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive"})
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.django_db
def test_ready_names_every_part_and_the_policy_version(client):
    answer = client.get("/health/ready")
    assert answer.status_code == 200, answer.content
    checks = answer.json()["checks"]
    assert set(checks) == {"database", "migrations", "broker", "policies"}
    assert checks["policies"]["version"] >= 1
    assert checks["broker"]["kind"] == ("redis" if settings.REDIS_URL else "filesystem")


@pytest.mark.parametrize(
    "error",
    [health.NotReady("2 migrations are not applied."), DatabaseError("at 10.0.0.7"), OSError("at 10.0.0.7")],
)
def test_a_part_that_is_away_is_a_sentence_without_addresses(error):
    def part():
        raise error

    found = health.outcome(part)
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
