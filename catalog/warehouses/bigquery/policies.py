"""Row access policies and policy tags of BigQuery, as JSON lines."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.warehouses.files.json_rows import parse_object
from catalog.warehouses.files.lines import read_lines
from catalog.warehouses.grant_facts import PolicyKind
from catalog.warehouses.layouts import join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.policy_layouts import build_policy_facts, describe_policy
from catalog.warehouses.warehouse import Export

_TABLE = ("table_catalog", "table_schema", "table_name")
_ROW_POLICY_SCHEMA = (
    "rowAccessPolicyReference struct<projectId: string, datasetId: string, tableId: string, policyId: string>, "
    "table_catalog string, table_schema string, table_name string, policy_tags array<string>"
)


def read_policies(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of the policies of an export. Raises BadExports."""
    return [build_policy_facts(_read_json(spark, folder, pattern), export) for pattern in export.policies]


def _read_json(spark: SparkSession, folder: str, pattern: str) -> DataFrame:
    """Return row access policies and columns with policy tags, one JSON object a line."""
    rows = read_lines(spark, folder, pattern).withColumn("said", f.expr(parse_object("row_text", _ROW_POLICY_SCHEMA)))
    reference = "said.rowAccessPolicyReference"
    row_policy_table = join_path(*(f"{reference}.{name}" for name in ("projectId", "datasetId", "tableId")))
    column_table = join_path(*(f"said.{name}" for name in _TABLE))
    described_columns = {
        "said_problem": f"""CASE WHEN {reference} IS NULL AND said.table_name IS NULL
            THEN 'It is no JSON of a row access policy or a column.' END""",
        "said_rule": f"""CASE WHEN {reference} IS NULL AND said.table_name IS NOT NULL
            AND NOT coalesce(size(said.policy_tags), 0) > 0 THEN '{PassRule.OTHER_OBJECT}' END""",
        **describe_policy(
            f"CASE WHEN {reference} IS NOT NULL THEN '{PolicyKind.ROWS}' ELSE '{PolicyKind.MASK}' END",
            f"CASE WHEN {reference} IS NOT NULL THEN {row_policy_table} ELSE {column_table} END",
            f"coalesce({reference}.policyId, array_join(said.policy_tags, ' '))",
        ),
    }
    return rows.withColumns({name: f.expr(text) for name, text in described_columns.items()})
