"""Reads text files line by line, each line with its place, from any storage that Spark reads.

Spark divides large files into blocks that are read at the same time, and numbers no lines. The place of a line is
therefore its file, the start of its block, and a number that grows by one from line to line of a block; `number_lines`
makes numbers of the file out of these.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind

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


def _decode_path(path: str) -> Column:
    """Return a path as people write it: Spark's have spaces and percent signs as in addresses."""
    return f.url_decode(f.replace(f.col(path), f.lit("+"), f.lit("%2B")))


def find_first_line(lines: DataFrame) -> str:
    """Return the first line of one of the files that is not blank, '' where there is none."""
    first_lines = lines.filter("row_block = 0 AND is_row").select("row_text").head(1)
    return str(first_lines[0]["row_text"]) if first_lines else ""


def find_other_headers(facts: DataFrame) -> DataFrame:
    """Return (file, neighbour) of the files whose first line is not the header of their export.

    `neighbour` is the file with that header whose name is most alike, null where there is none.
    """
    starts = facts.filter("has_header AND block = 0")
    # Numbers alone are grouped, which Spark does without sorting all of the lines.
    first_lines = starts.groupBy("export", "file").agg(f.min("line").alias("line"))
    first_kinds = starts.select("export", "file", "line", "what").join(
        f.broadcast(first_lines), ["export", "file", "line"]
    )
    is_header = f.col("what") == FactKind.NO_ROW
    neighbours = first_kinds.filter(is_header).select("export", f.col("file").alias("neighbour"))
    pairs = first_kinds.filter(~is_header).join(neighbours, "export", "left")
    distance = f.struct(f.levenshtein("file", "neighbour"), "neighbour")
    nearest = pairs.groupBy("file").agg(f.min_by("neighbour", distance).alias("neighbour"))
    return nearest.select(*(_decode_path(name).alias(name) for name in ("file", "neighbour")))


def count_blocks(rows: DataFrame, columns: Sequence[str] = (), **aggregates: Column) -> DataFrame:
    """Return (export, file, block), these columns, and the `count` of such rows with their `first` and `last` line.

    `aggregates` are more columns, by name.

    Numbers alone are grouped, which Spark does without sorting all of the rows.
    """
    lines = f.min("line").alias("first"), f.max("line").alias("last")
    others = (column.alias(name) for name, column in aggregates.items())
    return rows.groupBy("export", "file", "block", *columns).agg(f.count("*").alias("count"), *lines, *others)


def number_lines(rows: DataFrame, counted_blocks: DataFrame) -> DataFrame:
    """Return rows with `export`, `file`, `block` and `line`, with file and number as people name them.

    `counted_blocks` are those of all facts, as `count_blocks`: every line gives a fact, so that their first and last
    lines are those of the blocks.
    """
    # Two exports may name one file, and each has read it.
    blocks = counted_blocks.groupBy("export", "file", "block").agg(
        f.min("first").alias("first"), f.max("last").alias("last")
    )
    earlier_blocks = Window.partitionBy("export", "file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    earlier_lines = f.coalesce(f.sum(f.col("last") - f.col("first") + 1).over(earlier_blocks), f.lit(0))
    offsets = blocks.select("export", "file", "block", (earlier_lines - f.col("first") + 1).alias("offset"))
    numbered = rows.join(offsets, ["export", "file", "block"])
    return numbered.withColumns({"file": _decode_path("file"), "line": f.col("line") + f.col("offset")}).drop("offset")
