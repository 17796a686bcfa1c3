"""What the conditions of the bindings of an export come to, each text once."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.warehouses.bigquery.conditions import judge_condition

#: Different conditions of an export that are judged; those beyond it stay undecided.
_MAX_CONDITIONS = 50_000
_SCHEMA = "condition string, state string, condition_names string, condition_problem string"


def read_clock(spark: SparkSession) -> datetime:
    """Return the present time."""
    (row,) = spark.range(1).select(f.unix_micros(f.current_timestamp()).alias("now")).collect()
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row["now"])


def read_conditions(spark: SparkSession, frames: Sequence[DataFrame], now: datetime) -> DataFrame:
    """Return each condition of rows with its state, the names of tables for which it holds, and its problem."""
    texts = reduce(DataFrame.union, (rows.select("condition") for rows in frames)).filter("condition IS NOT NULL")
    conditions = [row["condition"] for row in texts.distinct().limit(_MAX_CONDITIONS).collect()]
    judgements = ((text, judge_condition(text, now)) for text in conditions)
    return spark.createDataFrame(
        [(text, judgement.state.value, judgement.names, judgement.problem) for text, judgement in judgements], _SCHEMA
    )
