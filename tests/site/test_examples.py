"""The examples of the docs run as they are, against a site that listens."""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import servers
from django.test import Client

from policies import bootstrap
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import access_tokens, users
from policies.models import AccessToken, SubmittedRequest
from policies.pdp import authorizer, snapshot_store
from tests.api.conftest import make_client
from tests.requests.conftest import act

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


@contextmanager
def start_gateway(name: str, environment: dict[str, str], upstream: str, log: Path) -> Iterator[str]:
    """Start a gateway and wait until it listens."""
    port = servers.free_port()
    command = [sys.executable, str(EXAMPLES / name), str(port), upstream]
    with log.open("wb") as sink, subprocess.Popen(command, env=environment, stderr=sink) as process:
        try:
            servers.wait_for(port, process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture
def gateway(environment, upstream, tmp_path) -> Iterator[str]:
    with start_gateway("gateway.py", environment, upstream, tmp_path / "gateway.log") as address:
        yield address


def fetch(url: str, *, user: str = "", method: str = "GET", reason: str = "") -> tuple[int, str]:
    headers = {name: value for name, value in (("X-User", user), ("X-Reason", reason)) if value}
    request = urllib.request.Request(url, headers=headers, method=method)
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


def test_a_gateway_asks_for_what_it_refuses_and_goes_on(environment, upstream, tmp_path):
    approver = make_client("pat", "MANAGE_POLICIES")

    def ask(gateway: str, user: str = "jenny", reason: str = "") -> tuple[int, Any]:
        status, text = fetch(f"{gateway}/todos", user=user, reason=reason)
        return status, json.loads(text) if status != 200 else text

    with start_gateway("requesting_gateway.py", environment, upstream, tmp_path / "first.log") as gateway:
        status, said = ask(gateway)
        assert (status, said["requestable"], said["reason"]) == (403, True, "approval_required")
        assert ask(gateway, user="nobody", reason="Why not")[1]["requestable"] is False
        assert ask(gateway, reason="For the audit") == (202, {"status": "pending"})
        assert ask(gateway) == (202, {"status": "pending"})
        with start_gateway("requesting_gateway.py", environment, upstream, tmp_path / "second.log") as other:
            assert ask(other, reason="For the audit") == (202, {"status": "pending"})
        request = SubmittedRequest.objects.get()
        assert (request.reason, act(approver, {"urn": request.urn}, "approve").json()["state"]) == (
            "For the audit",
            "done",
        )
        assert ask(gateway) == (200, "jenny reads /todos")


def test_the_client_that_asks_waits_and_evaluates_again(environment):
    approver = make_client("pat", "MANAGE_POLICIES")
    command = [sys.executable, str(EXAMPLES / "request_access.py"), "jenny", "POST", "route", "/todos", "For the audit"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "pending\n"
        request = SubmittedRequest.objects.get()
        assert act(approver, {"urn": request.urn}, "approve").json()["state"] == "done"
        lines = process.stdout.read().splitlines()
    assert [line for line in lines if line != "pending"] == ["approved", "decision: True"]
