"""Differences of roles and their members: missing roles, idle roles, missing and extra members."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    is_named_role,
    same_named_columns,
    select_difference_columns,
)
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, Grantee
from catalog.reports.kinds.role_mapping_check.principals import is_group
from catalog.reports.kinds.role_mapping_check.rules import DORMANT_RULES


def find_existing_roles(facts: DataFrame) -> DataFrame:
    """Return (export, role, role_name) of roles in the facts: grantees, inherited, with members, or listed."""
    is_dormant = (f.col("what") == FactKind.PASSED) & f.col("rule").isin(*sorted(DORMANT_RULES))
    is_granted = f.col("what").isin(FactKind.GRANT, FactKind.INHERIT) | (is_dormant & f.col("grantee_key").isNotNull())
    granted_roles = facts.filter(is_granted & (f.col("kind") == Grantee.ROLE))
    role_facts = facts.filter(f.col("what").isin(FactKind.INHERIT, FactKind.MEMBER, FactKind.ROLE))
    role_names = granted_roles.select(
        "export", f.col("grantee_key").alias("role"), f.col("grantee").alias("role_name")
    ).union(role_facts.select("export", f.col("object_key").alias("role"), f.col("object").alias("role_name")))
    # Spark sorts all rows to find the least text of a group: these are few.
    return role_names.distinct().groupBy(*ROLE_COLUMNS).agg(f.min("role_name").alias("role_name"))


# -- roles ------------------------------------------------------------------------------------------------------------


def build_missing_roles(missing_roles: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return differences for the roles that an export should have and does not."""
    return select_difference_columns(
        missing_roles.join(declared_access.roles, "role"),
        type=f.lit(DifferenceType.ROLE_GONE),
        severity=f.lit(DifferenceSeverity.HIGH),
        **same_named_columns("export", "role", "role_urn", "count"),
    )


def find_idle_roles(declared_access: DeclaredAccess, existing_roles: DataFrame) -> DataFrame:
    """Return differences for described roles without datasets, with the export that contains them, if any."""
    rows = declared_access.roles.filter("is_described AND count = 0").join(existing_roles, "role", "left")
    return select_difference_columns(
        rows,
        type=f.lit(DifferenceType.ROLE_WITHOUT_DATASETS),
        severity=f.lit(DifferenceSeverity.LOW),
        **same_named_columns("export", "role", "role_urn"),
        grantee="role_name",
    )


def select_members(facts: DataFrame) -> DataFrame:
    """Return the direct members of roles: export, role, kind, member_key, names in the source, granted_at."""
    rows = facts.filter(f.col("what") == FactKind.MEMBER)
    keys: list[Column | str | int] = [
        "export",
        f.col("object_key").alias("role"),
        "kind",
        f.col("grantee_key").alias("member_key"),
    ]
    return rows.groupBy(*keys).agg(
        f.min("object").alias("role_name"),
        f.min("grantee").alias("grantee"),
        f.max("granted_at").alias("granted_at"),
    )


def compare_members(
    direct_members: DataFrame,
    declared_access: DeclaredAccess,
    inherited_roles: DataFrame,
    existing_roles: DataFrame,
    missing_roles: DataFrame,
    exports: Sequence[Export],
) -> list[DataFrame]:
    """Return the differences of members: first missing, then extra ones.

    A member of a group that holds the role, or a holder of a role that inherits it, holds the role. Holding it through
    a role of the catalog is legitimate; excess access of that role is a difference of the role. A role that the catalog
    does not have makes its members extra members.
    """
    role_pairs = inherited_roles.select("export", "role", "given")
    inherited_members = direct_members.join(role_pairs, ROLE_COLUMNS).withColumn("via", f.col("role_name"))
    columns = ["export", "role", "kind", "member_key"]
    role_members = direct_members.select(*columns).union(
        inherited_members.select("export", "given", "kind", "member_key")
    )
    group_members = role_members.filter(f.col("kind") == Grantee.GROUP).withColumnRenamed("member_key", "group_key")
    group_members = group_members.join(declared_access.group_members, ["export", "group_key"]).select(
        "export", "role", f.lit(Grantee.USER).alias("kind"), "member_key"
    )
    declared_members = declared_access.members.get_result()
    missing_members = declared_members.required.join(role_members.union(group_members), columns, "left_anti").join(
        missing_roles, ROLE_COLUMNS, "left_anti"
    )
    is_ignored = is_named_role(exports, lambda export: export.ignored_roles)
    undescribed_members = inherited_members.join(declared_access.roles.select("role"), "role", "left_anti").filter(
        ~is_ignored
    )
    extra_members = (
        direct_members.withColumn("via", f.lit(""))
        .select(*columns, "grantee", "role_name", "via")
        .union(
            undescribed_members.select(
                "export", "given", "kind", "member_key", "grantee", f.lit(None).cast("string"), "via"
            )
        )
    )
    extra_members = (
        extra_members.filter(~is_ignored)
        .join(declared_access.roles.select("role", "role_urn"), "role")
        .join(declared_members.allowed, columns, "left_anti")
    )
    extra_members = extra_members.groupBy(*columns, "role_urn").agg(
        f.min("grantee").alias("grantee"), f.max("role_name").alias("object"), f.min("via").alias("via")
    )
    missing_members = missing_members.join(declared_access.roles.select("role", "role_urn"), "role").join(
        existing_roles, ROLE_COLUMNS, "left"
    )
    prefix = f.when(f.col("kind") == Grantee.GROUP, "urn:li:corpGroup:").otherwise("urn:li:corpuser:")
    return [
        select_difference_columns(
            missing_members,
            type=f.lit(DifferenceType.MEMBER_MISSING),
            severity=f.lit(DifferenceSeverity.MEDIUM),
            **same_named_columns("export", "role", "role_urn", "kind", "actor"),
            # Statements about members of groups are others than those of roles.
            object=f.when(is_group("role_name"), f.col("role_name")),
        ),
        select_difference_columns(
            extra_members.join(declared_access.people, "member_key", "left"),
            type=f.lit(DifferenceType.EXTRA_MEMBER),
            severity=f.lit(DifferenceSeverity.HIGH),
            **same_named_columns("export", "role", "role_urn", "kind", "grantee", "object", "via"),
            actor=f.coalesce("urn", f.concat(prefix, "member_key")),
        ),
    ]
