"""Reads text files line by line, each line with its place, from any storage that Spark reads.

Spark divides large files into blocks that are read at the same time, and numbers no lines. The place of a line is
therefore its file, the start of its block, and a number that grows by one from line to line of a block; `forms.blocks`
makes numbers of the file out of these.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

#: Columns that every form's rows have: the path of the file in the folder, the block and the line; whether the line is
#: a row (and neither blank nor a header); its text, and why it cannot be read; whether the first such line of its file,
#: which is no blank one, has to be a header.
LINE_COLUMNS = ("row_file", "row_block", "row_line", "is_row", "row_text", "row_problem", "has_header")

#: What Java puts in place of bytes that are not UTF-8.
_REPLACEMENT = "\ufffd"


def read_lines(spark: SparkSession, folder: str, pattern: str, *, has_header: bool = False) -> DataFrame:
    """Return every line of the files of a pattern with LINE_COLUMNS; it is left to the form to find headers."""
    is_not_utf8, is_row = _is_not_utf8(f.col("value")), f.trim("value") != ""
    return spark.read.text(f"{folder}/{pattern}").select(
        build_path_column(pattern).alias("row_file"),
        f.col("_metadata.file_block_start").alias("row_block"),
        f.monotonically_increasing_id().alias("row_line"),
        is_row.alias("is_row"),
        f.when(is_not_utf8, f.regexp_replace("value", _REPLACEMENT, _REPLACEMENT))
        .otherwise(f.col("value"))
        .alias("row_text"),
        f.when(is_not_utf8, "It is not UTF-8.").alias("row_problem"),
        (is_row if has_header else f.expr("false")).alias("has_header"),
    )


def _is_not_utf8(text: Column) -> Column:
    """Whether a text has bytes that are not UTF-8, or the sign that something else has put in their place."""
    if hasattr(f, "is_valid_utf8"):
        return text.contains(_REPLACEMENT) | ~f.is_valid_utf8(text)
    # PySpark 3.5 has no such function. A pattern is what looks at the text of Java, and not at the bytes.
    return text.rlike(_REPLACEMENT)


def build_path_column(pattern: str) -> Column:
    """Return the path in the folder of the file of a row, as Spark writes it."""
    # The stars of a pattern match no slash, so that paths have as many parts as the pattern.
    return f.substring_index("_metadata.file_path", "/", -(pattern.count("/") + 1))


def find_first_line(lines: DataFrame) -> str:
    """Return the first line of one of the files that is not blank, '' where there is none."""
    first_lines = lines.filter("row_block = 0 AND is_row").select("row_text").head(1)
    return str(first_lines[0]["row_text"]) if first_lines else ""
