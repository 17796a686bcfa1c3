"""Roles and the datasets that they open, by the catalog and in the sources: a row for each pair.

No step multiplies roles with datasets: each joined row is a row of the catalog or of an export, or one of these with a
role that inherits it.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import DETAILS, PLACES, ROLE_COLUMNS, Stage
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS
from catalog.warehouses.principals import is_outside


def pair_roles_with_datasets(
    grants: DataFrame,
    declared_access: DeclaredAccess,
    inherited_roles: DataFrame,
    existing_roles: DataFrame,
    stage: Stage,
    *,
    select: Callable[[DataFrame], DataFrame] = lambda rows: rows,
) -> DataFrame:
    """Return a row for each role and dataset: `is_said` (declared), and level, bits and path of the actual access.

    Pairs that agree are left out, except with sensitive datasets; these are without bits and path. `select` leaves the
    rows of some roles.
    """
    grant_columns = (*OBJECT_COLUMNS, "at", "bit", "level", "details", "place")
    role_grants = grants.selectExpr("export", "number", "grantee_key AS role", "grantee", *grant_columns)
    # Inheritance of undeclared roles adds nothing to the grants of the roles that they inherit.
    is_declared = declared_access.roles.selectExpr("role", "true AS is_declared")
    known_roles = inherited_roles.join(existing_roles, ROLE_COLUMNS).join(is_declared, "role", "left")
    known_roles = known_roles.filter(f"is_declared OR {is_outside('role_name')}").selectExpr(
        *("export", "role AS holder", "role_name AS holder_name", "given AS role", "given_name"),
        *("given_condition", "hop"),
    )
    ways = {"condition": "nullif(concat_ws(', ', given_condition, condition), '') AS condition"}
    inherited_pairs = role_grants.join(known_roles, ROLE_COLUMNS).selectExpr(
        *("export", "number", "holder AS role", "holder_name AS grantee"),
        *(ways.get(name, name) for name in grant_columns),
        *("given_name AS via", "hop"),
    )
    direct_pairs = role_grants.selectExpr("*", "'' AS via", "CAST(NULL AS bigint) AS hop")
    granted_pairs = select(direct_pairs.union(inherited_pairs))
    pairs = stage("pairs", _find_differing_pairs(granted_pairs, declared_access, select))
    # Sensitive datasets with access as declared are counted only.
    explained_pairs = pairs.filter("level IS NOT NULL AND (NOT is_said OR level <> declared_level)")
    object_columns = ", ".join(OBJECT_COLUMNS)
    explanations = (
        "bit_or(CASE WHEN via = '' THEN bit END) AS own_bits",
        "bit_or(bit) AS all_bits",
        # A direct grant on the table itself sorts first.
        f"min(struct(via, at, hop, {object_columns})) AS how",
        # What exceeds a declared level is where the level is highest.
        f"min(struct(-level AS `order`, via, hop, {object_columns})) AS highest",
        "min(grantee) AS grantee",
        DETAILS,
        PLACES,
    )
    details = (
        granted_pairs.join(explained_pairs.selectExpr(*_PAIR_COLUMNS), _PAIR_COLUMNS, "left_semi")
        .groupBy(*_PAIR_COLUMNS)
        .agg(*map(f.expr, explanations))
    )
    dataset = declared_access.datasets.selectExpr("number", "urn AS entity", "name")
    return (
        pairs.join(details, _PAIR_COLUMNS, "left")
        .join(dataset, "number")
        .selectExpr(
            *_DIFFERING_COLUMNS,
            # What comes through another role is not taken from this one.
            "CASE WHEN how.via = '' THEN own_bits ELSE all_bits END AS bits",
            "CASE WHEN highest.via = '' THEN own_bits ELSE all_bits END AS highest_bits",
            "details",
            "places",
            "grantee",
            "entity",
            "name",
            "how.via",
            "how.at",
            "how.hop",
            *(f"how.{column}" for column in OBJECT_COLUMNS),
            "highest.via AS highest_via",
            "highest.hop AS highest_hop",
            *(f"highest.{column} AS highest_{column}" for column in OBJECT_COLUMNS),
        )
    )


def _find_differing_pairs(
    granted_pairs: DataFrame, declared_access: DeclaredAccess, select: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    """Return the pairs that are not left out, with _DIFFERING_COLUMNS.

    Only numbers and keys are gathered here, for all pairs; nearly all of them agree, and what grants say is gathered
    for the others alone.
    """
    declared_pairs = select(declared_access.role_datasets).selectExpr(
        *_PAIR_COLUMNS, "true AS is_said", "CAST(NULL AS int) AS level"
    )
    merged_pairs = (
        declared_pairs.union(granted_pairs.selectExpr(*_PAIR_COLUMNS, "false", "level"))
        # Hardly two rows are about one pair: aggregating before the exchange would only cost time.
        .repartition(*_PAIR_COLUMNS)
        .groupBy(*_PAIR_COLUMNS)
        .agg(*map(f.expr, ("max(is_said) AS is_said", "max(level) AS level")))
    )
    sensitive_datasets = declared_access.datasets.filter("is_sensitive").selectExpr("number", "is_sensitive")
    role = declared_access.roles.selectExpr("role", "role_urn", "declared_level")
    return (
        merged_pairs.join(sensitive_datasets, "number", "left")
        .join(role, "role", "left")
        .withColumn("is_sensitive", f.expr("coalesce(is_sensitive, false)"))
        .filter("is_sensitive OR NOT is_said OR level IS NULL OR level <> declared_level")
    )


_PAIR_COLUMNS = ["export", "number", "role"]
#: A pair: whether it is declared, the level in the source and the declared one, the role and the sensitivity.
_DIFFERING_COLUMNS = (*_PAIR_COLUMNS, "is_said", "level", "declared_level", "role_urn", "is_sensitive")
