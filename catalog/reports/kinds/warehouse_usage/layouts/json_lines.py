"""Reads files with one JSON object a line."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.forms.json_rows import holds_several
from catalog.reports.kinds.role_mapping_check.forms.lines import read_lines

_CORRUPT_COLUMN = "_corrupt"


def read_json(spark: SparkSession, folder: str, pattern: str, schema: str) -> DataFrame:
    """Return the lines of files, the object as the struct `said`; `is_corrupt` where it is none."""
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT_COLUMN}
    entry = f.from_json("row_text", f"{schema}, {_CORRUPT_COLUMN} string", options)
    is_corrupt = f.col("said").isNull() | f.col(f"said.{_CORRUPT_COLUMN}").isNotNull()
    rows = read_lines(spark, folder, pattern).withColumn("said", entry).withColumn("is_corrupt", is_corrupt)
    problem = f.when(
        ~f.col("is_corrupt") & holds_several("row_text"), "It is more than one JSON object; write each on its own line."
    )
    return rows.withColumn("row_problem", f.coalesce("row_problem", problem))
