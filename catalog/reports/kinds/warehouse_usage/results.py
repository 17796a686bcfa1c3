"""The findings of the job of warehouse usage, and the columns that all of its tables need."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    DATASETS,
    DifferenceType,
    rank_datasets,
    same_named_columns,
    select_difference_columns,
)
from catalog.reports.kinds.warehouse_usage.attribution import HeldAccess
from catalog.reports.kinds.warehouse_usage.proposals import UNIT, GrantAction
from catalog.reports.kinds.warehouse_usage.uses import HistoryCoverage
from catalog.reports.spark.job_threads import JobTask
from catalog.sql_text import is_among
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.warehouse import Export

#: States: used; unused; unused and younger than the days; without a use that is known, where one may be missing: the
#: history does not cover the days, or the export does not name all who hold a role while somebody used what it opens.
USED, UNUSED, YOUNG, NOT_SEEN = "USED", "UNUSED", "YOUNG", "NOT_SEEN"


@dataclass(frozen=True, slots=True)
class UsageResults:
    """Its findings, as DataFrames of `attribution`, `undeclared` and `proposals`; tasks while it still looks."""

    exports: Sequence[Export]
    access: HeldAccess
    coverages: Sequence[HistoryCoverage]
    declared_access: DeclaredAccess
    used_grants: DataFrame
    used_members: JobTask[DataFrame]
    undeclared_uses: JobTask[DataFrame]
    proposed_grants: JobTask[DataFrame]
    losses: JobTask[DataFrame]
    uses: DataFrame
    hits: DataFrame


def list_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame that fits into memory."""
    return [row.asDict(recursive=True) for row in frame.collect()]


def render_actor_urn(kind: str, key: str) -> str:
    """Return the URN of a user or group."""
    return f"urn:li:{'corpGroup' if kind == Grantee.GROUP else 'corpuser'}:{key}"


def add_role(rows: DataFrame, results: UsageResults) -> DataFrame:
    """Return rows with `role_urn` where the grantee is a role of the catalog."""
    roles = results.declared_access.roles.selectExpr("role AS grantee_key", "role_urn", f"'{Grantee.ROLE}' AS kind")
    return rows.join(roles, ["kind", "grantee_key"], "left")


def add_person(rows: DataFrame, results: UsageResults) -> DataFrame:
    """Return rows with `urn` where the grantee is a user or a group, and `known_urn` where the catalog has the user."""
    people = results.declared_access.people.selectExpr(
        "member_key AS grantee_key", "urn AS known_urn", f"'{Grantee.USER}' AS kind"
    )
    urn = f"""CASE kind
        WHEN '{Grantee.USER}' THEN coalesce(known_urn, concat('urn:li:corpuser:', grantee_key))
        WHEN '{Grantee.GROUP}' THEN concat('urn:li:corpGroup:', grantee_key) END"""
    return rows.join(people, ["kind", "grantee_key"], "left").withColumn("urn", f.expr(urn))


def add_datasets(grants: DataFrame, results: UsageResults) -> DataFrame:
    """Return grants of `find_used_grants` with `datasets` of those on containers, as differences have them."""
    keys, unit = ["export", "kind", "grantee_key", "unit"], f.expr(UNIT)
    grants = grants.withColumn("unit", unit)
    reached = results.access.grants.filter("at <> ''").withColumn("unit", unit)
    reached = reached.join(grants.filter("is_container").selectExpr(*keys), keys, "left_semi")
    names = results.declared_access.datasets.selectExpr("export", "number", "urn", "name", "is_sensitive")
    ranked = rank_datasets(reached.join(names, ["export", "number"]), keys, "urn")
    return grants.join(ranked.groupBy(*keys).agg(f.expr(DATASETS)), keys, "left").drop("unit")


def select_taken(results: UsageResults) -> DataFrame:
    """Return what findings and proposals take, as differences of the role mapping check, for `bind_exports`."""
    columns = ("export", "object", "grantee", "name", "bits", "wanted", "details")
    unused_grants = select_unused(results.used_grants, results.coverages).withColumn(
        "wanted", f.expr("CAST(NULL AS int)")
    )
    proposed_grants = results.proposed_grants.get_result()
    proposed_grants = proposed_grants.filter(is_among("action", (GrantAction.REVOKE, GrantAction.NARROW)))
    taken_grants = unused_grants.selectExpr(*columns).union(proposed_grants.selectExpr(*columns))
    unused_members = select_unused(results.used_members.get_result(), results.coverages)
    return select_difference_columns(
        taken_grants, type=f"'{DifferenceType.EXTRA_GRANT}'", via="''", **same_named_columns(*columns)
    ).union(
        select_difference_columns(
            unused_members,
            type=f"'{DifferenceType.EXTRA_MEMBER}'",
            object="role_name",
            **same_named_columns("export", "grantee", "details"),
        )
    )


def is_sure(coverages: Iterable[HistoryCoverage]) -> str:
    """Return a condition: the history of the export of a row has no gap."""
    return is_among("export", (coverage.export for coverage in coverages if not coverage.problem))


def build_state(coverages: Sequence[HistoryCoverage]) -> str:
    """Return an expression for the state of a row with `last`, `is_young` and `is_uncertain`."""
    return f"""CASE WHEN last IS NOT NULL THEN '{USED}' WHEN is_uncertain OR NOT {is_sure(coverages)} THEN '{NOT_SEEN}'
        WHEN is_young THEN '{YOUNG}' ELSE '{UNUSED}' END"""


def select_unused(rows: DataFrame, coverages: Sequence[HistoryCoverage]) -> DataFrame:
    """Return the rows that are UNUSED."""
    return rows.filter(f"{build_state(coverages)} = '{UNUSED}'")
