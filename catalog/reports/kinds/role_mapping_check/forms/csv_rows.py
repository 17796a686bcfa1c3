"""Reads CSV with a header, one row a line, and says of each line why it cannot be read."""

import csv
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import BadExports, Export
from catalog.reports.kinds.role_mapping_check.forms.lines import LINE_COLUMNS, find_first_line, read_lines

_MARKS_OTHER_COLUMNS = "has_other_columns"
#: What stands around names of columns, such as the mark at the beginning of a file in UTF-8.
_MARKS_AROUND = " \t\ufeff"
#: How columns begin that have no name, such as the numbers of rows that pandas writes.
_UNNAMED = "unnamed column "


def read_csv(spark: SparkSession, folder: str, export: Export, pattern: str, required: Sequence[str]) -> DataFrame:
    """Return the lines of CSV files: their columns, named in lower case, and LINE_COLUMNS. Raises BadExports."""
    lines = read_lines(spark, folder, pattern, has_header=True)
    header = list(_read_header(find_first_line(lines)))
    if missing_names := [name for name in required if name not in header]:
        raise BadExports(f"The files {pattern} of the export {export.name} lack the column {missing_names[0]}.")
    if not header:
        raise BadExports(
            f"The files {pattern} of the export {export.name} are empty: their first line names the columns."
        )
    if len({*header, *LINE_COLUMNS}) < len(header) + len(LINE_COLUMNS):
        raise BadExports(f"The files {pattern} of the export {export.name} have a column twice.")
    quoted_names = ["`" + name.replace("`", "``") + "`" for name in header]
    rows = _parse_rows(lines, header, quoted_names)
    # A file may be put together from several, each with its header. Long names first: few values are as long.
    columns = sorted(zip(quoted_names, header, strict=True), key=lambda column: -len(column[1]))
    is_header = reduce(and_, (_is_heading(name, text) for name, text in columns))
    return rows.withColumn("is_row", f.col("is_row") & ~f.coalesce(is_header, f.expr("false")))


def _parse_rows(lines: DataFrame, header: Sequence[str], quoted_names: Sequence[str]) -> DataFrame:
    """Return LINE_COLUMNS, with the reason of lines that have not the columns of the header, and these columns."""
    text, is_plain = f.col("row_text"), f.col("is_plain")
    # Text without quotation marks is divided at its commas, in a third of the time of a parser. NUL begins a comment.
    marked_lines = lines.withColumn("is_plain", ~(text.contains('"') | text.contains("\0")))
    schema = ", ".join(f"{name} string" for name in (*quoted_names, _MARKS_OTHER_COLUMNS))
    options = {"columnNameOfCorruptRecord": _MARKS_OTHER_COLUMNS, "mode": "PERMISSIVE", "escape": '"'}
    divided_lines = marked_lines.withColumns(
        {
            "parts": f.when(is_plain, f.split(text, ",")),
            "parsed": f.when(~is_plain, f.from_csv(text, schema, options)),
            "has_open_quote": f.when(is_plain, f.expr("false")).otherwise(_has_open_quote()),
        }
    )
    parsed, parts = f.col("parsed"), f.col("parts")
    has_other_columns = f.coalesce(
        f.array_size(parts) != len(header), parsed.getField(_MARKS_OTHER_COLUMNS).isNotNull()
    )
    problem = f.when(f.col("has_open_quote"), "A quotation mark is not closed.").when(
        has_other_columns, "It has not the columns of the first line."
    )
    line_columns = {name: f.col(name) for name in LINE_COLUMNS} | {"row_problem": f.coalesce("row_problem", problem)}
    # One of both is null; an empty part is, too.
    values = [
        f.coalesce(parsed.getField(name), f.nullif(f.get(parts, f.lit(index)), f.lit(""))).alias(name)
        for index, name in enumerate(header)
    ]
    return divided_lines.select(*(column.alias(name) for name, column in line_columns.items()), *values)


def _read_header(line: str) -> Iterator[str]:
    """Yield the names of columns of a header, in lower case; a column without a name has that of its position."""
    for position, name in enumerate(next(csv.reader([line]), []), 1):
        yield name.strip(_MARKS_AROUND).lower() or f"{_UNNAMED}{position}"


def _is_heading(column: str, name: str) -> Column:
    """Whether a value is the name of its column."""
    value = f.lower(f.btrim(f.col(column), f.lit(_MARKS_AROUND)))
    if name.startswith(_UNNAMED):
        return f.coalesce(value, f.lit("")) == ""
    # No shorter text becomes one of ASCII in lower case, and its length is known.
    is_long_enough = f.octet_length(column) >= len(name) if name.isascii() else f.expr("true")
    return is_long_enough & (value == name)


def _has_open_quote() -> Column:
    text = f.col("row_text")
    quote_count = f.length(text) - f.length(f.replace(text, f.lit('"'), f.lit("")))
    return text.contains('"') & (quote_count % 2 == 1)
