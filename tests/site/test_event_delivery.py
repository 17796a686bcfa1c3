"""Processes that are killed while they write, tell and send: nothing is lost, told too early, or in the inbox twice."""

import json
import random
import signal
import socketserver
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import servers
import tools

from tests.clients import installations

RECEIVER = "watch@x.example"

#: Stands for a web process: users come and runs of reports fail, each with its event, until it is killed.
WRITE = """
import django, itertools
django.setup()
from catalog.reports.registry import KINDS
from catalog.reports.run import run_state
from policies.identity.services import users
from policies.pdp.authorizer import SYSTEM
kind = KINDS["policy_hygiene"]
run_state.Report.objects.filter(status__in=run_state.Report.OPEN_STATUSES).delete()
print("ready", flush=True)
for number in itertools.count():
    users.create(username=f"p{run_state.Report.objects.count()}-{number}", by=SYSTEM, channel="test")
    report = run_state.queue(spec=kind, parameters={}, by=SYSTEM.urn)
    run_state.fail(run_state.claim(report.pk), problem=f"Number {number}.")
    print(number, flush=True)
"""
#: Stands for a worker of the queue.
DELIVER = """
import django, itertools
django.setup()
from policies.events import tasks
print("ready", flush=True)
for number in itertools.count():
    tasks.deliver_events()
    print(number, flush=True)
"""
#: Delivers what is left after claims have run out, and prints what there is.
SHOW = """
import django, json
django.setup()
from django.db.models import F
from policies.events import stream, tasks
from policies.models import ChangeEvent, Mail, Notice, User
from policies.models.outbox import BEGINNING
from catalog.models import Report
Mail.objects.update(claimed_until=None)
while tasks.deliver_events():
    pass
print(json.dumps({
    "events": [[event.type, event.subject] for event in stream.list_after(BEGINNING)],
    "users": sorted(User.objects.filter(username__startswith="p").values_list("urn", flat=True)),
    "failed": [f"report:{pk}" for pk in Report.objects.filter(status="FAILED").values_list("pk", flat=True)],
    "notices": [list(row) for row in Notice.objects.values_list("address", "user__username", "key")],
    "mails": [list(row) for row in Mail.objects.values_list("message_id", "state")],
}, default=str))
"""


class Mailbox(socketserver.ThreadingTCPServer):
    """A mail server that takes every message and remembers its Message-ID."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MailConversation)
        self.message_ids: list[str] = []


class MailConversation(socketserver.StreamRequestHandler):
    """One conversation with a client (RFC 5321), as far as Django's backend speaks it."""

    server: Mailbox

    def handle(self) -> None:
        """Answer until the client leaves."""
        self._say("220 here")
        while line := self.rfile.readline().decode().strip().upper():
            if line == "DATA":
                self._say("354 go on")
                self._take_message()
            self._say("221 bye" if line == "QUIT" else "250 ok")

    def _take_message(self) -> None:
        lines = [line.decode().strip() for line in iter(self.rfile.readline, b".\r\n")]
        ids = [line.partition(": ")[2] for line in lines if line.lower().startswith("message-id:")]
        self.server.message_ids += ids

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with Mailbox() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def killed(environment: dict[str, str], program: str, *, after: int, log: Path) -> Iterator[None]:
    """Run a program beside the block, and kill it once it has done its work so many times, and a little more."""
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=installations.PROJECT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=file,
        )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", log.read_text()
    yield
    for _ in range(after):
        assert process.stdout.readline(), log.read_text()
    for _ in range(random.randrange(200_000)):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def test_every_fact_is_told_once_and_mailed_under_one_message_id(tmp_path: Path, mailbox: Mailbox) -> None:
    if "PostgreSQL" in {tool.name for tool in tools.missing()}:
        pytest.skip("PostgreSQL is missing.")
    with servers.postgres() as address:
        environment = installations.environment_of(
            tmp_path,
            DATABASE_URL=address,
            ALERT_RECIPIENTS=RECEIVER,
            EMAIL_HOST="127.0.0.1",
            EMAIL_PORT=str(mailbox.server_address[1]),
        )
        installations.set_up(environment)
        log = tmp_path / "processes.log"
        for _ in range(2):
            with (
                killed(environment, DELIVER, after=4, log=log),
                killed(environment, WRITE, after=6, log=log),
            ):
                pass
        shown = json.loads(installations.run_python(environment, "-c", SHOW).stdout)
    created = [subject for type_, subject in shown["events"] if type_ == "user.created" and ":p" in subject]
    failed = [subject for type_, subject in shown["events"] if type_ == "report.failed"]
    assert sorted(created) == shown["users"]
    assert sorted(failed) == sorted(shown["failed"])
    assert len(failed) >= 12
    told = Counter((address, user, key) for address, user, key in shown["notices"])
    assert set(told.values()) == {1}
    for receiver in ((RECEIVER, None), ("", "datahub")):
        assert len([key for *found, key in told if tuple(found) == receiver]) == len(failed)
    assert {state for _, state in shown["mails"]} == {"SENT"}
    # Claims that were cut short are made good: at least once, and known by their id.
    assert set(mailbox.message_ids) == {message_id for message_id, _ in shown["mails"]}
    assert len(shown["mails"]) == len(failed)
