"""An installation as it is deployed: PostgreSQL, Redis, two web processes and two workers, each a process by itself."""

import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import servers

from tests import stored
from tests.clients import installations
from tests.faults import worlds

#: Longer than any answer takes, also while something is away.
PATIENCE_SECONDS = 60

#: How long a request that asks for no decision may wait here, in seconds.
REQUEST_SECONDS = 4

#: How often something is looked at that comes by itself; each look takes at least a request.
LOOKS = 40


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the site."""

    status: int
    headers: Message
    text: str

    @property
    def body(self) -> Any:
        """What it says, as JSON."""
        return json.loads(self.text)


class Caller:
    """A client of one web process, with a token of the root user, that keeps its connection."""

    def __init__(self, address: str, token: str) -> None:
        self.address = address
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._link = http.client.HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE_SECONDS)

    def call(self, verb: str, path: str, body: Any = None) -> Reply:
        """Ask once; raises OSError or HTTPException where no answer comes."""
        try:
            self._link.request(verb, path, None if body is None else json.dumps(body), self._headers)
            answer = self._link.getresponse()
            return Reply(answer.status, answer.headers, answer.read().decode())
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Give the connection up; the next call makes another."""
        self._link.close()


@dataclass
class Site:
    """The parts, to be talked to and to be harmed."""

    database: servers.Server
    broker: servers.Server
    webs: tuple[str, ...]
    token: str
    environment: dict[str, str]
    folder: Path
    workers: dict[str, "subprocess.Popen[bytes]"]

    @contextmanager
    def calling(self, number: int = 0) -> Iterator[Caller]:
        """A new client of one web process."""
        with closing(Caller(self.webs[number], self.token)) as caller:
            yield caller

    def start_worker(self, name: str) -> None:
        """Start a worker; the database knows its connections by its name."""
        address = f"{self.environment['DATABASE_URL']}?application_name={name}"
        command = [sys.executable, *installations.process("worker")[1:], "--hostname", f"{name}@%h"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.workers[name] = subprocess.Popen(
                command,
                cwd=installations.PROJECT,
                env={**self.environment, "DATABASE_URL": address},
                stdout=log,
                stderr=log,
            )

    def settle(self) -> int:
        """Return the version of the policies once every process answers from it.

        A worker that ended is started again, as compose.yaml does: one that is about to confirm a message while Redis
        goes away is ended by an error of its library.
        """
        with self.calling() as caller:
            for _ in range(LOOKS):
                for name in [name for name, process in self.workers.items() if process.poll() is not None]:
                    self.start_worker(name)
                told = caller.call("GET", "/api/v1/status/").body
                version: int = told["policy_version"]
                names = [one["name"] for one in told["processes"] if one["policy_version"] == version]
                workers = {name.partition("@")[0] for name in names}
                if self.workers.keys() <= workers and sum(name.startswith("web-") for name in names) == len(self.webs):
                    return version
        raise AssertionError("The processes do not come to agree.")


@contextmanager
def running(folder: Path) -> Iterator[Site]:
    """Set a site up with the world of these tests, and serve it until the block ends."""
    with ExitStack() as stack:
        database = stack.enter_context(servers.postgres_server(is_lasting=True))
        broker = stack.enter_context(servers.redis_server())
        environment = installations.environment_of(
            folder, DATABASE_URL=database.address, REDIS_URL=broker.address, REQUEST_SECONDS=str(REQUEST_SECONDS)
        )
        world = folder / "world.json"
        world.write_text(json.dumps(_proposals()))
        token = installations.set_up(environment, ["load_catalog", str(world)])
        webs = tuple(
            stack.enter_context(installations.serving(environment, log=folder / f"web-{number}.log"))
            for number in range(2)
        )
        site = Site(database, broker, webs, token, environment, folder, {})
        stack.callback(_end, site)
        for name in ("first", "second"):
            site.start_worker(name)
        yield site


def _proposals() -> list[dict[str, Any]]:
    return [
        {
            "entityType": urn.split(":")[2],
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": {"json": document},
        }
        for (urn, aspect), document in stored.documents(worlds.world(worlds.AT_FIRST)).items()
    ]


def _end(site: Site) -> None:
    for worker in site.workers.values():
        worker.terminate()
    for worker in site.workers.values():
        try:
            worker.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
