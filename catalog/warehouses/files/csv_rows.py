"""Reads CSV with a header, one row a line, and says of each line why it cannot be read."""

import csv
from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import quote_text
from catalog.warehouses.files.headers import Header, choose_header
from catalog.warehouses.files.lines import LINE_COLUMNS, find_first_line, read_lines
from catalog.warehouses.warehouse import BadExports, Export

_MARKS_OTHER_COLUMNS = "has_other_columns"
#: What stands around names of columns, such as the mark at the beginning of a file in UTF-8.
_MARKS_AROUND = " \t\ufeff"
#: How columns begin that have no name, such as the numbers of rows that pandas writes.
_UNNAMED = "unnamed column "
#: Text without quotation marks is divided at its commas, in a third of the time of a parser. NUL begins a comment.
_IS_PLAIN = """(NOT contains(row_text, '"') AND NOT contains(row_text, '\\0'))"""
_HAS_OPEN_QUOTE = """contains(row_text, '"') AND (length(row_text) - length(replace(row_text, '"', ''))) % 2 = 1"""


def read_csv(
    spark: SparkSession, folder: str, export: Export, pattern: str, headers: Sequence[Header] = ()
) -> DataFrame:
    """Return the lines of CSV files: their columns, named in lower case, and LINE_COLUMNS.

    Raises BadExports, also where there are `headers` and the files have none of them.
    """
    lines = read_lines(spark, folder, pattern, has_header=True)
    header = list(_read_header(find_first_line(lines)))
    if headers:
        named_columns = [name for name in header if not name.startswith(_UNNAMED)]
        choose_header(named_columns, export, pattern, headers)
    if not header:
        raise BadExports(
            f"The files {pattern} of the export {export.name} are empty: their first line names the columns."
        )
    if len({*header, *LINE_COLUMNS}) < len(header) + len(LINE_COLUMNS):
        raise BadExports(f"The files {pattern} of the export {export.name} have a column twice.")
    rows = _parse_rows(lines, len(header))
    is_row = f.expr(f"is_row AND NOT coalesce({_is_header(header)}, false)")
    return rows.withColumn("is_row", is_row).toDF(*LINE_COLUMNS, *header)


def _parse_rows(lines: DataFrame, column_count: int) -> DataFrame:
    """Return LINE_COLUMNS, with the reason of lines that have not so many columns, and columns named by position."""
    schema = ", ".join(f"{name} string" for name in (*map(_name_column, range(column_count)), _MARKS_OTHER_COLUMNS))
    options = f"map('columnNameOfCorruptRecord', '{_MARKS_OTHER_COLUMNS}', 'mode', 'PERMISSIVE', 'escape', '\"')"
    divided_columns = {
        "parts": "CASE WHEN is_plain THEN split(row_text, ',') END",
        "parsed": f"CASE WHEN NOT is_plain THEN from_csv(row_text, {quote_text(schema)}, {options}) END",
        "has_open_quote": f"CASE WHEN is_plain THEN false ELSE {_HAS_OPEN_QUOTE} END",
    }
    # A column of its own, so that each text is searched once.
    divided_lines = lines.withColumn("is_plain", f.expr(_IS_PLAIN)).withColumns(
        {name: f.expr(text) for name, text in divided_columns.items()}
    )
    problem = f"""CASE WHEN has_open_quote THEN 'A quotation mark is not closed.'
        WHEN coalesce(array_size(parts) <> {column_count}, parsed.{_MARKS_OTHER_COLUMNS} IS NOT NULL)
        THEN 'It has not the columns of the first line.' END"""
    line_columns = {name: name for name in LINE_COLUMNS} | {"row_problem": f"coalesce(row_problem, {problem})"}
    # One of both is null; an empty part is, too.
    values = {
        name: f"coalesce(parsed.{name}, nullif(get(parts, {position}), ''))"
        for position, name in enumerate(map(_name_column, range(column_count)))
    }
    return divided_lines.selectExpr(*(f"{value} AS {name}" for name, value in (line_columns | values).items()))


def _name_column(position: int) -> str:
    return f"column_{position}"


def _read_header(line: str) -> Iterator[str]:
    """Yield the names of columns of a header, in lower case; a column without a name has that of its position."""
    for position, name in enumerate(next(csv.reader([line]), []), 1):
        yield name.strip(_MARKS_AROUND).lower() or f"{_UNNAMED}{position}"


def _is_header(header: Sequence[str]) -> str:
    """Return the expression of whether each value is the name of its column: a file may be several, put together."""
    # Long names first: few values are as long.
    columns = sorted(enumerate(header), key=lambda column: -len(column[1]))
    return " AND ".join(_is_heading(_name_column(position), name) for position, name in columns)


def _is_heading(column: str, name: str) -> str:
    value = f"lower(btrim({column}, {quote_text(_MARKS_AROUND)}))"
    if name.startswith(_UNNAMED):
        return f"coalesce({value}, '') = ''"
    # No shorter text becomes one of ASCII in lower case, and its length is known.
    is_long_enough = f"octet_length({column}) >= {len(name)} AND " if name.isascii() else ""
    return f"{is_long_enough}{value} = {quote_text(name)}"
