"""Rows that were passed over although they may give access to something sensitive."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.containers import list_places
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    DATASETS,
    JOINED_PLACES,
    PLACES,
    DifferenceSeverity,
    DifferenceType,
    rank_datasets,
    same_named_columns,
    select_difference_columns,
)
from catalog.sql_text import NO_TEXT, list_texts
from catalog.warehouses.grant_facts import FactKind
from catalog.warehouses.pass_rules import REACHING_RULES, PassRule
from catalog.warehouses.warehouse import Export

#: Grants that a sentence names at most.
_MAX_EXAMPLES = 5


def find_passed_access(facts: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]) -> DataFrame:
    """Return a difference for each rule and object, with the number of its rows, where something sensitive lies."""
    is_passed = f"what = '{FactKind.PASSED}' AND rule IN {list_texts(sorted(REACHING_RULES))}"
    rows = facts.filter(f"{is_passed} AND is_counted AND object_key <> ''")
    rows = rows.groupBy("export", "rule", "object_key", "is_container").agg(
        *map(f.expr, ("count(*) AS count", PLACES, f"concat_ws('; ', {_list_first('condition')}) AS examples"))
    )
    datasets = declared_access.datasets.filter("is_sensitive")
    names = datasets.selectExpr("export", "number", "urn", "name", "is_sensitive")
    tables = datasets.selectExpr("export", "key AS object_key", "false AS is_container", "urn")
    placed = rank_datasets(
        list_places(facts, datasets, exports).join(names, ["export", "number"]), ["export", "object_key"], "urn"
    )
    containers = placed.groupBy("export", "object_key").agg(f.expr(DATASETS))
    containers = containers.selectExpr("export", "object_key", "true", NO_TEXT, "datasets")
    sensitive_objects = tables.distinct().selectExpr("*", f"{NO_TEXT} AS datasets").union(containers)
    return select_difference_columns(
        rows.join(sensitive_objects, ["export", "object_key", "is_container"]),
        type=f"'{DifferenceType.PASSED_SENSITIVE}'",
        severity=f"'{DifferenceSeverity.HIGH}'",
        **same_named_columns("export", "rule", "count", "datasets"),
        places=JOINED_PLACES,
        entity="urn",
        object="object_key",
        condition=f"CASE WHEN rule = '{PassRule.READING_OBJECT}' THEN examples END",
    )


def _list_first(value: str) -> str:
    return f"slice(array_sort(collect_set({value})), 1, {_MAX_EXAMPLES})"
