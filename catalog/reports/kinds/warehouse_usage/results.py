"""What the job of warehouse usage found, and the columns that all of its tables need."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee
from catalog.reports.kinds.warehouse_usage.uses import HistoryCoverage

#: States: used; unused; unused and younger than the days; without a use in a history that does not cover the days.
USED, UNUSED, YOUNG, NOT_SEEN = "USED", "UNUSED", "YOUNG", "NOT_SEEN"


@dataclass(frozen=True, slots=True)
class UsageResults:
    """What the job found, as DataFrames of `attribution`, `undeclared` and `proposals`."""

    exports: Sequence[Export]
    coverages: Sequence[HistoryCoverage]
    declared_access: DeclaredAccess
    used_grants: DataFrame
    used_members: DataFrame
    undeclared_uses: DataFrame
    proposed_grants: DataFrame
    losses: DataFrame


def list_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame that fits into memory."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def render_actor_urn(kind: str, key: str) -> str:
    """Return the URN of a user or group."""
    return f"urn:li:{'corpGroup' if kind == Grantee.GROUP else 'corpuser'}:{key}"


def is_sure(coverages: Sequence[HistoryCoverage]) -> Column:
    """Whether the history of the export of a row has no gap."""
    return f.col("export").isin([coverage.export for coverage in coverages if not coverage.problem])


def add_role(rows: DataFrame, results: UsageResults) -> DataFrame:
    """Return rows with `role_urn` where the grantee is a role of the catalog."""
    roles = results.declared_access.roles.select(
        f.col("role").alias("grantee_key"), "role_urn", f.lit(Grantee.ROLE).alias("kind")
    )
    return rows.join(roles, ["kind", "grantee_key"], "left")


def add_person(rows: DataFrame, results: UsageResults) -> DataFrame:
    """Return rows with `urn` where the grantee is a user or a group."""
    people = results.declared_access.people.select(
        f.col("member_key").alias("grantee_key"), f.col("urn").alias("known_urn"), f.lit(Grantee.USER).alias("kind")
    )
    is_user, is_group = f.col("kind") == Grantee.USER, f.col("kind") == Grantee.GROUP
    urn = f.when(is_user, f.coalesce("known_urn", f.concat(f.lit("urn:li:corpuser:"), "grantee_key"))).when(
        is_group, f.concat(f.lit("urn:li:corpGroup:"), "grantee_key")
    )
    return rows.join(people, ["kind", "grantee_key"], "left").withColumn("urn", urn).drop("known_urn")


def build_state(coverages: Sequence[HistoryCoverage]) -> Column:
    """Return the state of a row with `last` and `is_young`."""
    return (
        f.when(f.col("last").isNotNull(), USED)
        .when(~is_sure(coverages), NOT_SEEN)
        .when(f.col("is_young"), YOUNG)
        .otherwise(UNUSED)
    )


def select_unused(rows: DataFrame, coverages: Sequence[HistoryCoverage]) -> DataFrame:
    """Return the rows that are UNUSED."""
    return rows.filter(build_state(coverages) == UNUSED)
