"""Reads text files line by line, each line with its place, from any storage that Spark reads.

Spark divides large files into blocks that are read at the same time, and numbers no lines. The place of a line is
therefore its file, the start of its block, and a number that grows by one from line to line of a block; `forms.blocks`
makes numbers of the file out of these.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import quote_text

#: Columns that every form's rows have: the path of the file in the folder, the block and the line; whether the line is
#: a row (and neither blank nor a header); its text, and why it cannot be read; whether the first such line of its file,
#: which is no blank one, has to be a header.
LINE_COLUMNS = ("row_file", "row_block", "row_line", "is_row", "row_text", "row_problem", "has_header")

#: What Java puts in place of bytes that are not UTF-8.
REPLACEMENT = "\ufffd"


def read_lines(spark: SparkSession, folder: str, pattern: str, *, has_header: bool = False) -> DataFrame:
    """Return every line of the files of a pattern with LINE_COLUMNS; it is left to the form to find headers."""
    replacement, is_row = quote_text(REPLACEMENT), "trim(value) <> ''"
    is_not_utf8 = f"contains(value, {replacement}) OR NOT is_valid_utf8(value)"
    if not hasattr(f, "is_valid_utf8"):
        # PySpark 3.5 has no such function. A pattern is what looks at the text of Java, and not at the bytes.
        is_not_utf8 = f"value RLIKE {replacement}"
    columns = {
        "row_file": _get_path(pattern),
        "row_block": "_metadata.file_block_start",
        "row_line": "monotonically_increasing_id()",
        "is_row": is_row,
        "row_text": f"CASE WHEN {is_not_utf8} THEN regexp_replace(value, {replacement}, {replacement}) ELSE value END",
        "row_problem": f"CASE WHEN {is_not_utf8} THEN 'It is not UTF-8.' END",
        "has_header": is_row if has_header else "false",
    }
    lines = spark.read.text(f"{folder}/{pattern}")
    return lines.selectExpr(*(f"{value} AS {name}" for name, value in columns.items()))


def build_path_column(pattern: str) -> Column:
    """Return the path in the folder of the file of a row, as Spark writes it."""
    return f.expr(_get_path(pattern))


def _get_path(pattern: str) -> str:
    # The stars of a pattern match no slash, so that paths have as many parts as the pattern.
    return f"substring_index(_metadata.file_path, '/', {-(pattern.count('/') + 1)})"


def find_first_line(lines: DataFrame) -> str:
    """Return the first line of one of the files that is not blank, '' where there is none."""
    first_lines = lines.filter("row_block = 0 AND is_row").select("row_text").head(1)
    return str(first_lines[0]["row_text"]) if first_lines else ""
