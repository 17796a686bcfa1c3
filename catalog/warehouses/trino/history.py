"""Query events of Trino as JSON lines, as its HTTP event listener sends them when a query is completed."""

from pyspark.sql import DataFrame, SparkSession

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.files import json_lines
from catalog.warehouses.grant_facts import SEPARATOR
from catalog.warehouses.history import LineReading, build_history
from catalog.warehouses.history_objects import build_object, list_object, unite_objects
from catalog.warehouses.history_rules import HistoryRule
from catalog.warehouses.levels import READ, WRITE
from catalog.warehouses.warehouse import Export

_PLACE_SCHEMA = "catalogName: string, schema: string, schemaName: string, table: string, tableName: string"
_EVENT_SCHEMA = (
    "createTime string, context struct<user: string, enabledRoles: array<string>, queryType: string>, "
    "metadata struct<queryId: string, queryState: string, tables: array<struct<catalog: string, schema: string, "
    "table: string, directlyReferenced: boolean>>>, "
    f"ioMetadata struct<inputs: array<struct<{_PLACE_SCHEMA}>>, output: struct<{_PLACE_SCHEMA}>>"
)
#: Types of queries that read no rows.
_DESCRIBING_TYPES = ("EXPLAIN", "DESCRIBE")
#: The time of an event, which may be seconds since 1970.
_TIME = f"""CASE WHEN said.createTime RLIKE {quote_text(r"^[0-9.]+(E[0-9]+)?$")}
    THEN CAST(timestamp_seconds(try_cast(said.createTime AS double)) AS string) ELSE said.createTime END"""
_SEPARATOR_TEXT = quote_text(SEPARATOR)


def read_query_events(spark: SparkSession, folder: str, export: Export, pattern: str) -> DataFrame:
    """Return the history of an export's files."""
    rows = json_lines.read_json(spark, folder, pattern, _EVENT_SCHEMA)
    statement_table = build_object(
        f"concat_ws({_SEPARATOR_TEXT}, item.catalog, item.`schema`, item.`table`)",
        READ,
        is_direct="coalesce(item.directlyReferenced, true)",
    )
    # Without the list of tables nothing tells a table that was named from one that a view reads.
    is_direct = "coalesce(size(said.metadata.tables), 0) < 1"
    input_table = build_object(_build_path("item"), READ, is_direct=is_direct)
    output = "said.ioMetadata.output"
    object_lists = (
        f"transform(said.metadata.tables, item -> {statement_table})",
        f"transform(said.ioMetadata.inputs, item -> {input_table})",
        f"CASE WHEN {output} IS NOT NULL THEN {list_object(_build_path(output), WRITE)} END",
    )
    roles = "said.context.enabledRoles"
    # A query that begins has an event without `ioMetadata`; another one tells its end.
    rule = f"""CASE WHEN upper(said.metadata.queryState) IN ('FAILED', 'CANCELED') THEN '{HistoryRule.REFUSED}'
        WHEN upper(said.context.queryType) IN {list_texts(_DESCRIBING_TYPES)} OR said.ioMetadata IS NULL
        THEN '{HistoryRule.METADATA_ONLY}' END"""
    problem = """CASE WHEN is_corrupt THEN 'It is no JSON object.'
        WHEN said.metadata IS NULL THEN 'It is no event of a query.' END"""
    reading = LineReading(
        used_at=_TIME,
        person="said.context.`user`",
        role=f"CASE WHEN size({roles}) = 1 THEN element_at({roles}, 1) END",
        objects=unite_objects(object_lists),
        rule=rule,
        problem=problem,
    )
    return build_history(rows, export, reading)


def _build_path(table: str) -> str:
    schema_name, table_name = (f"coalesce({table}.`{name}`, {table}.{name}Name)" for name in ("schema", "table"))
    return f"concat_ws({_SEPARATOR_TEXT}, {table}.catalogName, {schema_name}, {table_name})"
