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

from bench.tables import Table

PROJECT = Path(__file__).resolve().parent.parent
# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # noqa: E402

#: Policies, users and entities.
LARGE, SMALL = (10_000, 100_000, 1_000_000), (1_000, 2_000, 10_000)


def run(*, is_quick: bool) -> list[Table]:
    """Measure; without PostgreSQL there is nothing to measure."""
    if servers.postgres_folder() is None:
        return [Table("At scale", ("",), notes=["There is no PostgreSQL on this machine."])]
    size = SMALL if is_quick else LARGE
    with servers.postgres(is_for_tests=False) as address:
        found = _measured(address, size)
    title = f"{found['entities']:,} entities, {found['facets']:,} facets, {size[1]:,} people, {size[0]:,} policies"
    table = Table(f"PostgreSQL with {title}", ("what", "figure", "unit"), [tuple(row) for row in found["rows"]])
    table.notes.append(f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the end.")
    return [table]


def _measured(address: str, size: tuple[int, int, int]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="authzsite-bench-") as folder:
        environment = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
        environment |= {
            "VAR_DIR": folder,
            "DATABASE_URL": address,
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
            "PLAIN_HTTP": "true",
            "LOG_LEVEL": "ERROR",
        }
        command = [sys.executable, "-m", "bench.scaling", *(str(number) for number in size)]
        done = subprocess.run(command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found
