"""`python -m bench [NAME…] [--quick] [--large]`: run measurements, show tables, keep them as JSON in var/bench/."""

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
    "requests",
    "revoke",
    "scale",
    "soak",
    "ways",
)
#: What can be measured in a world ten times as large.
LARGE_NAMES = ("reports", "scale")
KEPT = Path("var/bench")


def main() -> None:
    """Run what was named, or everything."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"what to measure: {', '.join(NAMES)} (all unless told)"
    )
    parser.add_argument("--quick", action="store_true", help="small worlds: to see that it works, not to quote")
    parser.add_argument("--large", action="store_true", help=f"10,000,000 entities ({', '.join(LARGE_NAMES)} only)")
    told = parser.parse_args()
    if told.large and (told.quick or not told.names or not set(told.names) <= set(LARGE_NAMES)):
        parser.error(f"--large is for {' and '.join(LARGE_NAMES)}, by name, and not for small worlds")
    for name in told.names:
        if name not in NAMES:
            parser.error(f"there is no measurement {name!r}; there are {', '.join(NAMES)}")
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in told.names or NAMES:
        further = {"is_large": True} if told.large else {}
        measured = importlib.import_module(f"bench.{name}").run(is_quick=told.quick, **further)
        sys.stdout.write("\n".join(table.render() for table in measured) + "\n")
        sys.stdout.flush()
        (KEPT / f"{name}.json").write_text(tables.as_json(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
