"""The datasets of the catalog that the grants of exports reach, directly or through a container."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.containers import list_places
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.denials import (
    HOLDER_COLUMNS,
    find_denied,
    list_group_members,
    select_denials,
)
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.entries import Entries
from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.warehouses.grant_facts import FactKind
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.warehouse import Export

#: What a grant tells of its object.
OBJECT_COLUMNS = ("object", "object_type", "condition")

_PLACE_COLUMNS = ("file", "block", "line", "is_counted")
_REACH_COLUMNS = (
    *("export", "number", "kind", "grantee_key", "grantee", "bit", "level", *OBJECT_COLUMNS, "granted_at", "details"),
    "place",
)
#: What decides, beside the dataset, whether something takes it away. Without a condition, `condition_names` is ''.
_GRANT_COLUMNS = ["export", "kind", "grantee_key", "bit", "object_key", "is_container", "condition_names"]


def find_reach(
    facts: DataFrame,
    survey: FactSurvey,
    declared_access: DeclaredAccess,
    exports: Sequence[Export],
    stage: Stage,
    entries: Entries | None,
) -> DataFrame:
    """Return each grant with the datasets that it reaches: export, number, kind, grantee …, `at` the container.

    Access that a denial or the condition of the grant takes away, or that lies where nobody who has it gets in, is
    left out. A grant that reaches no dataset, or none after that, is one row with the `rule` that passes it and its
    place in the files; all others have none of these.
    """
    grants = facts.filter(f"what = '{FactKind.GRANT}'")
    grants = survey.line_numbers.add_places(grants).withColumn(
        "condition_names", f.expr("coalesce(condition_names, '')")
    )
    keys = declared_access.datasets.selectExpr("export", "number", "key AS object_key")
    containers = list_places(facts, declared_access.datasets, exports)
    columns = dict.fromkeys((*_REACH_COLUMNS, *_PLACE_COLUMNS, *_GRANT_COLUMNS))
    reach = (
        grants.filter("NOT is_container")
        .join(keys, ["export", "object_key"], "left")
        .selectExpr(*columns, f"CASE WHEN number IS NULL THEN '{PassRule.UNKNOWN_TABLE}' END AS rule")
    )
    if survey.has_container_grants:
        container_grants = grants.filter("is_container").join(containers, ["export", "object_key"], "left")
        reach = reach.union(
            container_grants.selectExpr(
                *columns, f"CASE WHEN number IS NULL THEN '{PassRule.UNKNOWN_CONTAINER}' END AS rule"
            )
        )
    denials = select_denials(facts, exports)
    takings: dict[PassRule, DataFrame] = {}
    if _has_conditions(grants, exports):
        takings[PassRule.OUTSIDE_CONDITION] = _find_outside(reach, declared_access.datasets)
    if entries is not None:
        takings[PassRule.CLOSED_CONTAINER] = entries.find_closed(reach, declared_access, exports)
    if denials is not None:
        members = stage("in_groups", list_group_members(facts, declared_access.group_members, exports, stage))
        places = keys.withColumn("is_container", f.expr("false")).union(
            containers.selectExpr("export", "number", "object_key", "true")
        )
        holders = reach.filter("number IS NOT NULL").selectExpr(*HOLDER_COLUMNS).distinct()
        takings[PassRule.DENIED] = find_denied(facts, denials, holders, members, places)
    reach = _drop_takings(reach, grants, takings)
    return reach.selectExpr(
        *_REACH_COLUMNS,
        "CASE WHEN is_container THEN object ELSE '' END AS at",
        "rule",
        *(f"CASE WHEN rule IS NOT NULL THEN {name} END AS {name}" for name in _PLACE_COLUMNS),
    )


def _has_conditions(grants: DataFrame, exports: Sequence[Export]) -> bool:
    """Whether the condition of a grant chooses among tables."""
    return any(export.warehouse.has_conditions for export in exports) and bool(
        grants.filter("condition_names <> ''").head(1)
    )


def _find_outside(reach: DataFrame, datasets: DataFrame) -> DataFrame:
    """Return (export, number, condition_names) where a condition does not hold for a dataset."""
    parts = "split(key, '[.]')"
    size = f"size({parts})"
    project = f"array_join(slice({parts}, 1, greatest({size} - 2, 0)), '.')"
    dataset, table = f"get({parts}, {size} - 2)", f"get({parts}, {size} - 1)"
    name = f"concat_ws('/', 'projects', {project}, 'datasets', {dataset}, 'tables', {table})"
    named_datasets = datasets.selectExpr("export", "number", f"{name} AS resource")
    columns = ("export", "number", "condition_names")
    conditional = reach.filter("number IS NOT NULL AND condition_names <> ''").selectExpr(*columns).distinct()
    pairs = conditional.join(named_datasets, ["export", "number"])
    return pairs.filter("resource NOT RLIKE condition_names").selectExpr(*columns)


def _drop_takings(reach: DataFrame, grants: DataFrame, takings: Mapping[PassRule, DataFrame]) -> DataFrame:
    """Return what is reached without what rules take away; grants of which nothing is left are a row each.

    `takings` has the columns that identify what a rule takes.
    """
    if not takings:
        return reach
    columns = reach.columns
    for rule, rows in takings.items():
        reach = reach.join(rows.withColumn(f"is_{rule}", f.expr("true")), rows.columns, "left")
    choices = " ".join(f"WHEN is_{rule} THEN '{rule}'" for rule in takings)
    reach = reach.withColumn("withheld_by", f.expr(f"CASE {choices} END"))
    lost_grants = (
        reach.filter("number IS NOT NULL")
        .groupBy(*_GRANT_COLUMNS)
        .agg(*map(f.expr, ("max(withheld_by IS NULL) AS is_left", "min(withheld_by) AS lost_by")))
        .filter("NOT is_left")
    )
    expressions = {"number": "CAST(NULL AS int) AS number", "rule": "lost_by AS rule"}
    passed_grants = grants.join(lost_grants, _GRANT_COLUMNS).selectExpr(
        *(expressions.get(name, name) for name in columns)
    )
    return reach.filter("withheld_by IS NULL").selectExpr(*columns).union(passed_grants)
