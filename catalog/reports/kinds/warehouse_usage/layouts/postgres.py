"""Entries of pgaudit in the CSV log of PostgreSQL (log_destination = csvlog, pgaudit.log_relation = on)."""

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.forms.lines import build_path_column
from catalog.reports.kinds.role_mapping_check.forms.sql_names import split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR
from catalog.reports.kinds.warehouse_usage.history import LineReading, build_history
from catalog.reports.kinds.warehouse_usage.layouts.objects import build_object
from catalog.reports.kinds.warehouse_usage.rules import HistoryRule

#: The first columns of the log, which all releases have.
_LOG_COLUMNS = (
    *("log_time", "user_name", "database_name", "process_id", "connection_from", "session_id", "session_line_num"),
    *("command_tag", "session_start_time", "virtual_transaction_id", "transaction_id", "error_severity"),
    *("sql_state_code", "message"),
)
#: Those after the message; a statement that failed stands there.
_LATER_COLUMNS = (
    *("detail", "hint", "internal_query", "internal_query_pos", "context", "query", "query_pos", "location"),
    *("application_name", "backend_type", "leader_pid", "query_id"),
)
#: The beginning of an entry, which inside of one means that a quotation mark before it is not closed.
_INNER_ENTRY_PATTERN = r"\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [A-Za-z0-9+:-]+,"
_ENTRY_COLUMNS = (
    "audit string, statement_id string, part string, class string, command string, object_type string, "
    "object_name string, statement string, parameter string"
)
_ENTRY_PREFIX = "AUDIT: "
#: Commands that pgaudit takes for what they prepare; running that has an entry of its own.
_PREPARING_COMMANDS = ("PREPARE", "DECLARE CURSOR")
_EXPLAINING_PATTERN = r"(?i)^\s*explain\b(?!\s*(\([^)]*\banaly[sz]e\b|(verbose\s+)?analy[sz]e\b))"
#: Functions with words of a query in their arguments.
_WORDY_FUNCTION_PATTERN = r"(?i)\b(extract|substring|trim|overlay|position)\s*\([^()]*\)"
#: What shows that a statement is about a table: after FROM stands a name that is none of a function.
_TABLE_PATTERN = (
    r"(?i)^\s*(copy|table|truncate)\b|\b(into|update)\s|\b(from|join)\s+(only\s+)?(?!\d)[\w.$\"]++(?!\s*\()"
)
#: What pgaudit writes in place of a statement.
_NO_STATEMENT = ("<not logged>", "<previously logged>")
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
    statement, is_describing = f.col("entry.statement"), f.col("entry.command").isin(*_PREPARING_COMMANDS)
    is_describing |= f.coalesce(statement.rlike(_EXPLAINING_PATTERN), f.expr("false"))
    reading = LineReading(
        used_at=f.col("log_time"),
        person=f.col("user_name"),
        # Whoever signs in is a role like others, and is granted privileges himself.
        role=f.col("user_name"),
        objects=f.when(
            is_table & level.isNotNull() & (name != ""),
            f.array(build_object(path, level, is_direct=_is_named(path, statement))),
        ),
        rule=f.when(~is_entry & (f.col("error_severity").isin("ERROR", "FATAL", "PANIC")), HistoryRule.REFUSED)
        .when(~is_entry, HistoryRule.METADATA_ONLY)
        .when(level.isNull() | is_describing, HistoryRule.METADATA_ONLY),
        problem=f.when(f.col("message").isNull(), "It has not the columns of the log.")
        .when(is_entry & f.col("entry.class").isNull(), "It is no entry of pgaudit.")
        .when(
            level.isNotNull() & (name == "") & ~is_describing & _may_have_table(statement),
            "It does not name the table; set pgaudit.log_relation.",
        ),
    )
    return build_history(rows, export, reading)


def _may_have_table(statement: Column) -> Column:
    """Whether an entry that names no table may be about one: not in a session in which entries name theirs."""
    names_table = (f.col("entry.audit") == "SESSION") & (f.col("entry.object_name") != "")
    session = Window.partitionBy("row_file", "session_id")
    is_about_table = f.regexp_replace(statement, _WORDY_FUNCTION_PATTERN, "").rlike(_TABLE_PATTERN)
    return ~f.coalesce(f.max(names_table).over(session), f.expr("false")) & (
        is_about_table | statement.isin(*_NO_STATEMENT)
    )


def _is_named(path: Column, statement: Column) -> Column:
    """Whether a statement names a table itself: beside a view, the tables that it reads have entries, too."""
    window = Window.partitionBy("row_file", "session_id", "entry.statement_id", "entry.part")
    has_view = f.coalesce(f.max(f.col("entry.object_type") == "VIEW").over(window), f.expr("false"))
    words = f.split(f.lower(statement), r"[^\w$]+")
    is_view = f.col("entry.object_type") == "VIEW"
    name = f.lower(f.element_at(f.split(path, SEPARATOR), -1))
    return ~has_view | is_view | f.coalesce(f.array_contains(words, name), f.expr("false"))


def _read_records(spark: SparkSession, folder: str, pattern: str) -> DataFrame:
    """Return the records of CSV files, which may span lines, with LINE_COLUMNS; a record is a line.

    Columns of newer releases are left out.
    """
    schema = ", ".join(f"{name} string" for name in (*_LOG_COLUMNS, *_LATER_COLUMNS))
    reader = spark.read.schema(schema).option("multiLine", "true").option("escape", '"').option("mode", "PERMISSIVE")
    text = f.concat_ws(",", *_LOG_COLUMNS)
    is_open = f.concat_ws("", *_LOG_COLUMNS, *_LATER_COLUMNS).rlike(_INNER_ENTRY_PATTERN)
    return reader.csv(f"{folder}/{pattern}").select(
        *_LOG_COLUMNS,
        build_path_column(pattern).alias("row_file"),
        f.lit(0).cast("bigint").alias("row_block"),
        f.monotonically_increasing_id().alias("row_line"),
        (text != "").alias("is_row"),
        text.alias("row_text"),
        f.when(text.contains("\ufffd"), "It is not UTF-8.")
        .when(is_open, "A quotation mark is not closed.")
        .alias("row_problem"),
        f.expr("false").alias("has_header"),
    )
