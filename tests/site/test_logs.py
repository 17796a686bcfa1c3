"""One line an event, with the id of its request."""

import io
import json
import logging
import logging.config

import pytest
import structlog
from django.conf import settings

from authzsite import logs


@pytest.fixture
def log(monkeypatch, request):
    """What is written to standard error from now on, in the style that the test asks for."""
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    logs.configure(logs.configuration(level="INFO", style=getattr(request, "param", "json")))
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


def test_the_facts_of_a_line_are_members_of_it(log):
    logging.getLogger("policies.store").info("policies_loaded", extra={"policy_version": 7})
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
    "address", ["/signup?invite_token={}", "/reset?a=b&reset_token={}&c=d", "/login?next=/signup%3Finvite_token%3D{}"]
)
def test_the_secret_of_a_link_is_not_in_the_log(log, client, db, address):
    secret = "azi_" + "s" * 43
    client.get(address.format(secret))
    assert "signup" in log.getvalue() or "reset" in log.getvalue()
    assert secret not in log.getvalue()
