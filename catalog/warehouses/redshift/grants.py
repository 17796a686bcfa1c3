"""Redshift: the SVV views of privileges and of granted roles, groups and owners by name, as CSV."""

from pyspark.sql import DataFrame, SparkSession

from catalog.sql_text import quote_text
from catalog.warehouses import layouts
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.layouts import Layout, LayoutForm, describe_membership, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.principals import GROUP, join_name
from catalog.warehouses.sql_names import normalize_word
from catalog.warehouses.warehouse import Export

_ROLE, _USER = f"'{Grantee.ROLE}'", f"'{Grantee.USER}'"
_IDENTITY = ("privilege_type", "identity_name", "identity_type")


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Redshift. Raises BadExports."""
    return layouts.read_export(spark, folder, export, _FORM)


def _describe_identity(name: str, identity_type: str) -> dict[str, str]:
    """Return privilege and grantee. A group holds privileges as a role does, and so does everybody."""
    word = normalize_word(identity_type)
    return {
        "privilege": normalize_word("privilege_type"),
        "grantee_type": f"CASE WHEN {word} IN ('GROUP', 'PUBLIC') THEN {_ROLE} ELSE {word} END",
        "grantee": f"CASE WHEN {word} = 'GROUP' THEN {join_name(quote_text(GROUP), name)} ELSE {name} END",
    }


def _join_path(export: Export, *parts: str) -> str:
    return join_path(quote_text(export.database), *parts)


def _describe_relation(_: DataFrame, export: Export) -> dict[str, str]:
    path = _join_path(export, "namespace_name", "relation_name")
    return {"object_type": "'TABLE'", "path": path, **_describe_identity("identity_name", "identity_type")}


def _describe_column(rows: DataFrame, export: Export) -> dict[str, str]:
    return {**_describe_relation(rows, export), "said_rule": f"'{PassRule.COLUMN_PRIVILEGE}'"}


def _describe_function(_: DataFrame, export: Export) -> dict[str, str]:
    path = _join_path(export, "namespace_name", "function_name")
    return {"object_type": "'FUNCTION'", "path": path, **_describe_identity("identity_name", "identity_type")}


def _describe_default(_: DataFrame, export: Export) -> dict[str, str]:
    path = _join_path(export, "schema_name")
    identity = _describe_identity("grantee_name", "grantee_type")
    return {"object_type": "'SCHEMA'", "path": path, **identity, "said_rule": f"'{PassRule.FUTURE_GRANT}'"}


def _describe_schema(rows: DataFrame, export: Export) -> dict[str, str]:
    return {"object_type": "'SCHEMA'", "path": _join_path(export, "namespace_name"), **_describe_scope(rows)}


def _describe_database(rows: DataFrame, _: Export) -> dict[str, str]:
    return {"object_type": "'DATABASE'", "path": "database_name", **_describe_scope(rows)}


def _describe_scope(rows: DataFrame) -> dict[str, str]:
    """Return privilege, grantee and rule of a row on a container, which reaches tables only in the scope TABLES."""
    scope = normalize_word("privilege_scope") if "privilege_scope" in rows.columns else "''"
    rule = f"""CASE WHEN {scope} IN ('FUNCTIONS', 'PROCEDURES', 'LANGUAGES') THEN '{PassRule.OTHER_OBJECT}'
        WHEN {scope} <> 'TABLES' THEN '{PassRule.CONTAINER_PRIVILEGE}' END"""
    return {**_describe_identity("identity_name", "identity_type"), "said_rule": rule}


def _describe_owner(name: str, owner: str) -> layouts.DescribeRows:
    def describe(_: DataFrame, export: Export) -> dict[str, str]:
        return {
            "object_type": "'TABLE'",
            "path": _join_path(export, "schemaname", name),
            "privilege": "'OWNER'",
            "grantee_type": _USER,
            "grantee": owner,
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
            lambda _rows, _export: describe_membership("granted_role_name", "role_name", _ROLE),
        ),
        Layout(
            ("user_name", "role_name"),
            lambda _rows, _export: describe_membership("role_name", "user_name", _USER),
        ),
        Layout(
            ("groname", "usename"),
            lambda _rows, _export: describe_membership(join_name(quote_text(GROUP), "groname"), "usename", _USER),
        ),
        Layout(("role_name", "role_owner"), lambda _rows, _export: layouts.describe_role("role_name")),
        Layout(("schemaname", "tablename", "tableowner"), _describe_owner("tablename", "tableowner")),
        Layout(("schemaname", "viewname", "viewowner"), _describe_owner("viewname", "viewowner")),
    ),
    harmless=("REFERENCES", "RULE", "TRIGGER", "DROP", "ALTER"),
)
