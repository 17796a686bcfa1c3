"""A real site for other people's programs: granian on a loopback port, with a folder and an SQLite file of its own."""

import json
import os
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import servers

PROJECT = Path(__file__).resolve().parent.parent.parent
ROOT_USER = "urn:li:corpuser:datahub"

_PATIENCE_SECONDS = 60
#: Runs management commands one after the other: starting Django takes longer than most of them.
_COMMANDS = """
import json, sys
import django
from django.core.management import call_command
django.setup()
for command in json.loads(sys.argv[1]):
    call_command(*command)
"""
# What an outer run may have set must not reach the installation under test.
_OURS = ("DATABASE_URL", "REDIS_URL", "PORT", "METADATA_SERVICE_AUTH_ENABLED", "REST_API_AUTHORIZATION", "GRANIAN_HOST")


@dataclass(frozen=True)
class Installation:
    """A running site: its address, a token of the root user, and a way to run management commands on it."""

    address: str
    token: str
    environment: dict[str, str]

    def manage(self, *arguments: str) -> str:
        return manage(self.environment, *arguments)

    def token_for(self, urn: str) -> str:
        return self.manage("create_token", urn, "--name", "clients").strip()


def manage(environment: dict[str, str], *arguments: str) -> str:
    """Run a management command; what it printed."""
    return run_python(environment, "manage.py", *arguments).stdout


def run_python(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python with these arguments in the project to its end, which has to be a good one."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(arguments)}: {done.stderr}"
    return done


@contextmanager
def running(folder: Path, *, port: int | None = None, workers: int = 1, **variables: str) -> Iterator[Installation]:
    """Set an installation up in the folder and serve it, from as many processes, until the block ends."""
    environment = environment_of(folder, **variables)
    token = set_up(environment)
    with serving(environment, log=folder / "web.log", port=port, workers=workers) as address:
        yield Installation(address, token, environment)


def environment_of(folder: Path, **variables: str) -> dict[str, str]:
    """What the programs of an installation are told: nothing of the run around it, only these variables."""
    return {name: value for name, value in os.environ.items() if name not in _OURS} | {
        "VAR_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": "authzsite.settings",
        "PLAIN_HTTP": "true",
        "LOG_LEVEL": "WARNING",
        **variables,
    }


def set_up(environment: dict[str, str], *commands: list[str]) -> str:
    """Make the database ready to serve, and run these commands; return a token of the root user."""
    ready = [["migrate", "--verbosity", "0"], ["createcachetable"], ["bootstrap", "--restricted"], *commands]
    token = ["create_token", ROOT_USER, "--name", "clients"]
    return run_python(environment, "-c", _COMMANDS, json.dumps([*ready, token])).stdout.split()[-1]


@contextmanager
def serving(environment: dict[str, str], *, log: Path, port: int | None = None, workers: int = 1) -> Iterator[str]:
    """Serve an installation that was set up, from as many processes, until the block ends; gives its address."""
    chosen = port or servers.free_port()
    command = [sys.executable, *process("web")[1:], "--workers", str(workers)]
    with (
        log.open("wb") as sink,
        subprocess.Popen(
            command,
            cwd=PROJECT,
            env={**environment, "GRANIAN_PORT": str(chosen)},
            stdout=sink,
            stderr=subprocess.STDOUT,
        ) as server,
    ):
        try:
            address = f"http://127.0.0.1:{chosen}"
            servers.wait_until(
                lambda: _is_answering(address),
                server=server,
                explain=lambda: f"Nothing answers at {address}:\n{log.read_text(errors='replace')}",
                seconds=_PATIENCE_SECONDS,
            )
            yield address
        finally:
            server.terminate()
            server.wait(timeout=30)


def process(name: str) -> list[str]:
    """The command of a process as `make run` starts it."""
    lines = (PROJECT / "Procfile").read_text(encoding="utf-8").splitlines()
    line = next(line for line in lines if line.startswith(f"{name}:"))
    return shlex.split(line.removeprefix(f"{name}: exec "))


def _is_answering(address: str) -> bool:
    try:
        urllib.request.urlopen(f"{address}/health/live", timeout=2).close()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False
    return True
