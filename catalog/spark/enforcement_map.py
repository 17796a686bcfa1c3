"""Enforcement of a decision on a table: the rows, columns and cells that it allows, and nothing else (DZ-52 to DZ-62).

The result is the query that `POST /api/v1/render` renders; no rule is implemented twice.
"""

from collections import Counter
from collections.abc import Iterator
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from catalog.spark.decisions import AccessDenied, CannotRead, parse_role_slices
from policies.engine import sql_rendering

#: With this setting Spark parses string literals differently from how they are rendered.
_ESCAPED_LITERALS_SETTING = "spark.sql.parser.escapedStringLiterals"


def read_as(spark: SparkSession, decision: object, table: DataFrame | str) -> DataFrame:
    """Return the part of a table that a decision allows, with columns and rows as render shows them.

    `decision` is the JSON answer of `POST /api/v1/authorize` to a question about `dataset:read` or `view:read`; `table`
    is a DataFrame or the name of a table. Nothing is read yet: conditions come first in the plan, so that the source
    can filter rows. Raises AccessDenied when nothing may be viewed, InvalidDecision when this is no such decision, and
    CannotRead when the decision cannot be enforced (no table of that name, two columns with one name, a condition that
    compares incomparable values).
    """
    role_slices = parse_role_slices(decision)
    try:
        frame = spark.table(table) if isinstance(table, str) else table
        known_columns = None if role_slices is None else _list_columns(frame)
        view = sql_rendering.build_view(role_slices, table_columns=known_columns)
        return _select_visible(frame, view, known_columns)
    except sql_rendering.NoVisibleColumns as error:
        raise AccessDenied(error.code, str(error)) from None
    except sql_rendering.RenderError as error:
        raise CannotRead(error.code, str(error)) from None
    except AnalysisException as error:
        raise CannotRead("table.unreadable", error.getMessage()) from error


def _select_visible(
    frame: DataFrame, view: sql_rendering.TableView, known_columns: tuple[str, ...] | None
) -> DataFrame:
    session = frame.sparkSession
    if session.conf.get(_ESCAPED_LITERALS_SETTING) == "true":
        raise CannotRead(
            "session.texts", f"{_ESCAPED_LITERALS_SETTING} is on, so that conditions would mean something else."
        )
    name = f"shown_{uuid4().hex}"
    frame.createTempView(name)
    try:
        query = sql_rendering.render_select(view, table=name, dialect="spark", table_columns=known_columns)
        # The alias hides the columns below; without it Spark resolves hidden columns in sorts and filters.
        return session.sql(query).alias("shown")
    finally:
        session.catalog.dropTempView(name)


def _list_columns(frame: DataFrame) -> tuple[str, ...]:
    """Return the columns of a table, with fields of structures as dotted paths. Raises CannotRead for duplicates."""
    columns = tuple(_iterate_paths(frame.schema))
    duplicates = [name for name, count in Counter(name.casefold() for name in columns).items() if count > 1]
    if duplicates:
        raise CannotRead(
            "columns.ambiguous", f"Several columns have one name but for its case: {', '.join(duplicates)}."
        )
    return columns


def _iterate_paths(data_type: DataType, prefix: str = "") -> Iterator[str]:
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            yield prefix + field.name
            yield from _iterate_paths(field.dataType, f"{prefix}{field.name}.")
