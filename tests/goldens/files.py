"""The files that hold what was found: written by `make goldens`, compared by everybody else."""

import difflib
import gzip
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "found"
IS_WRITING = os.environ.get("GOLDENS") == "write"
#: Most lines of a difference that a failure prints.
MAX_LINES = 300


def compare(name: str, found: Iterable[str]) -> None:
    """Compare lines with those of a file, or write them; fails with what differs. A name that ends in .gz packs."""
    lines = list(found)
    path = FOLDER / name
    if IS_WRITING:
        FOLDER.mkdir(exist_ok=True)
        data = "".join(f"{line}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(data, 9, mtime=0) if path.suffix == ".gz" else data)
        return
    expected = read(path)
    if lines != expected:
        difference = list(difflib.unified_diff(expected, lines, name, "now", lineterm="", n=2))
        more = [f"... and {len(difference) - MAX_LINES} lines more"] if len(difference) > MAX_LINES else []
        pytest.fail("\n".join([*difference[:MAX_LINES], *more, "`make goldens` writes what is now."]), pytrace=False)


def read(path: Path) -> list[str]:
    """Return the lines of a file."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().split("\n")[:-1]
