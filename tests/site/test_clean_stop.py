"""The decision log of a real web process: what was answered is in the database once the process has ended well."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import servers
from django.conf import settings

from policies import bootstrap
from policies.identity.services import access_tokens, users
from policies.models import LoggedDecision
from policies.pdp import authorizer, snapshot_store

ROOT = Path(__file__).parents[2]
JO = "urn:li:corpuser:jo"
PATIENCE_SECONDS = 60


def address_of_database() -> str:
    """The database of the tests, as another process is told about it."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{database['NAME']}"
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{database['NAME']}").geturl()


@contextmanager
def web_process(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A web process as it is deployed, listening; ended by force if the test has not ended it."""
    port, log = servers.free_port(), folder / "web.log"
    environment = {
        **os.environ,
        "DATABASE_URL": address_of_database(),
        "VAR_DIR": str(folder),
        "GRANIAN_HOST": "127.0.0.1",
        "GRANIAN_PORT": str(port),
        "DECISION_LOG_SAMPLE": "1",
    }
    command = ["-m", "granian", "--interface", "wsgi", "--workers", "1", "--blocking-threads", "4", "--no-ws"]
    with (
        log.open("wb") as sink,
        subprocess.Popen(
            [sys.executable, *command, "authzsite.wsgi:application"],
            cwd=ROOT,
            env=environment,
            stdout=sink,
            stderr=sink,
        ) as process,
    ):
        try:
            servers.wait_for(port, process, log)
            yield process, f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def asked(address: str, token: str, body: object) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        found: dict[str, object] = json.load(answer)
        return found


@pytest.mark.django_db(transaction=True)
def test_what_was_answered_before_a_clean_stop_is_in_the_log(tmp_path: Path) -> None:
    bootstrap.run()
    users.create(username="jo", by=authorizer.SYSTEM, channel="test")
    token = access_tokens.create(owner=JO, name="test", by=authorizer.SYSTEM, channel="test").text
    snapshot_store.reset()
    dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,d{},PROD)"
    with web_process(tmp_path) as (process, site):
        for number in range(20):
            question = {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": dataset.format(number)}}
            asked(f"{site}/api/v1/authorize", token, question)
        questions = [
            {"privilege": "VIEW_ENTITY_PAGE", "resource": {"urn": dataset.format(number)}} for number in range(2_000)
        ]
        asked(f"{site}/api/v1/authorize/batch", token, {"questions": questions})
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)
    rows = LoggedDecision.objects.filter(actor=JO, door="api")
    singles = rows.filter(wanted="EDIT_ENTITY_TAGS")
    assert set(singles.values_list("resource", flat=True)) == {dataset.format(number) for number in range(20)}
    assert singles.count() == 20
    assert rows.filter(wanted="VIEW_ENTITY_PAGE").values("resource").distinct().count() == 2_000
    assert rows.count() == 2_020
