"""Reads files with one JSON object a line."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import quote_text
from catalog.warehouses.files.json_rows import holds_several
from catalog.warehouses.files.lines import read_lines

_CORRUPT_COLUMN = "_corrupt"


def read_json(spark: SparkSession, folder: str, pattern: str, schema: str) -> DataFrame:
    """Return the lines of files, the object as the struct `said`; `is_corrupt` where it is none."""
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_CORRUPT_COLUMN}')"
    entry = f"from_json(row_text, {quote_text(f'{schema}, {_CORRUPT_COLUMN} string')}, {options})"
    is_corrupt = f"(said IS NULL OR said.{_CORRUPT_COLUMN} IS NOT NULL)"
    problem = f"""coalesce(row_problem, CASE WHEN NOT {is_corrupt} AND {holds_several("row_text")}
        THEN 'It is more than one JSON object; write each on its own line.' END)"""
    rows = read_lines(spark, folder, pattern).withColumn("said", f.expr(entry))
    return rows.withColumns({"is_corrupt": f.expr(is_corrupt), "row_problem": f.expr(problem)})
