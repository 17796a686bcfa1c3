"""Rows that were passed over although they may give access to something sensitive."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.containers import list_places
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    DifferenceSeverity,
    DifferenceType,
    same_named_columns,
    select_difference_columns,
)
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind
from catalog.reports.kinds.role_mapping_check.rules import REACHING_RULES


def find_passed_access(facts: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]) -> DataFrame:
    """Return a difference for each rule and object, with the number of its rows, where something sensitive lies."""
    is_passed = (f.col("what") == FactKind.PASSED) & f.col("rule").isin(*sorted(REACHING_RULES))
    rows = facts.filter(is_passed & f.col("is_counted") & (f.col("object_key") != ""))
    rows = rows.groupBy("export", "rule", "object_key", "is_container").agg(f.count("*").alias("count"))
    datasets = declared_access.datasets.filter("is_sensitive")
    tables = datasets.select("export", f.col("key").alias("object_key"), f.expr("false").alias("is_container"), "urn")
    containers = list_places(facts, datasets, exports).select(
        "export", "object_key", f.expr("true").alias("is_container"), f.lit(None).cast("string").alias("urn")
    )
    sensitive_objects = reduce(DataFrame.union, (tables, containers)).distinct()
    return select_difference_columns(
        rows.join(sensitive_objects, ["export", "object_key", "is_container"]),
        type=f.lit(DifferenceType.PASSED_SENSITIVE),
        severity=f.lit(DifferenceSeverity.HIGH),
        **same_named_columns("export", "rule", "count"),
        entity="urn",
        object="object_key",
    )
