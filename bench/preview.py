"""How long the net change of one policy takes at a large company on PostgreSQL."""

import sys
from typing import Any

from bench.product import PROJECT, run_in_product
from bench.tables import Table

sys.path.insert(0, str(PROJECT / ".make"))

import servers  # found through the line above

#: What a preview of one policy may take, in milliseconds (issue J).
LIMIT = 1_000
#: What the sample may take that is shown while somebody types.
SAMPLE_LIMIT = 300

#: Policies, users and entities.
LARGE, SMALL = (10_000, 10_000, 100_000), (500, 1_000, 2_000)


def run(*, is_quick: bool) -> list[Table]:
    """Measure deleted, edited and new policies of a company."""
    world = SMALL if is_quick else LARGE
    if servers.postgres_folder() is None:
        return [Table("Net changes", ("change",), notes=["There is no PostgreSQL on this machine."])]
    with servers.postgres(is_for_tests=False) as address:
        found: list[dict[str, Any]] = run_in_product("bench.previewing", ",".join(map(str, world)), database=address)
    columns = ("change", "median ms", "p95 ms", "longest ms", "of it at work, p95", "exact", "within")
    rows = [
        (
            f"{one['change']}, sampled" if one["is_sampled"] else one["change"],
            one["median"],
            one["p95"],
            one["longest"],
            one["work"],
            f"{one['exact']}/{one['number']}",
            "yes" if one["p95"] < (SAMPLE_LIMIT if one["is_sampled"] else LIMIT) else "NO",
        )
        for one in found
    ]
    policies, users, entities = world
    notes = [
        f"{policies:,} policies, {users:,} people, {entities:,} entities; the p95 of a change may take {LIMIT} ms,"
        f" of a sample {SAMPLE_LIMIT} ms.",
        "At work: the processor time of this process and the database, which other programs do not lengthen.",
    ]
    return [Table("Net change of one policy, on PostgreSQL", columns, list(rows), notes)]
