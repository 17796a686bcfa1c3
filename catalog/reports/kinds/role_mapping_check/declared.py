"""Access that a snapshot of the catalog declares: external roles, their members and datasets, sensitive datasets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import ROLE_TYPE_LEVELS, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee, spell, without_domain

#: Before the platform, name and environment of a dataset, which are separated by commas; only a name may have some.
_DATASET_PREFIX = "urn:li:dataset:(urn:li:dataPlatform:"
_ROLE_PREFIX, _USER_PREFIX, _GROUP_PREFIX = "urn:li:role:", "urn:li:corpuser:", "urn:li:corpGroup:"


@dataclass(frozen=True, slots=True)
class DeclaredAccess:
    """Access that the catalog declares; `role` is always the identifier of a role's URN in lower case.

    - `datasets`: number, urn, export, name (in its installation), key, is_sensitive; only datasets covered by an
      export.
    - `role_datasets`: export, number, role; of those datasets; twice where the catalog names a role in two spellings.
    - `roles`: role, role_urn, declared_level (null: not declared), is_described, count (of datasets of any platform).
    - `expected_roles`: export, role; the roles that an export should contain.
    - `members`: export, role, kind, member_key, actor; the members that these roles should have.
    - `allowed_members`: export, role, kind, member_key; the members that these roles may have.
    - `group_members`: export, group_key, member_key; the members of groups.
    - `people`: member_key, urn; the users of the catalog.
    - `uncovered_datasets`: urn; sensitive datasets of any platform without a role.
    - `sensitive_datasets`: tag, number. `sensitive_role_datasets`: tag, number, role (each role that they name).
    """

    datasets: DataFrame
    role_datasets: DataFrame
    roles: DataFrame
    expected_roles: DataFrame
    members: DataFrame
    allowed_members: DataFrame
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
    stage: Callable[[str, DataFrame], DataFrame],
) -> DeclaredAccess:
    """Return the declared access to the datasets of the exports; `tags` mark sensitive datasets.

    `table` reads a table of the snapshot, `stage` writes an intermediate table and returns it.
    """
    facets = table("facets")
    entities = table("entities").filter(f.col("type").isin("dataset", "role"))
    tag_facets = facets.filter((f.col("field") == "TAG") & f.col("value").isin(list(tags)))
    sensitive_datasets = stage(
        "tagged", tag_facets.select(f.col("entity").alias("number"), f.col("value").alias("tag"))
    )
    sensitive_numbers = sensitive_datasets.select("number").distinct().withColumn("is_sensitive", f.expr("true"))
    all_datasets = entities.filter("type = 'dataset'").select("number", "urn")
    datasets = _select_covered_datasets(all_datasets, exports).join(sensitive_numbers, "number", "left")
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
    membership = _collect_members(table, entities, facets, expected_roles, exports, stage)
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
        uncovered_datasets=sensitive_role_facets.filter("role IS NULL").select("urn").distinct(),
        sensitive_datasets=sensitive_datasets,
        sensitive_role_datasets=sensitive_role_facets.filter("role IS NOT NULL").select("tag", "number", "role"),
        **membership,
    )


def _select_covered_datasets(datasets: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the datasets covered by an export, with their names in the source."""
    is_dataset = f.col("urn").startswith(_DATASET_PREFIX) & f.col("urn").endswith(")")
    key = f.col("urn").substr(f.lit(len(_DATASET_PREFIX) + 1), f.length("urn") - len(_DATASET_PREFIX) - 1)
    platform, env = f.substring_index(key, ",", 1), f.substring_index(key, ",", -1)
    name = key.substr(f.length(platform) + 2, f.length(key) - f.length(platform) - f.length(env) - 2)
    parsed_datasets = datasets.filter(is_dataset).select(
        "number", "urn", platform.alias("platform"), name.alias("name"), env.alias("env")
    )
    covered_datasets = []
    for export in exports:
        instance_prefix = f"{export.instance}." if export.instance else ""
        export_datasets = parsed_datasets.filter((f.col("platform") == export.platform) & (f.col("env") == export.env))
        export_datasets = export_datasets.filter(
            f.col("name").startswith(instance_prefix) & (f.length("name") > len(instance_prefix))
        )
        bare_name = f.col("name").substr(f.lit(len(instance_prefix) + 1), f.length("name"))
        covered_datasets.append(
            export_datasets.select(
                "number", "urn", f.lit(export.name).alias("export"), bare_name.alias("name")
            ).withColumn("key", spell(export, f.col("name")))
        )
    return reduce(DataFrame.union, covered_datasets)


def _role_identifier(column: str, prefix: str) -> Column:
    return f.lower(f.substring(column, len(prefix) + 1, 1 << 30))


def _collect_roles(entities: DataFrame, facets: DataFrame, named_roles: DataFrame) -> DataFrame:
    """Return `DeclaredAccess.roles`; `named_roles` are export, role, role_urn and the count of datasets."""
    described_roles = entities.filter("type = 'role'").select("number", "urn")
    types = facets.filter("field = 'ROLE_TYPE'").select(f.col("entity").alias("number"), f.col("value").alias("said"))
    levels = f.create_map(*(f.lit(item) for pair in ROLE_TYPE_LEVELS.items() for item in pair))
    described_roles = described_roles.join(types, "number", "left").select(
        _role_identifier("urn", _ROLE_PREFIX).alias("role"),
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


def _collect_members(
    table: Callable[[str], DataFrame],
    entities: DataFrame,
    facets: DataFrame,
    expected_roles: DataFrame,
    exports: Sequence[Export],
    stage: Callable[[str, DataFrame], DataFrame],
) -> dict[str, DataFrame]:
    """Return people, members, allowed_members and group_members, as the fields of `DeclaredAccess`.

    Users who may not act are neither required nor allowed members.
    """
    described_roles = entities.filter("type = 'role'").select(
        f.col("number").alias("entity"), _role_identifier("urn", _ROLE_PREFIX).alias("role")
    )
    kinds = f.when(f.col("field") == "ROLE_USER", Grantee.USER).when(f.col("field") == "ROLE_GROUP", Grantee.GROUP)
    member_facets = facets.filter(f.col("field").isin("ROLE_USER", "ROLE_GROUP")).withColumn("kind", kinds)
    declared_members = (
        member_facets.join(described_roles, "entity")
        .join(expected_roles, "role")
        .select("export", "role", "kind", f.col("value").alias("actor"))
    )
    user_rows, group_rows = (
        declared_members.filter(f.col("kind") == Grantee.USER),
        declared_members.filter(f.col("kind") == Grantee.GROUP),
    )
    memberships = table("memberships").select(f.col("group").alias("actor"), f.col("user"))
    members_through_groups = group_rows.join(memberships, "actor").select(
        "export", "role", f.lit(Grantee.USER).alias("kind"), f.col("user").alias("actor")
    )
    inactive_users = table("users").filter("NOT may_act").select(f.col("urn").alias("actor"))
    keeps_groups = f.col("export").isin([export.name for export in exports if export.has_groups])

    # All of them are allowed members, and some of them required ones.
    possible_members = reduce(
        DataFrame.union,
        (
            rows.select("export", "role", "kind", "actor", is_required.alias("is_required"))
            for rows, is_required in (
                (user_rows, f.expr("true")),
                (group_rows, keeps_groups),
                (members_through_groups, ~keeps_groups),
            )
        ),
    )
    possible_members = possible_members.groupBy("export", "role", "kind", "actor").agg(
        f.max("is_required").alias("is_required")
    )
    active_members = possible_members.join(inactive_users, "actor", "left_anti")
    members = stage("members", active_members.withColumn("member_key", _member_key(exports, "actor")))
    export_memberships = [
        memberships.select(f.lit(export.name).alias("export"), "actor", "user")
        for export in exports
        if export.has_groups
    ]
    no_memberships = memberships.select(f.lit("").alias("export"), "actor", "user").limit(0)
    users_by_key = table("users").select(
        f.lower(f.substring("urn", len(_USER_PREFIX) + 1, 1 << 30)).alias("member_key"), "urn"
    )
    return {
        "people": users_by_key.groupBy("member_key").agg(f.min("urn").alias("urn")),
        "members": members.filter("is_required").select("export", "role", "kind", "member_key", "actor"),
        "allowed_members": members.select("export", "role", "kind", "member_key"),
        "group_members": reduce(DataFrame.union, export_memberships, no_memberships).select(
            "export", _member_key(exports, "actor").alias("group_key"), _member_key(exports, "user").alias("member_key")
        ),
    }


def _member_key(exports: Sequence[Export], actor: str) -> Column:
    """Return the comparison key of the URN of a user or group, as `Export.normalize` of the row's export."""
    bare_name = f.regexp_replace(actor, f"^({_USER_PREFIX}|{_GROUP_PREFIX})", "")
    key: Column = f.lower(bare_name)
    for export in exports:
        key = f.when(f.col("export") == export.name, without_domain(export, bare_name)).otherwise(key)
    return key
