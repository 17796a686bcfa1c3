"""Masks and row filters of the sources: what stands before the data of which dataset, and what is open without any."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import tables
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    JOINED_PLACES,
    PLACES,
    DifferenceSeverity,
    DifferenceType,
    select_difference_columns,
)
from catalog.reports.spark.frames import collect_table
from catalog.sql_text import is_among
from catalog.warehouses.grant_facts import FactKind
from catalog.warehouses.warehouse import Export


def find_policies(facts: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return (export, number, dataset, kind, policy, spares_owner) of the policies on datasets of the catalog."""
    policy_facts = facts.filter(f"what = '{FactKind.POLICY}'").selectExpr(
        *("export", "object_key AS key", "kind", "grantee AS policy"),
        "coalesce(get_json_object(details, '$.spares_owner') = 'true', false) AS spares_owner",
    )
    datasets = declared_access.datasets.selectExpr("export", "key", "number", "urn AS dataset")
    return policy_facts.join(datasets, ["export", "key"]).drop("key").distinct()


def collect_policies(policies: DataFrame) -> pa.Table:
    """Return the rows of the table of policies."""
    columns = ("dataset", "kind", "policy", "export")
    return collect_table(policies.selectExpr(*columns).orderBy(*columns).limit(tables.MAX_POLICIES))


def find_open_datasets(
    policies: DataFrame, grants: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]
) -> DataFrame:
    """Return differences for sensitive datasets that grants reach and before which no policy stands.

    Only exports with `policies` are asked: of the others nobody said which policies there are.
    """
    asked_exports = [export.name for export in exports if export.policies]
    is_asked = f"is_sensitive AND {is_among('export', asked_exports)}"
    rows = declared_access.datasets.filter(is_asked)
    places = grants.join(rows.selectExpr("export", "number"), ["export", "number"], "left_semi")
    places = places.groupBy("export", "number").agg(f.expr(PLACES))
    rows = rows.join(places, ["export", "number"])
    rows = rows.join(policies.selectExpr("export", "number"), ["export", "number"], "left_anti")
    return select_difference_columns(
        rows,
        type=f"'{DifferenceType.SENSITIVE_OPEN}'",
        severity=f"'{DifferenceSeverity.MEDIUM}'",
        export="export",
        entity="urn",
        name="name",
        places=JOINED_PLACES,
    )
