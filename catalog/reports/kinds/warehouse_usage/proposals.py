"""Least privilege for roles: the smallest set of grants that covers what was used, and what it would take from whom.

A grant on a container stays where every dataset in it was used, and covers the grants below it; another one gives way
to grants on the tables that were used. No grant is proposed that reaches a dataset which was not used.
"""

from enum import StrEnum

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS
from catalog.reports.kinds.warehouse_usage.attribution import HeldAccess
from catalog.sql_text import quote_name, quote_text
from catalog.warehouses.grant_facts import SEPARATOR, Grantee

_ROLE = ["export", "grantee_key"]
#: The key of a grant among those of its role; parts without a value are equal in it. A text: short jobs keep no structs
#: in memory.
UNIT = f"to_json(struct({', '.join(map(quote_name, OBJECT_COLUMNS))}))"


class GrantAction(StrEnum):
    """The proposal for a grant: it stays, stays with a lower level, is taken, or is new."""

    KEEP = "KEEP"
    NARROW = "NARROW"
    REVOKE = "REVOKE"
    GRANT = "GRANT"


def propose_grants(
    used_grants: DataFrame, hits: DataFrame, pairs: DataFrame, declared_access: DeclaredAccess, stage: Stage
) -> DataFrame:
    """Return the grants of roles with `action`, and the new ones; columns as `find_used_grants`.

    `pairs` are those of `select_pairs`; `wanted` is the level that suffices, null for a grant that is taken.
    """
    units = _select_roles(used_grants).withColumn("unit", f.expr(UNIT))
    whole_containers = units.filter("is_container AND used_tables = tables")
    covered = stage("covered", _find_covered(units, pairs, whole_containers))
    units = units.join(covered.withColumn("is_covered", f.expr("true")), [*_ROLE, "unit"], "left")
    is_needless = "is_covered OR (is_container AND used_tables <> tables) OR used_tables = 0"
    # Nobody had the days to use what is younger.
    action = f"""CASE WHEN is_young THEN '{GrantAction.KEEP}' WHEN {is_needless} THEN '{GrantAction.REVOKE}'
        WHEN used_level < level THEN '{GrantAction.NARROW}' ELSE '{GrantAction.KEEP}' END"""
    kept_level = f"CASE WHEN is_young THEN level WHEN {is_needless} THEN NULL ELSE used_level END"
    decided = units.withColumns({"action": f.expr(action), "wanted": f.expr(kept_level)}).drop("is_covered")
    decided = stage("decided", decided)
    new_grants = _propose_new_grants(decided, hits, pairs, declared_access)
    return decided.drop("unit").unionByName(new_grants)


def _select_roles(rows: DataFrame) -> DataFrame:
    """Return the rows about roles."""
    return rows.filter(f"kind = '{Grantee.ROLE}'")


def select_pairs(grants: DataFrame, hits: DataFrame) -> DataFrame:
    """Return the datasets that each grant of a role reaches: _ROLE, unit, number, level, needed, grantee.

    `grants` are those that may be taken. `needed` is the highest level of the uses that may rest on the role, as far as
    the grant goes; null without a use.
    """
    uses = _select_roles(hits).groupBy(*_ROLE, "number").agg(f.expr("max(level) AS used_level"))
    pairs = (
        _select_roles(grants)
        .groupBy(*_ROLE, f.expr(f"{UNIT} AS unit"), "number")
        .agg(*map(f.expr, ("max(level) AS level", "min(grantee) AS grantee")))
    )
    # The least of several values leaves out those that are null.
    needed = "CASE WHEN used_level IS NOT NULL THEN least(used_level, level) END AS needed"
    columns = (*_ROLE, "number", "unit", "level", "grantee", needed)
    return pairs.join(uses, [*_ROLE, "number"], "left").selectExpr(*columns)


def _find_covered(units: DataFrame, pairs: DataFrame, kept_containers: DataFrame) -> DataFrame:
    """Return (_ROLE, unit) of the grants that a kept container above makes needless.

    It has to reach every dataset that was used, at the level of the use: it may have a condition, or be for reading.
    """
    containers = kept_containers.selectExpr(*_ROLE, "unit AS container", "object AS container_object")
    is_below = f"startswith(object, concat(container_object, {quote_text(SEPARATOR)}))"
    below = units.selectExpr(*_ROLE, "unit", "object").join(containers, _ROLE).filter(is_below)
    reached = pairs.selectExpr(*_ROLE, "unit AS container", "number", "level AS container_level")
    needs = below.join(pairs.filter("needed IS NOT NULL"), [*_ROLE, "unit"])
    needs = needs.join(reached, [*_ROLE, "container", "number"], "left")
    beyond = needs.filter("coalesce(container_level, 0) < needed")
    columns = [*_ROLE, "unit", "container"]
    covered = below.selectExpr(*columns).join(beyond.selectExpr(*columns).distinct(), columns, "left_anti")
    return covered.selectExpr(*_ROLE, "unit").distinct()


def _propose_new_grants(
    decided: DataFrame, hits: DataFrame, pairs: DataFrame, declared_access: DeclaredAccess
) -> DataFrame:
    """Return grants on the datasets that were used, at a level that no grant which stays gives."""
    staying = decided.filter(f"action <> '{GrantAction.REVOKE}'").selectExpr(*_ROLE, "unit", "wanted")
    staying_level = f.expr("max(least(level, wanted)) AS staying_level")
    staying_pairs = pairs.join(staying, [*_ROLE, "unit"]).groupBy(*_ROLE, "number").agg(staying_level)
    needed_pairs = pairs.groupBy(*_ROLE, "number").agg(
        *map(f.expr, ("max(needed) AS wanted", "min(grantee) AS grantee"))
    )
    needed_pairs = needed_pairs.join(staying_pairs, [*_ROLE, "number"], "left")
    needed_pairs = needed_pairs.filter("wanted > coalesce(staying_level, 0)")
    use_totals = map(f.expr, ("max(last) AS last", "count(DISTINCT person_key) AS people"))
    uses = _select_roles(hits).groupBy(*_ROLE, "number").agg(*use_totals)
    dataset = declared_access.datasets.selectExpr("export", "number", "urn AS entity", "name", "is_sensitive")
    rows = needed_pairs.join(uses, [*_ROLE, "number"]).join(dataset, ["export", "number"])
    values = {
        "action": f"'{GrantAction.GRANT}'",
        "kind": f"'{Grantee.ROLE}'",
        "is_container": "false",
        **dict.fromkeys(("is_young", "is_uncertain"), "false"),
        "tables": "1",
        "used_tables": "1",
        "used_level": "wanted",
        **dict.fromkeys((*OBJECT_COLUMNS, "bits", "level", "details", "places", "others"), "NULL"),
    }
    types = {name: type_name for name, type_name in decided.dtypes if name != "unit"}
    return rows.selectExpr(
        *(f"CAST({values.get(name, name)} AS {type_name}) AS {quote_name(name)}" for name, type_name in types.items())
    )


def count_losses(hits: DataFrame, access: HeldAccess, judged_grants: DataFrame, stage: Stage) -> DataFrame:
    """Return (export, grantee_key, person_key, tables): datasets that the proposal for a role takes from a person.

    Those that the person reaches by another role or a grant of their own are not counted.
    """
    reached, judged, used_pairs = (
        _select_roles(rows).selectExpr(*_ROLE, "number").distinct() for rows in (access.grants, judged_grants, hits)
    )
    young_pairs = judged_grants.filter("is_young").selectExpr(*_ROLE, "number")
    lost = judged.join(used_pairs.union(young_pairs), [*_ROLE, "number"], "left_anti")
    people = access.list_people().selectExpr("export", "person_key", "role")
    holders = people.join(access.list_effective_roles(), ["export", "role"])
    holders = stage("holders", holders.selectExpr("export", "person_key", "given AS grantee_key").distinct())
    lost_pairs = stage("lost", holders.join(lost, _ROLE))
    others = holders.withColumnRenamed("grantee_key", "other")
    other_grants = reached.withColumnRenamed("grantee_key", "other")
    by_role = lost_pairs.join(others, ["export", "person_key"]).filter("other <> grantee_key")
    by_role = by_role.join(other_grants, ["export", "other", "number"], "left_semi").selectExpr(*lost_pairs.columns)
    own_grants = access.grants.filter(f"kind = '{Grantee.USER}'")
    own_grants = own_grants.selectExpr("export", "grantee_key AS person_key", "number")
    remaining = lost_pairs.join(by_role, lost_pairs.columns, "left_anti")
    remaining = remaining.join(own_grants, ["export", "person_key", "number"], "left_anti")
    return remaining.groupBy(*_ROLE, "person_key").agg(f.expr("count(*) AS tables"))
