"""Runs the job of warehouse usage in a world of test_role_mapping."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from catalog.reports.kinds.warehouse_usage import job as warehouse_usage_job
from catalog.reports.spark.job import Job
from tests.spark.drift_world import PII, World


def find_usage(spark: SparkSession, world: World, folder: Path, *, days: int, is_short: bool = True) -> dict[str, Any]:
    """Run the job, as a short one unless `is_short` is false, and return its tables and its summary."""
    world.write(folder / "input")
    parameters = {"tags": [PII], "days": days}
    source, target = ((folder / name).as_uri() for name in ("input", "output"))
    job = Job(spark, source, target, parameters, {"policy_version": 1}, is_short=is_short)
    summary = warehouse_usage_job.compute_results(job)
    tables = {path.name: pq.read_table(path).to_pylist() for path in (folder / "output").iterdir()}
    return {"summary": summary, **tables}
