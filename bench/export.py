"""Snapshots of a catalog in PostgreSQL: a full one, one after 1% changed, and what noting changes costs who writes."""

import os

from bench import scale
from bench.tables import Table

#: Policies, users and entities.
LARGE, SMALL = (100, 100_000, 300_000), (100, 2_000, 20_000)


def run(*, is_quick: bool) -> list[Table]:
    """Measure; without PostgreSQL there is nothing to measure."""
    size = SMALL if is_quick else LARGE
    found = scale.measure("bench.exporting", size)
    if found is None:
        return [Table("Snapshots", ("",), notes=["There is no PostgreSQL on this machine."])]
    title = f"Snapshots of {found['entities']:,} entities with {found['facets']:,} facets, and {size[1]:,} people"
    table = Table(title, ("what", "s", "s at work", "compared"), [tuple(row) for row in found["rows"]])
    table.notes.append("Medians of three, taken in turn. At work: processor time of the process, without PostgreSQL's.")
    table.notes.append(
        "Policies and grants are written whole each time; people and memberships, when one of them changed."
    )
    table.notes.append(f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the end.")
    return [table]
