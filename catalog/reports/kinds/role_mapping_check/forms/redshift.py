"""Redshift: the SVV views of privileges and of granted roles, groups and owners by name, as CSV."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms import layouts
from catalog.reports.kinds.role_mapping_check.forms.layouts import Layout, LayoutForm, describe_membership, join_path
from catalog.reports.kinds.role_mapping_check.forms.sql_names import normalize_word
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee
from catalog.reports.kinds.role_mapping_check.principals import GROUP, join_name
from catalog.reports.kinds.role_mapping_check.rules import PassRule

_IDENTITY = ("privilege_type", "identity_name", "identity_type")


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Redshift. Raises BadExports."""
    return layouts.read_export(spark, folder, export, _FORM)


def _describe_identity(name: str, identity_type: str) -> dict[str, Column]:
    """Return privilege and grantee. A group holds privileges as a role does, and so does everybody."""
    word = normalize_word(f.col(identity_type))
    return {
        "privilege": normalize_word(f.col("privilege_type")),
        "grantee_type": f.when(word.isin("GROUP", "PUBLIC"), Grantee.ROLE).otherwise(word),
        "grantee": f.when(word == "GROUP", join_name(GROUP, f.col(name))).otherwise(f.col(name)),
    }


def _describe_relation(_: DataFrame, export: Export) -> dict[str, Column]:
    path = join_path(f.lit(export.database), "namespace_name", "relation_name")
    return {"object_type": f.lit("TABLE"), "path": path, **_describe_identity("identity_name", "identity_type")}


def _describe_column(rows: DataFrame, export: Export) -> dict[str, Column]:
    return {**_describe_relation(rows, export), "said_rule": f.lit(PassRule.COLUMN_PRIVILEGE)}


def _describe_function(_: DataFrame, export: Export) -> dict[str, Column]:
    path = join_path(f.lit(export.database), "namespace_name", "function_name")
    return {"object_type": f.lit("FUNCTION"), "path": path, **_describe_identity("identity_name", "identity_type")}


def _describe_default(_: DataFrame, export: Export) -> dict[str, Column]:
    path = join_path(f.lit(export.database), "schema_name")
    identity = _describe_identity("grantee_name", "grantee_type")
    return {"object_type": f.lit("SCHEMA"), "path": path, **identity, "said_rule": f.lit(PassRule.FUTURE_GRANT)}


def _describe_schema(rows: DataFrame, export: Export) -> dict[str, Column]:
    path = join_path(f.lit(export.database), "namespace_name")
    return {"object_type": f.lit("SCHEMA"), "path": path, **_describe_scope(rows)}


def _describe_database(rows: DataFrame, _: Export) -> dict[str, Column]:
    return {"object_type": f.lit("DATABASE"), "path": f.col("database_name"), **_describe_scope(rows)}


def _describe_scope(rows: DataFrame) -> dict[str, Column]:
    """Return privilege, grantee and rule of a row on a container, which reaches tables only in the scope TABLES."""
    scope = normalize_word(f.col("privilege_scope")) if "privilege_scope" in rows.columns else f.lit("")
    rule = f.when(scope.isin("FUNCTIONS", "PROCEDURES", "LANGUAGES"), PassRule.OTHER_OBJECT).when(
        scope != "TABLES", PassRule.CONTAINER_PRIVILEGE
    )
    return {**_describe_identity("identity_name", "identity_type"), "said_rule": rule}


def _describe_owner(name: str, owner: str) -> layouts.DescribeRows:
    def describe(_: DataFrame, export: Export) -> dict[str, Column]:
        return {
            "object_type": f.lit("TABLE"),
            "path": join_path(f.lit(export.database), "schemaname", name),
            "privilege": f.lit("OWNER"),
            "grantee_type": f.lit(Grantee.USER),
            "grantee": f.col(owner),
        }

    return describe


_FORM = LayoutForm(
    layouts=(
        Layout(("namespace_name", "relation_name", "column_name", *_IDENTITY), _describe_column),
        Layout(("namespace_name", "relation_name", *_IDENTITY), _describe_relation),
        Layout(("namespace_name", "function_name", *_IDENTITY), _describe_function),
        Layout(("schema_name", "object_type", "privilege_type", "grantee_name", "grantee_type"), _describe_default),
        Layout(("namespace_name", *_IDENTITY), _describe_schema),
        Layout(("database_name", *_IDENTITY), _describe_database),
        Layout(
            ("role_name", "granted_role_name"),
            lambda _rows, _export: describe_membership("granted_role_name", "role_name", f.lit(Grantee.ROLE)),
        ),
        Layout(
            ("user_name", "role_name"),
            lambda _rows, _export: describe_membership("role_name", "user_name", f.lit(Grantee.USER)),
        ),
        Layout(
            ("groname", "usename"),
            lambda _rows, _export: describe_membership(
                join_name(GROUP, f.col("groname")), "usename", f.lit(Grantee.USER)
            ),
        ),
        Layout(("role_name", "role_owner"), lambda _rows, _export: layouts.describe_role("role_name")),
        Layout(("schemaname", "tablename", "tableowner"), _describe_owner("tablename", "tableowner")),
        Layout(("schemaname", "viewname", "viewowner"), _describe_owner("viewname", "viewowner")),
    ),
    harmless=("REFERENCES", "RULE", "TRIGGER", "DROP", "ALTER"),
)
