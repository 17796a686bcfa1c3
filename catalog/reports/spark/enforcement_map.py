"""A decision put into force on a table: the rows, columns and cells it allows, and nothing else (DZ-52 to DZ-62).

What is shown is the query that `POST /api/v1/render` writes; no rule is written a second time.
"""

from collections import Counter
from collections.abc import Iterator
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from catalog.reports.spark.decisions import CannotRead, Refused, slices_of
from policies.engine import sql_rendering

#: With this setting Spark reads the texts of a query otherwise than they are written.
_OTHER_TEXTS = "spark.sql.parser.escapedStringLiterals"


def read_as(spark: SparkSession, decision: object, table: DataFrame | str) -> DataFrame:
    """Return what a decision shows of a table, with columns and rows as render shows them.

    `decision` is the JSON object that `POST /api/v1/authorize` answers the question `dataset:read` or `view:read` with;
    `table` is a DataFrame or the name of a table. Nothing is read yet: conditions come first in the plan, so that the
    source itself leaves rows out where it can. Raises Refused when nothing may be seen, InvalidDecision when this is no
    such decision, and CannotRead when the table cannot be shown as decided (there is none of that name, two columns
    with one name, a condition that compares what cannot be compared).
    """
    slices = slices_of(decision)
    try:
        frame = spark.table(table) if isinstance(table, str) else table
        known = None if slices is None else _columns_of(frame)
        view = sql_rendering.view_of(slices, known=known)
        return _shown(frame, view, known)
    except sql_rendering.NothingToShow as error:
        raise Refused(error.code, str(error)) from None
    except sql_rendering.CannotRender as error:
        raise CannotRead(error.code, str(error)) from None
    except AnalysisException as error:
        raise CannotRead("table.unreadable", error.getMessage()) from error


def _shown(frame: DataFrame, view: sql_rendering.View, known: tuple[str, ...] | None) -> DataFrame:
    session = frame.sparkSession
    if session.conf.get(_OTHER_TEXTS) == "true":
        raise CannotRead("session.texts", f"{_OTHER_TEXTS} is on, so that conditions would mean something else.")
    name = f"shown_{uuid4().hex}"
    frame.createTempView(name)
    try:
        query = sql_rendering.select(view, table=name, dialect="spark", known=known)
        # The alias is a wall: without it Spark finds hidden columns below for whoever sorts or filters by them.
        return session.sql(query).alias("shown")
    finally:
        session.catalog.dropTempView(name)


def _columns_of(frame: DataFrame) -> tuple[str, ...]:
    """Return the columns of a table, fields of structures as dotted paths behind their column."""
    columns = tuple(_paths(frame.schema))
    twice = [name for name, count in Counter(name.casefold() for name in columns).items() if count > 1]
    if twice:
        raise CannotRead("columns.ambiguous", f"Several columns have one name but for its case: {', '.join(twice)}.")
    return columns


def _paths(kind: DataType, above: str = "") -> Iterator[str]:
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield above + field.name
            yield from _paths(field.dataType, f"{above}{field.name}.")
