"""What ten guardrails add to a write at a large company on PostgreSQL."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.tables import Table

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # noqa: E402  # found through the line above

#: What ten guardrails may add to a write, in milliseconds (issue J).
LIMIT = 500

#: Policies, users and entities.
LARGE, SMALL = (10_000, 10_000, 10_000), (500, 1_000, 2_000)


def run(*, is_quick: bool) -> list[Table]:
    """Measure writes of policies and members, in turns without guardrails and with them."""
    world = SMALL if is_quick else LARGE
    if servers.postgres_folder() is None:
        return [Table("Guardrails", ("write",), notes=["There is no PostgreSQL on this machine."])]
    with (
        tempfile.TemporaryDirectory(prefix="authzsite-bench-") as folder,
        servers.postgres(is_for_tests=False) as address,
    ):
        names = ("DATABASE_URL", "REDIS_URL")
        environment = {name: value for name, value in os.environ.items() if name not in names}
        environment |= {
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
            "PLAIN_HTTP": "true",
            "LOG_LEVEL": "ERROR",
            "DATABASE_URL": address,
        }
        command = [sys.executable, "-m", "bench.guarding", ",".join(map(str, world))]
        done = subprocess.run(command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    columns = ("write", "without, median ms", "with, median ms", "added ms", "added p95", "added at work", "within")
    rows = [
        (
            one["write"],
            one["off median"],
            one["warn median"],
            one["added"],
            one["added p95"],
            one["added work"],
            "yes" if one["added"] < LIMIT else "NO",
        )
        for one in found
    ]
    policies, users, entities = world
    notes = [
        f"{policies:,} policies, {users:,} people, {entities:,} entities, ten guardrails; they may add {LIMIT} ms.",
        "At work: the processor time of this process and the database, which other programs do not lengthen.",
    ]
    return [Table("A write beside ten guardrails, on PostgreSQL", columns, list(rows), notes)]
