"""Who may use which privilege on what, over the whole catalog."""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as f

from catalog.spark.arrow import in_pairs
from catalog.spark.job import Job, progress, run
from catalog.spark.snapshots import actors_of, below_of, snapshot_of
from policies.engine import bulk, matching
from policies.engine.postings import Postings

#: How many entities one slice has.
SLICE = 262_144


def work(job: Job) -> Mapping[str, Any]:
    """Count, for each privilege and person, the entities it may be used on."""
    privileges: list[str] = job.parameters["privileges"]
    progress("Reading policies and people")
    snapshot = snapshot_of(job.table("policies"), job.manifest["policy_version"])
    actors = actors_of(job.table("users"), job.table("memberships"), job.table("roles"))
    below = below_of(job.table("ancestries"))
    fields = snapshot.fields_for(privileges)
    shared = job.spark.sparkContext.broadcast((snapshot, actors, below, fields, privileges))
    slice_ = f.floor(f.col("number") / SLICE).cast("int").alias("slice")
    entities = job.frame("entities").select(slice_, "number", "urn", "type")
    facets = job.frame("facets").where(f.col("field").isin(sorted(fields))).withColumnRenamed("entity", "number")
    facets = facets.select(slice_, "number", "field", "value", f.col("type").alias("owner_type"))

    def counted(one: pa.Table, facts: pa.Table) -> pa.Table:
        snapshot, actors, below, fields, privileges = shared.value
        numbers = {number: place for place, number in enumerate(one.column("number").to_pylist())}
        rows = zip(
            *(facts.column(name).to_pylist() for name in ("number", "field", "value", "owner_type")), strict=True
        )
        postings = Postings(
            urns=one.column("urn").to_pylist(),
            types=one.column("type").to_pylist(),
            fields=fields | {matching.OWNER},
            rows=((numbers[number], field, value, kind) for number, field, value, kind in rows),
            below=below,
        )
        found = [
            (privilege, urn, count)
            for privilege in privileges
            for urn, count in bulk.Reach(postings, snapshot, privilege).counts(actors).items()
        ]
        columns = zip(*found, strict=True) if found else ([], [], [])
        return pa.table(dict(zip(("privilege", "person", "entities"), columns, strict=True)))

    progress("Counting")
    found = in_pairs(entities, facets, ["slice"], counted, "privilege string, person string, entities long")
    parts = found.toArrow()
    totals: Counter[tuple[str, str]] = Counter()
    for privilege, person, count in _rows(parts, ("privilege", "person", "entities")):
        totals[privilege, person] += count
    ordered = sorted(totals.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    job.write(
        "people",
        pa.table(
            {
                "privilege": pa.array([privilege for (privilege, _), _ in ordered], pa.string()),
                "person": pa.array([person for (_, person), _ in ordered], pa.string()),
                "entities": pa.array([count for _, count in ordered], pa.int64()),
            }
        ),
    )
    return {"numbers": {"people": len(actors), "entities": job.manifest["rows"]["entities"]}}


def _rows(table: pa.Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(table.column(name).to_pylist() for name in names), strict=True)


def main(argv: Sequence[str]) -> int:
    """Run the job and return its exit code."""
    return run("effective_access", work, argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
