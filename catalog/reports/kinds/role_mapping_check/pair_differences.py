"""Differences between what roles open by the catalog and what they, and users, open in the sources."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    ALL_PLACES,
    DATASETS,
    DETAILS,
    HIGHEST_HOP_FIRST,
    HOP_FIRST,
    JOINED_PLACES,
    PLACES,
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    excess_severity,
    is_ignored_person,
    is_named_role,
    is_usual_holder,
    rank_datasets,
    same_named_columns,
    select_difference_columns,
)
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS
from catalog.sql_text import is_among, quote_text
from catalog.warehouses.grant_facts import SEPARATOR, Grantee
from catalog.warehouses.levels import READ
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.principals import EVERYBODY_NAMES
from catalog.warehouses.warehouse import Export


def find_missing_grants(pairs: DataFrame, existing_roles: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return declared pairs without access in the source, except those of missing roles."""
    rows = pairs.filter("is_said AND level IS NULL").drop("object_type").join(existing_roles, ROLE_COLUMNS)
    rows = rows.join(declared_access.subtypes, "number", "left")
    return select_difference_columns(
        rows,
        type=f"'{DifferenceType.GRANT_MISSING}'",
        severity=f"'{DifferenceSeverity.MEDIUM}'",
        **same_named_columns("export", "role", "role_urn", "entity", "object_type", "name"),
        grantee="role_name",
        wanted=f"coalesce(declared_level, {READ})",
    )


def name_types(rows: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export], *columns: str) -> DataFrame:
    """Return rows about datasets with the types of objects, in `columns`, by the catalog where a source hides them."""
    names = [export.name for export in exports if export.warehouse.hides_types]
    if not names:
        return rows
    subtypes = declared_access.subtypes.selectExpr("number", "object_type AS said_type")
    is_asked = f"{is_among('export', names)} AND at = ''"
    types = {name: f.expr(f"CASE WHEN {is_asked} THEN coalesce({name}, said_type) ELSE {name} END") for name in columns}
    return rows.join(subtypes, "number", "left").withColumns(types).drop("said_type")


def find_extra_grants(pairs: DataFrame, exports: Sequence[Export]) -> list[DataFrame]:
    """Return access in the source that the catalog does not declare.

    Access through a container or another role is one difference, however many datasets it reaches: one revoke ends it.
    So is all that a usual holder has in what is the outermost container.
    """
    is_everybody = is_named_role(exports, lambda _: EVERYBODY_NAMES)
    is_ignored = is_named_role(exports, lambda export: export.ignored_roles)
    rows = pairs.filter(f"NOT is_said AND NOT {is_ignored}")
    is_usual = is_usual_holder(exports)
    is_grouped = f"(via <> '' OR at <> '' OR {is_usual})"
    direct_rows = rows.filter(f"NOT {is_grouped}")
    container = f"CASE WHEN {is_usual} THEN substring_index(object, {quote_text(SEPARATOR)}, 1) ELSE at END"
    keys = ("export", "role", "role_urn", "via", f"CASE WHEN via = '' THEN {container} END")
    totals = ("max(details) AS details", "count(*) AS count", "min(hop) AS hop", ALL_PLACES, DATASETS)
    grouped_rows = (
        rank_datasets(rows.filter(is_grouped), keys, "entity")
        .groupBy(*keys[:-1], f.expr(f"{keys[-1]} AS object"))
        .agg(*_aggregate_grants("bits"), *map(f.expr, totals))
    )
    return [
        select_difference_columns(
            frame,
            type=f"'{DifferenceType.EXTRA_GRANT}'",
            severity=excess_severity(f"(is_sensitive OR {is_everybody}) AND NOT {is_usual}"),
            **same_named_columns(
                "export", "role", "role_urn", "grantee", *OBJECT_COLUMNS, "name", "via", "bits", "level", "details"
            ),
            places=HOP_FIRST,
            **extra_columns,
        )
        for frame, extra_columns in (
            (direct_rows, {"entity": "entity", "count": "1"}),
            (grouped_rows, {"count": "count", "datasets": "datasets"}),
        )
    ]


def find_partial_grants(grants: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]) -> DataFrame:
    """Return access of roles to a part of a table that is not declared, or goes beyond what is."""
    is_ignored = is_named_role(exports, lambda export: export.ignored_roles)
    is_everybody = is_named_role(exports, lambda _: EVERYBODY_NAMES)
    dataset = declared_access.datasets.selectExpr("number", "urn AS entity", "name", "is_sensitive")
    declared_pairs = declared_access.role_datasets.selectExpr("export", "number", "role", "true AS is_said").distinct()
    roles = declared_access.roles.selectExpr("role", "role_urn", "declared_level")
    rows = grants.withColumn("role", f.expr("grantee_key")).filter(f"NOT {is_ignored}")
    rows = rows.join(declared_pairs, ["export", "number", "role"], "left").join(roles, "role", "left")
    rows = rows.filter("is_said IS NULL OR level > declared_level").join(dataset, "number")
    rows = rows.groupBy("export", "role", "role_urn", "entity").agg(
        *_aggregate_grants("bit"), *map(f.expr, (DETAILS, PLACES, "min(object) AS object"))
    )
    return select_difference_columns(
        rows,
        type=f"'{DifferenceType.EXTRA_GRANT}'",
        severity=excess_severity(f"is_sensitive OR {is_everybody}"),
        **same_named_columns(
            *("export", "role", "role_urn", "entity", "grantee", *OBJECT_COLUMNS, "name", "bits", "level", "details")
        ),
        places=JOINED_PLACES,
        via="''",
        count="1",
        rule=f"'{PassRule.COLUMN_PRIVILEGE}'",
    )


def find_wrong_levels(pairs: DataFrame) -> DataFrame:
    """Return declared access at another level than the declared one."""
    severity = f"""CASE WHEN level > declared_level THEN {excess_severity("is_sensitive")}
        ELSE '{DifferenceSeverity.MEDIUM}' END"""
    return select_difference_columns(
        pairs.filter("is_said AND level <> declared_level"),
        type=f"'{DifferenceType.WRONG_LEVEL}'",
        severity=severity,
        **same_named_columns("export", "role", "role_urn", "entity", "grantee", "name", "level", "details"),
        places=HIGHEST_HOP_FIRST,
        **{column: f"highest_{column}" for column in ("via", "bits", *OBJECT_COLUMNS)},
        wanted="declared_level",
    )


def find_direct_grants(grants: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]) -> DataFrame:
    """Return access of users without a role, one row for each container or table; not of those that are ignored."""
    dataset = declared_access.datasets.selectExpr("number", "urn", "name", "is_sensitive")
    totals = (DETAILS, PLACES, DATASETS, "count(DISTINCT number) AS count")
    keys = ("export", "grantee_key AS member_key", "object", "at", "CASE WHEN at = '' THEN urn END AS entity")
    grouped_rows = (
        rank_datasets(
            grants.filter(f"NOT {is_ignored_person(exports, 'grantee_key')}").join(dataset, "number"),
            ("export", "grantee_key", "object", "at", "CASE WHEN at = '' THEN urn END"),
            "urn",
        )
        .groupBy(*map(f.expr, keys))
        .agg(*_aggregate_grants("bit"), *map(f.expr, totals))
    )
    datasets = "CASE WHEN entity IS NULL THEN datasets END"
    return select_difference_columns(
        grouped_rows.join(declared_access.people, "member_key", "left"),
        type=f"'{DifferenceType.DIRECT_USER_GRANT}'",
        severity=excess_severity("is_sensitive"),
        **same_named_columns(
            "export", "entity", "grantee", *OBJECT_COLUMNS, "name", "bits", "level", "count", "details"
        ),
        kind=f"'{Grantee.USER}'",
        places=JOINED_PLACES,
        datasets=datasets,
        is_known="urn IS NOT NULL",
        actor="coalesce(urn, concat('urn:li:corpuser:', member_key))",
    )


def _aggregate_grants(bits: str) -> list[Column]:
    """Return the aggregates of grants that are one difference, named as its columns; `bits` are their privileges."""
    highest = (f"max({name}) AS {name}" for name in ("level", "is_sensitive"))
    texts = (f"min({name}) AS {name}" for name in ("grantee", "object_type", "`condition`", "name"))
    return [*map(f.expr, (*highest, f"bit_or({bits}) AS bits", *texts))]


def count_sensitive_reach(pairs: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return tag, role_urn, declared_level, declared, opened: sensitive datasets of a role, declared and in sources."""
    declared_rows = declared_access.sensitive_role_datasets.selectExpr(
        "tag", "role", "number", "1 AS declared", "0 AS opened"
    )
    opened_rows = pairs.filter("is_sensitive AND level IS NOT NULL").join(declared_access.sensitive_datasets, "number")
    opened_rows = opened_rows.selectExpr("tag", "role", "number", "0 AS declared", "1 AS opened")
    all_rows = declared_rows.union(opened_rows)
    all_rows = all_rows.groupBy("tag", "role", "number").agg(
        *map(f.expr, ("max(declared) AS declared", "max(opened) AS opened"))
    )
    role_counts = all_rows.groupBy("tag", "role").agg(
        *map(f.expr, ("sum(declared) AS declared", "sum(opened) AS opened"))
    )
    # Undeclared roles have no URN and are left out; their grants are differences.
    return role_counts.join(declared_access.roles, "role").selectExpr(
        "tag", "role_urn", "declared_level", "declared", "opened"
    )
