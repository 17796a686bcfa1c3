"""Row security of PostgreSQL: `pg_policies`, with or without `rowsecurity` of `pg_tables`, as CSV."""

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses import policy_layouts
from catalog.warehouses.grant_facts import PolicyKind
from catalog.warehouses.policy_layouts import build_policy_layout
from catalog.warehouses.warehouse import Export

_LAYOUTS = (build_policy_layout(PolicyKind.ROWS, ("schemaname", "tablename"), "policyname", switches=("rowsecurity",)),)


def read_policies(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of the policies of an export. Raises BadExports."""
    return policy_layouts.read_policies(spark, folder, export, _LAYOUTS)
