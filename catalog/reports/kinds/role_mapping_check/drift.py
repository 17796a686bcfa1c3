"""Compares what the catalog says with what the exports hold, by joins alone, and names every difference.

No step multiplies roles with datasets: whatever is joined is a row of the catalog or of an export, or one of those with
what a role has through another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check import membership
from catalog.reports.kinds.role_mapping_check.declared import Declared
from catalog.reports.kinds.role_mapping_check.differences import (
    AT_ROLE,
    EVERYBODY,
    Severity,
    Stage,
    Type,
    here,
    is_one_of,
    shaped,
    worst,
)
from catalog.reports.kinds.role_mapping_check.exports import READ, Export
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee, What


def closure(facts: DataFrame, stage: Stage) -> DataFrame:
    """Return which role has all that another one has, at any distance: export, role, given, given_name.

    The distance doubles with every turn, so a chain of a thousand roles takes ten; circles end like everything else.
    """
    edges = facts.filter(f.col("what") == What.INHERIT)
    step = edges.select(
        "export", f.col("grantee_key").alias("role"), f.col("object_key").alias("given"), f.col("object").alias("name")
    )
    pairs = step.filter("role <> given").groupBy("export", "role", "given").agg(f.min("name").alias("given_name"))
    pairs = stage("closure", pairs)
    before, now = 0, pairs.count()
    while now > before:
        one, other = pairs.alias("one"), pairs.alias("other")
        is_next = (f.col("one.export") == f.col("other.export")) & (f.col("one.given") == f.col("other.role"))
        further = one.join(other, is_next).select("one.export", "one.role", "other.given", "other.given_name")
        pairs = pairs.union(further.filter("role <> given"))
        pairs = pairs.groupBy("export", "role", "given").agg(f.min("given_name").alias("given_name"))
        pairs = stage("closure", pairs)
        before, now = now, pairs.count()
    return pairs


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison found: `differences` with COLUMNS, each there once; `reach`: tag, role_urn, level, declared,
    opened, how many datasets with a sensitive tag each role opens by the catalog and in the sources; `granted`: a row
    for each grant that reaches a dataset of the catalog."""

    differences: DataFrame
    reach: DataFrame
    granted: DataFrame


def compare(facts: DataFrame, declared: Declared, exports: Sequence[Export], *, stage: Stage) -> Compared:
    """Compare what the exports say with what the catalog says; `facts` and `declared` are read more than once."""
    inherited = closure(facts, stage)
    there = stage("there", membership.there(facts))
    gone = stage("gone", declared.expected.join(there, AT_ROLE, "left_anti"))
    granted = stage("granted", _granted(facts, declared))
    pairs = _pairs(granted.filter(f.col("kind") == Grantee.ROLE), declared, inherited)
    pairs = stage("pairs", pairs)
    found = [
        _missing(pairs, gone),
        *_extra(pairs, exports),
        _wrong(pairs),
        _direct(granted.filter(f.col("kind") == Grantee.USER), declared),
        membership.gone(gone, declared),
        membership.idle(declared, there),
        shaped(
            declared.uncovered, type=f.lit(Type.SENSITIVE_WITHOUT_ROLE), severity=f.lit(Severity.HIGH), entity="urn"
        ),
        *membership.membership(stage("held", membership.held(facts)), declared, inherited, gone, exports),
    ]
    return Compared(reduce(DataFrame.union, found), _reach(pairs, declared), granted)


# -- grants -----------------------------------------------------------------------------------------------------------


def _granted(facts: DataFrame, declared: Declared) -> DataFrame:
    """Return the grants that reach a dataset of the catalog: export, number, kind, grantee …, `at` the container."""
    grants = facts.filter(f.col("what") == What.GRANT)
    known = declared.datasets.select("export", "number", "key")
    single = grants.filter("NOT is_container").join(
        known.withColumnRenamed("key", "object_key"), ["export", "object_key"]
    )
    # A dataset lies in whatever its name begins with, so each has as many containers as its name has parts.
    parts = f.split("key", "[.]")
    starts = f.transform(
        f.sequence(f.lit(1), f.size(parts) - 1), lambda size: f.array_join(f.slice(parts, f.lit(1), size), ".")
    )
    nested = known.filter(f.size(parts) > 1).select("export", "number", f.explode(starts).alias("object_key"))
    wide = grants.filter("is_container").join(nested, ["export", "object_key"])
    columns = ["export", "number", "kind", "grantee_key", "grantee", "bit", "level", "object"]
    return single.select(*columns, f.lit("").alias("at")).union(wide.select(*columns, f.col("object").alias("at")))


def _pairs(granted: DataFrame, declared: Declared, inherited: DataFrame) -> DataFrame:
    """Return role and dataset together, once: whether the catalog says so, whether and how it is so."""
    own = granted.select(
        "export",
        "number",
        f.col("grantee_key").alias("role"),
        "grantee",
        "object",
        "at",
        "bit",
        "level",
        f.lit("").alias("via"),
    )
    # What undeclared roles have through others says no more than what those others have.
    known = inherited.join(declared.roles.select("role"), "role", "left_semi").select(
        "export", f.col("role").alias("holder"), f.col("given").alias("role"), f.col("given_name")
    )
    through = own.join(known, AT_ROLE).select(
        "export",
        "number",
        f.col("holder").alias("role"),
        f.lit(None).cast("string").alias("grantee"),
        "object",
        "at",
        "bit",
        "level",
        f.col("given_name").alias("via"),
    )
    said = declared.opens.select(
        "export", "number", "role", *(f.lit(None).cast(kind).alias(name) for name, kind in _OF_A_GRANT.items())
    )
    merged = (
        said.withColumn("is_said", f.expr("true"))
        .union(own.union(through).withColumn("is_said", f.expr("false")))
        .groupBy("export", "number", "role")
        .agg(
            f.max("is_said").alias("is_said"),
            f.max("level").alias("level"),
            f.bit_or("bit").alias("bits"),
            # Directly and on the table itself sorts before everything else.
            f.min(f.when(f.col("level").isNotNull(), f.struct("via", "at", "object"))).alias("how"),
            f.min("grantee").alias("grantee"),
        )
    )
    dataset = declared.datasets.select("number", f.col("urn").alias("entity"), "name", "is_sensitive")
    role = declared.roles.select("role", "role_urn", "declared_level")
    return (
        merged.join(dataset, "number")
        .join(role, "role", "left")
        .select("*", "how.via", "how.at", "how.object")
        .drop("how")
        # Most pairs are as they should be, and nobody asks for them again.
        .filter("is_sensitive OR NOT is_said OR level IS NULL OR level <> declared_level")
    )


_OF_A_GRANT = {
    "grantee": "string",
    "object": "string",
    "at": "string",
    "bit": "bigint",
    "level": "int",
    "via": "string",
}


def _missing(pairs: DataFrame, gone: DataFrame) -> DataFrame:
    """Return what the catalog says and the source does not hold, unless the role itself is gone."""
    rows = pairs.filter("is_said AND level IS NULL").join(gone, AT_ROLE, "left_anti")
    return shaped(
        rows,
        type=f.lit(Type.GRANT_MISSING),
        severity=f.lit(Severity.MEDIUM),
        **here("export", "role", "role_urn", "entity", "name"),
        wanted=f.coalesce("declared_level", f.lit(READ)),
    )


def _extra(pairs: DataFrame, exports: Sequence[Export]) -> list[DataFrame]:
    """Return what the source holds and the catalog does not say.

    What comes from a container or through another role is one difference, however many datasets it reaches: taking back
    one grant ends it.
    """
    is_everybody = is_one_of(exports, lambda _: EVERYBODY)
    severity = worst(f.col("is_sensitive") | is_everybody)
    rows = pairs.filter(f.expr("NOT is_said") & ~is_one_of(exports, lambda export: export.ignored_roles))
    single = rows.filter("via = '' AND at = ''")
    several = (
        rows.filter("via <> '' OR at <> ''")
        .withColumn("object", f.when(f.col("via") == "", f.col("at")))
        .groupBy("export", "role", "role_urn", "via", "object")
        .agg(
            f.max("is_sensitive").alias("is_sensitive"),
            f.max("level").alias("level"),
            f.bit_or("bits").alias("bits"),
            f.min("grantee").alias("grantee"),
            f.min("name").alias("name"),
            f.count("*").alias("count"),
        )
    )
    return [
        shaped(
            one,
            type=f.lit(Type.EXTRA_GRANT),
            severity=severity,
            **here("export", "role", "role_urn", "grantee", "object", "name", "via", "bits", "level"),
            **more,
        )
        for one, more in ((single, {"entity": "entity", "count": f.lit(1)}), (several, {"count": "count"}))
    ]


def _wrong(pairs: DataFrame) -> DataFrame:
    above = f.col("level") > f.col("declared_level")
    return shaped(
        pairs.filter("is_said AND level <> declared_level"),
        type=f.lit(Type.WRONG_LEVEL),
        severity=f.when(above, worst(f.col("is_sensitive"))).otherwise(Severity.MEDIUM),
        **here("export", "role", "role_urn", "entity", "grantee", "object", "name", "via", "bits", "level"),
        wanted="declared_level",
    )


def _direct(granted: DataFrame, declared: Declared) -> DataFrame:
    """Return what users have without any role, container by container where they have it on one."""
    dataset = declared.datasets.select("number", f.col("urn").alias("entity"), "name", "is_sensitive")
    rows = granted.join(dataset, "number").withColumn("table", f.when(f.col("at") == "", f.col("entity")))
    merged = rows.groupBy("export", "grantee_key", "object", "at", "table").agg(
        f.max("level").alias("level"),
        f.bit_or("bit").alias("bits"),
        f.max("is_sensitive").alias("is_sensitive"),
        f.min("grantee").alias("grantee"),
        f.min("name").alias("name"),
        f.count_distinct("number").alias("count"),
    )
    merged = merged.withColumnRenamed("grantee_key", "member_key").join(declared.people, "member_key", "left")
    return shaped(
        merged,
        type=f.lit(Type.DIRECT_USER_GRANT),
        severity=worst(f.col("is_sensitive")),
        **here("export", "grantee", "object", "name", "bits", "level", "count"),
        entity="table",
        kind=f.lit(Grantee.USER),
        actor=f.coalesce("urn", f.concat(f.lit("urn:li:corpuser:"), "member_key")),
    )


def _reach(pairs: DataFrame, declared: Declared) -> DataFrame:
    said = declared.tagged.select("tag", "role", "number", f.lit(1).alias("declared"), f.lit(0).alias("opened"))
    held = pairs.filter("is_sensitive AND level IS NOT NULL").join(declared.sensitive, "number")
    held = held.select("tag", "role", "number", f.lit(0).alias("declared"), f.lit(1).alias("opened"))
    both = said.union(held).groupBy("tag", "role", "number").agg(f.max("declared"), f.max("opened"))
    both = both.toDF("tag", "role", "number", "declared", "opened")
    counted = both.groupBy("tag", "role").agg(f.sum("declared").alias("declared"), f.sum("opened").alias("opened"))
    # A role that the catalog does not know has no URN, and its grants are differences of their own.
    return counted.join(declared.roles, "role").select("tag", "role_urn", "declared_level", "declared", "opened")
