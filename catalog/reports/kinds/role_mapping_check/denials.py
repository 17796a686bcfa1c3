"""Grants without those that a deny policy takes away."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind


def drop_denied_grants(
    facts: DataFrame, grants: DataFrame, containers: DataFrame, exports: Sequence[Export]
) -> DataFrame:
    """Return the grants, each with a dataset that it reaches, without those that a deny policy takes away there.

    `containers` has (export, number, object_key), each dataset in each of its places.
    """
    if not any(export.denies for export in exports):
        return grants
    denials = facts.filter(f.col("what") == FactKind.DENIAL).select(
        "export", "object_key", f.col("object_type").alias("rule"), f.col("kind").alias("denied"), "grantee_key"
    )
    denials = denials.join(containers, ["export", "object_key"]).select(
        "export", "number", "rule", "denied", f.col("grantee_key").alias("denied_key")
    )
    is_meant = (f.col("denied") == "") | (
        (f.col("denied") == f.col("kind")) & (f.col("denied_key") == f.col("grantee_key"))
    )
    holders = grants.select("export", "number", "kind", "grantee_key").distinct()
    denied = holders.join(denials, ["export", "number"]).filter(is_meant)
    exemptions = facts.filter(f.col("what") == FactKind.EXEMPT).select(
        "export", f.col("object_type").alias("rule"), "kind", "grantee_key"
    )
    denied = denied.join(exemptions, ["export", "rule", "kind", "grantee_key"], "left_anti")
    return grants.join(denied, ["export", "number", "kind", "grantee_key"], "left_anti")
