"""Row security of PostgreSQL: our query `row_policies`, or `pg_policies`, also with `rowsecurity` of `pg_tables`."""

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses import policy_layouts
from catalog.warehouses.postgres import catalog_layouts, schema_layouts
from catalog.warehouses.warehouse import Export

_LAYOUTS = (catalog_layouts.POLICY_LAYOUT, schema_layouts.POLICY_LAYOUT)


def read_policies(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of the policies of an export. Raises BadExports."""
    return policy_layouts.read_policies(spark, folder, export, _LAYOUTS)
