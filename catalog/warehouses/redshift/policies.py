"""Masks and row filters of Redshift: SVV_ATTACHED_MASKING_POLICY and SVV_RLS_ATTACHED_POLICY, as CSV."""

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses import policy_layouts
from catalog.warehouses.grant_facts import PolicyKind
from catalog.warehouses.policy_layouts import build_policy_layout
from catalog.warehouses.warehouse import Export

_LAYOUTS = (
    build_policy_layout(PolicyKind.ROWS, ("relschema", "relname"), "polname", switches=("is_pol_on", "is_rls_on")),
    build_policy_layout(PolicyKind.MASK, ("schema_name", "table_name"), "policy_name"),
)


def read_policies(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of the policies of an export. Raises BadExports."""
    return policy_layouts.read_policies(spark, folder, export, _LAYOUTS)
