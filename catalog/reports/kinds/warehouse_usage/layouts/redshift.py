"""SYS_QUERY_DETAIL or STL_SCAN of Redshift as CSV, with the names of their users, schemas and databases."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import READ, WRITE, BadExports, Export
from catalog.reports.kinds.role_mapping_check.forms import csv_rows
from catalog.reports.kinds.role_mapping_check.forms.sql_names import split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR
from catalog.reports.kinds.warehouse_usage.history import LineReading, build_history
from catalog.reports.kinds.warehouse_usage.layouts.objects import list_object
from catalog.reports.kinds.warehouse_usage.rules import HistoryRule

#: What a column is called in SYS views, and in STL views and their joins with PG_USER.
_NAMES = {
    "used_at": ("start_time", "starttime"),
    "person": ("user_name", "username", "usename"),
    "table": ("table_name", "perm_table_name"),
    "database": ("database_name", "database"),
    "schema": ("schema_name", "schema"),
    "step": ("step_name",),
    "scan": ("type",),
    "status": ("status",),
}
#: Steps that change a table; a scan reads it, and all others work on what was read.
_CHANGING_STEPS = ("insert", "delete", "merge", "update")
#: Types of scans of STL_SCAN that read tables of users: stored ones, parts of a view of time series, and those of S3,
#: PostgreSQL and MySQL.
_TABLE_SCANS = ("2", "28", "29", "33", "36")


def read_query_details(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files. Raises BadExports."""
    rows = csv_rows.read_csv(spark, folder, export, pattern, ())
    columns = {key: _find_column(rows, names) for key, names in _NAMES.items()}
    for key in ("used_at", "person", "table"):
        if columns[key] is None:
            raise BadExports(f"The files {pattern} of the export {export.name} lack the column {_NAMES[key][0]}.")
    values = {key: f.lit(None).cast("string") if value is None else f.trim(value) for key, value in columns.items()}
    step = f.lower(f.coalesce(values["step"], f.when(_reads_table(values["scan"]), "scan").otherwise("")))
    level = f.when(step == "scan", READ).when(step.isin(*_CHANGING_STEPS), WRITE)
    parts = [f.nullif(values[key], f.lit("")) for key in ("database", "schema")]
    # The name may have its schema and its database already.
    is_whole = values["table"].contains(".")
    path = f.when(is_whole, split_name(export, values["table"])).otherwise(
        f.concat_ws(SEPARATOR, *parts, values["table"])
    )
    reading = LineReading(
        used_at=values["used_at"],
        person=values["person"],
        objects=f.when((values["table"] != "") & level.isNotNull(), list_object(path, level)),
        rule=f.when(f.lower(f.coalesce(values["status"], f.lit("success"))) != "success", HistoryRule.REFUSED),
    )
    return build_history(rows, export, reading)


def _find_column(rows: DataFrame, names: Sequence[str]) -> Column | None:
    return next((f.col(name) for name in names if name in rows.columns), None)


def _reads_table(scan: Column) -> Column:
    """Whether a row of STL_SCAN is about a table of a user; without a type every row is."""
    return f.coalesce(scan, f.lit(_TABLE_SCANS[0])).isin(*_TABLE_SCANS)
