"""Reads files with one JSON object a line."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.forms.lines import read_lines

_CORRUPT_COLUMN = "_corrupt"


def read_json(spark: SparkSession, folder: str, pattern: str, schema: str) -> DataFrame:
    """Return the lines of files, the object as the struct `said`; `is_corrupt` where it is none."""
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT_COLUMN}
    entry = f.from_json("row_text", f"{schema}, {_CORRUPT_COLUMN} string", options)
    is_corrupt = f.col("said").isNull() | f.col(f"said.{_CORRUPT_COLUMN}").isNotNull()
    rows = read_lines(spark, folder, pattern).withColumn("said", entry).withColumn("is_corrupt", is_corrupt)
    # Of several objects in a row, as some services write them, the parser returns the first, and says nothing.
    array = f.concat(f.lit("["), f.regexp_replace("row_text", r",\s*$", ""), f.lit("]"))
    is_several = f.col("row_text").rlike(r"\}\s*,?\s*\{") & (
        f.coalesce(f.size(f.from_json(array, "array<string>")), f.lit(0)) != 1
    )
    problem = f.when(~f.col("is_corrupt") & is_several, "It is more than one JSON object; write each on its own line.")
    return rows.withColumn("row_problem", f.coalesce("row_problem", problem))
