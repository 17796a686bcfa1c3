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
#: The layouts that say who gets into which containers, by the parts of their names.
_LISTING_LAYOUTS = {2: SCHEMA_PRIVILEGES, 1: CATALOG_PRIVILEGES}


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Databricks. Raises BadExports."""
    files = layouts.describe_files(spark, folder, export, _FORM)
    rows, names = files.rows, files.layout_names
    if rows is None:
        return list(files.plain_frames)
    rows = rows.withColumn("is_counted", f.expr("true"))
    depths = [depth for depth, layout in _LISTING_LAYOUTS.items() if layout in names]
    # Collected, since a plan with many files should not have all of them again in each of its parts.
    containers = _collect_containers(rows) if depths or SHOWN_GRANTS in names else []
    parts = [_expand_any_file(rows, export, containers) if SHOWN_GRANTS in names else rows]
    if depths:
        parts += _list_entries(rows, [container for container in containers if len(container) in depths])
    return [*files.plain_frames, layouts.build_facts(reduce(DataFrame.union, parts), export, _FORM)]


def _collect_containers(rows: DataFrame) -> list[tuple[str, ...]]:
    """Return the catalogs and schemas that rows name, by the parts of their names."""
    types = (*TABLE_TYPES, *_TYPES_BY_DEPTH.values())
    named_rows = rows.filter(f"is_row AND object_type IN {list_texts(types)} AND path NOT IN ('', '{ANY_FILE}')")
    prefix_rows = named_rows.selectExpr(f"substring_index(path, {_SEPARATOR}, 2) AS container").distinct().collect()
    schemas = {tuple(row["container"].split(SEPARATOR)) for row in prefix_rows}
    return sorted({*schemas, *((catalog,) for catalog, *_ in schemas)})


def _list_entries(rows: DataFrame, containers: Sequence[tuple[str, ...]]) -> Sequence[DataFrame]:
    """Return who gets into each container, as rows that are not counted: their lines say more.

    A privilege on a catalog holds on all of its schemas. The owner gets in, by whatever name; so no container is open
    because nobody is named on it.
    """
    places = [
        (SEPARATOR.join(container[:depth]), SEPARATOR.join(container), container_type, ENTRIES[container_type])
        for container in containers
        for container_type in (_TYPES_BY_DEPTH[len(container)],)
        for depth in range(1, len(container) + 1)
    ]
    spark = rows.sparkSession
    frame = spark.createDataFrame(places, "place string, container string, container_type string, entry string")
    is_holder = f"object_type IN {list_texts(_TYPES_BY_DEPTH.values())} AND coalesce(said_rule, said_problem) IS NULL"
    holders = rows.filter(f"is_row AND row_problem IS NULL AND {is_holder}")
    own = holders.join(f.broadcast(frame), f.expr("path = place"))
    own = own.filter(f"privilege = entry OR privilege IN {list_texts(ENTERING)}")
    values = {
        "object_type": "container_type",
        "path": "container",
        "privilege": "entry",
        "said_kind": f"'{FactKind.ENTRY}'",
        "is_counted": "false",
    }
    owner_values = {
        **dict.fromkeys(rows.columns, "NULL"),
        **values,
        "is_row": "true",
        "grantee_type": f"'{Grantee.ROLE}'",
        "grantee": join_name("'OWNER'", f"replace(container, {_SEPARATOR}, '.')"),
    }
    owners = frame.filter("place = container")
    columns = dict(rows.dtypes)
    return [
        own.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in columns)),
        owners.selectExpr(*(f"CAST({owner_values[name]} AS {kind}) AS {name}" for name, kind in columns.items())),
    ]


def _expand_any_file(rows: DataFrame, export: Export, containers: Sequence[tuple[str, ...]]) -> DataFrame:
    """Return rows in which a privilege on any file is one on every catalog; the first row of a line is counted."""
    catalogs = [container[0] for container in containers if len(container) == 1]
    names = ", ".join(map(quote_text, catalogs or [export.database or "hive_metastore"]))
    paths = f"CASE WHEN path = '{ANY_FILE}' THEN array({names}) ELSE array(path) END"
    expanded_rows = rows.selectExpr(*rows.columns, f"posexplode({paths}) AS (position, place)")
    values = {"path": "place", "is_counted": "position = 0"}
    return expanded_rows.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in rows.columns))
