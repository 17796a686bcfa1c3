"""Reads the grants and members of Redshift.

Some rows say something only beside others: USAGE opens a schema that is external, and gets into any other one; an owner
has his privileges as the owner, also where a view lists each of them.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import is_among, list_texts, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.grant_facts import SEPARATOR, FactKind
from catalog.warehouses.layouts import LayoutForm
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.redshift.layouts import (
    ALL_SCHEMAS,
    EXTERNAL_SCHEMA,
    EXTERNAL_SCHEMAS,
    LAYOUTS,
    LISTED_SCHEMAS,
    SCHEMA_GRANTS,
)
from catalog.warehouses.redshift.privileges import HARMLESS, OWNER, USAGE
from catalog.warehouses.warehouse import Export

_FORM = LayoutForm(layouts=LAYOUTS, harmless=HARMLESS)
#: Layouts that say which schemas are external.
KNOWING_LAYOUTS = frozenset({SCHEMA_GRANTS, EXTERNAL_SCHEMAS, LISTED_SCHEMAS})
_IS_SCHEMA = f"object_type IN ('SCHEMA', '{EXTERNAL_SCHEMA}')"


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Redshift. Raises BadExports."""
    files = layouts.describe_files(spark, folder, export, _FORM)
    rows = files.rows
    if rows is None:
        return list(files.plain_frames)
    layouts.check_database(rows, export)
    rows = _add_all_schemas(rows)
    if not files.layout_names & KNOWING_LAYOUTS:
        rows = _mark_suspect_schemas(rows)
    rows = _open_external_schemas(rows)
    return [*files.plain_frames, layouts.build_facts(_name_owners(rows), export, _FORM)]


def _add_all_schemas(rows: DataFrame) -> DataFrame:
    """Return rows in which USAGE on all schemas of a database is USAGE on each that the export knows."""
    rows = rows.withColumn("is_counted", f.expr("true"))
    spread = rows.filter(f"object_type = '{ALL_SCHEMAS}'")
    if spread.isEmpty():
        return rows
    schemas = rows.filter(f"{_IS_SCHEMA} AND path <> ''").selectExpr("path AS schema_path").distinct()
    is_inside = f.expr(f"startswith(schema_path, concat(path, {quote_text(SEPARATOR)}))")
    values = {
        "object_type": "'SCHEMA'",
        "path": "schema_path",
        "said_kind": f"'{FactKind.ENTRY}'",
        "is_counted": "false",
    }
    spread = spread.join(schemas, is_inside)
    spread = spread.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in rows.columns))
    # The row itself is passed: what it opens is told schema by schema.
    is_all = f"object_type = '{ALL_SCHEMAS}'"
    own_values = {
        "object_type": f"CASE WHEN {is_all} THEN 'DATABASE' ELSE object_type END",
        "said_rule": f"CASE WHEN {is_all} THEN '{PassRule.CONTAINER_PRIVILEGE}' ELSE said_rule END",
    }
    return rows.selectExpr(*(f"{own_values.get(name, name)} AS {name}" for name in rows.columns)).union(spread)


def _mark_suspect_schemas(rows: DataFrame) -> DataFrame:
    """Return rows in which USAGE on a schema without a known table is passed: if it is external, this opens all of it.

    It gets in all the same.
    """
    relations = rows.filter("object_type = 'TABLE'")
    known_schemas = relations.selectExpr(f"substring_index(path, {quote_text(SEPARATOR)}, 2) AS schema_path").distinct()
    suspects = rows.filter(f"said_kind = '{FactKind.ENTRY}' AND privilege = '{USAGE}'").selectExpr(
        "path AS schema_path"
    )
    suspects = suspects.join(known_schemas, "schema_path", "left_anti").distinct()
    names = sorted(row["schema_path"] for row in suspects.collect())
    is_suspect = f"({is_among('path', names)} AND coalesce(said_kind, '') = '{FactKind.ENTRY}')"
    own_rule = {"said_rule": f"CASE WHEN {is_suspect} THEN '{PassRule.MAYBE_EXTERNAL}' ELSE said_rule END"}
    own_rows = rows.selectExpr(*(f"{own_rule.get(name, name)} AS {name}" for name in rows.columns))
    entries = rows.filter(is_suspect).withColumn("is_counted", f.expr("false"))
    return own_rows.union(entries.selectExpr(*rows.columns))


def _open_external_schemas(rows: DataFrame) -> DataFrame:
    """Return rows in which who gets into an external schema has what is in it: there are no grants on its tables."""
    paths = rows.filter(f"object_type = '{EXTERNAL_SCHEMA}'").selectExpr("path").distinct()
    names = sorted(row["path"] for row in paths.collect())
    is_opened = f"({_IS_SCHEMA} AND {is_among('path', names)} AND privilege IN {list_texts((USAGE, OWNER))})"
    changes = {
        "said_kind": f"CASE WHEN {is_opened} THEN '{FactKind.GRANT}' ELSE said_kind END",
        "condition": f"CASE WHEN {is_opened} THEN NULL ELSE condition END",
        "object_type": f"""CASE WHEN object_type = '{EXTERNAL_SCHEMA}' AND privilege <> 'EXISTS' THEN 'SCHEMA'
            ELSE object_type END""",
    }
    return rows.selectExpr(*(f"{changes.get(name, name)} AS {name}" for name in rows.columns))


def _name_owners(rows: DataFrame) -> DataFrame:
    """Return rows in which each privilege of an owner on his own table is that of the owner."""
    owners = rows.filter(f"privilege = '{OWNER}' AND object_type = 'TABLE'")
    owners = owners.selectExpr("path AS owned", "grantee AS owner_name", "true AS is_own").distinct()
    is_same = (rows["path"] == owners["owned"]) & (rows["grantee"] == owners["owner_name"])
    joined = rows.join(owners, is_same & (rows["grantee_type"] == "USER"), "left")
    is_own = "is_own AND object_type = 'TABLE'"
    changes = {
        "privilege": f"CASE WHEN {is_own} THEN '{OWNER}' ELSE privilege END",
        "condition": f"CASE WHEN {is_own} THEN NULL ELSE condition END",
        "details": f"CASE WHEN {is_own} THEN NULL ELSE details END",
    }
    return joined.selectExpr(*(f"{changes.get(name, name)} AS {name}" for name in rows.columns))
