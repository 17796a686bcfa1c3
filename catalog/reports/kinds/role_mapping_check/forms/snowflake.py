"""Snowflake: GRANTS_TO_ROLES and GRANTS_TO_USERS of ACCOUNT_USAGE, and the output of SHOW GRANTS, as CSV.

The views have names as the system stores them, each part in its column. SHOW has the names of objects as SQL writes
them, and those of grantees as they are stored.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import principals
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.csv_grants import (
    build_csv_facts,
    find_missing_names,
    mark_types,
    on_all_tables,
    on_container,
    on_role,
    on_table,
    to_holder,
    to_person,
    to_role,
)
from catalog.reports.kinds.role_mapping_check.forms.csv_rows import read_csv
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome
from catalog.reports.kinds.role_mapping_check.forms.sql_names import normalize_word, split_name, unquote_name
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, FactKind
from catalog.reports.kinds.role_mapping_check.rules import PassRule

_GRANT_COLUMNS = ("privilege", "name", "grantee_name")
_MEMBER_COLUMNS = ("role", "grantee_name")
#: SHOW FUTURE GRANTS has other names of columns than SHOW GRANTS, and objects without a name: DB.SCHEMA.<TABLE>.
_FUTURE_NAME_PATTERN = "<[A-Z_ ]+>$"
_UNKNOWN_SCOPE = "It does not say of which database the role is."


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Snowflake. Raises BadExports."""
    grant_files = (read_csv(spark, folder, export, pattern, _GRANT_COLUMNS) for pattern in export.grants)
    member_files = (read_csv(spark, folder, export, pattern, _MEMBER_COLUMNS) for pattern in export.members)
    frames = [
        *(_rename_grant_columns(export, rows) for rows in grant_files),
        *(_rename_member_columns(rows) for rows in member_files),
    ]
    return [build_csv_facts(rows, export, _decide_outcome(rows)) for rows in frames]


# -- columns ----------------------------------------------------------------------------------------------------------


def _rename_grant_columns(export: Export, rows: DataFrame) -> DataFrame:
    """Return rows of GRANTS_TO_ROLES, SHOW GRANTS or SHOW FUTURE GRANTS with the columns of `build_csv_facts`."""
    is_view = "table_catalog" in rows.columns and "table_schema" in rows.columns
    future_type = _pick_column(rows, "grant_on")
    is_unnamed = f.col("name").endswith(">") & f.col("name").rlike(_FUTURE_NAME_PATTERN)
    rows = rows.withColumns(
        {
            "is_future": is_unnamed if "granted_on" in rows.columns else f.expr("true"),
            "object_type": normalize_word(_pick_column(rows, "granted_on", default=future_type)),
            "privilege": normalize_word(f.col("privilege")),
            "grantee_type": normalize_word(_pick_column(rows, "granted_to", "grant_to", default=f.lit("ROLE"))),
        }
    )
    rows = mark_types(rows).withColumn(
        "object_path", _join_view_path(export) if is_view else split_name(export, f.col("name"))
    )
    is_in_database = on_table() | on_container() | _on_scoped_role()
    database = f.when(is_in_database, f.substring_index("object_path", SEPARATOR, 1))
    instance = _pick_column(rows, "object_instance")
    is_instance_role = f.col("grantee_type") == principals.INSTANCE_ROLE
    return _join_grantees(rows, f.when(is_instance_role, instance).otherwise(database)).withColumn(
        "path",
        f.when(_on_scoped_role(), _join_scoped_role(f.col("object_path")))
        .when(on_role() | on_table() | on_container(), f.col("object_path"))
        .otherwise(f.col("name")),
    )


def _rename_member_columns(rows: DataFrame) -> DataFrame:
    """Return rows of GRANTS_TO_USERS or SHOW GRANTS OF ROLE with the columns of `build_csv_facts`."""
    role_parts = f.split("role", "[.]", 2)
    is_scoped = (f.size(role_parts) == 2) & ~f.col("role").startswith('"')
    database, name = (unquote_name(f.get(role_parts, f.lit(index))) for index in (0, 1))
    rows = rows.withColumns(
        {
            "is_future": f.expr("false"),
            "object_type": f.when(is_scoped, principals.DATABASE_ROLE).otherwise("ROLE"),
            "privilege": f.lit("USAGE"),
            "grantee_type": normalize_word(_pick_column(rows, "granted_to", default=f.lit("USER"))),
            "path": f.when(is_scoped, principals.join_name(principals.DATABASE_ROLE, database, name)).otherwise(
                unquote_name(f.col("role"))
            ),
        }
    )
    # A database role is granted to no database role of another database.
    return _join_grantees(mark_types(rows), f.when(is_scoped, database))


def _pick_column(rows: DataFrame, *names: str, default: Column | None = None) -> Column:
    """Return the first of the columns that the rows have, else the default."""
    columns = [f.col(name) for name in names if name in rows.columns]
    return columns[0] if columns else f.lit(None).cast("string") if default is None else default


# -- names ------------------------------------------------------------------------------------------------------------


def _on_scoped_role() -> Column:
    return f.col("object_type").isin(*principals.SCOPED_ROLE_TYPES)


def _join_view_path(export: Export) -> Column:
    """Return the parts of an object's name in a view; a name without its database is a whole one in SQL."""
    name, database = unquote_name(f.col("name")), f.col("table_catalog")
    is_whole = f.col("object_type").isin("ROLE", "ACCOUNT ROLE") | f.col("object_type").endswith("DATABASE")
    return (
        f.when(is_whole, name)
        .when(f.coalesce(database, f.lit("")) == "", split_name(export, f.col("name")))
        .when(on_table(), f.concat_ws(SEPARATOR, database, "table_schema", name))
        .otherwise(f.concat_ws(SEPARATOR, database, name))
    )


def _join_scoped_role(path: Column) -> Column:
    """Return the name of a role that is part of something; null for one of which nothing says of what."""
    full_name = principals.join_name(f.col("object_type"), path)
    return f.when(path.contains(SEPARATOR), full_name).when(f.coalesce(path, f.lit("")) == "", "")


def _join_grantees(rows: DataFrame, scope: Column) -> DataFrame:
    """Return rows with `grantee`, and `is_unscoped` for roles of which nothing says what they are a part of.

    The scope stands before a dot, else it is the object's. A share has its account there.
    """
    name, grantee_type = f.col("grantee_name"), f.col("grantee_type")
    is_scoped = grantee_type.isin(*principals.SCOPED_ROLE_TYPES)
    is_qualified = name.contains(".") & ~name.startswith('"')
    # Columns of their own, since names and outcomes are made of them several times.
    rows = rows.withColumns(
        {
            "scope": f.when(is_qualified, f.substring_index(name, ".", 1)),
            "last_name": f.when(is_qualified, f.substring_index(name, ".", -1)).otherwise(name),
        }
    )
    rows = rows.withColumns(
        {
            "scope": f.when(is_scoped, f.when(f.col("scope").isNull(), scope).otherwise(unquote_name(f.col("scope")))),
            # The account of a share, and the databases of roles, are no part of the name.
            "last_name": unquote_name(
                f.when(is_scoped | (grantee_type == principals.SHARE), f.col("last_name")).otherwise(name)
            ),
        }
    )
    return rows.withColumns(
        {
            "is_unscoped": is_scoped & f.col("scope").isNull(),
            "grantee": f.when(f.trim(name) == "", None)
            .when(is_scoped, f.concat_ws(SEPARATOR, grantee_type, "scope", "last_name"))
            .when(
                grantee_type.isin(principals.SHARE, principals.APPLICATION),
                principals.join_name(grantee_type, f.col("last_name")),
            )
            .otherwise(f.col("last_name")),
        }
    )


# -- outcomes ---------------------------------------------------------------------------------------------------------


def _decide_outcome(rows: DataFrame) -> RowOutcome:
    # Unloaded files have \N where there is no date, others NULL: without a digit it is none.
    is_revoked = f.coalesce(_pick_column(rows, "deleted_on").rlike("[0-9]"), f.expr("false"))
    reason = (
        f.when(is_revoked, None)
        .when(_on_scoped_role() & f.col("path").isNull(), _UNKNOWN_SCOPE)
        .otherwise(find_missing_names())
    )
    return RowOutcome(
        f.coalesce(
            reason,
            f.when(~is_revoked & (f.col("privilege") == ""), "It names no privilege."),
            f.when(f.col("rule").isNull() & f.col("is_unscoped"), _UNKNOWN_SCOPE),
        ),
        _find_rule(is_revoked),
        _find_kind(),
    )


def _find_rule(is_revoked: Column) -> Column:
    owns_container = on_container() & (f.col("privilege") == "OWNERSHIP")
    return (
        f.when(is_revoked, PassRule.REVOKED)
        .when(f.col("is_future"), PassRule.FUTURE_GRANT)
        # That a role is granted, to whomever, shows that it exists.
        .when(on_role(), f.lit(None))
        .when(on_container() & ~on_all_tables() & ~owns_container, PassRule.CONTAINER_PRIVILEGE)
        .when(~on_table() & ~on_container(), PassRule.OTHER_OBJECT)
        .when(f.col("bit").isNull(), PassRule.NO_DATA_PRIVILEGE)
        .when(~to_holder(), PassRule.OTHER_GRANTEE)
    )


def _find_kind() -> Column:
    is_membership = f.col("privilege") == "USAGE"
    return (
        f.when(on_role() & is_membership & to_role(), FactKind.INHERIT)
        .when(on_role() & is_membership & to_person(), FactKind.MEMBER)
        .when(on_role(), FactKind.ROLE)
        .otherwise(FactKind.GRANT)
    )
