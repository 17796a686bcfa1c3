"""Frames that are copied to memory have the rows, in their order and types, and Spark knows when there are none."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from catalog.reports.spark.frames import (
    collect_small_table,
    collect_table,
    describe_columns,
    iterate_stored,
    make_frame,
)

pytestmark = pytest.mark.spark

ROWS = """
SELECT id, if(id % 3 = 0, NULL, concat('é', id)) AS name, timestamp '2026-03-29 01:30:00' AS at,
    array(id, NULL) AS many, id % 2 = 0 AS is_even
FROM range(0, 10, 1, 3) ORDER BY id DESC
"""


def test_rows_order_and_types_stay(spark: SparkSession) -> None:
    frame = spark.sql(ROWS)
    table = collect_small_table(frame, 10)
    assert table is not None
    copy = make_frame(spark, [table], frame.schema)
    assert copy.schema == frame.schema
    assert copy.collect() == frame.collect()
    assert [table.to_pylist() for table in iterate_stored(copy)] == [collect_table(frame).to_pylist()]


def test_tables_of_which_one_never_has_nulls_are_one_frame(spark: SparkSession) -> None:
    frames = [spark.sql(f"SELECT {number} AS number, 'a' AS name") for number in ("1", "CAST(NULL AS int)")]
    tables = [collect_small_table(frame, 1) for frame in (frames[0], frames[0].limit(0), frames[1])]
    union = make_frame(spark, [table for table in tables if table is not None], frames[0].schema)
    assert collect_table(union).to_pylist() == [{"number": 1, "name": "a"}, {"number": None, "name": "a"}]
    assert make_frame(spark, [pa.concat_tables([tables[1], tables[0]])], frames[0].schema).count() == 1


def test_a_table_without_rows_between_others_ends_nothing(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 1 AS number")
    tables = [collect_small_table(rows, 1) for rows in (frame, frame.filter("number > 1"), frame)]
    union = make_frame(spark, [table for table in tables if table is not None], frame.schema)
    assert collect_table(union).to_pylist() == [{"number": 1}, {"number": 1}]
    # Tables of Arrow come in pieces, too.
    pieces = pa.concat_tables([table for table in tables if table is not None])
    assert make_frame(spark, [pieces], frame.schema).count() == 2


def test_more_rows_than_allowed_are_not_copied(spark: SparkSession) -> None:
    assert collect_small_table(spark.sql(ROWS), 9) is None


def test_structs_are_left_to_files(spark: SparkSession) -> None:
    assert collect_small_table(spark.sql("SELECT array(struct(1 AS number)) AS parts"), 9) is None


def test_joins_with_nothing_are_not_computed(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(5).write.parquet(str(tmp_path / "numbers"))
    numbers = spark.read.parquet(str(tmp_path / "numbers"))
    no_rows = collect_small_table(numbers.filter("id > 9"), 5)
    assert no_rows is not None
    nothing = make_frame(spark, [no_rows], numbers.schema)
    assert list(iterate_stored(nothing)) == []
    assert numbers.join(nothing, "id").inputFiles() == []
    assert numbers.join(nothing, "id", "left_anti").inputFiles() == numbers.inputFiles()


def test_columns_of_files_are_named_to_spark_with_their_types(spark: SparkSession) -> None:
    schema = pa.schema([("a `number`", pa.int64()), ("order", pa.string()), ("is_even", pa.bool_()), ("n", pa.int32())])
    empty = spark.createDataFrame([], describe_columns(schema))
    assert empty.dtypes == [("a `number`", "bigint"), ("order", "string"), ("is_even", "boolean"), ("n", "int")]


def test_columns_of_other_types_are_refused() -> None:
    with pytest.raises(KeyError):
        describe_columns(pa.schema([("at", pa.timestamp("us"))]))
