"""Cloud audit logs of BigQuery, one entry a line, as logs or as a log sink's table has it.

An entry has BigQueryAuditMetadata or, in the older format, AuditData.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.files import json_lines
from catalog.warehouses.grant_facts import SEPARATOR
from catalog.warehouses.history import PROGRAM_PREFIX, LineReading, build_history
from catalog.warehouses.history_objects import build_object, list_object, unite_objects
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.warehouse import Export

_STATISTICS_SCHEMA = "queryStats struct<referencedTables: array<string>, referencedViews: array<string>>"
_METADATA_SCHEMA = (
    "tableDataRead struct<reason: string>, tableDataChange struct<reason: string>, "
    "jobChange struct<after: string, job: struct<jobStatus: struct<jobState: string, "
    f"errorResult: struct<message: string>>, jobStats: struct<{_STATISTICS_SCHEMA}>>>"
)
#: AuditData, in `serviceData` of an entry. Whoever fetches the results of a job by another call reads what it read.
_TABLE_SCHEMA = "struct<projectId: string, datasetId: string, tableId: string>"
_JOB_SCHEMA = (
    f"struct<jobConfiguration: struct<query: struct<destinationTable: {_TABLE_SCHEMA}>, "
    f"load: struct<destinationTable: {_TABLE_SCHEMA}>, extract: struct<sourceTable: {_TABLE_SCHEMA}>, "
    f"tableCopy: struct<sourceTables: array<{_TABLE_SCHEMA}>, destinationTable: {_TABLE_SCHEMA}>>, "
    "jobStatus: struct<state: string, error: struct<code: int, message: string>>, "
    f"jobStatistics: struct<referencedTables: array<{_TABLE_SCHEMA}>, referencedViews: array<{_TABLE_SCHEMA}>>>"
)
_SERVICE_SCHEMA = (
    f"struct<jobCompletedEvent: struct<job: {_JOB_SCHEMA}>, jobGetQueryResultsResponse: struct<job: {_JOB_SCHEMA}>, "
    f"jobQueryResponse: struct<job: {_JOB_SCHEMA}>, jobInsertResponse: struct<resource: {_JOB_SCHEMA}>, "
    f"tableDataReadEvents: array<struct<tableName: {_TABLE_SCHEMA}>>>"
)
#: Calls of the older format that read tables, in small letters: one without its AuditData may be any use.
_JOB_CALLS = ("jobservice.jobcompleted", "jobservice.getqueryresults", "jobservice.query")
_LIST_CALL, _INSERT_CALL = "tabledataservice.list", "tabledataservice.insertall"
_PAYLOAD_SCHEMA = (
    "methodName: string, resourceName: string, "
    "authenticationInfo: struct<principalEmail: string, principalSubject: string>, "
    "authorizationInfo: array<struct<granted: boolean>>, status: struct<code: int, message: string>"
)
_ENTRY_SCHEMA = (
    f"timestamp string, protoPayload struct<{_PAYLOAD_SCHEMA}, metadata: struct<{_METADATA_SCHEMA}>, "
    f"serviceData: {_SERVICE_SCHEMA}>, protopayload_auditlog struct<{_PAYLOAD_SCHEMA}, metadataJson: string, "
    f"servicedata_v1_bigquery: {_SERVICE_SCHEMA}>"
)
_TABLE_PATTERN = r"projects/([^/]+)/datasets/([^/]+)/tables/([^/@$]+)"


def read_audit_log(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files."""
    rows = json_lines.read_json(spark, folder, pattern, _ENTRY_SCHEMA)
    values = {
        name: f"coalesce(said.protoPayload.{name}, said.protopayload_auditlog.{name})"
        for name in ("methodName", "resourceName", "authenticationInfo", "authorizationInfo", "status")
    }
    parsed_text = f"from_json(said.protopayload_auditlog.metadataJson, 'struct<{_METADATA_SCHEMA}>')"
    values["metadata"] = f"coalesce(said.protoPayload.metadata, {parsed_text})"
    values["service_data"] = (
        "coalesce(said.protoPayload.serviceData, said.protopayload_auditlog.servicedata_v1_bigquery)"
    )
    rows = rows.withColumns({name: f.expr(value) for name, value in values.items()})
    old_job = """coalesce(service_data.jobCompletedEvent.job, service_data.jobGetQueryResultsResponse.job,
        service_data.jobQueryResponse.job, service_data.jobInsertResponse.resource)"""
    rows = rows.withColumns({"old_job": f.expr(old_job), "call": f.expr("lower(coalesce(methodName, ''))")})
    rows = rows.withColumn("old_objects", f.expr(_list_old_objects()))
    reads, changes = "metadata.tableDataRead IS NOT NULL", "metadata.tableDataChange IS NOT NULL"
    job = "metadata.jobChange.job"
    is_finished = f"metadata.jobChange.after = 'DONE' OR {job}.jobStatus.jobState = 'DONE'"
    table = _table_path("resourceName")
    referenced_lists = (
        f"coalesce({job}.jobStats.queryStats.{name}, CAST(array() AS array<string>))"
        for name in ("referencedTables", "referencedViews")
    )
    referenced_names = f"concat({', '.join(referenced_lists)})"
    # Identities of other providers have no address.
    subject = "regexp_replace(authenticationInfo.principalSubject, '^(user|serviceAccount):', '')"
    email = f"coalesce(authenticationInfo.principalEmail, {subject})"
    is_refused = f"""coalesce(status.code, 0) <> 0 OR {job}.jobStatus.errorResult IS NOT NULL
        OR coalesce(old_job.jobStatus.error.code, 0) <> 0 OR coalesce(old_job.jobStatus.error.message, '') <> ''
        OR exists(authorizationInfo, item -> NOT coalesce(item.granted, false))"""
    is_lost = f"""metadata IS NULL AND call IN {list_texts((*_JOB_CALLS, _LIST_CALL, _INSERT_CALL))} AND old_job IS NULL
        AND size(old_objects) = 0 AND NOT coalesce({is_refused}, false)"""
    rule = f"""CASE WHEN {is_refused} THEN '{HistoryRule.REFUSED}'
        WHEN service_data IS NOT NULL AND (old_job IS NOT NULL OR size(old_objects) > 0) THEN NULL
        WHEN metadata IS NULL OR NOT ({reads} OR {changes} OR size({referenced_names}) > 0)
        THEN '{HistoryRule.METADATA_ONLY}' END"""
    problem = f"""CASE WHEN is_corrupt THEN 'It is no JSON object.'
        WHEN authenticationInfo IS NULL AND resourceName IS NULL THEN 'It is no entry of an audit log.'
        WHEN {is_lost} THEN 'It has no metadata and no serviceData: what was read is not in it.'
        WHEN ({reads} OR {changes}) AND {table} = '' THEN 'It does not name the table.' END"""
    object_lists = (
        f"CASE WHEN {reads} THEN {list_object(table, READ)} END",
        f"CASE WHEN {changes} THEN {list_object(table, WRITE)} END",
        f"""CASE WHEN {is_finished}
            THEN transform({referenced_names}, name -> {build_object(_table_path("name"), READ)}) END""",
        "old_objects",
    )
    is_service = f"endswith({email}, 'gserviceaccount.com')"
    reading = LineReading(
        used_at="said.timestamp",
        # A service account is granted roles like a role itself.
        person=email,
        is_service=is_service,
        role=f"CASE WHEN {is_service} THEN concat('{PROGRAM_PREFIX}', {email}) END",
        objects=unite_objects(object_lists),
        rule=rule,
        problem=problem,
    )
    return build_history(rows, export, reading)


def _table_path(name: str) -> str:
    """Return project, dataset and table of a resource, '' for another one; partitions are of their table."""
    parts = [f"regexp_extract({name}, {quote_text(_TABLE_PATTERN)}, {number})" for number in (1, 2, 3)]
    return f"CASE WHEN {parts[2]} = '' THEN '' ELSE concat_ws({quote_text(SEPARATOR)}, {', '.join(parts)}) END"


def _list_old_objects() -> str:
    """Return the objects of AuditData; destinations of queries that nobody named are in no dataset of the catalog."""
    # A job that was only begun has used nothing yet: its end is an entry of its own.
    config, statistics = (
        f"(CASE WHEN coalesce(old_job.jobStatus.state, 'DONE') = 'DONE' THEN old_job.{name} END)"
        for name in ("jobConfiguration", "jobStatistics")
    )
    readings = (
        f"{statistics}.referencedTables",
        f"{statistics}.referencedViews",
        "service_data.tableDataReadEvents.tableName",
        f"{config}.tableCopy.sourceTables",
        f"array({config}.extract.sourceTable)",
    )
    writings = (f"array({config}.{kind}.destinationTable)" for kind in ("query", "load", "tableCopy"))
    calls = (
        f"CASE WHEN call = '{call}' THEN {list_object(_table_path('resourceName'), level)} END"
        for call, level in ((_LIST_CALL, READ), (_INSERT_CALL, WRITE))
    )
    return unite_objects(
        (
            *(_list_tables(tables, READ) for tables in readings),
            *(_list_tables(tables, WRITE) for tables in writings),
            *calls,
        )
    )


def _list_tables(tables: str, level: int) -> str:
    """Return the objects of an array of references to tables."""
    name = "regexp_replace(used.tableId, '[@$].*', '')"
    path = f"concat_ws({quote_text(SEPARATOR)}, used.projectId, used.datasetId, {name})"
    return f"transform(filter({tables}, used -> used.tableId IS NOT NULL), used -> {build_object(path, level)})"
