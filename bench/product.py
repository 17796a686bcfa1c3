"""A module of the measurements run in a process of the product, with a database and a folder of its own."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent


def prepare_spark() -> dict[str, str]:
    """Have the archive of Java's classes made, as workers do, and return the variable that names its folder."""
    folder = PROJECT / "var" / "spark" / "classes"
    environment = {**os.environ, "SPARK_CLASSES_DIR": str(folder)}
    subprocess.run([sys.executable, "manage.py", "prepare_spark"], cwd=PROJECT, env=environment, check=True)
    return {"SPARK_CLASSES_DIR": str(folder)}


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
