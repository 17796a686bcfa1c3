"""One line an event, with the id of its request."""

import io
import json
import logging
import logging.config
import uuid
from typing import Any

import pytest
import structlog
from django.conf import settings

from authzsite import logs
from authzsite.celery import app
from policies.pdp import tasks as pdp_tasks


@pytest.fixture
def log(monkeypatch, request):
    """What is written to standard error from now on, in the style that the test asks for."""
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    logs.configure(logs.build_configuration(level="INFO", style=getattr(request, "param", "json")))
    yield stream
    monkeypatch.undo()
    logs.configure(settings.LOGGING)


def lines(log):
    """The lines of a JSON log."""
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_a_request_is_one_line_that_its_id_ties_to_the_others(log, client):
    client.get("/health/live", headers={"X-Request-ID": "abc-1"})
    [line] = lines(log)
    assert (line["event"], line["code"], line["request_id"]) == ("request_finished", 200, "abc-1")


@pytest.mark.parametrize("given", ["", "two words", "x" * 129, "a\u00e9"])
def test_a_request_without_a_name_that_can_be_found_again_gets_one(log, client, given):
    name = client.get("/health/live", headers={"X-Request-ID": given})["X-Request-ID"]
    assert name == str(uuid.UUID(name))
    assert lines(log)[0]["request_id"] == name


@pytest.mark.parametrize("path", ["/health/live", "/nowhere", "/api/v1/nowhere", "/static/nowhere"])
def test_every_answer_carries_the_id_of_its_request(client, path):
    assert client.get(path, headers={"X-Request-ID": "abc-1"})["X-Request-ID"] == "abc-1"
    body = b" " * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
    refused = client.post(path, data=body, content_type="text/plain", headers={"X-Request-ID": "abc-2"})
    assert (refused.status_code, refused["X-Request-ID"]) == (413, "abc-2")


def test_a_task_takes_the_id_of_the_request_along():
    """Sent to a broker in memory, with the headers that the worker reads."""
    with (
        app.connection_for_write(url="memory://", transport="memory") as link,
        structlog.contextvars.bound_contextvars(request_id="abc-1"),
    ):
        channel: Any = link.default_channel
        task: Any = pdp_tasks.refresh_policy_cache
        task.apply_async(connection=link)
        message = channel.basic_get("celery", no_ack=True)
    assert message.headers["__django_structlog__"]["request_id"] == "abc-1"


def test_the_facts_of_a_line_are_members_of_it(log):
    logging.getLogger("policies.pdp.snapshot_store").info("policies_loaded", extra={"policy_version": 7})
    structlog.get_logger("policies").warning("stale", policy_version=8)
    first, second = lines(log)
    assert (first["event"], first["policy_version"], first["level"]) == ("policies_loaded", 7, "info")
    assert (second["event"], second["policy_version"], second["logger"]) == ("stale", 8, "policies")


@pytest.mark.parametrize("log", ["json", "console"], indirect=True)
def test_a_traceback_shows_where_and_not_what(log):
    def fail() -> None:
        password = "swordfish"
        raise ValueError(f"broken after {len(password)} letters")

    try:
        fail()
    except ValueError:
        logging.getLogger("catalog").exception("failed")
    assert "broken after 9 letters" in log.getvalue()
    assert "test_logs.py" in log.getvalue()
    assert "swordfish" not in log.getvalue()


@pytest.mark.parametrize(
    "address",
    [
        "/signup?invite_token={}",
        "/reset?a=b&reset_token={}&c=d",
        "/login?next=/signup%3Finvite_token%3D{}",
        "/login/oidc/callback?state=x&code={}",
    ],
)
def test_the_secret_of_a_link_is_not_in_the_log(log, client, db, address):
    secret = "azi_" + "s" * 43
    client.get(address.format(secret))
    assert address.partition("?")[0] in log.getvalue()
    assert secret not in log.getvalue()
