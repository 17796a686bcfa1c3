"""Intermediate tables: rows of several parts are one table, in memory or in files, and leave nothing behind."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from catalog.reports.kinds.role_mapping_check.run_inputs import compute_in_stages
from catalog.reports.kinds.role_mapping_check.stages import STAGES_FOLDER, Stages
from catalog.reports.spark.frames import MAX_ROWS_IN_MEMORY, iterate_stored
from catalog.reports.spark.job import BadInput, Job
from catalog.reports.spark.job_threads import JobThreads
from catalog.reports.summary import Summary
from catalog.warehouses.warehouse import BadExports

pytestmark = pytest.mark.spark

MANY = MAX_ROWS_IN_MEMORY + 1


def compute(spark: SparkSession, folder: Path, use: Callable[[Stages], None], *, is_short: bool) -> None:
    job = Job(spark, folder.as_uri(), (folder / "output").as_uri(), {}, {}, is_short=is_short)

    def compute_summary(_: Job, stages: Stages, _threads: JobThreads) -> Summary:
        use(stages)
        return Summary(())

    compute_in_stages(job, compute_summary)


@pytest.mark.parametrize(
    ("sizes", "is_short", "is_in_files"),
    [((3, 2), True, False), ((3, MANY, 2), True, True), ((3, 2), False, True), ((3,), True, False)],
)
def test_parts_are_one_table(
    spark: SparkSession, tmp_path: Path, sizes: tuple[int, ...], is_short: bool, is_in_files: bool
) -> None:
    def read(stages: Stages) -> None:
        def build(number: int, size: int) -> DataFrame:
            return spark.range(size).selectExpr("id", f"{number} AS part", "CAST(NULL AS string) AS name")

        parts = [stages.start("parts", partial(build, number, size)) for number, size in enumerate(sizes)]
        rows = stages.read_union("parts", parts)
        assert bool(rows.inputFiles()) == is_in_files
        counts = {row["part"]: row["count"] for row in rows.groupBy("part").count().collect()}
        assert counts == dict(enumerate(sizes))
        assert sum(table.num_rows for table in iterate_stored(rows)) == sum(sizes)

    compute(spark, tmp_path, read, is_short=is_short)
    assert not (tmp_path / "output" / STAGES_FOLDER).exists()


def test_short_jobs_exchange_nothing(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def read(stages: Stages) -> None:
        rows = stages.store("rows", spark.sql("SELECT id, id % 2 AS part FROM range(0, 9, 1, 3)"))
        rows.union(rows).groupBy("part").count().explain()

    for is_short in (True, False):
        compute(spark, tmp_path, read, is_short=is_short)
        plan = capsys.readouterr().out
        assert "Aggregate" in plan
        assert ("Exchange" in plan) != is_short


def test_an_error_of_a_part_is_that_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    def fail() -> DataFrame:
        raise BadExports("The first.")

    def read(stages: Stages) -> None:
        parts = [stages.start("parts", lambda: spark.range(3)), stages.start("parts", fail)]
        stages.read_union("parts", parts)

    with pytest.raises(BadInput, match="The first"):
        compute(spark, tmp_path, read, is_short=True)
    assert not (tmp_path / "output" / STAGES_FOLDER).exists()
