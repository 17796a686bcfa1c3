"""A real site for other people's programs: granian on a loopback port, with a folder and an SQLite file of its own.

What an installation starts from is a copy (tests/database_templates.py): that the commands which set one up do so is
told by the tests of the commands, by that of `make run`, and by each making of the template.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import servers

from tests import database_templates

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
_OURS = (
    *("DATABASE_URL", "REDIS_URL", "PORT", "GRANIAN_HOST"),
    *("METADATA_SERVICE_AUTH_ENABLED", "REST_API_AUTHORIZATION", "AUTHZ_ROOT_PASSWORD", "SECRET_KEY"),
)
#: The files of a template: the database or how it is written down, the key of its secrets and the token of root.
_DUMP, _KEY, _TOKEN = "dump.sql", "secret_key", "token"
_STRICT = ("--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1")


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
    address = environment.get("DATABASE_URL")
    sources = database_templates.hash_sources(*database_templates.OF_INSTALLATIONS)
    if address:
        version = _run_client("pg_dump", "--version").split()[2]
        template = database_templates.provide_folder(
            f"dump-{sources}-{version}", lambda folder: _make_dump(folder, address)
        )
        _run_client("psql", *_STRICT, "--single-transaction", f"--file={template / _DUMP}", address)
    else:
        template = database_templates.provide_folder(f"installation-{sources}", _make_installation)
        shutil.copyfile(template / database_templates.FILE, Path(environment["VAR_DIR"]) / database_templates.FILE)
    shutil.copy(template / _KEY, environment["VAR_DIR"])
    if commands:
        run_python(environment, "-c", _COMMANDS, json.dumps(commands))
    return (template / _TOKEN).read_text(encoding="utf-8")


def _make_installation(folder: Path, **variables: str) -> None:
    """Set an installation up in the folder, by the commands that every release runs."""
    ready = [["migrate", "--verbosity", "0"], ["createcachetable"], ["bootstrap", "--restricted"]]
    token = ["create_token", ROOT_USER, "--name", "clients", "--expires", "never"]
    said = run_python(environment_of(folder, **variables), "-c", _COMMANDS, json.dumps([*ready, token])).stdout
    (folder / _TOKEN).write_text(said.split()[-1], encoding="utf-8")
    if not variables:
        database_templates.close_file(folder / database_templates.FILE)


def _make_dump(folder: Path, address: str) -> None:
    """The same on PostgreSQL, written down so that it can be brought into each cluster; this one makes it."""
    cluster, name = address.rpartition("/")[0], f"making_{folder.name.replace('-', '_')}"
    _run_client("psql", *_STRICT, f'--command=CREATE DATABASE "{name}"', address)
    _make_installation(folder, DATABASE_URL=f"{cluster}/{name}")
    _run_client("pg_dump", "--no-owner", f"--file={folder / _DUMP}", f"{cluster}/{name}")
    _run_client("psql", *_STRICT, f'--command=DROP DATABASE "{name}"', address)


def _run_client(name: str, *arguments: str) -> str:
    """Run a program of PostgreSQL to its end, which has to be a good one; what it printed."""
    programs = servers.postgres_folder()
    assert programs
    done = subprocess.run([programs / name, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


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
