"""A module of the measurements run in a process of the product, with a database and a folder of its own."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent


def run_in_product(module: str, world: str, *, database: str) -> Any:
    """Return what the module prints last, as JSON; without an address the database is SQLite."""
    with tempfile.TemporaryDirectory(prefix="authzsite-bench-") as folder:
        environment = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
        environment |= {
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "authzsite.settings",
            "PLAIN_HTTP": "true",
            "LOG_LEVEL": "ERROR",
            **({"DATABASE_URL": database} if database else {}),
        }
        command = [sys.executable, "-m", module, world]
        done = subprocess.run(command, cwd=PROJECT, env=environment, stdout=subprocess.PIPE, check=True, text=True)
        return json.loads(done.stdout.splitlines()[-1])
