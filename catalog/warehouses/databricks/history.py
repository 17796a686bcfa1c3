"""System tables of Databricks as JSON lines: system.access.audit, delivered audit logs, system.access.table_lineage."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import list_texts
from catalog.warehouses.databricks.layouts import TABLE_SHARES, TABLES
from catalog.warehouses.databricks.other_names import read_other_names, strip_location
from catalog.warehouses.files import json_lines
from catalog.warehouses.history import LineReading, build_history
from catalog.warehouses.history_objects import list_object, unite_objects
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.principals import RECIPIENT, join_name
from catalog.warehouses.sql_names import split_name
from catalog.warehouses.warehouse import Export

_ENTRY_SCHEMA = (
    "event_time string, action_name string, user_identity string, request_params string, response string, "
    "timestamp string, actionName string, userIdentity string, requestParams string, "
    "source_table_full_name string, target_table_full_name string, created_by string"
)
#: Actions by which a compute resource gets at the files of a table. All that are not named here are about descriptions.
_TABLE_ACTIONS = ("generateTemporaryTableCredential", "generateTemporaryTableCredentials")
#: Reads by a recipient of a share, who knows a table by its name in the share.
_SHARE_ACTIONS = ("deltaSharingQueriedTable", "deltaSharingQueriedTableChanges")
#: Reads of files by their path, which may be those of a table.
_PATH_ACTIONS = ("generateTemporaryPathCredential", "generateTemporaryPathCredentials")
_PATH_PROBLEM = f"It reads files by their path: of which table they are is in the column storage_path of {TABLES}.sql."
#: The name of a table in a share: schema and table, in small letters.
_SHARED_NAME = "lower(concat_ws('.', parameters['schema'], coalesce(parameters['name'], parameters['table'])))"


def read_system_tables(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files."""
    names = read_other_names(spark, folder, export)
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
    rows = rows.withColumns(
        {"share_name": f.expr("lower(parameters['share'])"), "shared_name": f.expr(_SHARED_NAME)}
    ).join(f.broadcast(names.shared), ["share_name", "shared_name"], "left")
    is_located = "false" if names.locations is None else "true"
    rows = _locate_paths(spark, rows, names.locations)
    source, target = "said.source_table_full_name", "said.target_table_full_name"
    reads_data, reads_share, reads_path = (
        f"coalesce(action IN {list_texts(actions)}, false)"
        for actions in (_TABLE_ACTIONS, _SHARE_ACTIONS, _PATH_ACTIONS)
    )
    name = "coalesce(parameters['table_full_name'], parameters['full_name_arg'])"
    level = f"CASE WHEN contains(upper(parameters['operation']), 'WRITE') THEN {WRITE} ELSE {READ} END"
    recipient = "parameters['recipient_name']"
    # Logs that are delivered to storage count milliseconds.
    delivered_time = f"timestamp_millis(CAST(try_to_number(said.timestamp, '{'9' * 18}') AS bigint))"
    identity = "coalesce(identity['email'], said.created_by)"
    share_problem = f"""concat('The recipient ', coalesce({recipient}, ''), ' read ', coalesce(shared_name, ''),
        ' of the share ', coalesce(share_name, ''), ': which table that is, is in {TABLE_SHARES}.sql alone.')"""
    is_read = f"({reads_data} OR {reads_share} OR {reads_path})"
    rule = f"""CASE WHEN status >= 400 THEN '{HistoryRule.REFUSED}'
        WHEN action IS NOT NULL AND NOT {is_read} THEN '{HistoryRule.METADATA_ONLY}' END"""
    problem = f"""CASE WHEN is_corrupt THEN 'It is no JSON object.'
        WHEN {reads_data} AND {name} IS NULL AND status < 400 THEN 'It does not name the table.'
        WHEN {reads_path} AND NOT {is_located} AND coalesce(status, 200) < 400 THEN '{_PATH_PROBLEM}'
        WHEN {reads_share} AND shared_path IS NULL AND coalesce(status, 200) < 400 THEN {share_problem}
        WHEN coalesce(action, {source}, {target}, said.created_by) IS NULL THEN 'It names no action.' END"""
    reading = LineReading(
        used_at=f"coalesce(said.event_time, CAST({delivered_time} AS string))",
        person=f"CASE WHEN {reads_share} THEN concat('recipient ', {recipient}) ELSE {identity} END",
        is_service=f"{reads_share} OR NOT contains({identity}, '@')",
        # A service principal is granted privileges like a group.
        role=f"""CASE WHEN {reads_share} THEN {join_name(f"'{RECIPIENT}'", recipient)}
            WHEN NOT contains({identity}, '@') THEN {identity} END""",
        objects=unite_objects(
            (
                f"CASE WHEN {reads_data} THEN {list_object(split_name(export, name), level)} END",
                list_object(split_name(export, source), READ),
                list_object(split_name(export, target), WRITE),
                f"CASE WHEN {reads_share} THEN {list_object('shared_path', READ)} END",
                f"CASE WHEN {reads_path} THEN {list_object('located_path', level)} END",
            )
        ),
        rule=rule,
        problem=problem,
    )
    return build_history(rows, export, reading)


def _locate_paths(spark: SparkSession, rows: DataFrame, locations: DataFrame | None) -> DataFrame:
    """Return rows with `located_path`: the table in whose location the path of a row is."""
    located = spark.createDataFrame([], "url string, located_path string")
    if locations is not None:
        urls = rows.filter(f"action IN {list_texts(_PATH_ACTIONS)}").selectExpr("parameters['url'] AS url").distinct()
        # A location does not lie in another one: at most one beginning of a path is that of a table.
        parts = f"split({strip_location('url')}, '/')"
        beginnings = f"transform(sequence(1, size({parts})), size -> array_join(slice({parts}, 1, size), '/'))"
        located = urls.selectExpr("url", f"explode({beginnings}) AS location").join(locations, "location")
        located = located.groupBy("url").agg(f.expr("max_by(located_path, length(location)) AS located_path"))
    rows = rows.withColumn("url", f.expr("parameters['url']"))
    return rows.join(f.broadcast(located), "url", "left")
