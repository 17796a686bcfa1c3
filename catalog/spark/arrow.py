"""Functions from Arrow tables to an Arrow table, group by group.

They are PySpark's `applyInArrow`, which asks for pandas before it starts although only functions on tables of pandas
use it; here nobody asks.

Python's collector of cycles rests while a group is worked on: slices make millions of objects and no cycles, and it
would look through all of them again and again, which took half of the time.
"""

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.functions import vectorized_udf  # type: ignore[attr-defined]  # their stub leaves it out
from pyspark.util import PythonEvalType

from policies.engine.collecting import uncollected


def in_groups(frame: DataFrame, by: Sequence[str], function: Callable[[pa.Table], pa.Table], schema: str) -> DataFrame:
    """Return what a function makes of each group of rows, which has to fit into the memory of one process."""

    def worked(rows: pa.Table) -> pa.Table:
        with uncollected():
            return function(rows)

    groups = frame.groupBy(*by)
    made = vectorized_udf(worked, returnType=schema, functionType=PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF)
    found = groups._jgd.flatMapGroupsInArrow(made(*(frame[name] for name in frame.columns))._jc)
    return DataFrame(found, frame.sparkSession)


def in_pairs(
    one: DataFrame,
    other: DataFrame,
    by: Sequence[str],
    function: Callable[[pa.Table, pa.Table], pa.Table],
    schema: str,
) -> DataFrame:
    """Return what a function makes of each group of two tables; where one has no such rows it gets an empty table."""

    def worked(rows: pa.Table, others: pa.Table) -> pa.Table:
        with uncollected():
            return function(rows, others)

    groups, others = one.groupBy(*by), other.groupBy(*by)
    made = vectorized_udf(worked, returnType=schema, functionType=PythonEvalType.SQL_COGROUPED_MAP_ARROW_UDF)
    columns = [frame[name] for frame in (one, other) for name in frame.columns]
    return DataFrame(groups._jgd.flatMapCoGroupsInArrow(others._jgd, made(*columns)._jc), one.sparkSession)
