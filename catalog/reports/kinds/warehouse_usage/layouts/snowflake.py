"""ACCOUNT_USAGE.ACCESS_HISTORY of Snowflake as CSV, with or without ROLE_NAME and EXECUTION_STATUS of QUERY_HISTORY."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.forms import csv_rows
from catalog.reports.kinds.role_mapping_check.forms.sql_names import split_name
from catalog.reports.kinds.warehouse_usage.history import LineReading, build_history
from catalog.reports.kinds.warehouse_usage.layouts.objects import build_object, unite_objects
from catalog.reports.kinds.warehouse_usage.rules import HistoryRule

_OBJECTS_COLUMNS = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")
_REQUIRED_COLUMNS = ("query_start_time", "user_name", *_OBJECTS_COLUMNS)
#: What a column without a list holds.
_NO_LIST = ("", "null", "NULL", "\\N")
_OBJECTS_SCHEMA = "array<struct<objectDomain: string, objectName: string>>"
#: Ends of the domains of objects that hold rows: Table, External table, Materialized view and similar.
_TABLE_DOMAIN_PATTERN = r"(?i)(table|view)$"
#: What Snowflake writes in place of what it has cut off.
_CUT_OFF = "TRUNCATED"


def read_access_history(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files. Raises BadExports."""
    rows = csv_rows.read_csv(spark, folder, export, pattern, _REQUIRED_COLUMNS)
    rows = rows.withColumns({f"{name}_list": f.from_json(name, _OBJECTS_SCHEMA) for name in _OBJECTS_COLUMNS})
    is_cut = f.exists(
        f.concat(*(f.coalesce(f.col(f"{name}_list"), f.array().cast(_OBJECTS_SCHEMA)) for name in _OBJECTS_COLUMNS)),
        lambda item: item.objectName == _CUT_OFF,
    )
    is_unreadable = f.expr("false")
    for name in _OBJECTS_COLUMNS:
        has_text = ~f.trim(f.coalesce(f.col(name), f.lit(""))).isin(*_NO_LIST)
        is_unreadable |= has_text & f.col(f"{name}_list").isNull()
    status = f.upper(f.trim("execution_status")) if "execution_status" in rows.columns else f.lit("SUCCESS")
    reading = LineReading(
        used_at=f.col("query_start_time"),
        person=f.col("user_name"),
        role=f.col("role_name") if "role_name" in rows.columns else f.lit(None).cast("string"),
        objects=unite_objects(
            (
                _build_objects(export, "direct_objects_accessed_list", READ),
                # What a view reads; a statement that names a table itself has it in both lists.
                _build_objects(export, "base_objects_accessed_list", READ, is_direct=False),
                _build_objects(export, "objects_modified_list", WRITE),
            )
        ),
        rule=f.when(status != "SUCCESS", HistoryRule.REFUSED),
        problem=f.when(is_unreadable, "Its objects are no JSON list.").when(
            is_cut, "Snowflake has cut its list of objects."
        ),
    )
    return build_history(rows, export, reading)


def _build_objects(export: Export, column: str, level: int, *, is_direct: bool = True) -> Column:
    tables = f.filter(column, lambda item: item.objectDomain.rlike(_TABLE_DOMAIN_PATTERN))
    return f.transform(
        tables, lambda item: build_object(split_name(export, item.objectName), level, is_direct=is_direct)
    )
