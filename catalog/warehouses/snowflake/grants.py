"""Snowflake: GRANTS_TO_ROLES and GRANTS_TO_USERS of ACCOUNT_USAGE, and the output of SHOW GRANTS, as CSV.

The views have names as the system stores them, each part in its column. SHOW has the names of objects as SQL writes
them, and those of grantees as they are stored.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses import principals
from catalog.warehouses.csv_grants import (
    MISSING_NAMES,
    build_csv_facts,
    mark_types,
)
from catalog.warehouses.files.csv_rows import read_csv
from catalog.warehouses.grant_facts import SEPARATOR, FactKind
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.row_facts import RowOutcome
from catalog.warehouses.sql_names import normalize_word, split_name, unquote_name
from catalog.warehouses.warehouse import Export

_GRANT_COLUMNS = ("privilege", "name", "grantee_name")
_MEMBER_COLUMNS = ("role", "grantee_name")
#: SHOW FUTURE GRANTS has other names of columns than SHOW GRANTS, and objects without a name: DB.SCHEMA.<TABLE>.
_FUTURE_NAME_PATTERN = "<[A-Z_ ]+>$"
_SEPARATOR = quote_text(SEPARATOR)
_ON_SCOPED_ROLE = f"object_type IN {list_texts(principals.SCOPED_ROLE_TYPES)}"
_UNKNOWN_SCOPE = "'It does not say of which database the role is.'"


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
    is_unnamed = f"endswith(name, '>') AND name RLIKE {quote_text(_FUTURE_NAME_PATTERN)}"
    object_type = _pick_column(rows, "granted_on", "grant_on")
    rows = rows.withColumns(
        {
            "is_future": f.expr(is_unnamed if "granted_on" in rows.columns else "true"),
            "object_type": f.expr(normalize_word(object_type)),
            "privilege": f.expr(normalize_word("privilege")),
            "grantee_type": f.expr(normalize_word(_pick_column(rows, "granted_to", "grant_to", default="'ROLE'"))),
        }
    )
    object_path = _join_view_path(export) if is_view else split_name(export, "name")
    rows = mark_types(rows).withColumn("object_path", f.expr(object_path))
    database = f"""CASE WHEN on_table OR on_container OR {_ON_SCOPED_ROLE}
        THEN substring_index(object_path, {_SEPARATOR}, 1) END"""
    scope = f"""CASE WHEN grantee_type = '{principals.INSTANCE_ROLE}' THEN {_pick_column(rows, "object_instance")}
        ELSE {database} END"""
    path = f"""CASE WHEN {_ON_SCOPED_ROLE} THEN {_join_scoped_role("object_path")}
        WHEN on_role OR on_table OR on_container THEN object_path ELSE name END"""
    return _join_grantees(rows, scope).withColumn("path", f.expr(path))


def _rename_member_columns(rows: DataFrame) -> DataFrame:
    """Return rows of GRANTS_TO_USERS or SHOW GRANTS OF ROLE with the columns of `build_csv_facts`."""
    role_parts = "split(role, '[.]', 2)"
    is_scoped = f"(size({role_parts}) = 2 AND NOT startswith(role, '\"'))"
    database, name = (unquote_name(f"get({role_parts}, {index})") for index in (0, 1))
    scoped_name = principals.join_name(quote_text(principals.DATABASE_ROLE), database, name)
    columns = {
        "is_future": "false",
        "object_type": f"CASE WHEN {is_scoped} THEN '{principals.DATABASE_ROLE}' ELSE 'ROLE' END",
        "privilege": "'USAGE'",
        "grantee_type": normalize_word(_pick_column(rows, "granted_to", default="'USER'")),
        "path": f"CASE WHEN {is_scoped} THEN {scoped_name} ELSE {unquote_name('role')} END",
    }
    rows = rows.withColumns({name: f.expr(text) for name, text in columns.items()})
    # A database role is granted to no database role of another database.
    return _join_grantees(mark_types(rows), f"CASE WHEN {is_scoped} THEN {database} END")


def _pick_column(rows: DataFrame, *names: str, default: str = NO_TEXT) -> str:
    """Return the first of the columns that the rows have, else the default."""
    return next((name for name in names if name in rows.columns), default)


# -- names ------------------------------------------------------------------------------------------------------------


def _join_view_path(export: Export) -> str:
    """Return the parts of an object's name in a view; a name without its database is a whole one in SQL."""
    name = unquote_name("name")
    return f"""CASE
        WHEN object_type IN ('ROLE', 'ACCOUNT ROLE') OR endswith(object_type, 'DATABASE') THEN {name}
        WHEN coalesce(table_catalog, '') = '' THEN {split_name(export, "name")}
        WHEN on_table THEN concat_ws({_SEPARATOR}, table_catalog, table_schema, {name})
        ELSE concat_ws({_SEPARATOR}, table_catalog, {name}) END"""


def _join_scoped_role(path: str) -> str:
    """Return the name of a role that is part of something; null for one of which nothing says of what."""
    return f"""CASE WHEN contains({path}, {_SEPARATOR}) THEN {principals.join_name("object_type", path)}
        WHEN coalesce({path}, '') = '' THEN '' END"""


def _join_grantees(rows: DataFrame, scope: str) -> DataFrame:
    """Return rows with `grantee`, and `is_unscoped` for roles of which nothing says what they are a part of.

    The scope stands before a dot, else it is the object's. A share has its account there.
    """
    is_scoped = f"grantee_type IN {list_texts(principals.SCOPED_ROLE_TYPES)}"
    is_qualified = "contains(grantee_name, '.') AND NOT startswith(grantee_name, '\"')"
    # Columns of their own, since names and outcomes are made of them several times.
    rows = rows.withColumns(
        {
            "scope": f.expr(f"CASE WHEN {is_qualified} THEN substring_index(grantee_name, '.', 1) END"),
            "last_name": f.expr(
                f"CASE WHEN {is_qualified} THEN substring_index(grantee_name, '.', -1) ELSE grantee_name END"
            ),
        }
    )
    # The account of a share, and the databases of roles, are no part of the name.
    last_name = f"""CASE WHEN {is_scoped} OR grantee_type = '{principals.SHARE}' THEN last_name
        ELSE grantee_name END"""
    rows = rows.withColumns(
        {
            "scope": f.expr(
                f"""CASE WHEN {is_scoped}
                THEN CASE WHEN scope IS NULL THEN {scope} ELSE {unquote_name("scope")} END END"""
            ),
            "last_name": f.expr(unquote_name(f"({last_name})")),
        }
    )
    outside_types = list_texts((principals.SHARE, principals.APPLICATION))
    grantee = f"""CASE WHEN trim(grantee_name) = '' THEN NULL
        WHEN {is_scoped} THEN concat_ws({_SEPARATOR}, grantee_type, scope, last_name)
        WHEN grantee_type IN {outside_types} THEN {principals.join_name("grantee_type", "last_name")}
        ELSE last_name END"""
    return rows.withColumns({"is_unscoped": f.expr(f"{is_scoped} AND scope IS NULL"), "grantee": f.expr(grantee)})


# -- outcomes ---------------------------------------------------------------------------------------------------------


def _decide_outcome(rows: DataFrame) -> RowOutcome:
    # Unloaded files have \N where there is no date, others NULL: without a digit it is none.
    is_revoked = f"coalesce({_pick_column(rows, 'deleted_on')} RLIKE '[0-9]', false)"
    reason = f"""CASE
        WHEN {is_revoked} THEN NULL
        WHEN {_ON_SCOPED_ROLE} AND path IS NULL THEN {_UNKNOWN_SCOPE}
        ELSE {MISSING_NAMES} END"""
    return RowOutcome(
        reason=f"""coalesce(
            {reason},
            CASE WHEN NOT {is_revoked} AND privilege = '' THEN 'It names no privilege.' END,
            CASE WHEN rule IS NULL AND is_unscoped THEN {_UNKNOWN_SCOPE} END)""",
        rule=_find_rule(is_revoked),
        kind=f"""CASE
            WHEN on_role AND privilege = 'USAGE' AND to_role THEN '{FactKind.INHERIT}'
            WHEN on_role AND privilege = 'USAGE' AND to_person THEN '{FactKind.MEMBER}'
            WHEN on_role THEN '{FactKind.ROLE}'
            ELSE '{FactKind.GRANT}' END""",
    )


def _find_rule(is_revoked: str) -> str:
    # That a role is granted, to whomever, shows that it exists.
    return f"""CASE
        WHEN {is_revoked} THEN '{PassRule.REVOKED}'
        WHEN is_future THEN '{PassRule.FUTURE_GRANT}'
        WHEN on_role THEN NULL
        WHEN on_container AND NOT on_all_tables AND privilege <> 'OWNERSHIP' THEN '{PassRule.CONTAINER_PRIVILEGE}'
        WHEN NOT on_table AND NOT on_container THEN '{PassRule.OTHER_OBJECT}'
        WHEN bit IS NULL THEN '{PassRule.NO_DATA_PRIVILEGE}'
        WHEN NOT to_holder THEN '{PassRule.OTHER_GRANTEE}' END"""
