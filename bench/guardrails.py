"""The time that ten guardrails add to a write at a large company on PostgreSQL."""

import sys
from typing import Any

from bench.product import PROJECT, run_in_product
from bench.tables import Table

sys.path.insert(0, str(PROJECT / ".make"))

import servers  # found through the line above

#: What ten guardrails may add to a write, in milliseconds (issue J).
LIMIT = 500

#: Policies, users and entities.
LARGE, SMALL = (10_000, 10_000, 10_000), (500, 1_000, 2_000)


def run(*, is_quick: bool) -> list[Table]:
    """Measure writes of policies and members, in turns without guardrails and with them."""
    world = SMALL if is_quick else LARGE
    if servers.postgres_folder() is None:
        return [Table("Guardrails", ("write",), notes=["There is no PostgreSQL on this machine."])]
    with servers.postgres(is_for_tests=False) as address:
        found: list[dict[str, Any]] = run_in_product("bench.guarding", ",".join(map(str, world)), database=address)
    columns = (
        "write",
        "without, median ms",
        "with, median ms",
        "added ms",
        "added p95",
        "at work, median ms",
        "added at work",
        "most at work",
        "times",
        "within",
    )
    rows = [
        (
            one["write"],
            one["off median"],
            one["warn median"],
            one["added"],
            one["added p95"],
            one["off work"],
            one["added work"],
            one["most work"],
            f"{one['times']:.2f}",
            "yes" if one["added"] < LIMIT else "NO",
        )
        for one in found
    ]
    policies, users, entities = world
    notes = [
        f"{policies:,} policies, {users:,} people, {entities:,} entities, ten guardrails; they may add {LIMIT} ms.",
        "At work: the processor time of this process and the database, which other programs do not lengthen.",
        "Times: what a write with guardrails takes of it, in median, for one without them in the same run.",
    ]
    return [Table("A write beside ten guardrails, on PostgreSQL", columns, list(rows), notes)]
