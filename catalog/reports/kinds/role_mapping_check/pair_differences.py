"""Differences between what roles open by the catalog and what they, and users, open in the sources."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    EVERYBODY_NAMES,
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    excess_severity,
    is_named_role,
    same_named_columns,
    select_difference_columns,
)
from catalog.reports.kinds.role_mapping_check.exports import READ, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS


def find_missing_grants(pairs: DataFrame, existing_roles: DataFrame) -> DataFrame:
    """Return declared pairs without access in the source, except those of missing roles."""
    rows = pairs.filter("is_said AND level IS NULL").join(existing_roles, ROLE_COLUMNS)
    return select_difference_columns(
        rows,
        type=f.lit(DifferenceType.GRANT_MISSING),
        severity=f.lit(DifferenceSeverity.MEDIUM),
        **same_named_columns("export", "role", "role_urn", "entity", "name"),
        grantee="role_name",
        wanted=f.coalesce("declared_level", f.lit(READ)),
    )


def find_extra_grants(pairs: DataFrame, exports: Sequence[Export]) -> list[DataFrame]:
    """Return access in the source that the catalog does not declare.

    Access through a container or another role is one difference, however many datasets it reaches: one revoke ends it.
    """
    is_everybody = is_named_role(exports, lambda _: EVERYBODY_NAMES)
    severity = excess_severity(f.col("is_sensitive") | is_everybody)
    rows = pairs.filter(f.expr("NOT is_said") & ~is_named_role(exports, lambda export: export.ignored_roles))
    direct_rows = rows.filter("via = '' AND at = ''")
    grouped_rows = (
        rows.filter("via <> '' OR at <> ''")
        .withColumn("object", f.when(f.col("via") == "", f.col("at")))
        .groupBy("export", "role", "role_urn", "via", "object")
        .agg(*_aggregate_grants("bits"), f.count("*").alias("count"))
    )
    return [
        select_difference_columns(
            frame,
            type=f.lit(DifferenceType.EXTRA_GRANT),
            severity=severity,
            **same_named_columns(
                "export", "role", "role_urn", "grantee", *OBJECT_COLUMNS, "name", "via", "bits", "level"
            ),
            **extra_columns,
        )
        for frame, extra_columns in (
            (direct_rows, {"entity": "entity", "count": f.lit(1)}),
            (grouped_rows, {"count": "count"}),
        )
    ]


def find_wrong_levels(pairs: DataFrame) -> DataFrame:
    """Return declared access at another level than the declared one."""
    is_too_high = f.col("level") > f.col("declared_level")
    rows = pairs.filter("is_said AND level <> declared_level")
    return select_difference_columns(
        rows.withColumns({column: f.col(f"highest_{column}") for column in OBJECT_COLUMNS}),
        type=f.lit(DifferenceType.WRONG_LEVEL),
        severity=f.when(is_too_high, excess_severity(f.col("is_sensitive"))).otherwise(DifferenceSeverity.MEDIUM),
        **same_named_columns(
            "export", "role", "role_urn", "entity", "grantee", *OBJECT_COLUMNS, "name", "via", "bits", "level"
        ),
        wanted="declared_level",
    )


def find_direct_grants(grants: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return access of users without a role, one row for each container or table."""
    dataset = declared_access.datasets.select("number", f.col("urn").alias("entity"), "name", "is_sensitive")
    rows = grants.join(dataset, "number").withColumn("table", f.when(f.col("at") == "", f.col("entity")))
    grouped_rows = rows.groupBy("export", "grantee_key", "object", "at", "table").agg(
        *_aggregate_grants("bit"), f.count_distinct("number").alias("count")
    )
    grouped_rows = grouped_rows.withColumnRenamed("grantee_key", "member_key").join(
        declared_access.people, "member_key", "left"
    )
    return select_difference_columns(
        grouped_rows,
        type=f.lit(DifferenceType.DIRECT_USER_GRANT),
        severity=excess_severity(f.col("is_sensitive")),
        **same_named_columns("export", "grantee", *OBJECT_COLUMNS, "name", "bits", "level", "count"),
        entity="table",
        kind=f.lit(Grantee.USER),
        actor=f.coalesce("urn", f.concat(f.lit("urn:li:corpuser:"), "member_key")),
    )


def _aggregate_grants(bits: str) -> list[Column]:
    """Return the aggregates of grants that are one difference, named as its columns; `bits` are their privileges."""
    texts = (f.min(name).alias(name) for name in ("grantee", "object_type", "condition", "name"))
    highest = (f.max(name).alias(name) for name in ("level", "is_sensitive"))
    return [*highest, f.bit_or(bits).alias("bits"), *texts]


def count_sensitive_reach(pairs: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return tag, role_urn, declared_level, declared, opened: sensitive datasets of a role, declared and in sources."""
    declared_rows = declared_access.sensitive_role_datasets.select(
        "tag", "role", "number", f.lit(1).alias("declared"), f.lit(0).alias("opened")
    )
    opened_rows = pairs.filter("is_sensitive AND level IS NOT NULL").join(declared_access.sensitive_datasets, "number")
    opened_rows = opened_rows.select("tag", "role", "number", f.lit(0).alias("declared"), f.lit(1).alias("opened"))
    all_rows = declared_rows.union(opened_rows).groupBy("tag", "role", "number").agg(f.max("declared"), f.max("opened"))
    all_rows = all_rows.toDF("tag", "role", "number", "declared", "opened")
    role_counts = all_rows.groupBy("tag", "role").agg(
        f.sum("declared").alias("declared"), f.sum("opened").alias("opened")
    )
    # Undeclared roles have no URN and are left out; their grants are differences.
    return role_counts.join(declared_access.roles, "role").select(
        "tag", "role_urn", "declared_level", "declared", "opened"
    )
