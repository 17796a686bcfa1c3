"""Access that a snapshot of the catalog declares: external roles, their members and datasets, sensitive datasets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared_members import (
    DeclaredMembers,
    collect_members,
    read_group_members,
    read_people,
)
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.spark.job_threads import JobTask, JobThreads
from catalog.sql_text import is_among, list_texts, quote_text
from catalog.warehouses.csv_grants import TABLE_TYPES
from catalog.warehouses.grant_facts import spell
from catalog.warehouses.levels import ROLE_TYPE_LEVELS
from catalog.warehouses.warehouse import Export

#: Before the platform, name and environment of a dataset, which are separated by commas; only a name may have some.
_DATASET_PREFIX = "urn:li:dataset:(urn:li:dataPlatform:"
_ROLE_PREFIX = "urn:li:role:"


@dataclass(frozen=True, slots=True)
class DeclaredAccess:
    """Access that the catalog declares; `role` is always the identifier of a role's URN in lower case.

    - `datasets`: number, urn, export, name (in its installation), key, is_sensitive; only datasets covered by an
      export.
    - `role_datasets`: export, number, role; of those datasets; twice where the catalog names a role in two spellings.
    - `roles`: role, role_urn, declared_level (null: not declared), is_described, count (of datasets of any platform).
    - `expected_roles`: export, role; the roles that an export should contain.
    - `members`: the members of the expected roles, as soon as they are computed.
    - `group_members`: export, group_key, member_key; the members of groups.
    - `people`: member_key, urn; the users of the catalog.
    - `subtypes`: number, object_type; what datasets of any platform are, in the words of SQL.
    - `uncovered_datasets`: urn; sensitive datasets of any platform without a role.
    - `sensitive_datasets`: tag, number. `sensitive_role_datasets`: tag, number, role (each role that they name).
    """

    datasets: DataFrame
    role_datasets: DataFrame
    roles: DataFrame
    expected_roles: DataFrame
    members: JobTask[DeclaredMembers]
    group_members: DataFrame
    people: DataFrame
    subtypes: DataFrame
    uncovered_datasets: DataFrame
    sensitive_datasets: DataFrame
    sensitive_role_datasets: DataFrame


def read(
    table: Callable[[str], DataFrame],
    exports: Sequence[Export],
    *,
    tags: Sequence[str],
    stage: Stage,
    threads: JobThreads,
) -> DeclaredAccess:
    """Return the declared access to the datasets of the exports; `tags` mark sensitive datasets.

    `table` reads a table of the snapshot.
    """
    facets = table("facets")
    entities = table("entities").filter("type IN ('dataset', 'role')")
    tag_facets = facets.filter(f"field = 'TAG' AND {is_among('value', tags)}")
    sensitive_datasets = stage("tagged", tag_facets.selectExpr("entity AS number", "value AS tag"))
    sensitive_numbers = sensitive_datasets.selectExpr("number").distinct().withColumn("is_sensitive", f.expr("true"))
    all_datasets = entities.filter("type = 'dataset'").selectExpr("number", "urn")
    datasets = select_covered_datasets(all_datasets, exports).join(sensitive_numbers, "number", "left")
    datasets = stage("datasets", datasets.withColumn("is_sensitive", f.expr("coalesce(is_sensitive, false)")))
    role_facets = facets.filter("field = 'ACCESS_ROLE'").selectExpr("entity AS number", "value AS role_urn")
    # The facets of a million datasets are read and joined once.
    opened_datasets = stage("opens", role_facets.join(datasets.selectExpr("number", "export"), "number", "left"))
    opened_datasets = opened_datasets.withColumn("role", f.expr(_role_identifier("role_urn")))
    # Spark sorts all rows to find the least text of a group, so texts are gathered first.
    named_urns = opened_datasets.groupBy("export", "role", "role_urn").agg(f.expr("count(*) AS count"))
    named_roles = named_urns.groupBy("export", "role").agg(
        *map(f.expr, ("min(role_urn) AS role_urn", "sum(count) AS count"))
    )
    named_roles = stage("named_roles", named_roles)
    roles = stage("roles", _collect_roles(entities, facets, named_roles))
    expected_roles = stage("expected", _find_expected_roles(named_roles, roles, exports))
    described_roles = _select_described_roles(entities)
    members = threads.start(lambda: collect_members(table, described_roles, expected_roles, exports, stage))
    # Few of all rows are about sensitive datasets, and the others need not be exchanged for the join.
    opened_sensitive_datasets = opened_datasets.join(sensitive_datasets.selectExpr("number"), "number", "left_semi")
    sensitive_role_facets = sensitive_datasets.join(all_datasets, "number").join(
        opened_sensitive_datasets, "number", "left"
    )
    return DeclaredAccess(
        datasets=datasets,
        role_datasets=opened_datasets.filter("export IS NOT NULL").selectExpr("export", "number", "role"),
        roles=roles,
        expected_roles=expected_roles,
        members=members,
        group_members=read_group_members(table, exports),
        people=read_people(table),
        subtypes=_read_subtypes(facets),
        uncovered_datasets=sensitive_role_facets.filter("role IS NULL").selectExpr("urn").distinct(),
        sensitive_datasets=sensitive_datasets,
        sensitive_role_datasets=sensitive_role_facets.filter("role IS NOT NULL").selectExpr("tag", "number", "role"),
    )


def select_covered_datasets(datasets: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the datasets covered by an export, with their names in the source."""
    return reduce(DataFrame.union, (_select_export_datasets(datasets, export) for export in exports))


def _select_export_datasets(datasets: DataFrame, export: Export) -> DataFrame:
    # What is the same in all of these URNs is compared as a whole, so that only the name is taken out.
    start = f"{_DATASET_PREFIX}{export.platform},{export.instance}{'.' if export.instance else ''}"
    end = f",{export.env})"
    is_covered = f"""startswith(urn, {quote_text(start)}) AND endswith(urn, {quote_text(end)})
        AND char_length(urn) > {len(start) + len(end)}"""
    name = f"substring(urn, {len(start) + 1}, char_length(urn) - {len(start) + len(end)})"
    columns = ("number", "urn", f"{quote_text(export.name)} AS export", f"{name} AS name")
    rows = datasets.filter(is_covered).selectExpr(*columns)
    return rows.withColumn("key", f.expr(spell(export, "name")))


def _read_subtypes(facets: DataFrame) -> DataFrame:
    rows = facets.filter(f"field = 'SUBTYPE' AND value IN {list_texts(TABLE_TYPES)}")
    # Of several words the longer one says more: a materialized view is a view, too.
    longest = f.expr("max(struct(length(value) AS size, value)).value AS object_type")
    return rows.groupBy(f.expr("entity AS number")).agg(longest)


def _role_identifier(urn: str) -> str:
    return f"lower(substring({urn}, {len(_ROLE_PREFIX) + 1}))"


def _select_described_roles(entities: DataFrame) -> DataFrame:
    """Return number, urn and role of the roles that the catalog describes."""
    return entities.filter("type = 'role'").selectExpr("number", "urn", f"{_role_identifier('urn')} AS role")


def _collect_roles(entities: DataFrame, facets: DataFrame, named_roles: DataFrame) -> DataFrame:
    """Return `DeclaredAccess.roles`; `named_roles` are export, role, role_urn and the count of datasets."""
    described_roles = _select_described_roles(entities)
    types = facets.filter("field = 'ROLE_TYPE'").selectExpr("entity AS number", "value AS said")
    levels = ", ".join(f"'{name}', {level}" for name, level in ROLE_TYPE_LEVELS.items())
    described_roles = described_roles.join(types, "number", "left").selectExpr(
        "role",
        "urn AS role_urn",
        f"try_element_at(map({levels}), said) AS declared_level",
        "true AS is_described",
        "0 AS count",
    )
    counted_columns = (
        "min(role_urn) AS role_urn",
        "CAST(NULL AS int) AS declared_level",
        "false AS is_described",
        "sum(count) AS count",
    )
    counted_roles = named_roles.groupBy("role").agg(*map(f.expr, counted_columns))
    columns = (
        "min(role_urn) AS role_urn",
        "max(declared_level) AS declared_level",
        "max(is_described) AS is_described",
        "max(count) AS count",
    )
    return described_roles.union(counted_roles).groupBy("role").agg(*map(f.expr, columns))


def _find_expected_roles(named_roles: DataFrame, roles: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return (export, role) of roles that an export's datasets name, or that `roles` or `role_prefix` assign to it."""
    expected_roles = named_roles.filter("export IS NOT NULL").selectExpr("export", "role")
    for export in exports:
        conditions = []
        if export.roles:
            conditions.append(f"role IN {list_texts(identifier.lower() for identifier in export.roles.values())}")
        if export.role_prefix:
            conditions.append(f"startswith(role, {quote_text(export.role_prefix.lower())})")
        if conditions:
            assigned_roles = roles.filter(f"is_described AND ({' OR '.join(conditions)})")
            expected_roles = expected_roles.union(assigned_roles.selectExpr(quote_text(export.name), "role"))
    return expected_roles.distinct()
