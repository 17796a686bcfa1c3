"""How long taking access away takes while metadata is stored: to a server on PostgreSQL, over HTTP.

A write that takes access away waits for the version row at most, so the time that a batch holds it is measured first.
Beside the one who revokes, one client sends batches of 10,000 proposals one after the other and one loads files of as
many with `load_catalog`, from beginning to end.
"""

import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.ingest import Batch, batch_of, send
from bench.tables import Table

PROJECT = Path(__file__).resolve().parent.parent
# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # noqa: E402  # found through the line above

from tests.clients.installations import Installation, running  # noqa: E402  # imports servers as well

BATCH = 10_000
GROUP, ROLE, USER = "urn:li:corpGroup:ops", "urn:li:dataHubRole:steward", "urn:li:corpuser:jo"
POLICY = "urn:li:dataHubPolicy:measured"
DOCUMENT = {
    "displayName": "Measured",
    "description": "",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["EDIT_ENTITY"],
    "actors": {"users": [USER]},
}

# Runs inside the site: the same view, without the network, from when it has the version row until it has committed.
HOLD = """
import json, time
from django.db import connection
from django.test import Client
batches, token = json.load(open({path!r})), {token!r}
client = Client(headers={{"authorization": f"Bearer {{token}}"}}, SERVER_NAME="localhost")
taken, spent, commit = [], [], connection._commit
def note_row(execute, sql, *more):
    answer = execute(sql, *more)
    if sql.startswith('UPDATE "policies_policyversion"'):
        taken.append(time.perf_counter())
    return answer
def note_commit():
    commit()
    if taken:
        spent.append((time.perf_counter() - taken.pop()) * 1000)
connection._commit = note_commit
with connection.execute_wrapper(note_row):
    for batch in batches:
        answer = client.post(
            "/aspects?action=ingestProposalBatch", json.dumps({{"proposals": batch}}), content_type="application/json"
        )
        assert answer.status_code == 200, answer.content
assert len(spent) == len(batches)
print(json.dumps(spent))
"""


def run(*, is_quick: bool) -> list[Table]:
    """Measure the row, and taking access away without and with the load."""
    table = Table("Milliseconds to take access away", ("what is taken", "number", "median", "p99", "longest"))
    size, turns = (1000, 10) if is_quick else (BATCH, 50)
    if servers.postgres_folder() is None:
        table.notes.append("There is no PostgreSQL on this machine.")
        return [table]
    row = Table("Milliseconds a batch holds the version row", ("proposals", "number", "median", "p99", "longest"))
    with ExitStack() as stack:
        address = stack.enter_context(servers.postgres(is_for_tests=False))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="authzsite-bench-")))
        site = stack.enter_context(running(folder, DATABASE_URL=address, workers=2))
        row.rows += [_row(f"{some:,}", _hold(site, folder, some, turns // 5)) for some in (4, 200, size)]
        client = _Client(site)
        client.prepare()
        for kind, load in (("alone", _nothing), ("beside an ingest", partial(_load, site, folder, size))):
            with load() as stored:
                spent = client.revoke(turns)
            table.rows += [_row(f"{what}, {kind}", found) for what, found in spent.items()]
            if stored:
                table.notes.append(
                    f"Meanwhile {stored[0]} batches and {stored[1]} files of {size} proposals were stored."
                )
    return [row, table]


def _hold(site: Installation, folder: Path, size: int, turns: int) -> list[float]:
    """Return for how many milliseconds each of so many batches of this size held the version row."""
    path = folder / "hold.json"
    path.write_text(
        json.dumps([batch_of(20 * BATCH, size, f"held {size} {n}") for n in range(turns)]), encoding="utf-8"
    )
    script = HOLD.format(path=str(path), token=site.token)
    found: list[float] = json.loads(site.manage("shell", "-c", script).splitlines()[-1])
    return found


def _row(name: str, spent: list[float]) -> tuple[str, int, float, float, float]:
    ordered = sorted(spent)
    last = ordered[min(len(ordered) - 1, round(len(ordered) * 0.99))]
    return name, len(spent), statistics.median(spent), last, ordered[-1]


@contextmanager
def _nothing() -> Iterator[list[int]]:
    yield []


@contextmanager
def _load(site: Installation, folder: Path, size: int) -> Iterator[list[int]]:
    """Store metadata through both ways in until the block ends; counts the batches and files."""
    is_over = threading.Event()
    stored = [0, 0]
    ways = [
        partial(_send_batches, site, size, stored, is_over),
        partial(_load_files, site, folder, size, stored, is_over),
    ]
    threads = [threading.Thread(target=way) for way in ways]
    for thread in threads:
        thread.start()
    # The load is at work before the first measurement.
    while not any(stored):
        time.sleep(0.1)
    try:
        yield stored
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def _send_batches(site: Installation, size: int, stored: list[int], is_over: threading.Event) -> None:
    while not is_over.is_set():
        send(site, [batch_of(0, size, f"sent {stored[0]}")])
        stored[0] += 1


def _load_files(site: Installation, folder: Path, size: int, stored: list[int], is_over: threading.Event) -> None:
    path = folder / "load.json"
    while not is_over.is_set():
        found: Batch = batch_of(10 * BATCH, size, f"loaded {stored[1]}")
        path.write_text(json.dumps(found), encoding="utf-8")
        site.manage("load_catalog", str(path))
        stored[1] += 1


class _Client:
    """Somebody who gives access and takes it away, over one connection."""

    def __init__(self, site: Installation) -> None:
        self._link = http.client.HTTPConnection(urlsplit(site.address).netloc, timeout=120)
        self._headers = {"Authorization": f"Bearer {site.token}", "Content-Type": "application/json"}

    def prepare(self) -> None:
        """Make somebody with a group, a role and a policy."""
        self._ask("POST", "users/", {"username": "jo"})
        self._ask("POST", "groups/", {"id": "ops", "name": "Ops"})
        self._ask("POST", "roles/", {"id": "steward", "name": "Steward"})
        self._ask("POST", "policies/", {"urn": POLICY, "family": "datahub", "document": DOCUMENT})

    def revoke(self, turns: int) -> dict[str, list[float]]:
        """Give and take in turns; returns the milliseconds of each taking."""
        # The server closes a connection on which nobody spoke for long.
        self._link.close()
        spent: dict[str, list[float]] = {"membership": [], "role": [], "policy": [], "token": []}
        for _ in range(turns):
            self._ask("POST", f"groups/{GROUP}/members/", {"members": [USER]})
            self._time(spent["membership"], "DELETE", f"groups/{GROUP}/members/", {"members": [USER]})
            self._ask("POST", f"roles/{ROLE}/actors/", {"actors": [USER]})
            self._time(spent["role"], "DELETE", f"roles/{ROLE}/actors/{USER}/")
            self._time(spent["policy"], "PATCH", f"policies/{POLICY}/", {"state": "INACTIVE"})
            self._ask("PATCH", f"policies/{POLICY}/", {"state": "ACTIVE"})
            token = self._ask("POST", "tokens/", {"name": "measured"})
            self._time(spent["token"], "DELETE", f"tokens/{token['id']}/")
        return spent

    def _time(self, spent: list[float], *asked: Any) -> None:
        started = time.perf_counter()
        self._ask(*asked)
        spent.append((time.perf_counter() - started) * 1000)

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        self._link.request(method, f"/api/v1/{path}", None if body is None else json.dumps(body), self._headers)
        answer = self._link.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text.decode()[:300]}")
        return json.loads(text) if text else None
