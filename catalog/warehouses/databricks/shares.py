"""What is in shares, by the names that recipients know: logs of Delta Sharing name nothing else."""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses.databricks.layouts import TABLE_SHARES, find_layout_name
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.layouts import join_path
from catalog.warehouses.warehouse import Export

_SCHEMA = "share_name string, shared_name string, shared_path string"


def read_shared_tables(spark: SparkSession, folder: str, export: Export) -> DataFrame:
    """Return (share_name, shared_name, shared_path) of the tables in shares, as the grants of the export list them."""
    frames = [spark.createDataFrame([], _SCHEMA)]
    for pattern in export.grants:
        rows = read_csv(spark, folder, export, pattern, ())
        if find_layout_name(rows.columns) == TABLE_SHARES:
            frames.append(_name_tables(rows))
    return reduce(DataFrame.union, frames).dropDuplicates(["share_name", "shared_name"])


def _name_tables(rows: DataFrame) -> DataFrame:
    schema, table = (
        f"coalesce({alias}, {name})" if alias in rows.columns else name
        for alias, name in (("shared_as_schema", "schema_name"), ("shared_as_table", "table_name"))
    )
    path = join_path("catalog_name", "schema_name", "table_name")
    return rows.filter("is_row AND row_problem IS NULL").selectExpr(
        "lower(share_name) AS share_name",
        f"lower(concat_ws('.', {schema}, {table})) AS shared_name",
        f"lower({path}) AS shared_path",
    )
