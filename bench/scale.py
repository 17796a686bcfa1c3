"""A million entities in PostgreSQL: lists of what somebody may use, the snapshot of reports, a report from its start
to its rows.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.tables import Cell, Table

PROJECT = Path(__file__).resolve().parent.parent
# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # noqa: E402

#: Policies, users and entities.
HUGE, LARGE, SMALL = (10_000, 100_000, 10_000_000), (10_000, 100_000, 1_000_000), (1_000, 2_000, 10_000)
#: What 95 of 100 first pages may take, in milliseconds (issue I).
LIMIT = 50


def run(*, is_quick: bool, is_large: bool = False) -> list[Table]:
    """Measure; without PostgreSQL there is nothing to measure."""
    size = HUGE if is_large else SMALL if is_quick else LARGE
    found = measure("bench.scaling", size)
    if found is None:
        return [Table("At scale", ("",), notes=["There is no PostgreSQL on this machine."])]
    title = f"{found['entities']:,} entities, {found['facets']:,} facets, {size[1]:,} people, {size[0]:,} policies"
    table = Table(f"PostgreSQL with {title}", ("what", "figure", "unit"), [tuple(row) for row in found["rows"]])
    table.notes.append(f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the end.")
    return [_pages(found["lists"]), table]


def _pages(found: list[list[Any]]) -> Table:
    columns = ("asked about", "question", "median ms", "p95 ms", "median at work", "p95 at work", "within")
    rows: list[tuple[Cell, ...]] = [(*row, "yes" if row[3] < LIMIT else "NO") for row in found]
    notes = [
        f"First pages of /api/v1/what, in one process, through all middleware, no network; p95 may be {LIMIT} ms.",
        "At work: the processor time of web process and database, which other programs do not lengthen.",
        "Each line is of ten people (root: of one), four visits to each after a first one.",
    ]
    return Table("What somebody may use a privilege on", columns, list(rows), notes)


def measure(module: str, size: tuple[int, int, int]) -> dict[str, Any] | None:
    """Return what a program prints about a PostgreSQL of its own that it fills; None without PostgreSQL."""
    if servers.postgres_folder() is None:
        return None
    with (
        servers.postgres(is_for_tests=False) as address,
        tempfile.TemporaryDirectory(prefix="authzsite-bench-") as folder,
    ):
        environment = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
        environment |= {
            "VAR_DIR": folder,
            "DATABASE_URL": address,
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
            "PLAIN_HTTP": "true",
            "LOG_LEVEL": "ERROR",
        }
        command = [sys.executable, "-m", module, *(str(number) for number in size)]
        done = subprocess.run(command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
