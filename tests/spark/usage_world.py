"""Runs the job of warehouse usage in a world of test_role_mapping, and once for all cases of a module."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from catalog.reports.kinds.warehouse_usage import job as warehouse_usage_job
from catalog.reports.spark.job import Job
from tests.spark.drift_world import PII, Rows, World, dataset, interpreted

#: The tables of a job by their names.
Tables = dict[str, Rows]


def find_usage(spark: SparkSession, world: World, folder: Path, *, days: int, is_short: bool = True) -> dict[str, Any]:
    """Run the job, as a short one unless `is_short` is false, and return its tables and its summary."""
    world.write(folder / "input")
    parameters = {"tags": [PII], "days": days}
    source, target = ((folder / name).as_uri() for name in ("input", "output"))
    job = Job(spark, source, target, parameters, {"policy_version": 1}, is_short=is_short)
    summary = warehouse_usage_job.compute_results(job)
    tables = {path.name: pq.read_table(path).to_pylist() for path in (folder / "output").iterdir()}
    return {"summary": summary, **tables}


def list_contradictions(found: Tables) -> list[str]:
    """Return what the tables of one run say against each other, as sentences."""
    rows = found["grants"] + found["memberships"]
    gaps = {row["export"] for row in found["exports"] if row["gap"]}
    wrong = [
        f"{row} is judged in a gap" for row in rows if row["state"] in ("UNUSED", "YOUNG") and row["export"] in gaps
    ]
    unused = sum(row["state"] == "UNUSED" for row in rows)
    said = sum(row["members"] or 1 for row in found["findings"] if row["type"] == "UNUSED_GRANT")
    if said != unused:
        wrong.append(f"{unused} rows are UNUSED, and findings say {said}")
    return [*wrong, *_compare_states(found), *_compare_proposals(found)]


def _compare_states(found: Tables) -> Iterator[str]:
    """Yield grants and memberships whose uses are not those that their states say."""
    for row in found["grants"]:
        if {row["state"] == "USED"} != {bool(row[name]) for name in ("used", "last", "people")}:
            yield f"{row} is not as used as its state"
    for row in found["memberships"]:
        times = [one["last"] for one in found["grants"] if one["export"] == row["export"] and one["last"]]
        if (row["state"] == "USED") != bool(row["last"]) or (row["last"] or "") > max(times, default=""):
            yield f"{row} was used, and no grant that late"


def _compare_proposals(found: Tables) -> Iterator[str]:
    """Yield proposals that are not about the grants as they are, and losses by no proposal."""
    grants = {(row["export"], row["grantee"], row["object"]): row for row in found["grants"]}
    used = {key[:2] for key, row in grants.items() if row["used"]}
    states = {"KEEP": ("USED", "YOUNG"), "NARROW": ("USED",), "REVOKE": ("USED", "UNUSED")}
    for row in found["proposals"]:
        grant = grants.get((row["export"], row["grantee"], row["object"]))
        if row["action"] == "GRANT":
            if (row["export"], row["grantee"]) not in used:
                yield f"{row} is proposed for what nobody used"
        elif not grant or grant["used"] != row["used"] or grant["state"] not in states[row["action"]]:
            yield f"{row} is proposed for {grant}"
    taken = {(row["export"], row["grantee"]) for row in found["proposals"] if row["action"] == "REVOKE"}
    for row in found["losses"]:
        if (row["export"], row["grantee"]) not in taken:
            yield f"{row} is lost by no proposal"


class UsageCases:
    """Cases that one job judges, since a job takes seconds whatever it reads.

    Each is an export of its own, of an installation that nothing else is in; its files lie in a folder of its name.
    """

    def __init__(self) -> None:
        self.world = World()
        self._exports: list[dict[str, Any]] = []

    def add_export(self, case: str, **export: Any) -> None:
        """Add what `exports.json` says of a case; files of grants and of uses are named, other files may be."""
        described = {"name": case, "platform": "snowflake", "instance": case} | export
        for key in ("grants", "members", "usage"):
            if key in described:
                described[key] = [f"{case}/{name}" for name in described[key]]
        self._exports.append(described)

    def add_dataset(self, case: str, name: str, platform: str = "snowflake", **facts: list[str]) -> None:
        """Add a dataset of the installation of a case."""
        self.world.entity(dataset(platform, f"{case}.{name}"), **facts)

    def judge(self, spark: SparkSession, folder: Path, *, days: int) -> dict[str, Tables]:
        """Run the job and return the rows of each case in each table."""
        self.world.files["exports.json"] = json.dumps({"exports": self._exports})
        with interpreted(spark):
            found = find_usage(spark, self.world, folder, days=days)
        del found["summary"]
        assert list_contradictions(found) == []
        return {
            case: {table: [row for row in rows if row["export"] == case] for table, rows in found.items()}
            for case in (export["name"] for export in self._exports)
        }
