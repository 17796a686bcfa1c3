"""Cloud audit logs of BigQuery, one entry a line: BigQueryAuditMetadata, as logs or as a log sink's table has it."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import quote_text
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
_PAYLOAD_SCHEMA = (
    "resourceName: string, authenticationInfo: struct<principalEmail: string, principalSubject: string>, "
    "authorizationInfo: array<struct<granted: boolean>>, status: struct<code: int, message: string>"
)
_ENTRY_SCHEMA = (
    f"timestamp string, protoPayload struct<{_PAYLOAD_SCHEMA}, metadata: struct<{_METADATA_SCHEMA}>>, "
    f"protopayload_auditlog struct<{_PAYLOAD_SCHEMA}, metadataJson: string>"
)
_TABLE_PATTERN = r"projects/([^/]+)/datasets/([^/]+)/tables/([^/@$]+)"


def read_audit_log(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files."""
    rows = json_lines.read_json(spark, folder, pattern, _ENTRY_SCHEMA)
    values = {
        name: f"coalesce(said.protoPayload.{name}, said.protopayload_auditlog.{name})"
        for name in ("resourceName", "authenticationInfo", "authorizationInfo", "status")
    }
    parsed_text = f"from_json(said.protopayload_auditlog.metadataJson, 'struct<{_METADATA_SCHEMA}>')"
    values["metadata"] = f"coalesce(said.protoPayload.metadata, {parsed_text})"
    rows = rows.withColumns({name: f.expr(value) for name, value in values.items()})
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
        OR exists(authorizationInfo, item -> NOT coalesce(item.granted, false))"""
    rule = f"""CASE WHEN {is_refused} THEN '{HistoryRule.REFUSED}'
        WHEN metadata IS NULL OR NOT ({reads} OR {changes} OR size({referenced_names}) > 0)
        THEN '{HistoryRule.METADATA_ONLY}' END"""
    problem = f"""CASE WHEN is_corrupt THEN 'It is no JSON object.'
        WHEN authenticationInfo IS NULL AND resourceName IS NULL THEN 'It is no entry of an audit log.'
        WHEN ({reads} OR {changes}) AND {table} = '' THEN 'It does not name the table.' END"""
    object_lists = (
        f"CASE WHEN {reads} THEN {list_object(table, READ)} END",
        f"CASE WHEN {changes} THEN {list_object(table, WRITE)} END",
        f"""CASE WHEN {is_finished}
            THEN transform({referenced_names}, name -> {build_object(_table_path("name"), READ)}) END""",
    )
    reading = LineReading(
        used_at="said.timestamp",
        # A service account is granted roles like a role itself.
        person=email,
        role=f"CASE WHEN endswith({email}, 'gserviceaccount.com') THEN concat('{PROGRAM_PREFIX}', {email}) END",
        objects=unite_objects(object_lists),
        rule=rule,
        problem=problem,
    )
    return build_history(rows, export, reading)


def _table_path(name: str) -> str:
    """Return project, dataset and table of a resource, '' for another one; partitions are of their table."""
    parts = [f"regexp_extract({name}, {quote_text(_TABLE_PATTERN)}, {number})" for number in (1, 2, 3)]
    return f"CASE WHEN {parts[2]} = '' THEN '' ELSE concat_ws({quote_text(SEPARATOR)}, {', '.join(parts)}) END"
