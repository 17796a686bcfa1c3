"""System tables of Databricks as JSON lines: system.access.audit, delivered audit logs, system.access.table_lineage."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.forms.sql_names import split_name
from catalog.reports.kinds.warehouse_usage.history import LineReading, build_history
from catalog.reports.kinds.warehouse_usage.layouts import json_lines
from catalog.reports.kinds.warehouse_usage.layouts.objects import list_object, unite_objects
from catalog.reports.kinds.warehouse_usage.rules import HistoryRule

_ENTRY_SCHEMA = (
    "event_time string, action_name string, user_identity string, request_params string, response string, "
    "timestamp string, actionName string, userIdentity string, requestParams string, "
    "source_table_full_name string, target_table_full_name string, created_by string"
)
#: Actions by which a compute resource gets at the files of a table; all others are about its description.
_DATA_ACTIONS = ("generateTemporaryTableCredential", "generateTemporaryTableCredentials")


def read_system_tables(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files."""
    rows = json_lines.read_json(spark, folder, pattern, _ENTRY_SCHEMA)
    # Clients of SQL write structs and maps as texts of JSON.
    texts = {
        "identity": f.coalesce("said.user_identity", "said.userIdentity"),
        "parameters": f.coalesce("said.request_params", "said.requestParams"),
        "response": f.col("said.response"),
    }
    rows = rows.withColumns({key: f.from_json(text, "map<string, string>") for key, text in texts.items()})
    is_corrupt = f.col("is_corrupt")
    for key, text in texts.items():
        is_corrupt |= text.isNotNull() & f.col(key).isNull()
    status = f.coalesce(f.col("response")["status_code"], f.col("response")["statusCode"], f.lit("200"))
    rows = rows.withColumns(
        {
            "action": f.coalesce("said.action_name", "said.actionName"),
            "status": f.try_to_number(status, f.lit("999")),
            "is_corrupt": is_corrupt,
        }
    )
    is_lineage = f.coalesce("said.source_table_full_name", "said.target_table_full_name").isNotNull()
    reads_data = f.coalesce(f.col("action").isin(*_DATA_ACTIONS), f.expr("false"))
    name = f.coalesce(f.col("parameters")["table_full_name"], f.col("parameters")["full_name_arg"])
    level = f.when(f.upper(f.col("parameters")["operation"]).contains("WRITE"), WRITE).otherwise(READ)
    # Logs that are delivered to storage count milliseconds.
    delivered_time = f.timestamp_millis(f.try_to_number("said.timestamp", f.lit("9" * 18)).cast("bigint"))
    identity = f.coalesce(f.col("identity")["email"], "said.created_by")
    reading = LineReading(
        used_at=f.coalesce("said.event_time", delivered_time.cast("string")),
        person=identity,
        # A service principal is granted privileges like a group.
        role=f.when(~identity.contains("@"), identity),
        objects=unite_objects(
            (
                f.when(reads_data, list_object(split_name(export, name), level)),
                list_object(split_name(export, f.col("said.source_table_full_name")), READ),
                list_object(split_name(export, f.col("said.target_table_full_name")), WRITE),
            )
        ),
        rule=f.when(f.col("status") >= 400, HistoryRule.REFUSED).when(
            f.col("action").isNotNull() & ~reads_data, HistoryRule.METADATA_ONLY
        ),
        problem=f.when(f.col("is_corrupt"), "It is no JSON object.")
        .when(reads_data & name.isNull() & (f.col("status") < 400), "It does not name the table.")
        .when(f.col("action").isNull() & ~is_lineage & f.col("said.created_by").isNull(), "It names no action."),
    )
    return build_history(rows, export, reading)
