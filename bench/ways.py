"""How good and how quick ways are: for random refusals of a large company, on PostgreSQL."""

import sys
from typing import Any

from bench.product import PROJECT, run_in_product
from bench.tables import Table

sys.path.insert(0, str(PROJECT / ".make"))

import servers  # found through the line above

#: Milliseconds that the first way and all ways may take at p95.
FIRST_LIMIT, ALL_LIMIT = 500, 2_000
#: The least share of refusals with a way that gives only what was asked, and the most of unknown proofs.
EXACT_SHARE, UNKNOWN_SHARE = 0.99, 0.01

#: Policies, people, entities and refusals.
LARGE, SMALL = (10_000, 10_000, 100_000, 1_000), (500, 1_000, 2_000, 100)


def run(*, is_quick: bool) -> list[Table]:
    """Measure the ways to random refusals."""
    world = SMALL if is_quick else LARGE
    if servers.postgres_folder() is None:
        return [Table("Ways", ("what",), notes=["There is no PostgreSQL on this machine."])]
    with servers.postgres(is_for_tests=False) as address:
        found: dict[str, Any] = run_in_product("bench.way_finding", ",".join(map(str, world)), database=address)
    policies, users, entities, _ = world
    times = [
        (
            name,
            *(times[key] for key in ("worked_median", "worked_p95", "median", "p95", "longest")),
            *("yes" if times[key] <= limit else "NO" for key in ("worked_p95", "p95")),
        )
        for name, times, limit in (
            ("the smallest way", found["first"], FIRST_LIMIT),
            ("all ways", found["all"], ALL_LIMIT),
        )
    ]
    exact_share, unknown_share = found["exact"] / found["refusals"], found["unknown"] / max(1, found["ways"])
    shares = [
        ("refusals with a way that gives only this", exact_share, "yes" if exact_share >= EXACT_SHARE else "NO"),
        ("proofs that are unknown", unknown_share, "yes" if unknown_share <= UNKNOWN_SHARE else "NO"),
        ("ways whose numbers are exact", found["counted"] / max(1, found["ways"]), "-"),
    ]
    kinds = [(kind, *numbers) for kind, numbers in sorted(found["kinds"].items())]
    least, usual, most = found["loads"]
    notes = [
        f"{policies:,} policies, {users:,} people, {entities:,} entities.",
        f"{found['refusals']:,} refusals without explicit deny.",
        f"The load of the machine was {least:.1f} to {most:.1f} (median {usual:.1f}).",
    ]
    notes += [f"Without such a way: {reason}" for reason in found["reasons"]]
    notes += [f"Unknown: {way}" for way in found["unknown_ways"]]
    return [
        Table(
            "Ways, on PostgreSQL",
            (
                "what",
                "at work: median ms",
                "p95 ms",
                "on the clock: median ms",
                "p95 ms",
                "longest ms",
                "within at work",
                "within on the clock",
            ),
            list(times),
        ),
        Table("How good they are", ("what", "share", "within"), list(shares), notes),
        Table(
            "By kind", ("kind", "ways", "gives only this", "unknown", "median pairs", "median ms at work"), list(kinds)
        ),
    ]
