"""Write the sample catalog and the exports of grants: `python -m catalog.sample [FOLDER]`, by default beside this file.

The outcome depends on nothing but this folder: no clock, no seed from outside, no time in the gzip header.
"""

import argparse
import gzip
import io
import json
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from pathlib import Path

from catalog.sample.entities import list_proposals
from catalog.sample.grants import render_exports

CATALOG = "sample_catalog.json.gz"
GRANTS = "sample_grants"
HOUR = time(6, tzinfo=UTC)


def render_catalog() -> bytes:
    """Return the JSON list, one proposal a line, so that a change of the sample shows as a change of lines."""
    lines = ",\n".join(
        json.dumps(proposal, separators=(",", ":"), default=count_milliseconds) for proposal in list_proposals()
    )
    return f"[\n{lines}\n]\n".encode()


def count_milliseconds(day: date) -> int:
    """Return the epoch milliseconds of a day at six in the morning."""
    return int(datetime.combine(day, HOUR).timestamp() * 1000)


def compress(document: bytes) -> bytes:
    """Return gzip without name and time, so that equal documents give equal files."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as packed:
        packed.write(document)
    return buffer.getvalue()


def main(arguments: Sequence[str]) -> None:
    """Write every file into the folder named by the one optional argument, and list them."""
    parser = argparse.ArgumentParser(prog="catalog.sample", description="Write the sample catalog and its grants.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    folder: Path = parser.parse_args(arguments).folder
    files = {CATALOG: compress(render_catalog())}
    files |= {f"{GRANTS}/{name}": text.encode() for name, text in render_exports().items()}
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        sys.stdout.write(f"{name}: {len(content):,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
