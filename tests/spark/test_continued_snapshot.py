"""A snapshot that continues another one, as jobs read it with Spark."""

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from catalog.reports.snapshot import reader
from catalog.reports.spark.frames import MAX_ROWS_IN_MEMORY
from catalog.reports.spark.job import Job

pytestmark = pytest.mark.spark

OLD: list[dict[str, object]] = [
    {"entity": number, "field": "TAG", "value": f"old-{number}", "type": ""} for number in range(6)
]
NEW: list[dict[str, object]] = [
    {"entity": number, "field": "TAG", "value": f"new-{number}", "type": ""} for number in (1, 4, 9)
]


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


@pytest.mark.parametrize(
    ("is_short", "more_rows", "is_in_files"),
    [(False, 0, True), (True, 0, False), (True, MAX_ROWS_IN_MEMORY, True)],
)
def test_a_frame_has_the_present_rows(
    spark: SparkSession, tmp_path: Path, is_short: bool, more_rows: int, is_in_files: bool
) -> None:
    changed = tmp_path / reader.CHANGED_FOLDER
    for start in (0, 3):
        part = reader.name_part(start)
        numbers = [number for number in (1, 2, 4, 9) if (number < 3) == (start == 0)]
        others = [{"entity": 10, "field": "OTHER", "value": "", "type": ""}] * (more_rows if start else 0)
        _write(tmp_path / "facets.parquet" / part, OLD[start : start + 3] + others)
        _write(changed / "numbers.parquet" / part, [{"number": number} for number in numbers])
        _write(changed / "facets.parquet" / part, [row for row in NEW if row["entity"] in numbers])
    job = Job(spark, tmp_path.as_uri(), tmp_path.as_uri(), {}, {"changed": 4}, is_short=is_short)
    frame = job.read_frame("facets")
    assert bool(frame.inputFiles()) == is_in_files
    frame = frame.filter("field = 'TAG'")
    assert frame.columns == ["entity", "field", "value", "type"]
    expected = ["new-1", "new-4", "new-9", "old-0", "old-3", "old-5"]
    assert sorted(row.value for row in frame.collect()) == expected
    table = reader.read_table(tmp_path.as_uri(), "facets", ["value"], ds.field("field") == "TAG")
    assert sorted(table.column("value").to_pylist()) == expected


def test_columns_are_known_without_asking_spark(tmp_path: Path) -> None:
    _write(tmp_path / "users.parquet", [{"urn": "urn:li:corpuser:mara", "may_act": True}])
    _write(tmp_path / "facets.parquet" / reader.name_part(0), OLD)
    (tmp_path / "entities.parquet").mkdir()
    assert reader.read_schema(tmp_path.as_uri(), "users").names == ["urn", "may_act"]
    assert reader.read_schema(tmp_path.as_uri(), "facets").field("entity").type == pa.int64()
    for missing_table in ("entities", "policies"):
        with pytest.raises(reader.CorruptSnapshot, match=f"{missing_table}.parquet"):
            reader.read_schema(tmp_path.as_uri(), missing_table)
