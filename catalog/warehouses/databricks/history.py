"""System tables of Databricks as JSON lines: system.access.audit, delivered audit logs, system.access.table_lineage."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import list_texts
from catalog.warehouses.files import json_lines
from catalog.warehouses.history import LineReading, build_history
from catalog.warehouses.history_objects import list_object, unite_objects
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.sql_names import split_name
from catalog.warehouses.warehouse import Export

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
        "identity": "coalesce(said.user_identity, said.userIdentity)",
        "parameters": "coalesce(said.request_params, said.requestParams)",
        "response": "said.response",
    }
    rows = rows.withColumns({key: f.expr(f"from_json({text}, 'map<string, string>')") for key, text in texts.items()})
    is_corrupt = " OR ".join(
        ("is_corrupt", *(f"({text} IS NOT NULL AND {key} IS NULL)" for key, text in texts.items()))
    )
    rows = rows.withColumns(
        {
            "action": f.expr("coalesce(said.action_name, said.actionName)"),
            "status": f.expr("try_to_number(coalesce(response['status_code'], response['statusCode'], '200'), '999')"),
            "is_corrupt": f.expr(is_corrupt),
        }
    )
    source, target = "said.source_table_full_name", "said.target_table_full_name"
    reads_data = f"coalesce(action IN {list_texts(_DATA_ACTIONS)}, false)"
    name = "coalesce(parameters['table_full_name'], parameters['full_name_arg'])"
    level = f"CASE WHEN contains(upper(parameters['operation']), 'WRITE') THEN {WRITE} ELSE {READ} END"
    # Logs that are delivered to storage count milliseconds.
    delivered_time = f"timestamp_millis(CAST(try_to_number(said.timestamp, '{'9' * 18}') AS bigint))"
    identity = "coalesce(identity['email'], said.created_by)"
    rule = f"""CASE WHEN status >= 400 THEN '{HistoryRule.REFUSED}'
        WHEN action IS NOT NULL AND NOT {reads_data} THEN '{HistoryRule.METADATA_ONLY}' END"""
    problem = f"""CASE WHEN is_corrupt THEN 'It is no JSON object.'
        WHEN {reads_data} AND {name} IS NULL AND status < 400 THEN 'It does not name the table.'
        WHEN coalesce(action, {source}, {target}, said.created_by) IS NULL THEN 'It names no action.' END"""
    reading = LineReading(
        used_at=f"coalesce(said.event_time, CAST({delivered_time} AS string))",
        person=identity,
        # A service principal is granted privileges like a group.
        role=f"CASE WHEN NOT contains({identity}, '@') THEN {identity} END",
        objects=unite_objects(
            (
                f"CASE WHEN {reads_data} THEN {list_object(split_name(export, name), level)} END",
                list_object(split_name(export, source), READ),
                list_object(split_name(export, target), WRITE),
            )
        ),
        rule=rule,
        problem=problem,
    )
    return build_history(rows, export, reading)
