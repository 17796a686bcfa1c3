"""Where runs of checks and tests keep what a fresh clone can use again: under the user's cache folder."""

import hashlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def find_folder() -> Path:
    """Return the project's part of the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "authzsite"


def find_mypy_folder() -> Path:
    """Return where mypy keeps what it knows of the libraries of this lock and of the project's modules."""
    key = hashlib.sha256((ROOT / "requirements-dev.lock").read_bytes() + sys.version.encode()).hexdigest()
    return find_folder() / "mypy" / key[:16]
