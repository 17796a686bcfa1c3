"""Access that a snapshot of the catalog declares: external roles, their members and datasets, sensitive datasets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared_members import (
    DeclaredMembers,
    collect_members,
    read_group_members,
    read_people,
)
from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.exports import ROLE_TYPE_LEVELS, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import spell
from catalog.reports.spark.job_threads import JobTask, JobThreads
from catalog.reports.spark.sql_text import quote_text

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
    entities = table("entities").filter(f.col("type").isin("dataset", "role"))
    tag_facets = facets.filter((f.col("field") == "TAG") & f.col("value").isin(list(tags)))
    sensitive_datasets = stage(
        "tagged", tag_facets.select(f.col("entity").alias("number"), f.col("value").alias("tag"))
    )
    sensitive_numbers = sensitive_datasets.select("number").distinct().withColumn("is_sensitive", f.expr("true"))
    all_datasets = entities.filter("type = 'dataset'").select("number", "urn")
    datasets = select_covered_datasets(all_datasets, exports).join(sensitive_numbers, "number", "left")
    datasets = stage("datasets", datasets.withColumn("is_sensitive", f.coalesce("is_sensitive", f.expr("false"))))
    role_facets = facets.filter("field = 'ACCESS_ROLE'").select(
        f.col("entity").alias("number"), f.col("value").alias("role_urn")
    )
    # The facets of a million datasets are read and joined once.
    opened_datasets = stage("opens", role_facets.join(datasets.select("number", "export"), "number", "left"))
    opened_datasets = opened_datasets.withColumn("role", _role_identifier("role_urn", _ROLE_PREFIX))
    # Spark sorts all rows to find the least text of a group, so texts are gathered first.
    named_urns = opened_datasets.groupBy("export", "role", "role_urn").agg(f.count("*").alias("count"))
    named_roles = named_urns.groupBy("export", "role").agg(
        f.min("role_urn").alias("role_urn"), f.sum("count").alias("count")
    )
    named_roles = stage("named_roles", named_roles)
    roles = stage("roles", _collect_roles(entities, facets, named_roles))
    expected_roles = stage("expected", _find_expected_roles(named_roles, roles, exports))
    described_roles = _select_described_roles(entities)
    members = threads.start(lambda: collect_members(table, described_roles, expected_roles, exports, stage))
    # Few of all rows are about sensitive datasets, and the others need not be exchanged for the join.
    opened_sensitive_datasets = opened_datasets.join(sensitive_datasets.select("number"), "number", "left_semi")
    sensitive_role_facets = sensitive_datasets.join(all_datasets, "number").join(
        opened_sensitive_datasets, "number", "left"
    )
    return DeclaredAccess(
        datasets=datasets,
        role_datasets=opened_datasets.filter("export IS NOT NULL").select("export", "number", "role"),
        roles=roles,
        expected_roles=expected_roles,
        members=members,
        group_members=read_group_members(table, exports),
        people=read_people(table),
        uncovered_datasets=sensitive_role_facets.filter("role IS NULL").select("urn").distinct(),
        sensitive_datasets=sensitive_datasets,
        sensitive_role_datasets=sensitive_role_facets.filter("role IS NOT NULL").select("tag", "number", "role"),
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
    return rows.withColumn("key", spell(export, f.col("name")))


def _role_identifier(column: str, prefix: str) -> Column:
    return f.lower(f.substring(column, len(prefix) + 1, 1 << 30))


def _select_described_roles(entities: DataFrame) -> DataFrame:
    """Return number, urn and role of the roles that the catalog describes."""
    return entities.filter("type = 'role'").select("number", "urn", _role_identifier("urn", _ROLE_PREFIX).alias("role"))


def _collect_roles(entities: DataFrame, facets: DataFrame, named_roles: DataFrame) -> DataFrame:
    """Return `DeclaredAccess.roles`; `named_roles` are export, role, role_urn and the count of datasets."""
    described_roles = _select_described_roles(entities)
    types = facets.filter("field = 'ROLE_TYPE'").select(f.col("entity").alias("number"), f.col("value").alias("said"))
    levels = f.create_map(*(f.lit(item) for pair in ROLE_TYPE_LEVELS.items() for item in pair))
    described_roles = described_roles.join(types, "number", "left").select(
        "role",
        f.col("urn").alias("role_urn"),
        f.try_element_at(levels, f.col("said")).alias("declared_level"),
        f.expr("true").alias("is_described"),
        f.lit(0).alias("count"),
    )
    counted_roles = named_roles.groupBy("role").agg(f.min("role_urn").alias("role_urn"), f.sum("count").alias("count"))
    counted_roles = counted_roles.select(
        "role",
        "role_urn",
        f.lit(None).cast("int").alias("declared_level"),
        f.expr("false").alias("is_described"),
        "count",
    )
    return (
        described_roles.union(counted_roles)
        .groupBy("role")
        .agg(
            f.min("role_urn").alias("role_urn"),
            f.max("declared_level").alias("declared_level"),
            f.max("is_described").alias("is_described"),
            f.max("count").alias("count"),
        )
    )


def _find_expected_roles(named_roles: DataFrame, roles: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return (export, role) of roles that an export's datasets name, or that `roles` or `role_prefix` assign to it."""
    expected_roles = named_roles.filter("export IS NOT NULL").select("export", "role")
    for export in exports:
        mapped_identifiers = [identifier.lower() for identifier in export.roles.values()]
        is_expected = f.col("role").isin(mapped_identifiers)
        if export.role_prefix:
            is_expected |= f.col("role").startswith(export.role_prefix.lower())
        expected_roles = expected_roles.union(
            roles.filter(is_expected & f.col("is_described")).select(f.lit(export.name), "role")
        )
    return expected_roles.distinct()
