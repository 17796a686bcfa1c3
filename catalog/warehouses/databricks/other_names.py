"""Other names of tables, by which logs call them: those in shares, and the paths of their files."""

from collections.abc import Callable
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses.databricks.layouts import TABLE_SHARES, TABLES, find_layout_name
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.layouts import join_path
from catalog.warehouses.warehouse import Export


def read_shared_tables(spark: SparkSession, folder: str, export: Export) -> DataFrame:
    """Return (share_name, shared_name, shared_path) of the tables in shares, as the grants of the export list them."""
    schema = "share_name string, shared_name string, shared_path string"
    frames = _read_listed(spark, folder, export, TABLE_SHARES, _name_shared_tables)
    rows = reduce(DataFrame.union, frames, spark.createDataFrame([], schema))
    return rows.dropDuplicates(["share_name", "shared_name"])


def read_locations(spark: SparkSession, folder: str, export: Export) -> DataFrame | None:
    """Return (location, located_path): where the files of tables are; None where the export does not say that."""
    frames = _read_listed(spark, folder, export, TABLES, _locate_tables)
    return reduce(DataFrame.union, frames).dropDuplicates(["location"]) if frames else None


def strip_location(path: str) -> str:
    """Return a path of files without slashes at its end; an expression of SQL."""
    return f"rtrim('/', trim({path}))"


def _read_listed(
    spark: SparkSession, folder: str, export: Export, layout: str, read: Callable[[DataFrame], DataFrame | None]
) -> list[DataFrame]:
    frames = [read_csv(spark, folder, export, pattern, ()) for pattern in export.grants]
    read_frames = (read(rows.filter("is_row AND row_problem IS NULL")) for rows in frames if _has_layout(rows, layout))
    return [rows for rows in read_frames if rows is not None]


def _has_layout(rows: DataFrame, layout: str) -> bool:
    return find_layout_name(rows.columns) == layout


def _name_shared_tables(rows: DataFrame) -> DataFrame:
    schema, table = (
        f"coalesce({alias}, {name})" if alias in rows.columns else name
        for alias, name in (("shared_as_schema", "schema_name"), ("shared_as_table", "table_name"))
    )
    path = join_path("catalog_name", "schema_name", "table_name")
    return rows.selectExpr(
        "lower(share_name) AS share_name",
        f"lower(concat_ws('.', {schema}, {table})) AS shared_name",
        f"lower({path}) AS shared_path",
    )


def _locate_tables(rows: DataFrame) -> DataFrame | None:
    if "storage_path" not in rows.columns:
        return None
    path = join_path("table_catalog", "table_schema", "table_name")
    located = rows.selectExpr(f"{strip_location('storage_path')} AS location", f"lower({path}) AS located_path")
    return located.filter("location <> ''")
