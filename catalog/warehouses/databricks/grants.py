"""Databricks: the privileges and owners of Unity Catalog's `information_schema`, and SHOW GRANTS, as CSV.

Unity Catalog has no roles of its own: groups and service principals hold privileges, and count as roles.
"""

from pyspark.sql import DataFrame, SparkSession

from catalog.sql_text import NO_TEXT, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.grant_facts import SEPARATOR, Grantee
from catalog.warehouses.layouts import Layout, LayoutForm, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.sql_names import normalize_word, split_name
from catalog.warehouses.warehouse import Export

_HARMLESS = (
    *("USE CATALOG", "USE SCHEMA", "USAGE", "BROWSE", "EXECUTE", "APPLY TAG", "READ METADATA", "REFRESH", "REFERENCES"),
    *("READ VOLUME", "WRITE VOLUME", "ADD VOLUME", "EXTERNAL USE SCHEMA", "MANAGE ALLOWLIST", "MODIFY CLASSPATH"),
)
_TABLE = ("table_catalog", "table_schema", "table_name")
#: What holds no rows of tables, by the columns that name it.
_OTHER_OBJECTS = (
    ("routine_catalog", "routine_schema", "routine_name"),
    ("volume_catalog", "volume_schema", "volume_name"),
    *(("connection_name",), ("external_location_name",), ("storage_credential_name",), ("credential_name",)),
    *(("share_name",), ("metastore_id",)),
)


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Databricks. Raises BadExports."""
    return layouts.read_export(spark, folder, export, _FORM)


def _describe_grantee(name: str, privilege: str) -> dict[str, str]:
    """Return privilege and grantee; only people are named by addresses."""
    grantee_type = f"CASE WHEN contains({name}, '@') THEN '{Grantee.USER}' ELSE '{Grantee.ROLE}' END"
    return {"privilege": privilege, "grantee_type": grantee_type, "grantee": name}


def _describe_privileges(object_type: str, parts: tuple[str, ...]) -> layouts.DescribeRows:
    """Return the function for rows of privileges on objects of a type, held there or inherited from a container."""

    def describe(rows: DataFrame, _: Export) -> dict[str, str]:
        origin = normalize_word("inherited_from") if "inherited_from" in rows.columns else "''"
        is_own = f"{origin} IN ('', 'NONE', '{object_type}')"
        # What is inherited was granted on the container, where it can be revoked, and reaches all that is in it.
        from_schema = f"{origin} = 'SCHEMA'" if len(parts) > 2 else "false"
        is_known = "true" if object_type == "OTHER" else f"{is_own} OR {from_schema} OR {origin} = 'CATALOG'"
        return {
            "object_type": f"CASE WHEN {is_own} THEN '{object_type}' ELSE {origin} END",
            "path": f"""CASE WHEN {is_own} THEN {join_path(*parts)} WHEN {from_schema} THEN {join_path(*parts[:2])}
                ELSE {join_path(parts[0])} END""",
            **_describe_grantee("grantee", normalize_word("privilege_type")),
            "said_rule": f"'{PassRule.OTHER_OBJECT}'" if object_type == "OTHER" else NO_TEXT,
            "said_problem": f"""CASE WHEN NOT ({is_known})
                THEN concat('Nothing is inherited from a ', {origin}, '.') END""",
        }

    return describe


def _describe_owner(object_type: str, parts: tuple[str, ...], owner: str) -> layouts.DescribeRows:
    """Return the function for rows of objects with their owners, who have every privilege or can take it."""

    def describe(_rows: DataFrame, _export: Export) -> dict[str, str]:
        grantee = _describe_grantee(owner, "'OWNERSHIP'")
        return {"object_type": f"'{object_type}'", "path": join_path(*parts), **grantee}

    return describe


def _describe_shown(_: DataFrame, export: Export) -> dict[str, str]:
    """Return object, privilege and grantee of SHOW GRANTS; a name without a catalog is in the export's database."""
    object_type, privilege = normalize_word("objecttype"), normalize_word("actiontype")
    # All names of Unity Catalog are in lower case, however somebody wrote them.
    path = f"lower({split_name(export, 'objectkey', '`')})"
    missing_parts = f"""CASE WHEN {object_type} IN ('SCHEMA', 'DATABASE') THEN 2
        WHEN {object_type} = 'CATALOG' THEN 1 ELSE 3 END"""
    is_partial = f"size(split({path}, {quote_text(SEPARATOR)})) < {missing_parts}" if export.database else "false"
    return {
        "object_type": object_type,
        "path": f"""CASE WHEN {is_partial} THEN {join_path(quote_text(export.database), path)}
            ELSE {path} END""",
        **_describe_grantee("principal", f"regexp_replace({privilege}, '^DENIED ', '')"),
        "said_rule": f"CASE WHEN startswith({privilege}, 'DENIED ') THEN '{PassRule.DENIED}' END",
    }


_PRIVILEGE = ("grantee", "privilege_type")
_FORM = LayoutForm(
    layouts=(
        Layout((*_TABLE, *_PRIVILEGE), _describe_privileges("TABLE", _TABLE)),
        *(Layout((*parts, *_PRIVILEGE), _describe_privileges("OTHER", parts)) for parts in _OTHER_OBJECTS),
        Layout(
            ("catalog_name", "schema_name", *_PRIVILEGE),
            _describe_privileges("SCHEMA", ("catalog_name", "schema_name")),
        ),
        Layout(("catalog_name", *_PRIVILEGE), _describe_privileges("CATALOG", ("catalog_name",))),
        Layout(("principal", "actiontype", "objecttype", "objectkey"), _describe_shown),
        Layout((*_TABLE, "table_owner"), _describe_owner("TABLE", _TABLE, "table_owner")),
        Layout(
            ("catalog_name", "schema_name", "schema_owner"),
            _describe_owner("SCHEMA", ("catalog_name", "schema_name"), "schema_owner"),
        ),
        Layout(("catalog_name", "catalog_owner"), _describe_owner("CATALOG", ("catalog_name",), "catalog_owner")),
    ),
    harmless=_HARMLESS,
    harmless_start="CREATE",
)
