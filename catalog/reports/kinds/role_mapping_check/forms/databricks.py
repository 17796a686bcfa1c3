"""Databricks: the privileges and owners of Unity Catalog's `information_schema`, and SHOW GRANTS, as CSV.

Unity Catalog has no roles of its own: groups and service principals hold privileges, and count as roles.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms import layouts
from catalog.reports.kinds.role_mapping_check.forms.layouts import Layout, LayoutForm, join_path
from catalog.reports.kinds.role_mapping_check.forms.sql_names import normalize_word, split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, Grantee
from catalog.reports.kinds.role_mapping_check.rules import PassRule

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


def _describe_grantee(name: str, privilege: Column) -> dict[str, Column]:
    """Return privilege and grantee; only people are named by addresses."""
    grantee_type = f.when(f.col(name).contains("@"), Grantee.USER).otherwise(f.lit(Grantee.ROLE))
    return {"privilege": privilege, "grantee_type": grantee_type, "grantee": f.col(name)}


def _describe_privileges(object_type: str, parts: tuple[str, ...]) -> layouts.DescribeRows:
    """Return the function for rows of privileges on objects of a type, held there or inherited from a container."""

    def describe(rows: DataFrame, _: Export) -> dict[str, Column]:
        origin = normalize_word(f.col("inherited_from")) if "inherited_from" in rows.columns else f.lit("")
        is_own = origin.isin("", "NONE", object_type)
        # What is inherited was granted on the container, where it can be revoked, and reaches all that is in it.
        from_schema, from_catalog = (origin == "SCHEMA") & f.lit(len(parts) > 2), origin == "CATALOG"
        is_known = is_own | from_schema | from_catalog | f.lit(object_type == "OTHER")
        return {
            "object_type": f.when(is_own, f.lit(object_type)).otherwise(origin),
            "path": f.when(is_own, join_path(*parts))
            .when(from_schema, join_path(*parts[:2]))
            .otherwise(join_path(parts[0])),
            **_describe_grantee("grantee", normalize_word(f.col("privilege_type"))),
            "said_rule": f.when(f.lit(object_type == "OTHER"), PassRule.OTHER_OBJECT),
            "said_problem": f.when(~is_known, f.concat(f.lit("Nothing is inherited from a "), origin, f.lit("."))),
        }

    return describe


def _describe_owner(object_type: str, parts: tuple[str, ...], owner: str) -> layouts.DescribeRows:
    """Return the function for rows of objects with their owners, who have every privilege or can take it."""

    def describe(_rows: DataFrame, _export: Export) -> dict[str, Column]:
        grantee = _describe_grantee(owner, f.lit("OWNERSHIP"))
        return {"object_type": f.lit(object_type), "path": join_path(*parts), **grantee}

    return describe


def _describe_shown(_: DataFrame, export: Export) -> dict[str, Column]:
    """Return object, privilege and grantee of SHOW GRANTS; a name without a catalog is in the export's database."""
    object_type, privilege = normalize_word(f.col("objecttype")), normalize_word(f.col("actiontype"))
    # All names of Unity Catalog are in lower case, however somebody wrote them.
    path = f.lower(split_name(export, f.col("objectkey"), "`"))
    missing_parts = f.when(object_type.isin("SCHEMA", "DATABASE"), 2).when(object_type.isin("CATALOG"), 1).otherwise(3)
    is_partial = f.size(f.split(path, SEPARATOR)) < missing_parts
    full_path = f.when(is_partial & f.lit(export.database != ""), join_path(f.lit(export.database), path))
    return {
        "object_type": object_type,
        "path": full_path.otherwise(path),
        **_describe_grantee("principal", f.regexp_replace(privilege, "^DENIED ", "")),
        "said_rule": f.when(privilege.startswith("DENIED "), PassRule.DENIED),
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
