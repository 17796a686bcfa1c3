"""Snowflake: GRANTS_TO_ROLES and GRANTS_TO_USERS of ACCOUNT_USAGE, and the output of SHOW GRANTS, as CSV."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms.csv_grants import (
    build_csv_facts,
    find_missing_names,
    on_container,
    on_role,
    on_table,
    to_person,
    to_role,
)
from catalog.reports.kinds.role_mapping_check.forms.csv_rows import read_csv
from catalog.reports.kinds.role_mapping_check.forms.row_facts import RowOutcome
from catalog.reports.kinds.role_mapping_check.forms.sql_names import normalize_word, split_name
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, FactKind
from catalog.reports.kinds.role_mapping_check.rules import PassRule

_GRANT_COLUMNS = ("privilege", "granted_on", "name", "grantee_name")
_MEMBER_COLUMNS = ("role", "grantee_name")


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Snowflake. Raises BadExports."""
    grant_files = (read_csv(spark, folder, export, pattern, _GRANT_COLUMNS) for pattern in export.grants)
    member_files = (read_csv(spark, folder, export, pattern, _MEMBER_COLUMNS) for pattern in export.members)
    frames = [*map(_rename_grant_columns, grant_files), *map(_rename_member_columns, member_files)]
    return [build_csv_facts(rows, export, _decide_outcome(rows)) for rows in frames]


def _rename_grant_columns(rows: DataFrame) -> DataFrame:
    """Return rows of GRANTS_TO_ROLES or SHOW GRANTS (full SQL names) with the columns of `build_csv_facts`."""
    is_view = "table_catalog" in rows.columns and "table_schema" in rows.columns
    full_name = f.concat_ws(SEPARATOR, "table_catalog", "table_schema", "name") if is_view else split_name("name")
    rows = rows.withColumns({"object_type": normalize_word("granted_on"), "privilege": normalize_word("privilege")})
    return rows.withColumns(
        {
            "path": f.when(on_table(), f.when(f.col("name") != "", full_name)).otherwise(f.col("name")),
            "grantee_type": normalize_word("granted_to") if "granted_to" in rows.columns else f.lit("ROLE"),
            "grantee": f.col("grantee_name"),
        }
    )


def _rename_member_columns(rows: DataFrame) -> DataFrame:
    """Return rows of GRANTS_TO_USERS or SHOW GRANTS OF ROLE with the columns of `build_csv_facts`."""
    return rows.withColumns(
        {
            "object_type": f.lit("ROLE"),
            "path": f.col("role"),
            "privilege": f.lit("USAGE"),
            "grantee_type": normalize_word("granted_to") if "granted_to" in rows.columns else f.lit("USER"),
            "grantee": f.col("grantee_name"),
        }
    )


def _decide_outcome(rows: DataFrame) -> RowOutcome:
    is_revoked = f.col("deleted_on").isNotNull() if "deleted_on" in rows.columns else f.expr("false")
    is_membership = f.col("privilege") == "USAGE"
    reason = f.coalesce(find_missing_names(), f.when(f.col("privilege") == "", "It names no privilege."))
    return RowOutcome(f.when(~is_revoked, reason), _find_rule(is_revoked), _find_kind(is_membership))


def _find_kind(is_membership: Column) -> Column:
    return (
        f.when(on_role() & is_membership & to_role(), FactKind.INHERIT)
        .when(on_role() & is_membership & to_person(), FactKind.MEMBER)
        .when(on_role(), FactKind.ROLE)
        .otherwise(FactKind.GRANT)
    )


def _find_rule(is_revoked: Column) -> Column:
    return (
        f.when(is_revoked, PassRule.REVOKED)
        # That a role is granted, to whomever, shows that it exists.
        .when(on_role(), f.lit(None))
        # A privilege on a schema does not reach the data of its tables.
        .when(on_container(), PassRule.CONTAINER_PRIVILEGE)
        .when(~on_table(), PassRule.OTHER_OBJECT)
        .when(f.col("bit").isNull(), PassRule.NO_DATA_PRIVILEGE)
        .when(~to_role() & ~to_person(), PassRule.OTHER_GRANTEE)
    )
