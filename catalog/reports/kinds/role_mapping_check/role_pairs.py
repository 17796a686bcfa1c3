"""Roles and the datasets that they open, by the catalog and in the sources: a row for each pair.

No step multiplies roles with datasets: each joined row is a row of the catalog or of an export, or one of these with a
role that inherits it.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import ROLE_COLUMNS, Stage
from catalog.reports.kinds.role_mapping_check.principals import is_outside
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS


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
    direct_pairs = grants.select(
        "export",
        "number",
        f.col("grantee_key").alias("role"),
        "grantee",
        *OBJECT_COLUMNS,
        "at",
        "bit",
        "level",
        f.lit("").alias("via"),
    )
    # Inheritance of undeclared roles adds nothing to the grants of the roles that they inherit.
    is_declared = declared_access.roles.select("role", f.expr("true").alias("is_declared"))
    known_roles = inherited_roles.join(existing_roles, ROLE_COLUMNS).join(is_declared, "role", "left")
    known_roles = known_roles.filter(f.col("is_declared") | is_outside("role_name")).select(
        "export",
        f.col("role").alias("holder"),
        f.col("role_name").alias("holder_name"),
        f.col("given").alias("role"),
        "given_name",
    )
    inherited_pairs = direct_pairs.join(known_roles, ROLE_COLUMNS).select(
        "export",
        "number",
        f.col("holder").alias("role"),
        f.col("holder_name").alias("grantee"),
        *OBJECT_COLUMNS,
        "at",
        "bit",
        "level",
        f.col("given_name").alias("via"),
    )
    granted_pairs = select(direct_pairs.union(inherited_pairs))
    pairs = stage("pairs", _find_differing_pairs(granted_pairs, declared_access, select))
    # Sensitive datasets with access as declared are counted only.
    explained_pairs = pairs.filter("level IS NOT NULL AND (NOT is_said OR level <> declared_level)")
    details = (
        granted_pairs.join(explained_pairs.select(*_PAIR_COLUMNS), _PAIR_COLUMNS, "left_semi")
        .groupBy(*_PAIR_COLUMNS)
        .agg(
            f.bit_or("bit").alias("bits"),
            # A direct grant on the table itself sorts first.
            f.min(f.struct("via", "at", *OBJECT_COLUMNS)).alias("how"),
            # What exceeds a declared level is where the level is highest.
            f.min(f.struct("via", (-f.col("level")).alias("order"), *OBJECT_COLUMNS)).alias("highest"),
            f.min("grantee").alias("grantee"),
        )
    )
    dataset = declared_access.datasets.select("number", f.col("urn").alias("entity"), "name")
    return (
        pairs.join(details, _PAIR_COLUMNS, "left")
        .join(dataset, "number")
        .select(
            "*",
            "how.via",
            "how.at",
            *(f"how.{column}" for column in OBJECT_COLUMNS),
            *(f.col(f"highest.{column}").alias(f"highest_{column}") for column in OBJECT_COLUMNS),
        )
        .drop("how", "highest")
    )


def _find_differing_pairs(
    granted_pairs: DataFrame, declared_access: DeclaredAccess, select: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    """Return the pairs that are not left out: whether they are declared, the levels, the role and the sensitivity.

    Only numbers and keys are gathered here, for all pairs; nearly all of them agree, and what grants say is gathered
    for the others alone.
    """
    declared_pairs = select(declared_access.role_datasets).select(
        *_PAIR_COLUMNS, f.expr("true").alias("is_said"), f.lit(None).cast("int").alias("level")
    )
    merged_pairs = (
        declared_pairs.union(granted_pairs.select(*_PAIR_COLUMNS, f.expr("false"), "level"))
        # Hardly two rows are about one pair: aggregating before the exchange would only cost time.
        .repartition(*_PAIR_COLUMNS)
        .groupBy(*_PAIR_COLUMNS)
        .agg(f.max("is_said").alias("is_said"), f.max("level").alias("level"))
    )
    sensitive_datasets = declared_access.datasets.filter("is_sensitive").select("number", "is_sensitive")
    role = declared_access.roles.select("role", "role_urn", "declared_level")
    return (
        merged_pairs.join(sensitive_datasets, "number", "left")
        .join(role, "role", "left")
        .withColumn("is_sensitive", f.coalesce("is_sensitive", f.expr("false")))
        .filter("is_sensitive OR NOT is_said OR level IS NULL OR level <> declared_level")
    )


_PAIR_COLUMNS = ["export", "number", "role"]
