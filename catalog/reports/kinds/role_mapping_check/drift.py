"""Compares the declared access of the catalog with the facts of the exports, by joins only."""

from collections.abc import Callable, Sequence
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
from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, Grantee
from catalog.reports.kinds.role_mapping_check.passed_rows import find_passed_access
from catalog.reports.kinds.role_mapping_check.protection import find_open_datasets, find_policies
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS, find_reach
from catalog.reports.kinds.role_mapping_check.renames import find_renames
from catalog.reports.kinds.role_mapping_check.role_closure import compute_role_closure
from catalog.reports.kinds.role_mapping_check.role_pairs import pair_roles_with_datasets
from catalog.reports.kinds.role_mapping_check.role_prefixes import check_role_prefixes
from catalog.reports.spark.job_threads import JobThreads


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
    facts: DataFrame,
    survey: FactSurvey,
    read_declared: Callable[[], DeclaredAccess],
    exports: Sequence[Export],
    *,
    stage: Stage,
    threads: JobThreads,
) -> ComparisonResult:
    """Return the differences between the exports and the catalog; `facts` are read more than once.

    `survey` is that of the facts. `read_declared` is called when what the facts say alone is known. Raises BadExports
    when the catalog knows none of the roles of an export.
    """
    role_members = threads.start(lambda: stage("held", membership.select_members(facts)))
    inherited_roles = compute_role_closure(facts, stage, is_empty=FactKind.INHERIT not in survey.fact_kinds)
    found_roles = existing_roles = stage("there", membership.find_existing_roles(facts))
    declared_access = read_declared()
    check_role_prefixes(existing_roles, declared_access.roles, exports)
    found_policies = find_policies(facts, declared_access)
    has_policies = FactKind.POLICY in survey.fact_kinds
    dataset_policies = threads.start(
        lambda: stage("policies", found_policies) if has_policies else found_policies.limit(0)
    )
    grants = stage("granted", find_reach(facts, survey, declared_access, exports, stage))
    reaching_grants = grants.filter("number IS NOT NULL")
    role_grants = reaching_grants.filter(f.col("kind") == Grantee.ROLE)
    pairs = stage(
        "details", pair_roles_with_datasets(role_grants, declared_access, inherited_roles, existing_roles, stage)
    )
    members = role_members.result()
    renames = find_renames(pairs, declared_access, exports)
    if renames is not None:
        existing_roles = stage("existing", renames.rename_existing(found_roles))
        # What a role has through another one is what the source has under that name.
        renamed_pairs = pair_roles_with_datasets(
            role_grants,
            declared_access,
            renames.rename(inherited_roles),
            existing_roles,
            stage,
            select=renames.select_renamed,
        )
        inherited_roles = renames.rename_inheritance(inherited_roles)
        members = renames.rename(members)
        pairs = stage("renamed", renames.drop_roles(pairs).union(renamed_pairs))
    missing_roles = stage("gone", declared_access.expected_roles.join(existing_roles, ROLE_COLUMNS, "left_anti"))
    policies = dataset_policies.result()
    differences = [
        _find_missing_grants(pairs, existing_roles),
        *_find_extra_grants(pairs, exports),
        _find_wrong_levels(pairs),
        find_passed_access(facts, declared_access, exports),
        membership.build_missing_roles(missing_roles, declared_access),
        membership.find_idle_roles(declared_access, existing_roles),
        select_difference_columns(
            declared_access.uncovered_datasets,
            type=f.lit(DifferenceType.SENSITIVE_WITHOUT_ROLE),
            severity=f.lit(DifferenceSeverity.HIGH),
            entity="urn",
        ),
        find_open_datasets(policies, reaching_grants, declared_access, exports),
        *membership.compare_members(members, declared_access, inherited_roles, existing_roles, missing_roles, exports),
    ]
    if survey.has_user_grants:
        user_grants = reaching_grants.filter(f.col("kind") == Grantee.USER)
        differences.append(_find_direct_grants(user_grants, declared_access))
    all_differences = reduce(DataFrame.union, differences)
    if renames is not None:
        all_differences = renames.add_new_names(
            all_differences.union(renames.build_differences(declared_access, found_roles))
        )
    return ComparisonResult(all_differences, _count_sensitive_reach(pairs, declared_access), grants, policies)


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
        rows.withColumns({column: f.col(f"highest_{column}") for column in OBJECT_COLUMNS}),
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
