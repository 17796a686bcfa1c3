"""Other names of tables, by which logs call them: those in shares, and the paths of their files."""

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses.databricks.layouts import TABLE_SHARES, TABLES, find_layout_name
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.layouts import join_path
from catalog.warehouses.warehouse import Export


@dataclass(frozen=True, slots=True)
class OtherNames:
    """The other names that the grants of an export list.

    `shared` has share_name, shared_name and shared_path of the tables in shares. `locations` has location and
    located_path: where the files of tables are; None where the export does not say that.
    """

    shared: DataFrame
    locations: DataFrame | None


def read_other_names(spark: SparkSession, folder: str, export: Export) -> OtherNames:
    """Return the other names of tables. Raises BadExports."""
    shared_frames = [spark.createDataFrame([], "share_name string, shared_name string, shared_path string")]
    located_frames = []
    for pattern in export.grants:
        rows = read_csv(spark, folder, export, pattern, ())
        layout, rows = find_layout_name(rows.columns), rows.filter("is_row AND row_problem IS NULL")
        if layout == TABLE_SHARES:
            shared_frames.append(_name_shared_tables(rows))
        if layout == TABLES and "storage_path" in rows.columns:
            located_frames.append(_locate_tables(rows))
    locations = reduce(DataFrame.union, located_frames).dropDuplicates(["location"]) if located_frames else None
    shared = reduce(DataFrame.union, shared_frames).dropDuplicates(["share_name", "shared_name"])
    return OtherNames(shared, locations)


def strip_location(path: str) -> str:
    """Return a path of files without slashes at its end; an expression of SQL."""
    return f"rtrim('/', trim({path}))"


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


def _locate_tables(rows: DataFrame) -> DataFrame:
    path = join_path("table_catalog", "table_schema", "table_name")
    located = rows.selectExpr(f"{strip_location('storage_path')} AS location", f"lower({path}) AS located_path")
    return located.filter("location <> ''")
