"""ACCOUNT_USAGE.ACCESS_HISTORY of Snowflake as CSV, with or without ROLE_NAME and EXECUTION_STATUS of QUERY_HISTORY."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses.files import csv_rows
from catalog.warehouses.files.headers import Header
from catalog.warehouses.history import LineReading, build_history
from catalog.warehouses.history_objects import build_object, unite_objects
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.sql_names import split_name
from catalog.warehouses.warehouse import Export

_OBJECTS_COLUMNS = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")
_HEADER = Header(("query_start_time", "user_name", *_OBJECTS_COLUMNS), "ACCESS_HISTORY", further=None)
#: What a column without a list holds.
_NO_LIST = ("", "null", "NULL", "\\N")
_OBJECTS_SCHEMA = "array<struct<objectDomain: string, objectName: string>>"
#: Ends of the domains of objects that hold rows: Table, External table, Materialized view and similar.
_TABLE_DOMAIN_PATTERN = r"(?i)(table|view)$"
#: What Snowflake writes in place of what it has cut off.
_CUT_OFF = "TRUNCATED"

#: Users of the system itself: tasks, worksheets and applications act as their role.
_PROGRAMS = ("SYSTEM", "SYSTEM-USER", "SYSTEM USER", "WORKSHEETS_APP_USER", "SNOWFLAKE")


def read_access_history(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files. Raises BadExports."""
    rows = csv_rows.read_csv(spark, folder, export, pattern, [_HEADER])
    lists = {f"{name}_list": f"from_json({name}, '{_OBJECTS_SCHEMA}')" for name in _OBJECTS_COLUMNS}
    rows = rows.withColumns({name: f.expr(text) for name, text in lists.items()})
    is_cut = " OR ".join(f"exists({name}_list, item -> item.objectName = '{_CUT_OFF}')" for name in _OBJECTS_COLUMNS)
    is_unreadable = " OR ".join(
        f"(trim(coalesce({name}, '')) NOT IN {list_texts(_NO_LIST)} AND {name}_list IS NULL)"
        for name in _OBJECTS_COLUMNS
    )
    problem = f"""CASE WHEN {is_unreadable} THEN 'Its objects are no JSON list.'
        WHEN {is_cut} THEN 'Snowflake has cut its list of objects.' END"""
    status = "upper(trim(execution_status))" if "execution_status" in rows.columns else "'SUCCESS'"
    reading = LineReading(
        used_at="query_start_time",
        person="user_name",
        is_program=f"upper(trim(user_name)) IN {list_texts(_PROGRAMS)}",
        role="role_name" if "role_name" in rows.columns else NO_TEXT,
        objects=unite_objects(
            (
                _build_objects(export, "direct_objects_accessed_list", READ),
                # What a view reads; a statement that names a table itself has it in both lists.
                _build_objects(export, "base_objects_accessed_list", READ, is_direct="false"),
                _build_objects(export, "objects_modified_list", WRITE),
            )
        ),
        rule=f"CASE WHEN {status} <> 'SUCCESS' THEN '{HistoryRule.REFUSED}' END",
        problem=problem,
    )
    return build_history(rows, export, reading)


def _build_objects(export: Export, column: str, level: int, *, is_direct: str = "true") -> str:
    tables = f"filter({column}, item -> item.objectDomain RLIKE {quote_text(_TABLE_DOMAIN_PATTERN)})"
    name = split_name(export, "item.objectName")
    return f"transform({tables}, item -> {build_object(name, level, is_direct=is_direct)})"
