"""Where the time of a hot authorize call goes, in ten lines: the WSGI application called without a server."""

import json
import subprocess
import sys
from pathlib import Path

from bench.http.installation import PROJECT, has_postgres, open_site
from bench.tables import Cell, Table

POLICIES, USERS, ENTITIES = 10_000, 10_000, 100_000


def run(*, is_quick: bool) -> list[Table]:
    """Fill an installation, and have a process of its own say where its time goes."""
    if not has_postgres():
        return [Table("A hot call", ("",), notes=["There is no PostgreSQL on this machine."])]
    sizes = (1_000, 500, 2_000) if is_quick else (POLICIES, USERS, ENTITIES)
    with open_site() as site:
        site.stock(sizes[0], sizes[1:])
        results, log = (Path(site.environment["VAR_DIR"]) / name for name in ("profile.json", "profile.log"))
        command = [sys.executable, "-m", "bench.attribution", site.token, str(results), *map(str, sizes)]
        with log.open("ab") as output:
            subprocess.run(command, cwd=PROJECT, env=site.environment, check=True, stdout=output, stderr=output)
        found = json.loads(results.read_text(encoding="utf-8"))
    rows: list[tuple[Cell, ...]] = [tuple(row) for row in found["rows"]]
    columns = ("where", "us a call", "of all", "calls of functions", "most of it in")
    return [Table(f"A hot authorize call, {sizes[0]:,} policies", columns, list(rows), found["notes"])]
