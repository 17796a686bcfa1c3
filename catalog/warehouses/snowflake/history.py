"""ACCOUNT_USAGE.ACCESS_HISTORY of Snowflake as CSV, with or without ROLE_NAME and EXECUTION_STATUS of QUERY_HISTORY."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses.files import csv_rows
from catalog.warehouses.files.headers import Header
from catalog.warehouses.files.lines import LINE_COLUMNS
from catalog.warehouses.history import LineReading, build_history
from catalog.warehouses.history_objects import build_object, unite_objects
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.layouts import choose_layout
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.snowflake.layouts import LAYOUTS, USERS
from catalog.warehouses.snowflake.privileges import PUBLISHED
from catalog.warehouses.sql_names import split_name
from catalog.warehouses.warehouse import Export

_OBJECTS_COLUMNS = ("direct_objects_accessed", "base_objects_accessed", "objects_modified")
_PUBLISHED = PUBLISHED.headers["access_history"]
_HEADER = Header(_PUBLISHED.needed, "access_history", _PUBLISHED.further)
#: What a column without a list holds.
_NO_LIST = ("", "null", "NULL", "\\N")
_OBJECTS_SCHEMA = "array<struct<objectDomain: string, objectName: string>>"
#: Ends of the domains of objects that hold rows: Table, External table, Materialized view and similar.
_TABLE_DOMAIN_PATTERN = r"(?i)(table|view)$"
#: What Snowflake writes in place of what it has cut off.
_CUT_OFF = "TRUNCATED"

#: Users of the system itself: tasks, worksheets and applications act as their role.
_PROGRAMS = ("SYSTEM", "SYSTEM-USER", "SYSTEM USER", "WORKSHEETS_APP_USER", "SNOWFLAKE")
#: Types of users who are programs with an account of their own.
_SERVICE_TYPES = ("SERVICE", "LEGACY_SERVICE", "SNOWFLAKE_SERVICE")


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
    is_service = f"upper(trim(user_type)) IN {list_texts(_SERVICE_TYPES)}" if "user_type" in rows.columns else "false"
    rows = rows.join(f.broadcast(_read_service_users(spark, folder, export)), "user_name", "left")
    reading = LineReading(
        used_at="query_start_time",
        person="user_name",
        is_program=f"upper(trim(user_name)) IN {list_texts(_PROGRAMS)}",
        is_service=f"is_listed_service OR {is_service}",
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


def _list_columns(rows: DataFrame) -> list[str]:
    return [name for name in rows.columns if name not in LINE_COLUMNS]


def _read_service_users(spark: SparkSession, folder: str, export: Export) -> DataFrame:
    """Return (user_name, is_listed_service) of the users that the export lists as programs."""
    frame = spark.createDataFrame([], "user_name string, is_listed_service boolean")
    for pattern in (*export.grants, *export.members):
        rows = csv_rows.read_csv(spark, folder, export, pattern, ())
        if choose_layout(_list_columns(rows), export, pattern, LAYOUTS).name == USERS and "type" in rows.columns:
            is_service = f"upper(trim(type)) IN {list_texts(_SERVICE_TYPES)}"
            services = rows.filter(f"is_row AND row_problem IS NULL AND {is_service}")
            frame = frame.union(services.selectExpr("name", "true"))
    return frame.dropDuplicates(["user_name"])


def _build_objects(export: Export, column: str, level: int, *, is_direct: str = "true") -> str:
    tables = f"filter({column}, item -> item.objectDomain RLIKE {quote_text(_TABLE_DOMAIN_PATTERN)})"
    name = split_name(export, "item.objectName")
    return f"transform({tables}, item -> {build_object(name, level, is_direct=is_direct)})"
