"""Entries of pgaudit in the CSV log of PostgreSQL (log_destination = csvlog, pgaudit.log_relation = on)."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.files.lines import REPLACEMENT, build_path_column
from catalog.warehouses.grant_facts import SEPARATOR
from catalog.warehouses.history import LineReading, build_history
from catalog.warehouses.history_objects import build_object
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.sql_names import split_name
from catalog.warehouses.warehouse import Export

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
#: What is left out of a statement before it is looked at.
_COMMENT_PATTERN = r"--[^\n]*"
_NO_CATALOG = r"(?!\s*(pg_catalog\.)?\"?pg_\w|\s*information_schema\.)"
#: What shows that a statement is about a table: after FROM stands a name that is none of a function. The catalogs of
#: the system, which an export of grants reads, hold no data of tables, and pgaudit does not name them.
_TABLE_PATTERN = (
    rf"(?i)^\s*(copy(?!\s*\()\b{_NO_CATALOG}|table\b{_NO_CATALOG}|truncate\b)|\b(into|update)\s"
    rf"|\b(from|join)\s+(only\s+)?+(lateral\b\s*)?+(?!\d){_NO_CATALOG}[\w.$\"]++(?!\s*\()"
)
#: Words of the log for how bad an entry is: a line without one is of another kind of file.
_SEVERITIES = (
    *("LOG", "INFO", "NOTICE", "WARNING", "ERROR", "FATAL", "PANIC"),
    *("DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5"),
)
#: What pgaudit writes in place of a statement.
_NO_STATEMENT = ("<not logged>", "<previously logged>")
#: Whether an entry that names no table may be about one: not in a session in which entries name theirs.
_MAY_HAVE_TABLE = f"""(NOT coalesce(
    max(entry.audit = 'SESSION' AND entry.object_name <> '') OVER (PARTITION BY row_file, session_id), false)
    AND (regexp_replace(
        regexp_replace(entry.statement, {quote_text(_COMMENT_PATTERN)}, ''), {quote_text(_WORDY_FUNCTION_PATTERN)}, ''
    ) RLIKE {quote_text(_TABLE_PATTERN)}
    OR entry.statement IN {list_texts(_NO_STATEMENT)}))"""
#: What stands between the words of a statement.
_NO_WORD_PATTERN = r"[^\w$]+"
#: Whether an entry is about a view, or its statement has no entry about one.
_IS_BELOW_NO_VIEW = """entry.object_type = 'VIEW' OR NOT coalesce(max(entry.object_type = 'VIEW')
    OVER (PARTITION BY row_file, session_id, entry.statement_id, entry.part), false)"""
_TABLE_TYPES = ("TABLE", "VIEW", "MATERIALIZED VIEW", "FOREIGN TABLE", "PARTITIONED TABLE")


def read_audit_entries(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files; a statement may span lines, so a line is an entry of the log."""
    rows = _read_records(spark, folder, pattern)
    is_entry = f"coalesce(startswith(message, '{_ENTRY_PREFIX}'), false)"
    options = "map('mode', 'PERMISSIVE', 'escape', '\"', 'multiLine', 'true')"
    entry = f"from_csv(regexp_replace(message, '^{_ENTRY_PREFIX}', ''), '{_ENTRY_COLUMNS}', {options})"
    rows = rows.withColumn("entry", f.expr(f"CASE WHEN {is_entry} THEN {entry} END"))
    level = f"CASE entry.class WHEN 'READ' THEN {READ} WHEN 'WRITE' THEN {WRITE} END"
    name = "coalesce(entry.object_name, '')"
    is_table = f"entry.object_type IN {list_texts(_TABLE_TYPES)} AND {level} IS NOT NULL AND {name} <> ''"
    is_describing = f"""(entry.command IN {list_texts(_PREPARING_COMMANDS)}
        OR coalesce(entry.statement RLIKE {quote_text(_EXPLAINING_PATTERN)}, false))"""
    path = f"concat_ws({quote_text(SEPARATOR)}, database_name, {split_name(export, name)})"
    rule = f"""CASE
        WHEN NOT {is_entry} AND error_severity IN ('ERROR', 'FATAL', 'PANIC') THEN '{HistoryRule.REFUSED}'
        WHEN NOT {is_entry} OR {level} IS NULL OR {is_describing} THEN '{HistoryRule.METADATA_ONLY}' END"""
    problem = f"""CASE WHEN message IS NULL OR NOT coalesce(error_severity IN {list_texts(_SEVERITIES)}, false)
            THEN 'It has not the columns of the log.'
        WHEN {is_entry} AND entry.class IS NULL THEN 'It is no entry of pgaudit.'
        WHEN {level} IS NOT NULL AND {name} = '' AND NOT {is_describing} AND {_MAY_HAVE_TABLE}
        THEN 'It does not name the table; set pgaudit.log_relation.' END"""
    reading = LineReading(
        used_at="log_time",
        person="user_name",
        # Whoever signs in is a role like others, and is granted privileges himself.
        role="user_name",
        objects=f"CASE WHEN {is_table} THEN array({build_object(path, level, is_direct=_is_named(path))}) END",
        rule=rule,
        problem=problem,
    )
    return build_history(rows, export, reading)


def _is_named(path: str) -> str:
    """Whether a statement names a table itself: beside a view, the tables that it reads have entries, too."""
    words = f"split(lower(entry.statement), {quote_text(_NO_WORD_PATTERN)})"
    name = f"lower(element_at(split({path}, {quote_text(SEPARATOR)}), -1))"
    return f"({_IS_BELOW_NO_VIEW} OR coalesce(array_contains({words}, {name}), false))"


def _read_records(spark: SparkSession, folder: str, pattern: str) -> DataFrame:
    """Return the records of CSV files, which may span lines, with LINE_COLUMNS; a record is a line.

    Columns of newer releases are left out.
    """
    schema = ", ".join(f"{name} string" for name in (*_LOG_COLUMNS, *_LATER_COLUMNS))
    reader = spark.read.schema(schema).option("multiLine", "true").option("escape", '"').option("mode", "PERMISSIVE")
    text = f"concat_ws(',', {', '.join(_LOG_COLUMNS)})"
    whole_text = f"concat_ws('', {', '.join((*_LOG_COLUMNS, *_LATER_COLUMNS))})"
    problem = f"""CASE WHEN contains({text}, {quote_text(REPLACEMENT)}) THEN 'It is not UTF-8.'
        WHEN {whole_text} RLIKE {quote_text(_INNER_ENTRY_PATTERN)} THEN 'A quotation mark is not closed.' END"""
    line_columns = {
        "row_block": "0L",
        "row_line": "monotonically_increasing_id()",
        "is_row": f"{text} <> ''",
        "row_text": text,
        "row_problem": problem,
        "has_header": "false",
    }
    records = reader.csv(f"{folder}/{pattern}").withColumn("row_file", build_path_column(pattern))
    return records.selectExpr(
        *_LOG_COLUMNS, "row_file", *(f"{value} AS {name}" for name, value in line_columns.items())
    )
