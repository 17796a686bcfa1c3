"""Cloud audit logs of BigQuery, one entry a line: BigQueryAuditMetadata, as logs or as a log sink's table has it."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR
from catalog.reports.kinds.warehouse_usage.history import PROGRAM_PREFIX, LineReading, build_history
from catalog.reports.kinds.warehouse_usage.layouts import json_lines
from catalog.reports.kinds.warehouse_usage.layouts.objects import build_object, list_object, unite_objects
from catalog.reports.kinds.warehouse_usage.rules import HistoryRule

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
    payload = {
        name: f.coalesce(f.col(f"said.protoPayload.{name}"), f.col(f"said.protopayload_auditlog.{name}"))
        for name in ("resourceName", "authenticationInfo", "authorizationInfo", "status")
    }
    metadata = f.coalesce(
        f.col("said.protoPayload.metadata"),
        f.from_json("said.protopayload_auditlog.metadataJson", f"struct<{_METADATA_SCHEMA}>"),
    )
    rows = rows.withColumns({**payload, "metadata": metadata})
    statistics, status = "metadata.jobChange.job.jobStats.queryStats", f.col("metadata.jobChange.job.jobStatus")
    is_finished = (f.col("metadata.jobChange.after") == "DONE") | (status.jobState == "DONE")
    is_failed = status.errorResult.isNotNull()
    table = _table_path(f.col("resourceName"))
    referenced_names = f.concat(
        *(
            f.coalesce(f"{statistics}.{name}", f.array().cast("array<string>"))
            for name in ("referencedTables", "referencedViews")
        )
    )
    # Identities of other providers have no address.
    subject = f.regexp_replace("authenticationInfo.principalSubject", "^(user|serviceAccount):", "")
    email = f.coalesce("authenticationInfo.principalEmail", subject)
    is_refused = (f.coalesce("status.code", f.lit(0)) != 0) | f.coalesce(
        f.exists("authorizationInfo", lambda item: ~f.coalesce(item.granted, f.expr("false"))), f.expr("false")
    )
    reading = LineReading(
        used_at=f.col("said.timestamp"),
        # A service account is granted roles like a role itself.
        person=email,
        role=f.when(email.endswith("gserviceaccount.com"), f.concat(f.lit(PROGRAM_PREFIX), email)),
        objects=unite_objects(
            (
                f.when(f.col("metadata.tableDataRead").isNotNull(), list_object(table, READ)),
                f.when(f.col("metadata.tableDataChange").isNotNull(), list_object(table, WRITE)),
                f.when(is_finished, f.transform(referenced_names, lambda name: build_object(_table_path(name), READ))),
            )
        ),
        rule=f.when(is_refused | f.coalesce(is_failed, f.expr("false")), HistoryRule.REFUSED).when(
            f.col("metadata").isNull()
            | (
                f.col("metadata.tableDataRead").isNull()
                & f.col("metadata.tableDataChange").isNull()
                & (f.size(referenced_names) == 0)
            ),
            HistoryRule.METADATA_ONLY,
        ),
        problem=f.when(f.col("is_corrupt"), "It is no JSON object.")
        .when(f.col("authenticationInfo").isNull() & f.col("resourceName").isNull(), "It is no entry of an audit log.")
        .when(
            (f.col("metadata.tableDataRead").isNotNull() | f.col("metadata.tableDataChange").isNotNull())
            & (table == ""),
            "It does not name the table.",
        ),
    )
    return build_history(rows, export, reading)


def _table_path(name: Column) -> Column:
    """Return project, dataset and table of a resource, '' for another one; partitions are of their table."""
    parts = [f.regexp_extract(name, _TABLE_PATTERN, number) for number in (1, 2, 3)]
    return f.when(parts[2] == "", "").otherwise(f.concat_ws(SEPARATOR, *parts))
