"""`python -m bench [NAME…] [--quick]`: run measurements, show their tables and keep them as JSON in var/bench/."""

import argparse
import importlib
import sys
from pathlib import Path

from bench import tables

NAMES = (
    "decide",
    "families",
    "bulk",
    "export",
    "guardrails",
    "ingest",
    "pages",
    "preview",
    "http",
    "mapping",
    "profile",
    "proofs",
    "reports",
    "revoke",
    "scale",
    "soak",
)
KEPT = Path("var/bench")


def main() -> None:
    """Run what was named, or everything."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(NAMES)} (all unless told)"
    )
    parser.add_argument("--quick", action="store_true", help="small worlds: to see that it works, not to quote")
    told = parser.parse_args()
    for name in told.names:
        if name not in NAMES:
            parser.error(f"there is no measurement {name!r}; there are {', '.join(NAMES)}")
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in told.names or NAMES:
        measured = importlib.import_module(f"bench.{name}").run(is_quick=told.quick)
        sys.stdout.write("\n".join(table.render() for table in measured) + "\n")
        sys.stdout.flush()
        (KEPT / f"{name}.json").write_text(tables.as_json(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
