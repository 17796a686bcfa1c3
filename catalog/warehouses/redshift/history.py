"""SYS_QUERY_DETAIL or STL_SCAN of Redshift as CSV, with the names of their users, schemas and databases."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from catalog.sql_text import NO_TEXT, list_texts, quote_name, quote_text
from catalog.warehouses.files import csv_rows
from catalog.warehouses.files.headers import Header
from catalog.warehouses.grant_facts import SEPARATOR
from catalog.warehouses.history import LineReading, build_history
from catalog.warehouses.history_objects import list_object
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.sql_names import split_name
from catalog.warehouses.warehouse import Export

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
_DETAIL_COLUMNS = (
    *("user_id", "query_id", "child_query_sequence", "stream_id", "segment_id", "step_id", "step_name", "table_id"),
    *("is_rrscan", "end_time", "duration", "alert", "input_bytes", "input_rows", "output_bytes", "output_rows"),
    *("blocks_read", "blocks_write", "local_read_io", "remote_read_io", "source", "data_skewness", "time_skewness"),
    *("is_active", "spilled_block_local_disk", "spilled_block_remote_disk", "step_attribute", "metrics_level"),
    *("plan_parent_id", "plan_node_id", "external_scanned_bytes"),
)
_SCAN_COLUMNS = (
    *("userid", "query", "slice", "segment", "step", "endtime", "tasknum", "rows", "bytes", "fetches", "type", "tbl"),
    *("is_rrscan", "is_delayed_scan", "rows_pre_filter", "rows_pre_user_filter", "is_rlf_scan", "is_rlf_scan_reason"),
    *("num_em_blocks", "checksum", "runtime_filtering", "scan_region", "num_sortkey_as_predicate"),
    *("row_fetcher_state", "row_fetcher_reason", "consumed_scan_ranges", "work_stealing_reason"),
    *("is_vectorized_scan", "is_vectorized_scan_reason", "topology_signature", "use_tpm_partition", "is_rrscan_expr"),
    *("step_name", "inserted_mega_value", "use_staging_table"),
)
#: Names and outcome, of which those who export the history join some to it.
_JOINED_COLUMNS = (
    *("database_name", "schema_name", "database", "schema", "status"),
    *("query_type", "query_text", "transaction_id", "session_id", "xid", "pid"),
)
#: The view itself, with the names of user, database and schema and the status of the query joined to it.
HEADERS = tuple(
    Header((time, person, table), view, (*columns, *_JOINED_COLUMNS))
    for time, view, columns in (
        ("start_time", "SYS_QUERY_DETAIL", _DETAIL_COLUMNS),
        ("starttime", "STL_SCAN", _SCAN_COLUMNS),
    )
    for person in _NAMES["person"]
    for table in _NAMES["table"]
)
#: Steps that change a table; a scan reads it, and all others work on what was read.
_CHANGING_STEPS = ("insert", "delete", "merge", "update")
#: Types of scans of STL_SCAN that read tables of users: stored ones, parts of a view of time series, and those of S3,
#: PostgreSQL and MySQL.
_TABLE_SCANS = ("2", "28", "29", "33", "36")


def read_query_details(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files. Raises BadExports."""
    rows = csv_rows.read_csv(spark, folder, export, pattern, HEADERS)
    columns = {key: _find_column(rows, names) for key, names in _NAMES.items()}
    values = {key: NO_TEXT if name is None else f"trim({quote_name(name)})" for key, name in columns.items()}
    table = values["table"]
    # Without a type every row of STL_SCAN is about a table of a user.
    reads_table = f"coalesce({values['scan']}, '{_TABLE_SCANS[0]}') IN {list_texts(_TABLE_SCANS)}"
    step = f"lower(coalesce({values['step']}, CASE WHEN {reads_table} THEN 'scan' ELSE '' END))"
    level = f"CASE WHEN {step} = 'scan' THEN {READ} WHEN {step} IN {list_texts(_CHANGING_STEPS)} THEN {WRITE} END"
    parts = ", ".join(f"nullif({values[key]}, '')" for key in ("database", "schema"))
    # The name may have its schema and its database already.
    path = f"""CASE WHEN contains({table}, '.') THEN {split_name(export, table)}
        ELSE concat_ws({quote_text(SEPARATOR)}, {parts}, {table}) END"""
    is_refused = f"lower(coalesce({values['status']}, 'success')) <> 'success'"
    reading = LineReading(
        used_at=values["used_at"],
        person=values["person"],
        objects=f"CASE WHEN {table} <> '' AND {level} IS NOT NULL THEN {list_object(path, level)} END",
        rule=f"CASE WHEN {is_refused} THEN '{HistoryRule.REFUSED}' END",
    )
    return build_history(rows, export, reading)


def _find_column(rows: DataFrame, names: Sequence[str]) -> str | None:
    return next((name for name in names if name in rows.columns), None)
