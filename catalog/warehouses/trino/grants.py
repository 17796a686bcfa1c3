"""Trino: the tables of `information_schema` about privileges and roles, as CSV."""

from pyspark.sql import DataFrame, SparkSession

from catalog.warehouses import layouts
from catalog.warehouses.layouts import Layout, LayoutForm, describe_membership, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.sql_names import normalize_word
from catalog.warehouses.warehouse import Export

_TABLE = ("grantee", "grantee_type", "table_catalog", "table_schema", "table_name", "privilege_type")


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Trino. Raises BadExports."""
    return layouts.read_export(spark, folder, export, _FORM)


def _describe_table(_rows: DataFrame, _export: Export) -> dict[str, str]:
    return {
        "object_type": "'TABLE'",
        "path": join_path("table_catalog", "table_schema", "table_name"),
        "privilege": normalize_word("privilege_type"),
        "grantee_type": normalize_word("grantee_type"),
        "grantee": "grantee",
    }


def _describe_column(rows: DataFrame, export: Export) -> dict[str, str]:
    return {**_describe_table(rows, export), "said_rule": f"'{PassRule.COLUMN_PRIVILEGE}'"}


_FORM = LayoutForm(
    layouts=(
        Layout((*_TABLE, "column_name"), _describe_column),
        Layout(_TABLE, _describe_table),
        Layout(
            ("role_name", "grantee", "grantee_type"),
            lambda _rows, _export: describe_membership("role_name", "grantee", normalize_word("grantee_type")),
        ),
        Layout(("role_name",), lambda _rows, _export: layouts.describe_role("role_name")),
    ),
    harmless=("CREATE", "BRANCH"),
)
