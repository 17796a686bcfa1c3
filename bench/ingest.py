"""Metadata as clients send it: batches of 200 proposals over HTTP, to the server that `make run` starts."""

import http.client
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from bench.tables import Cell, Table, seconds

PROJECT = Path(__file__).resolve().parent.parent
# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # noqa: E402  # found through the line above

from tests.clients.installations import Installation, running  # noqa: E402  # imports servers as well

#: Proposals of a batch, which is what clients send, and aspects of each dataset in it.
BATCH = 200
ASPECTS = 4

Batch = list[dict[str, object]]

# Runs inside the site: the same view, without the network, counts its statements.
COUNT = """
import json, sys
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
batches, token = json.load(open({path!r})), {token!r}
client = Client(headers={{"authorization": f"Bearer {{token}}"}}, SERVER_NAME="localhost")
found = []
for batch in batches:
    with CaptureQueriesContext(connection) as captured:
        answer = client.post(
            "/aspects?action=ingestProposalBatch", json.dumps({{"proposals": batch}}), content_type="application/json"
        )
    assert answer.status_code == 200, answer.content
    found.append(len(captured))
print(json.dumps(found))
"""


def run(*, is_quick: bool) -> list[Table]:
    """Measure on SQLite and, where there is one, on PostgreSQL."""
    batches = 5 if is_quick else 50
    title = f"{batches} batches of {BATCH} proposals over HTTP, one client, one server process"
    columns = ("database and batch", "aspects a second", "ms a batch", "queries of 200", "queries of 20")
    table = Table(title, columns)
    with ExitStack() as stack:
        databases = {"SQLite": ""}
        if servers.postgres_folder() is not None:
            databases["PostgreSQL"] = stack.enter_context(servers.postgres(is_for_tests=False))
        else:
            table.notes.append("There is no PostgreSQL on this machine.")
        for name, address in databases.items():
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="authzsite-bench-")))
            site = stack.enter_context(running(folder, DATABASE_URL=address))
            table.rows += _rows(name, site, folder, batches)
    table.notes.append(
        f"Each batch holds {ASPECTS} aspects of {BATCH // ASPECTS} datasets; all are authorized one by one."
    )
    return [table]


def _rows(name: str, site: Installation, folder: Path, batches: int) -> Iterator[tuple[Cell, ...]]:
    """Send new datasets, then other documents for them, then the same again."""
    # Beyond those that are sent: one to warm up, one of 200 and one of 20, whose statements are counted.
    places = [((batches + number) * BATCH, size) for number, size in enumerate((BATCH, BATCH, BATCH // 10))]
    for kind, description in (("new", "a"), ("changed", "b"), ("the same", "b")):
        sent = [batch_of(number * BATCH, BATCH, description) for number in range(batches)]
        spent, _ = seconds(partial(send, site, sent))
        _, many, few = count(site, folder, [batch_of(start, size, description) for start, size in places])
        yield (f"{name}, {kind}", batches * BATCH / spent, spent * 1000 / batches, many, few)


def send(site: Installation, batches: list[Batch]) -> None:
    """Send batches one after the other over one connection."""
    link = http.client.HTTPConnection(urlsplit(site.address).netloc, timeout=60)
    headers = {"Authorization": f"Bearer {site.token}", "Content-Type": "application/json"}
    for batch in batches:
        link.request("POST", "/aspects?action=ingestProposalBatch", json.dumps({"proposals": batch}), headers)
        answer = link.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(body.decode())
    link.close()


def count(site: Installation, folder: Path, batches: list[Batch]) -> list[int]:
    """Return how many statements each batch costs."""
    path = folder / "batches.json"
    path.write_text(json.dumps(batches), encoding="utf-8")
    found: list[int] = json.loads(
        site.manage("shell", "-c", COUNT.format(path=str(path), token=site.token)).splitlines()[-1]
    )
    return found


def batch_of(start: int, size: int, description: str) -> Batch:
    """Return proposals for the datasets from this number on."""
    found: Batch = []
    for number in range(start // ASPECTS, (start + size) // ASPECTS):
        urn = f"urn:li:dataset:(urn:li:dataPlatform:snowflake,lake.schema{number % 50}.table_{number},PROD)"
        documents = {
            "datasetProperties": {"name": f"table_{number}", "description": description, "customProperties": {}},
            "globalTags": {"tags": [{"tag": f"urn:li:tag:{description}{number % 7}"}]},
            "ownership": {"owners": [{"owner": f"urn:li:corpuser:user{number % 100}", "type": "DATAOWNER"}]},
            "domains": {"domains": [f"urn:li:domain:{number % 20}"]},
        }
        for aspect, document in documents.items():
            found.append(
                {
                    "entityType": "dataset",
                    "entityUrn": urn,
                    "changeType": "UPSERT",
                    "aspectName": aspect,
                    "aspect": {"value": json.dumps(document), "contentType": "application/json"},
                }
            )
    return found
