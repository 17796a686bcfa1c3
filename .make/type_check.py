"""The check of types. One process at a time uses the cache of a user: two clones would read halves of each other's."""

import fcntl
import subprocess
import sys
from pathlib import Path

import caches


def check_types() -> int:
    """Run mypy once no other clone checks types, and return its status."""
    folder = caches.find_types_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mypy = str(Path(sys.executable).parent / "mypy")
        return subprocess.run([mypy, "--cache-dir", str(folder)], check=False).returncode


if __name__ == "__main__":
    sys.exit(check_types())
