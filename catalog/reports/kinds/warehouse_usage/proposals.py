"""Least privilege for roles: the smallest set of grants that covers what was used, and what it would take from whom.

A grant on a container stays where every dataset in it was used, and covers the grants below it; another one gives way
to grants on the tables that were used. No grant is proposed that reaches a dataset which was not used.
"""

from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.grant_facts import SEPARATOR, Grantee
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS
from catalog.reports.kinds.warehouse_usage.attribution import HeldAccess

_ROLE = ["export", "grantee_key"]


class GrantAction(StrEnum):
    """What becomes of a grant: it stays, stays with a lower level, is taken, or is new."""

    KEEP = "KEEP"
    NARROW = "NARROW"
    REVOKE = "REVOKE"
    GRANT = "GRANT"


def propose_grants(
    used_grants: DataFrame, hits: DataFrame, grants: DataFrame, declared_access: DeclaredAccess, stage: Stage
) -> DataFrame:
    """Return the grants of roles with `action`, and the new ones; columns as `find_used_grants`.

    `grants` are those that may be taken; `wanted` is the level that suffices, null for a grant that is taken.
    """
    units = used_grants.filter(f.col("kind") == Grantee.ROLE).withColumn("unit", _build_unit())
    is_whole = f.col("used_tables") == f.col("tables")
    pairs = stage("pairs", _select_pairs(grants, hits))
    covered = stage("covered", _find_covered(units, pairs, units.filter(f.col("is_container") & is_whole)))
    units = units.join(covered.withColumn("is_covered", f.expr("true")), [*_ROLE, "unit"], "left")
    decided = units.withColumn(
        "action",
        # Nobody had the days to use what is younger.
        f.when(f.col("is_young"), GrantAction.KEEP)
        .when(
            f.col("is_covered") | (f.col("is_container") & ~is_whole) | (f.col("used_tables") == 0), GrantAction.REVOKE
        )
        .when(f.col("used_level") < f.col("level"), GrantAction.NARROW)
        .otherwise(GrantAction.KEEP),
    ).drop("is_covered")
    kept_level = f.when(f.col("is_young"), f.col("level")).otherwise(f.col("used_level"))
    decided = decided.withColumn("wanted", f.when(f.col("action") != GrantAction.REVOKE, kept_level))
    decided = stage("decided", decided)
    new_grants = _propose_new_grants(decided, hits, pairs, declared_access)
    return decided.drop("unit").unionByName(new_grants)


def _build_unit() -> Column:
    """Return the key of a grant among those of its role; parts without a value are equal in it."""
    # A text: short jobs keep no structs in memory.
    return f.to_json(f.struct(*OBJECT_COLUMNS))


def _select_pairs(grants: DataFrame, hits: DataFrame) -> DataFrame:
    """Return the datasets that each grant of a role reaches: _ROLE, unit, number, level, needed, grantee.

    `needed` is the highest level of the uses that may rest on the role, as far as the grant goes; null without a use.
    """
    uses = hits.filter(f.col("kind") == Grantee.ROLE).groupBy(*_ROLE, "number").agg(f.max("level").alias("used_level"))
    role_grants = grants.filter(f.col("kind") == Grantee.ROLE).withColumn("unit", _build_unit())
    pairs = role_grants.groupBy(*_ROLE, "unit", "number").agg(
        f.max("level").alias("level"), f.min("grantee").alias("grantee")
    )
    needed = f.when(f.col("used_level").isNotNull(), f.least("used_level", "level"))
    return pairs.join(uses, [*_ROLE, "number"], "left").withColumn("needed", needed).drop("used_level")


def _find_covered(units: DataFrame, pairs: DataFrame, kept_containers: DataFrame) -> DataFrame:
    """Return (_ROLE, unit) of the grants that a kept container above makes needless.

    It has to reach every dataset that was used, at the level of the use: it may have a condition, or be for reading.
    """
    containers = kept_containers.select(
        *_ROLE, f.col("unit").alias("container"), f.col("object").alias("container_object")
    )
    is_below = f.col("object").startswith(f.concat("container_object", f.lit(SEPARATOR)))
    below = units.select(*_ROLE, "unit", "object").join(containers, _ROLE).filter(is_below)
    reached = pairs.select(*_ROLE, f.col("unit").alias("container"), "number", f.col("level").alias("container_level"))
    needs = below.join(pairs.filter("needed IS NOT NULL"), [*_ROLE, "unit"])
    needs = needs.join(reached, [*_ROLE, "container", "number"], "left")
    beyond = needs.filter(f.coalesce("container_level", f.lit(0)) < f.col("needed"))
    columns = [*_ROLE, "unit", "container"]
    covered = below.select(*columns).join(beyond.select(*columns).distinct(), columns, "left_anti")
    return covered.select(*_ROLE, "unit").distinct()


def _propose_new_grants(
    decided: DataFrame, hits: DataFrame, pairs: DataFrame, declared_access: DeclaredAccess
) -> DataFrame:
    """Return grants on the datasets that were used, at a level that no grant which stays gives."""
    staying = decided.filter(f.col("action") != GrantAction.REVOKE).select(*_ROLE, "unit", "wanted")
    staying_level = f.max(f.least("level", "wanted")).alias("staying_level")
    staying_pairs = pairs.join(staying, [*_ROLE, "unit"]).groupBy(*_ROLE, "number").agg(staying_level)
    needed_pairs = pairs.groupBy(*_ROLE, "number").agg(
        f.max("needed").alias("wanted"), f.min("grantee").alias("grantee")
    )
    needed_pairs = needed_pairs.join(staying_pairs, [*_ROLE, "number"], "left")
    needed_pairs = needed_pairs.filter(f.col("wanted") > f.coalesce("staying_level", f.lit(0))).drop("staying_level")
    uses = (
        hits.filter(f.col("kind") == Grantee.ROLE)
        .groupBy(*_ROLE, "number")
        .agg(f.max("last").alias("last"), f.count_distinct("person_key").alias("people"))
    )
    dataset = declared_access.datasets.select("export", "number", f.col("urn").alias("entity"), "name", "is_sensitive")
    rows = needed_pairs.join(uses, [*_ROLE, "number"])
    added: dict[str, Column] = {
        "action": f.lit(GrantAction.GRANT),
        "kind": f.lit(Grantee.ROLE),
        "is_container": f.expr("false"),
        "is_young": f.expr("false"),
        "tables": f.lit(1),
        "used_tables": f.lit(1),
        "used_level": f.col("wanted"),
        **dict.fromkeys(OBJECT_COLUMNS, f.lit(None)),
        "bits": f.lit(None),
        "level": f.lit(None),
    }
    rows = rows.join(dataset, ["export", "number"]).withColumns(added)
    fields = decided.drop("unit").schema.fields
    return rows.select(*(f.col(field.name).cast(field.dataType) for field in fields))


def count_losses(hits: DataFrame, access: HeldAccess, judged_grants: DataFrame, stage: Stage) -> DataFrame:
    """Return (export, grantee_key, person_key, tables): datasets that the proposal for a role takes from a person.

    Those that the person reaches by another role or a grant of their own are not counted.
    """
    reached, judged = (
        grants.filter(f.col("kind") == Grantee.ROLE).select(*_ROLE, "number").distinct()
        for grants in (access.grants, judged_grants)
    )
    used_pairs = hits.filter(f.col("kind") == Grantee.ROLE).select(*_ROLE, "number").distinct()
    young_pairs = judged_grants.filter("is_young").select(*_ROLE, "number")
    lost = judged.join(used_pairs.union(young_pairs), [*_ROLE, "number"], "left_anti")
    holders = (
        access.list_people()
        .select("export", "person_key", "role")
        .join(access.list_effective_roles(), ["export", "role"])
    )
    holders = stage("holders", holders.select("export", "person_key", f.col("given").alias("grantee_key")).distinct())
    lost_pairs = stage("lost", holders.join(lost, _ROLE))
    others = holders.withColumnRenamed("grantee_key", "other")
    other_grants = reached.withColumnRenamed("grantee_key", "other")
    by_role = lost_pairs.join(others, ["export", "person_key"]).filter("other <> grantee_key")
    by_role = by_role.join(other_grants, ["export", "other", "number"], "left_semi").select(*lost_pairs.columns)
    own_grants = access.grants.filter(f.col("kind") == Grantee.USER).select(
        "export", f.col("grantee_key").alias("person_key"), "number"
    )
    remaining = lost_pairs.join(by_role, lost_pairs.columns, "left_anti")
    remaining = remaining.join(own_grants, ["export", "person_key", "number"], "left_anti")
    return remaining.groupBy(*_ROLE, "person_key").agg(f.count("*").alias("tables"))
