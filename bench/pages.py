"""How long the server takes for each page: with the sample catalog, and with a large company on PostgreSQL."""

import sys
from typing import Any

from bench.product import PROJECT, run_in_product
from bench.tables import Cell, Table

# The programs beside Python, and how to start them, are known to make's own scripts.
sys.path.insert(0, str(PROJECT / ".make"))

import servers  # found through the line above

#: What a page may take, in milliseconds (issues B and I).
LIMIT = 100

#: Policies, users and entities; an entity has about ten facets.
LARGE, SMALL = (10_000, 100_000, 100_000), (500, 1_000, 2_000)


def run(*, is_quick: bool) -> list[Table]:
    """Measure both; without PostgreSQL the large company is left out."""
    tables = [_table("the sample catalog on SQLite", "", "sample")]
    if servers.postgres_folder() is None:
        tables[0].notes.append("There is no PostgreSQL on this machine, so the large company was not measured.")
        return tables
    with servers.postgres(is_for_tests=False) as address:
        world = ",".join(str(number) for number in (SMALL if is_quick else LARGE))
        tables.append(_table("a large company on PostgreSQL", address, world))
    return tables


def _table(title: str, database: str, world: str) -> Table:
    found: dict[str, Any] = run_in_product("bench.visiting", world, database=database)
    columns = ("page", "median ms", "longest ms", "of it at work", "queries", "within")
    rows: list[tuple[Cell, ...]] = [(*page, "yes" if page[1] < LIMIT else "NO") for page in found["pages"]]
    counts = ", ".join(f"{count:,} {noun}" for noun, count in found["counts"].items())
    notes = [
        f"{counts}; a page may take {LIMIT} ms.",
        "At work: the processor time of web process and database in the median visit, which other programs do not "
        "lengthen.",
        "As root, in one process, through all middleware and templates, without the network; the first visit is not "
        "counted.",
    ]
    return Table(f"Server time of pages with {title}", columns, list(rows), notes)
