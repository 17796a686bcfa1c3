"""What the catalog says of external roles, from a snapshot: who holds them, what they open, what is sensitive."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import TYPES, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee, object_key, without_domain

_URN = r"^urn:li:dataset:\(urn:li:dataPlatform:([^,]+),(.*),([^,]+)\)$"
_ROLE, _USER, _GROUP = "urn:li:role:", "urn:li:corpuser:", "urn:li:corpGroup:"


@dataclass(frozen=True, slots=True)
class Declared:
    """What the catalog says; `role` is always the identifier of a role's URN in lower case.

    - `datasets`: number, urn, export, name (in its installation), key, is_sensitive; of those that an export covers.
    - `opens`: export, number, role; of those datasets.
    - `roles`: role, role_urn, declared_level (null: it does not say), is_described, count (of datasets of any kind).
    - `expected`: export, role; which roles an export has to have.
    - `members`: export, role, kind, member_key, actor; who has to hold them.
    - `allowed`: export, role, kind, member_key; who may hold them besides.
    - `in_groups`: export, group_key, member_key; who is in which group.
    - `people`: member_key, urn; users whom the catalog knows.
    - `uncovered`: urn, of sensitive datasets of any platform that no role opens.
    - `sensitive`: tag, number; of datasets with a sensitive tag. `tagged`: the same with each role that they name.
    """

    datasets: DataFrame
    opens: DataFrame
    roles: DataFrame
    expected: DataFrame
    members: DataFrame
    allowed: DataFrame
    in_groups: DataFrame
    people: DataFrame
    uncovered: DataFrame
    sensitive: DataFrame
    tagged: DataFrame


def read(
    table: Callable[[str], DataFrame],
    exports: Sequence[Export],
    *,
    tags: Sequence[str],
    stage: Callable[[str, DataFrame], DataFrame],
) -> Declared:
    """Return what a snapshot says of the roles and datasets of the exports; `tags` mark what is sensitive.

    `table` gives the tables of the snapshot, `stage` writes an intermediate one down and returns it.
    """
    facets = table("facets")
    entities = table("entities").filter(f.col("type").isin("dataset", "role"))
    sensitive = facets.filter((f.col("field") == "TAG") & f.col("value").isin(list(tags))).select(
        f.col("entity").alias("number"), f.col("value").alias("tag")
    )
    marked = sensitive.select("number").distinct().withColumn("is_sensitive", f.expr("true"))
    all_datasets = entities.filter("type = 'dataset'").select("number", "urn")
    datasets = _covered(all_datasets, exports).join(marked, "number", "left")
    datasets = stage("datasets", datasets.withColumn("is_sensitive", f.coalesce("is_sensitive", f.expr("false"))))
    access = facets.filter("field = 'ACCESS_ROLE'").select(
        f.col("entity").alias("number"), f.col("value").alias("role_urn"), _identifier("value", _ROLE).alias("role")
    )
    roles = stage("roles", _roles(entities, facets, access))
    opens = access.join(datasets.select("number", "export"), "number").select("export", "number", "role").distinct()
    opens = stage("opens", opens)
    expected = stage("expected", _expected(opens, roles, exports))
    membership = _members(table, entities, facets, expected, exports, stage)
    held = sensitive.join(all_datasets, "number").join(access, "number", "left")
    return Declared(
        datasets=datasets,
        opens=opens,
        roles=roles,
        expected=expected,
        uncovered=held.filter("role IS NULL").select("urn").distinct(),
        sensitive=sensitive,
        tagged=held.filter("role IS NOT NULL").select("tag", "number", "role"),
        **membership,
    )


def _covered(datasets: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the datasets that exports are of, with their names as the sources have them."""
    platform, name, env = (f.regexp_extract("urn", _URN, place) for place in (1, 2, 3))
    split = datasets.select("number", "urn", platform.alias("platform"), name.alias("name"), env.alias("env"))
    found = []
    for export in exports:
        start = f"{export.instance}." if export.instance else ""
        mine = split.filter((f.col("platform") == export.platform) & (f.col("env") == export.env))
        mine = mine.filter(f.col("name").startswith(start) & (f.length("name") > len(start)))
        bare = f.substring(f.col("name"), f.lit(len(start) + 1), f.length("name"))
        found.append(
            mine.select("number", "urn", f.lit(export.name).alias("export"), bare.alias("name")).withColumn(
                "key", object_key(export, f.col("name"))
            )
        )
    return reduce(DataFrame.union, found)


def _identifier(column: str, prefix: str) -> Column:
    return f.lower(f.substring(column, len(prefix) + 1, 1 << 30))


def _roles(entities: DataFrame, facets: DataFrame, access: DataFrame) -> DataFrame:
    described = entities.filter("type = 'role'").select("number", "urn")
    types = facets.filter("field = 'ROLE_TYPE'").select(f.col("entity").alias("number"), f.col("value").alias("said"))
    levels = f.create_map(*(f.lit(one) for pair in TYPES.items() for one in pair))
    described = described.join(types, "number", "left").select(
        _identifier("urn", _ROLE).alias("role"),
        f.col("urn").alias("role_urn"),
        f.try_element_at(levels, f.col("said")).alias("declared_level"),
        f.expr("true").alias("is_described"),
        f.lit(0).alias("count"),
    )
    named = access.groupBy("role").agg(f.min("role_urn").alias("role_urn"), f.count("*").alias("count"))
    named = named.select(
        "role",
        "role_urn",
        f.lit(None).cast("int").alias("declared_level"),
        f.expr("false").alias("is_described"),
        "count",
    )
    return (
        described.union(named)
        .groupBy("role")
        .agg(
            f.min("role_urn").alias("role_urn"),
            f.max("declared_level").alias("declared_level"),
            f.max("is_described").alias("is_described"),
            f.max("count").alias("count"),
        )
    )


def _expected(opens: DataFrame, roles: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return which roles an export has to have: they open its datasets, or their names say that they are of it."""
    found = opens.select("export", "role").distinct()
    for export in exports:
        mapped = [identifier.lower() for identifier in export.roles.values()]
        mine = f.col("role").isin(mapped)
        if export.role_prefix:
            mine |= f.col("role").startswith(export.role_prefix.lower())
        found = found.union(roles.filter(mine & f.col("is_described")).select(f.lit(export.name), "role"))
    return found.distinct()


def _members(
    table: Callable[[str], DataFrame],
    entities: DataFrame,
    facets: DataFrame,
    expected: DataFrame,
    exports: Sequence[Export],
    stage: Callable[[str, DataFrame], DataFrame],
) -> dict[str, DataFrame]:
    """Return members, allowed and in_groups: a user who may not act has to hold nothing, and may not either."""
    described = entities.filter("type = 'role'").select(
        f.col("number").alias("entity"), _identifier("urn", _ROLE).alias("role")
    )
    kinds = f.when(f.col("field") == "ROLE_USER", Grantee.USER).when(f.col("field") == "ROLE_GROUP", Grantee.GROUP)
    named = facets.filter(f.col("field").isin("ROLE_USER", "ROLE_GROUP")).withColumn("kind", kinds)
    held = (
        named.join(described, "entity")
        .join(expected, "role")
        .select("export", "role", "kind", f.col("value").alias("actor"))
    )
    users, groups = held.filter(f.col("kind") == Grantee.USER), held.filter(f.col("kind") == Grantee.GROUP)
    memberships = table("memberships").select(f.col("group").alias("actor"), f.col("user"))
    through = groups.join(memberships, "actor").select(
        "export", "role", f.lit(Grantee.USER).alias("kind"), f.col("user").alias("actor")
    )
    inactive = table("users").filter("NOT may_act").select(f.col("urn").alias("actor"))
    keeps_groups = f.col("export").isin([export.name for export in exports if export.has_groups])

    def keyed(rows: DataFrame) -> DataFrame:
        known = rows.distinct().join(inactive, "actor", "left_anti")
        return known.select("export", "role", "kind", "actor", _key(exports, "actor").alias("member_key"))

    within = [
        memberships.select(f.lit(export.name).alias("export"), "actor", "user")
        for export in exports
        if export.has_groups
    ]
    none = memberships.select(f.lit("").alias("export"), "actor", "user").limit(0)
    known = table("users").select(f.lower(f.substring("urn", len(_USER) + 1, 1 << 30)).alias("member_key"), "urn")
    return {
        "people": known.groupBy("member_key").agg(f.min("urn").alias("urn")),
        "members": stage(
            "members", keyed(users.union(groups.filter(keeps_groups)).union(through.filter(~keeps_groups)))
        ),
        "allowed": stage("allowed", keyed(users.union(groups).union(through)).drop("actor")),
        "in_groups": reduce(DataFrame.union, within, none).select(
            "export", _key(exports, "actor").alias("group_key"), _key(exports, "user").alias("member_key")
        ),
    }


def _key(exports: Sequence[Export], actor: str) -> Column:
    """Return the URN of a user or group as the names of its row's export are compared."""
    bare = f.regexp_replace(actor, f"^({_USER}|{_GROUP})", "")
    key: Column = f.lower(bare)
    for export in exports:
        key = f.when(f.col("export") == export.name, without_domain(export, bare)).otherwise(key)
    return key
