"""Entries of pgaudit in the CSV log of PostgreSQL (log_destination = csvlog, pgaudit.log_relation = on)."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.forms.lines import build_path_column
from catalog.reports.kinds.role_mapping_check.forms.sql_names import split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR
from catalog.reports.kinds.warehouse_usage.history import LineReading, build_history
from catalog.reports.kinds.warehouse_usage.layouts.objects import list_object
from catalog.reports.kinds.warehouse_usage.rules import HistoryRule

#: The first columns of the log, which all releases have.
_LOG_COLUMNS = (
    *("log_time", "user_name", "database_name", "process_id", "connection_from", "session_id", "session_line_num"),
    *("command_tag", "session_start_time", "virtual_transaction_id", "transaction_id", "error_severity"),
    *("sql_state_code", "message"),
)
_ENTRY_COLUMNS = (
    "audit string, statement_id string, part string, class string, command string, object_type string, "
    "object_name string, statement string, parameter string"
)
_ENTRY_PREFIX = "AUDIT: "
_TABLE_TYPES = ("TABLE", "VIEW", "MATERIALIZED VIEW", "FOREIGN TABLE", "PARTITIONED TABLE")


def read_audit_entries(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files; a statement may span lines, so a line is an entry of the log."""
    rows = _read_records(spark, folder, pattern)
    is_entry = f.coalesce(f.col("message").startswith(_ENTRY_PREFIX), f.expr("false"))
    entry_text = f.regexp_replace("message", f"^{_ENTRY_PREFIX}", "")
    options = {"mode": "PERMISSIVE", "escape": '"', "multiLine": "true"}
    rows = rows.withColumn("entry", f.when(is_entry, f.from_csv(entry_text, _ENTRY_COLUMNS, options)))
    level = f.when(f.col("entry.class") == "READ", READ).when(f.col("entry.class") == "WRITE", WRITE)
    name = f.coalesce("entry.object_name", f.lit(""))
    is_table = f.coalesce(f.col("entry.object_type").isin(*_TABLE_TYPES), f.expr("false"))
    path = f.concat_ws(SEPARATOR, "database_name", split_name(export, name))
    has_unnamed_table = level.isNotNull() & (name == "") & f.col("entry.statement").rlike(r"(?i)\b(from|into|update)\b")
    reading = LineReading(
        used_at=f.col("log_time"),
        person=f.col("user_name"),
        objects=f.when(is_table & level.isNotNull() & (name != ""), list_object(path, level)),
        rule=f.when(~is_entry & (f.col("error_severity").isin("ERROR", "FATAL", "PANIC")), HistoryRule.REFUSED)
        .when(~is_entry, HistoryRule.METADATA_ONLY)
        .when(level.isNull(), HistoryRule.METADATA_ONLY),
        problem=f.when(f.col("message").isNull(), "It has not the columns of the log.")
        .when(is_entry & f.col("entry.class").isNull(), "It is no entry of pgaudit.")
        .when(has_unnamed_table, "It does not name the table; set pgaudit.log_relation."),
    )
    return build_history(rows, export, reading)


def _read_records(spark: SparkSession, folder: str, pattern: str) -> DataFrame:
    """Return the records of CSV files, which may span lines, with LINE_COLUMNS; a record is a line.

    Columns of newer releases are left out.
    """
    schema = ", ".join(f"{name} string" for name in _LOG_COLUMNS)
    reader = spark.read.schema(schema).option("multiLine", "true").option("escape", '"').option("mode", "PERMISSIVE")
    text = f.concat_ws(",", *_LOG_COLUMNS)
    return reader.csv(f"{folder}/{pattern}").select(
        *_LOG_COLUMNS,
        build_path_column(pattern).alias("row_file"),
        f.lit(0).cast("bigint").alias("row_block"),
        f.monotonically_increasing_id().alias("row_line"),
        (text != "").alias("is_row"),
        text.alias("row_text"),
        f.when(text.contains("\ufffd"), "It is not UTF-8.").alias("row_problem"),
        f.expr("false").alias("has_header"),
    )
