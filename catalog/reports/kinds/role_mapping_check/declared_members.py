"""Members of roles, and of groups, as a snapshot of the catalog declares them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee, without_domain

_USER_PREFIX, _GROUP_PREFIX = "urn:li:corpuser:", "urn:li:corpGroup:"


@dataclass(frozen=True, slots=True)
class DeclaredMembers:
    """The members of roles.

    - `required`: export, role, kind, member_key, actor; the members that these roles should have.
    - `allowed`: export, role, kind, member_key; the members that these roles may have.
    """

    required: DataFrame
    allowed: DataFrame


def collect_members(
    table: Callable[[str], DataFrame],
    described_roles: DataFrame,
    expected_roles: DataFrame,
    exports: Sequence[Export],
    stage: Stage,
) -> DeclaredMembers:
    """Return the members of the expected roles. Users who may not act are neither required nor allowed members.

    `described_roles` are number and role, `expected_roles` those of `DeclaredAccess`.
    """
    kinds = f.when(f.col("field") == "ROLE_USER", Grantee.USER).when(f.col("field") == "ROLE_GROUP", Grantee.GROUP)
    member_facets = table("facets").filter(f.col("field").isin("ROLE_USER", "ROLE_GROUP")).withColumn("kind", kinds)
    declared_members = (
        member_facets.join(described_roles, f.col("entity") == f.col("number"))
        .join(expected_roles, "role")
        .select("export", "role", "kind", f.col("value").alias("actor"))
    )
    user_rows, group_rows = (
        declared_members.filter(f.col("kind") == Grantee.USER),
        declared_members.filter(f.col("kind") == Grantee.GROUP),
    )
    memberships = _read_memberships(table)
    members_through_groups = group_rows.join(memberships, "actor").select(
        "export", "role", f.lit(Grantee.USER).alias("kind"), f.col("user").alias("actor")
    )
    inactive_users = table("users").filter("NOT may_act").select(f.col("urn").alias("actor"))
    keeps_groups = f.col("export").isin([export.name for export in exports if export.has_groups])

    # All of them are allowed members, and some of them required ones.
    possible_members = reduce(
        DataFrame.union,
        (
            rows.select("export", "role", "kind", "actor", is_required.alias("is_required"))
            for rows, is_required in (
                (user_rows, f.expr("true")),
                (group_rows, keeps_groups),
                (members_through_groups, ~keeps_groups),
            )
        ),
    )
    possible_members = possible_members.groupBy("export", "role", "kind", "actor").agg(
        f.max("is_required").alias("is_required")
    )
    active_members = possible_members.join(inactive_users, "actor", "left_anti")
    members = stage("members", active_members.withColumn("member_key", _member_key(exports, "actor")))
    return DeclaredMembers(
        required=members.filter("is_required").select("export", "role", "kind", "member_key", "actor"),
        allowed=members.select("export", "role", "kind", "member_key"),
    )


def _read_memberships(table: Callable[[str], DataFrame]) -> DataFrame:
    return table("memberships").select(f.col("group").alias("actor"), f.col("user"))


def read_group_members(table: Callable[[str], DataFrame], exports: Sequence[Export]) -> DataFrame:
    """Return `DeclaredAccess.group_members`."""
    memberships = _read_memberships(table)
    export_memberships = [
        memberships.select(f.lit(export.name).alias("export"), "actor", "user")
        for export in exports
        if export.has_groups
    ]
    no_memberships = memberships.select(f.lit("").alias("export"), "actor", "user").limit(0)
    return reduce(DataFrame.union, export_memberships, no_memberships).select(
        "export", _member_key(exports, "actor").alias("group_key"), _member_key(exports, "user").alias("member_key")
    )


def read_people(table: Callable[[str], DataFrame]) -> DataFrame:
    """Return `DeclaredAccess.people`."""
    users_by_key = table("users").select(
        f.lower(f.substring("urn", len(_USER_PREFIX) + 1, 1 << 30)).alias("member_key"), "urn"
    )
    return users_by_key.groupBy("member_key").agg(f.min("urn").alias("urn"))


def _member_key(exports: Sequence[Export], actor: str) -> Column:
    """Return the comparison key of the URN of a user or group, as `Export.normalize` of the row's export."""
    bare_name = f.regexp_replace(actor, f"^({_USER_PREFIX}|{_GROUP_PREFIX})", "")
    key: Column = f.lower(bare_name)
    for export in exports:
        key = f.when(f.col("export") == export.name, without_domain(export, bare_name)).otherwise(key)
    return key
