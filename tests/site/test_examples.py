"""The examples of the docs run as they are, against a site that listens."""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import servers
from django.test import Client

from policies import bootstrap
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import access_tokens, users
from policies.models import AccessToken
from policies.pdp import authorizer, snapshot_store

pytestmark = pytest.mark.django_db(transaction=True)

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
DOOR = "test"


@pytest.fixture
def environment(transactional_db, live_server, settings, monkeypatch) -> Iterator[dict[str, str]]:
    """Serve an installation; what its clients are told."""
    settings.PLAIN_HTTP = True
    settings.PUBLIC_URL = live_server.url
    settings.CUSTOM_PRIVILEGES = ["GET", "POST"]
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    snapshot_store.reset()
    # The first request of a process loads the site, for which no client has to wait.
    Client().get("/health/live")
    bootstrap.run(is_restricted=True)
    users.create(username="jenny", by=authorizer.SYSTEM, channel=DOOR)
    token = access_tokens.create(owner="urn:li:corpuser:datahub", name="example", by=authorizer.SYSTEM, channel=DOOR)
    yield {**os.environ, "AUTHZSITE_URL": live_server.url, "AUTHZSITE_TOKEN": token.text}
    snapshot_store.reset()


def run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_python_client(environment):
    printed = run([sys.executable, str(EXAMPLES / "client.py")], environment)
    assert printed.splitlines() == [
        "before: DENY",
        "with the policy: ALLOW",
        "who may: True",
        "after: DENY",
        "users: 2",
    ]


def test_the_lines_for_curl(environment):
    printed = run(["sh", str(EXAMPLES / "curl.sh")], environment)
    decoder, answers = json.JSONDecoder(), []
    text = printed.strip()
    while text:
        answer, end = decoder.raw_decode(text)
        answers.append(answer)
        text = text[end:].strip()
    assert [answers[0]["decision"], answers[1]["decision"]] == ["ALLOW", False]
    assert "urn:li:corpuser:datahub" in answers[2]["users"]
    assert [answers[3]["urn"], answers[4]["title"]] == ["urn:li:corpuser:curl-example", "Example"]


class Upstream(BaseHTTPRequestHandler):
    """What is behind the gateway."""

    def do_GET(self) -> None:
        """Say for whom."""
        body = f"{self.headers['X-User']} reads {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def upstream() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Upstream) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def gateway(environment, upstream, tmp_path) -> Iterator[str]:
    """Start the gateway and wait until it listens."""
    port, log = servers.free_port(), tmp_path / "gateway.log"
    command = [sys.executable, str(EXAMPLES / "gateway.py"), str(port), upstream]
    with log.open("wb") as sink, subprocess.Popen(command, env=environment, stderr=sink) as process:
        try:
            servers.wait_for(port, process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def fetch(url: str, *, user: str = "", method: str = "GET") -> tuple[int, str]:
    request = urllib.request.Request(url, headers={"X-User": user} if user else {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_gateway_passes_on_what_policies_permit_and_nothing_else(gateway):
    document = {
        "displayName": "Jenny reads todos",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": ["GET"],
        "actors": {"users": ["urn:li:corpuser:jenny"]},
        "resources": {
            "filter": {
                "criteria": [
                    {"field": "TYPE", "values": ["route"]},
                    {"field": "URN", "values": ["urn:li:route:/todos"], "condition": "STARTS_WITH"},
                ]
            }
        },
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR)
    assert fetch(f"{gateway}/todos?done=no", user="jenny") == (200, "jenny reads /todos?done=no")
    assert fetch(f"{gateway}/users", user="jenny")[0] == 403
    assert fetch(f"{gateway}/todos", user="jenny", method="POST")[0] == 403
    assert fetch(f"{gateway}/todos", user="somebody-else")[0] == 403
    assert fetch(f"{gateway}/todos")[0] == 401
    for path in ("/todos/../users", "/todos/%2e%2e/users", "/todos//1"):
        assert fetch(f"{gateway}{path}", user="jenny")[0] == 400


def test_the_gateway_lets_nothing_pass_while_nobody_can_say(gateway):
    for token in AccessToken.objects.all():
        access_tokens.revoke(token_id=token.pk, by=authorizer.SYSTEM, channel=DOOR)
    assert fetch(f"{gateway}/todos", user="jenny") == (503, "Nobody can say whether you may.\n")
