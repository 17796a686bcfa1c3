"""How long the server takes for each page: with the sample catalog, and with a large company on PostgreSQL."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.tables import Cell, Table

PROJECT = Path(__file__).resolve().parent.parent
# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # noqa: E402  # found through the line above

#: What a page may take, in milliseconds (issues B and I).
LIMIT = 100

#: Policies, users and entities; an entity has about ten facets.
LARGE, SMALL = (10_000, 100_000, 100_000), (500, 1_000, 2_000)


def run(*, is_quick: bool) -> list[Table]:
    """Measure both; without PostgreSQL the large company is left out."""
    tables = [_table("the sample catalog on SQLite", "", "sample")]
    if servers.postgres_folder() is None:
        tables[0].notes.append("There is no PostgreSQL on this machine, so the large company was not measured.")
        return tables
    with servers.postgres(is_for_tests=False) as address:
        world = ",".join(str(number) for number in (SMALL if is_quick else LARGE))
        tables.append(_table("a large company on PostgreSQL", address, world))
    return tables


def _table(title: str, database: str, world: str) -> Table:
    found = _visit(database, world)
    columns = ("page", "median ms", "longest ms", "of it at work", "queries", "within")
    rows: list[tuple[Cell, ...]] = [(*page, "yes" if page[1] < LIMIT else "NO") for page in found["pages"]]
    counts = ", ".join(f"{count:,} {noun}" for noun, count in found["counts"].items())
    notes = [
        f"{counts}; a page may take {LIMIT} ms.",
        "At work: the processor time of web process and database in the median visit, which other programs do not "
        "lengthen.",
        "As root, in one process, through all middleware and templates, without the network; the first visit is not "
        "counted.",
    ]
    return Table(f"Server time of pages with {title}", columns, list(rows), notes)


def _visit(database: str, world: str) -> dict[str, Any]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="authzsite-bench-"))
        environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        environment |= {
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
            "PLAIN_HTTP": "true",
            "LOG_LEVEL": "ERROR",
            **({"DATABASE_URL": database} if database else {}),
        }
        command = [sys.executable, "-m", "bench.visiting", world]
        done = subprocess.run(command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
