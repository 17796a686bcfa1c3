"""Query events of Trino as JSON lines, as its HTTP event listener sends them when a query is completed."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import READ, WRITE, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR
from catalog.reports.kinds.warehouse_usage.history import LineReading, build_history
from catalog.reports.kinds.warehouse_usage.layouts import json_lines
from catalog.reports.kinds.warehouse_usage.layouts.objects import build_object, list_object, unite_objects
from catalog.reports.kinds.warehouse_usage.rules import HistoryRule

_PLACE_SCHEMA = "catalogName: string, schema: string, schemaName: string, table: string, tableName: string"
_EVENT_SCHEMA = (
    "createTime string, context struct<user: string, enabledRoles: array<string>, queryType: string>, "
    "metadata struct<queryId: string, queryState: string, tables: array<struct<catalog: string, schema: string, "
    "table: string, directlyReferenced: boolean>>>, "
    f"ioMetadata struct<inputs: array<struct<{_PLACE_SCHEMA}>>, output: struct<{_PLACE_SCHEMA}>>"
)
#: Types of queries that read no rows.
_DESCRIBING_TYPES = ("EXPLAIN", "DESCRIBE")


def read_query_events(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files."""
    rows = json_lines.read_json(spark, folder, pattern, _EVENT_SCHEMA)
    state, output = f.upper("said.metadata.queryState"), f.col("said.ioMetadata.output")
    referenced = f.transform(
        "said.metadata.tables",
        lambda item: build_object(
            f.concat_ws(SEPARATOR, item.catalog, item.schema, item.table),
            READ,
            is_direct=f.coalesce(item.directlyReferenced, f.expr("true")),
        ),
    )
    # Without the list of tables nothing tells a table that was named from one that a view reads.
    inputs = f.transform(
        "said.ioMetadata.inputs",
        lambda item: build_object(
            _build_path(item), READ, is_direct=f.coalesce(f.size("said.metadata.tables"), f.lit(0)) < 1
        ),
    )
    roles, queried_type = f.col("said.context.enabledRoles"), f.upper("said.context.queryType")
    reading = LineReading(
        used_at=_event_time(),
        person=f.col("said.context.user"),
        role=f.when(f.size(roles) == 1, f.element_at(roles, 1)),
        objects=unite_objects(
            (referenced, inputs, f.when(output.isNotNull(), list_object(_build_path(output), WRITE)))
        ),
        rule=f.when(state.isin("FAILED", "CANCELED"), HistoryRule.REFUSED)
        .when(f.coalesce(queried_type.isin(*_DESCRIBING_TYPES), f.expr("false")), HistoryRule.METADATA_ONLY)
        # The event of a query that begins; another one tells its end.
        .when(f.col("said.ioMetadata").isNull(), HistoryRule.METADATA_ONLY),
        problem=f.when(f.col("is_corrupt"), "It is no JSON object.").when(
            f.col("said.metadata").isNull(), "It is no event of a query."
        ),
    )
    return build_history(rows, export, reading)


def _build_path(source: Column) -> Column:
    schema, table = f.coalesce(source.schema, source.schemaName), f.coalesce(source.table, source.tableName)
    return f.concat_ws(SEPARATOR, source.catalogName, schema, table)


def _event_time() -> Column:
    """Return the time of an event, which may be seconds since 1970."""
    text = f.col("said.createTime")
    seconds = f.when(text.rlike(r"^[0-9.]+(E[0-9]+)?$"), f.timestamp_seconds(text.cast("double")).cast("string"))
    return f.coalesce(seconds, text)
