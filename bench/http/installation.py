"""An installation to be measured: a PostgreSQL of its own, filled, and served by granian as `make run` does."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.processes import pin
from bench.talking import Client

PROJECT = Path(__file__).resolve().parents[2]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # noqa: E402  # found through the line above

from tests.clients.installations import ROOT_USER, manage  # noqa: E402  # imports servers as well

#: The core of the server, and that of the client and the database.
SERVER, CLIENT = 0, 1

#: What is served: the product beside views that do nothing, and the product alone.
BESIDE_NOTHING, ALONE = "bench.site.wsgi:application", "authzsite.wsgi:application"

#: Seconds after which a server that starts is looked for again.
_PAUSE = 0.005


@dataclass(frozen=True)
class Site:
    """A filled installation: its environment, and a token of the root user."""

    environment: dict[str, str]
    token: str

    def stock(self, policies: int, size: tuple[int, int]) -> None:
        """Fill it, or exchange its policies."""
        command = [sys.executable, "-m", "bench.stocking", str(policies), *(str(number) for number in size)]
        # Nothing is measured meanwhile, so it may have both cores.
        os.sched_setaffinity(0, {SERVER, CLIENT})
        subprocess.run(command, cwd=PROJECT, env=self.environment, check=True, stdout=sys.stderr)
        os.sched_setaffinity(0, {CLIENT})

    @contextmanager
    def served(
        self,
        *,
        workers: int = 1,
        cores: Collection[int] = (SERVER,),
        application: str = BESIDE_NOTHING,
        variables: Mapping[str, str] | None = None,
    ) -> Iterator[Client]:
        """Serve it as `make run` does, on a core of its own unless told."""
        port = servers.free_port()
        options = ("--host", "127.0.0.1", "--port", str(port), "--workers", str(workers), "--log-level", "warning")
        command = [sys.executable, "-m", "authzsite.serving", *options, "--application", application]
        environment = self.environment | dict(variables or {})
        with (
            (Path(environment["VAR_DIR"]) / "web.log").open("ab") as log,
            subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=log, stderr=log) as server,
        ):
            try:
                servers.wait_for(port, server, Path(log.name), pause=_PAUSE)
                pin(server.pid, cores)
                client = Client(port, self.token, server.pid)
                yield client
                client.close()
            finally:
                server.terminate()
                server.wait(30)


def has_postgres() -> bool:
    """Return whether there is a PostgreSQL to measure with."""
    return servers.postgres_folder() is not None


@contextmanager
def open_site() -> Iterator[Site]:
    """An empty installation on a PostgreSQL of its own."""
    with (
        servers.postgres(is_for_tests=False) as database,
        tempfile.TemporaryDirectory(prefix="authzsite-bench-") as folder,
    ):
        environment = {name: value for name, value in os.environ.items() if name != "REDIS_URL"} | {
            "DATABASE_URL": database,
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "bench.site.settings",
            "PLAIN_HTTP": "true",
            "LOG_LEVEL": "INFO",
        }
        manage(environment, "migrate", "--verbosity", "0")
        manage(environment, "createcachetable")
        manage(environment, "bootstrap", "--restricted")
        token = manage(environment, "create_token", ROOT_USER, "--name", "bench").strip()
        yield Site(environment, token)
