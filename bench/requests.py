"""How long lists of requests take while thousands wait for decisions, on PostgreSQL."""

import sys
from typing import TYPE_CHECKING

from bench.product import PROJECT, run_in_product
from bench.tables import Cell, Table

sys.path.insert(0, str(PROJECT / ".make"))

import servers  # found through the line above

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Milliseconds that a list may take at p95 (issue O).
LIMIT = 100

#: Policies, people, entities, and requests that are open; as many again are denied.
LARGE, SMALL = (1_000, 10_000, 20_000, 10_000), (100, 1_000, 2_000, 500)


def run(*, is_quick: bool) -> list[Table]:
    """Measure the lists that askers, approvers and administrators read."""
    world = SMALL if is_quick else LARGE
    if servers.postgres_folder() is None:
        return [Table("Lists of requests", ("list",), notes=["There is no PostgreSQL on this machine."])]
    with servers.postgres(is_for_tests=False) as address:
        found = run_in_product("bench.request_lists", ",".join(map(str, world)), database=address)
    columns = ("list", "rows", "median ms", "p95 ms", "longest ms", "of it at work, p95", "queries", "within")
    rows: list[Sequence[Cell]] = [
        (name, "-" if count is None else count, *figures, "yes" if figures[1] < LIMIT else "NO")
        for name, count, *figures in found
    ]
    policies, users, entities, count = world
    notes = [
        f"{count:,} requests are open and as many denied; {policies:,} policies, {users:,} people, {entities:,} "
        f"entities. A list may take {LIMIT} ms at p95.",
    ]
    return [Table("Lists of requests, on PostgreSQL", columns, rows, notes)]
