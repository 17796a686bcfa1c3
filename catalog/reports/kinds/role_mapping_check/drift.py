"""Compares the declared access of the catalog with the facts of the exports, by joins only.

No step multiplies roles with datasets: each joined row is a row of the catalog or of an export, or one of these with a
role that inherits it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import membership
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    EVERYBODY_NAMES,
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    Stage,
    excess_severity,
    is_named_role,
    same_named_columns,
    select_difference_columns,
)
from catalog.reports.kinds.role_mapping_check.exports import READ, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, Grantee
from catalog.reports.kinds.role_mapping_check.passed_rows import find_passed_access
from catalog.reports.kinds.role_mapping_check.principals import is_outside
from catalog.reports.kinds.role_mapping_check.protection import find_open_datasets, find_policies
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS, find_reach
from catalog.reports.kinds.role_mapping_check.role_prefixes import check_role_prefixes


def compute_role_closure(facts: DataFrame, stage: Stage) -> DataFrame:
    """Return the closure of role inheritance: export, role, given, given_name (`role` has all that `given` has).

    Each iteration doubles the distance, so a chain of a thousand roles takes ten; cycles end as well.
    """
    edges = facts.filter(f.col("what") == FactKind.INHERIT)
    inheritance = edges.select(
        "export", f.col("grantee_key").alias("role"), f.col("object_key").alias("given"), f.col("object").alias("name")
    )
    pairs = (
        inheritance.filter("role <> given").groupBy("export", "role", "given").agg(f.min("name").alias("given_name"))
    )
    pairs = stage("closure", pairs)
    previous_count, pair_count = 0, pairs.count()
    while pair_count > previous_count:
        left, right = pairs.alias("one"), pairs.alias("other")
        is_next = (f.col("one.export") == f.col("other.export")) & (f.col("one.given") == f.col("other.role"))
        longer_pairs = left.join(right, is_next).select("one.export", "one.role", "other.given", "other.given_name")
        pairs = pairs.union(longer_pairs.filter("role <> given"))
        pairs = pairs.groupBy("export", "role", "given").agg(f.min("given_name").alias("given_name"))
        pairs = stage("closure", pairs)
        previous_count, pair_count = pair_count, pairs.count()
    return pairs


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """The result of a comparison: `differences` with DIFFERENCE_COLUMNS, each once, and two more tables.

    `reach`: tag, role_urn, declared_level, declared, opened (sensitive datasets of a role, by the catalog and in the
    sources). `grants`: a row for each grant and each dataset of the catalog that it reaches, as `find_reach`.
    `policies`: the masks and row filters on datasets of the catalog.
    """

    differences: DataFrame
    reach: DataFrame
    grants: DataFrame
    policies: DataFrame


def compare(
    facts: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export], *, stage: Stage
) -> ComparisonResult:
    """Return the differences between the exports and the catalog; both inputs are read more than once.

    Raises BadExports when the catalog knows none of the roles of an export.
    """
    inherited_roles = compute_role_closure(facts, stage)
    existing_roles = stage("there", membership.find_existing_roles(facts))
    check_role_prefixes(existing_roles, declared_access.roles, exports)
    missing_roles = stage("gone", declared_access.expected_roles.join(existing_roles, ROLE_COLUMNS, "left_anti"))
    grants = stage("granted", find_reach(facts, declared_access.datasets, exports))
    reaching_grants = grants.filter("number IS NOT NULL")
    role_grants = reaching_grants.filter(f.col("kind") == Grantee.ROLE)
    pairs = _pair_roles_with_datasets(role_grants, declared_access, inherited_roles, existing_roles)
    pairs = stage("pairs", pairs)
    policies = stage("policies", find_policies(facts, declared_access))
    differences = [
        _find_missing_grants(pairs, existing_roles),
        *_find_extra_grants(pairs, exports),
        _find_wrong_levels(pairs),
        _find_direct_grants(reaching_grants.filter(f.col("kind") == Grantee.USER), declared_access),
        find_passed_access(facts, declared_access),
        membership.build_missing_roles(missing_roles, declared_access),
        membership.find_idle_roles(declared_access, existing_roles),
        select_difference_columns(
            declared_access.uncovered_datasets,
            type=f.lit(DifferenceType.SENSITIVE_WITHOUT_ROLE),
            severity=f.lit(DifferenceSeverity.HIGH),
            entity="urn",
        ),
        find_open_datasets(policies, reaching_grants, declared_access, exports),
        *membership.compare_members(
            stage("held", membership.select_members(facts)), declared_access, inherited_roles, missing_roles, exports
        ),
    ]
    return ComparisonResult(
        reduce(DataFrame.union, differences), _count_sensitive_reach(pairs, declared_access), grants, policies
    )


# -- grants -----------------------------------------------------------------------------------------------------------


def _pair_roles_with_datasets(
    grants: DataFrame, declared_access: DeclaredAccess, inherited_roles: DataFrame, existing_roles: DataFrame
) -> DataFrame:
    """Return a row for each role and dataset: `is_said` (declared), and level, bits and path of the actual access."""
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
        declared_pairs.withColumn("is_said", f.expr("true"))
        .union(direct_pairs.union(inherited_pairs).withColumn("is_said", f.expr("false")))
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


def _find_missing_grants(pairs: DataFrame, existing_roles: DataFrame) -> DataFrame:
    """Return declared pairs without access in the source, except those of missing roles."""
    rows = pairs.filter("is_said AND level IS NULL").join(existing_roles, ROLE_COLUMNS)
    return select_difference_columns(
        rows,
        type=f.lit(DifferenceType.GRANT_MISSING),
        severity=f.lit(DifferenceSeverity.MEDIUM),
        **same_named_columns("export", "role", "role_urn", "entity", "name"),
        grantee="role_name",
        wanted=f.coalesce("declared_level", f.lit(READ)),
    )


def _find_extra_grants(pairs: DataFrame, exports: Sequence[Export]) -> list[DataFrame]:
    """Return access in the source that the catalog does not declare.

    Access through a container or another role is one difference, however many datasets it reaches: one revoke ends it.
    """
    is_everybody = is_named_role(exports, lambda _: EVERYBODY_NAMES)
    severity = excess_severity(f.col("is_sensitive") | is_everybody)
    rows = pairs.filter(f.expr("NOT is_said") & ~is_named_role(exports, lambda export: export.ignored_roles))
    direct_rows = rows.filter("via = '' AND at = ''")
    grouped_rows = (
        rows.filter("via <> '' OR at <> ''")
        .withColumn("object", f.when(f.col("via") == "", f.col("at")))
        .groupBy("export", "role", "role_urn", "via", "object")
        .agg(
            f.max("is_sensitive").alias("is_sensitive"),
            f.max("level").alias("level"),
            f.bit_or("bits").alias("bits"),
            f.min("grantee").alias("grantee"),
            f.min("object_type").alias("object_type"),
            f.min("condition").alias("condition"),
            f.min("name").alias("name"),
            f.count("*").alias("count"),
        )
    )
    return [
        select_difference_columns(
            frame,
            type=f.lit(DifferenceType.EXTRA_GRANT),
            severity=severity,
            **same_named_columns(
                "export", "role", "role_urn", "grantee", *OBJECT_COLUMNS, "name", "via", "bits", "level"
            ),
            **extra_columns,
        )
        for frame, extra_columns in (
            (direct_rows, {"entity": "entity", "count": f.lit(1)}),
            (grouped_rows, {"count": "count"}),
        )
    ]


def _find_wrong_levels(pairs: DataFrame) -> DataFrame:
    is_too_high = f.col("level") > f.col("declared_level")
    rows = pairs.filter("is_said AND level <> declared_level")
    return select_difference_columns(
        rows.withColumns({column: f.col(f"highest.{column}") for column in OBJECT_COLUMNS}),
        type=f.lit(DifferenceType.WRONG_LEVEL),
        severity=f.when(is_too_high, excess_severity(f.col("is_sensitive"))).otherwise(DifferenceSeverity.MEDIUM),
        **same_named_columns(
            "export", "role", "role_urn", "entity", "grantee", *OBJECT_COLUMNS, "name", "via", "bits", "level"
        ),
        wanted="declared_level",
    )


def _find_direct_grants(grants: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return access of users without a role, one row for each container or table."""
    dataset = declared_access.datasets.select("number", f.col("urn").alias("entity"), "name", "is_sensitive")
    rows = grants.join(dataset, "number").withColumn("table", f.when(f.col("at") == "", f.col("entity")))
    grouped_rows = rows.groupBy("export", "grantee_key", "object", "at", "table").agg(
        f.max("level").alias("level"),
        f.bit_or("bit").alias("bits"),
        f.max("is_sensitive").alias("is_sensitive"),
        f.min("grantee").alias("grantee"),
        f.min("object_type").alias("object_type"),
        f.min("condition").alias("condition"),
        f.min("name").alias("name"),
        f.count_distinct("number").alias("count"),
    )
    grouped_rows = grouped_rows.withColumnRenamed("grantee_key", "member_key").join(
        declared_access.people, "member_key", "left"
    )
    return select_difference_columns(
        grouped_rows,
        type=f.lit(DifferenceType.DIRECT_USER_GRANT),
        severity=excess_severity(f.col("is_sensitive")),
        **same_named_columns("export", "grantee", *OBJECT_COLUMNS, "name", "bits", "level", "count"),
        entity="table",
        kind=f.lit(Grantee.USER),
        actor=f.coalesce("urn", f.concat(f.lit("urn:li:corpuser:"), "member_key")),
    )


def _count_sensitive_reach(pairs: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    declared_rows = declared_access.sensitive_role_datasets.select(
        "tag", "role", "number", f.lit(1).alias("declared"), f.lit(0).alias("opened")
    )
    opened_rows = pairs.filter("is_sensitive AND level IS NOT NULL").join(declared_access.sensitive_datasets, "number")
    opened_rows = opened_rows.select("tag", "role", "number", f.lit(0).alias("declared"), f.lit(1).alias("opened"))
    all_rows = declared_rows.union(opened_rows).groupBy("tag", "role", "number").agg(f.max("declared"), f.max("opened"))
    all_rows = all_rows.toDF("tag", "role", "number", "declared", "opened")
    role_counts = all_rows.groupBy("tag", "role").agg(
        f.sum("declared").alias("declared"), f.sum("opened").alias("opened")
    )
    # Undeclared roles have no URN and are left out; their grants are differences.
    return role_counts.join(declared_access.roles, "role").select(
        "tag", "role_urn", "declared_level", "declared", "opened"
    )
