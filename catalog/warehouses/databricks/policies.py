"""Masks and row filters of Databricks: `column_masks` and `row_filters` of `information_schema`, as CSV."""

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses import policy_layouts
from catalog.warehouses.grant_facts import PolicyKind
from catalog.warehouses.policy_layouts import build_policy_layout
from catalog.warehouses.warehouse import Export

_TABLE = ("table_catalog", "table_schema", "table_name")
_NAMES = ("catalog_name", "schema_name", "table_name")
_LAYOUTS = (
    *(build_policy_layout(PolicyKind.MASK, table, "mask_name", "column_name") for table in (_NAMES, _TABLE)),
    *(build_policy_layout(PolicyKind.ROWS, table, "filter_name") for table in (_NAMES, _TABLE)),
)


def read_policies(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of the policies of an export. Raises BadExports."""
    return policy_layouts.read_policies(spark, folder, export, _LAYOUTS)
