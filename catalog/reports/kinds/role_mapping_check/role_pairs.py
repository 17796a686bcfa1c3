"""Roles and the datasets that they open, by the catalog and in the sources: a row for each pair.

No step multiplies roles with datasets: each joined row is a row of the catalog or of an export, or one of these with a
role that inherits it.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import ROLE_COLUMNS
from catalog.reports.kinds.role_mapping_check.principals import is_outside
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS


def pair_roles_with_datasets(
    grants: DataFrame,
    declared_access: DeclaredAccess,
    inherited_roles: DataFrame,
    existing_roles: DataFrame,
    *,
    select: Callable[[DataFrame], DataFrame] = lambda rows: rows,
) -> DataFrame:
    """Return a row for each role and dataset: `is_said` (declared), and level, bits and path of the actual access.

    Pairs that agree are left out, except with sensitive datasets. `select` leaves the rows of some roles.
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
    declared_pairs = declared_access.role_datasets.select(
        "export",
        "number",
        "role",
        *(f.lit(None).cast(type_name).alias(name) for name, type_name in _GRANT_COLUMNS.items()),
    )
    merged_pairs = (
        select(declared_pairs.withColumn("is_said", f.expr("true")))
        .union(select(direct_pairs.union(inherited_pairs).withColumn("is_said", f.expr("false"))))
        .groupBy("export", "number", "role")
        .agg(
            f.max("is_said").alias("is_said"),
            f.max("level").alias("level"),
            f.bit_or("bit").alias("bits"),
            # A direct grant on the table itself sorts first.
            f.min(f.when(f.col("level").isNotNull(), f.struct("via", "at", *OBJECT_COLUMNS))).alias("how"),
            # What exceeds a declared level is where the level is highest.
            f.min(
                f.when(f.col("level").isNotNull(), f.struct("via", (-f.col("level")).alias("order"), *OBJECT_COLUMNS))
            ).alias("highest"),
            f.min("grantee").alias("grantee"),
        )
    )
    dataset = declared_access.datasets.select("number", f.col("urn").alias("entity"), "name", "is_sensitive")
    role = declared_access.roles.select("role", "role_urn", "declared_level")
    return (
        merged_pairs.join(dataset, "number")
        .join(role, "role", "left")
        .select("*", "how.via", "how.at", *(f"how.{column}" for column in OBJECT_COLUMNS))
        .drop("how")
        # Pairs without a difference are dropped, unless sensitive.
        .filter("is_sensitive OR NOT is_said OR level IS NULL OR level <> declared_level")
    )


_GRANT_COLUMNS = {
    "grantee": "string",
    **dict.fromkeys(OBJECT_COLUMNS, "string"),
    "at": "string",
    "bit": "bigint",
    "level": "int",
    "via": "string",
}
