"""Reads the grants and members of Databricks: `information_schema` of Unity Catalog, our queries, and SHOW GRANTS.

Unity Catalog has no roles of its own: groups and service principals hold privileges, and count as roles.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import list_texts, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.csv_grants import TABLE_TYPES
from catalog.warehouses.databricks.layouts import CATALOG_PRIVILEGES, LAYOUTS, SCHEMA_PRIVILEGES, SHOWN_GRANTS
from catalog.warehouses.databricks.privileges import ANY_FILE, ENTERING, ENTRIES, HARMLESS
from catalog.warehouses.grant_facts import SEPARATOR, FactKind, Grantee
from catalog.warehouses.layouts import LayoutForm
from catalog.warehouses.principals import join_name
from catalog.warehouses.warehouse import Export

_FORM = LayoutForm(layouts=LAYOUTS, harmless=HARMLESS, harmless_start="CREATE")
_SEPARATOR = quote_text(SEPARATOR)
_TYPES_BY_DEPTH = {2: "SCHEMA", 1: "CATALOG"}


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Databricks. Raises BadExports."""
    rows, plain_frames, names = layouts.describe_named_files(spark, folder, export, _FORM)
    if rows is None:
        return plain_frames
    rows = rows.withColumn("is_counted", f.expr("true"))
    parts = [_expand_any_file(rows, export) if SHOWN_GRANTS in names else rows]
    parts += _list_entries(rows, 2) if SCHEMA_PRIVILEGES in names else []
    parts += _list_entries(rows, 1) if CATALOG_PRIVILEGES in names else []
    return [*plain_frames, layouts.build_facts(reduce(DataFrame.union, parts), export, _FORM)]


def _find_prefix(depth: int) -> str:
    return f"substring_index(path, {_SEPARATOR}, {depth})"


def _list_containers(rows: DataFrame, depth: int) -> DataFrame:
    """Return (container, catalog) of the schemas, or catalogs, that rows name."""
    types = (*TABLE_TYPES, *(name for type_depth, name in _TYPES_BY_DEPTH.items() if type_depth >= depth))
    named_rows = rows.filter(f"is_row AND object_type IN {list_texts(types)} AND path NOT IN ('', '{ANY_FILE}')")
    names = named_rows.selectExpr(f"{_find_prefix(depth)} AS container", f"{_find_prefix(1)} AS catalog")
    return names.filter(f"size(split(container, {_SEPARATOR})) = {depth}").distinct()


def _list_entries(rows: DataFrame, depth: int) -> Sequence[DataFrame]:
    """Return who gets into each schema, or catalog, as rows that are not counted: their lines say more.

    The owner does, by whatever name; so no container is open because nobody is named on it.
    """
    container_type = _TYPES_BY_DEPTH[depth]
    containers = _list_containers(rows, depth)
    types = [name for type_depth, name in _TYPES_BY_DEPTH.items() if type_depth <= depth]
    entering = f"privilege IN {list_texts((*ENTERING, ENTRIES[container_type]))}"
    is_holder = f"object_type IN {list_texts(types)} AND {entering} AND coalesce(said_rule, said_problem) IS NULL"
    holders = rows.filter(f"is_row AND row_problem IS NULL AND {is_holder}")
    # What is had on the catalog is had on all of its schemas.
    places = containers.selectExpr("container", "container AS place")
    if depth > 1:
        places = places.union(containers.selectExpr("container", "catalog"))
    own = holders.join(f.broadcast(places), f.expr("path = place"))
    owner = join_name("'OWNER'", f"replace(container, {_SEPARATOR}, '.')")
    values = {
        "object_type": f"'{container_type}'",
        "path": "container",
        "privilege": f"'{ENTRIES[container_type]}'",
        "said_kind": f"'{FactKind.ENTRY}'",
        "is_counted": "false",
    }
    nobody = {
        **dict.fromkeys(rows.columns, "NULL"),
        **values,
        "is_row": "true",
        "grantee_type": f"'{Grantee.ROLE}'",
        "grantee": owner,
    }
    types_by_name = dict(rows.dtypes)
    return [
        own.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in rows.columns)),
        containers.selectExpr(*(f"CAST({nobody[name]} AS {types_by_name[name]}) AS {name}" for name in rows.columns)),
    ]


def _expand_any_file(rows: DataFrame, export: Export) -> DataFrame:
    """Return rows in which a privilege on any file is one on every catalog; the first row of a line is counted."""
    is_any_file = f"path = '{ANY_FILE}'"
    catalogs = f.broadcast(_list_containers(rows, 1).selectExpr("sort_array(collect_set(container)) AS catalogs"))
    only_catalog = quote_text(export.database) if export.database else "'hive_metastore'"
    names = f"""CASE WHEN {is_any_file} AND size(catalogs) > 0 THEN catalogs
        WHEN {is_any_file} THEN array({only_catalog}) ELSE array(path) END"""
    expanded_rows = rows.crossJoin(catalogs).selectExpr(*rows.columns, f"posexplode({names}) AS (position, place)")
    values = {"path": "place", "is_counted": "position = 0"}
    return expanded_rows.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in rows.columns))
