"""Roles and who holds them: what should be there and is not, and what is there and should not be."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import Declared
from catalog.reports.kinds.role_mapping_check.differences import AT_ROLE, Severity, Type, here, is_one_of, shaped
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee, What


def there(facts: DataFrame) -> DataFrame:
    """Return which roles there are: whoever has something, is held, gives something, or is said to exist."""
    has = facts.filter(f.col("what").isin(What.GRANT, What.INHERIT) & (f.col("kind") == Grantee.ROLE))
    is_role = facts.filter(f.col("what").isin(What.INHERIT, What.MEMBER, What.ROLE))
    both = has.select("export", f.col("grantee_key").alias("role"), f.col("grantee").alias("role_name")).union(
        is_role.select("export", f.col("object_key").alias("role"), f.col("object").alias("role_name"))
    )
    return both.groupBy(*AT_ROLE).agg(f.min("role_name").alias("role_name"))


# -- roles ------------------------------------------------------------------------------------------------------------


def gone(missing: DataFrame, declared: Declared) -> DataFrame:
    """Return the roles that an export should have and does not."""
    return shaped(
        missing.join(declared.roles, "role"),
        type=f.lit(Type.ROLE_GONE),
        severity=f.lit(Severity.HIGH),
        **here("export", "role", "role_urn", "count"),
    )


def idle(declared: Declared, there: DataFrame) -> DataFrame:
    """Return described roles that open nothing, with the export that has them, if any has."""
    rows = declared.roles.filter("is_described AND count = 0").join(there, "role", "left")
    return shaped(
        rows,
        type=f.lit(Type.ROLE_WITHOUT_DATASETS),
        severity=f.lit(Severity.LOW),
        **here("export", "role", "role_urn"),
        grantee="role_name",
    )


def held(facts: DataFrame) -> DataFrame:
    """Return who holds which role directly: export, role, kind, member_key, and the names that the source uses."""
    rows = facts.filter(f.col("what") == What.MEMBER)
    keys: list[Column | str | int] = [
        "export",
        f.col("object_key").alias("role"),
        "kind",
        f.col("grantee_key").alias("member_key"),
    ]
    return rows.groupBy(*keys).agg(f.min("object").alias("role_name"), f.min("grantee").alias("grantee"))


def membership(
    held: DataFrame, declared: Declared, inherited: DataFrame, gone: DataFrame, exports: Sequence[Export]
) -> list[DataFrame]:
    """Return who should hold a role and does not, and who holds one and should not.

    Who is in a group that holds the role, or holds a role that has all that this one has, holds it. Through a role that
    the catalog describes somebody comes rightly, and what that role has too much of is told of the role; a role that it
    does not describe brings people who should not be here.
    """
    above = inherited.select("export", "role", "given")
    through = held.join(above, AT_ROLE).withColumn("via", f.col("role_name"))
    columns = ["export", "role", "kind", "member_key"]
    has = held.select(*columns).union(through.select("export", "given", "kind", "member_key"))
    inside = has.filter(f.col("kind") == Grantee.GROUP).withColumnRenamed("member_key", "group_key")
    inside = inside.join(declared.in_groups, ["export", "group_key"]).select(
        "export", "role", f.lit(Grantee.USER).alias("kind"), "member_key"
    )
    missing = declared.members.join(has.union(inside), columns, "left_anti").join(gone, AT_ROLE, "left_anti")
    is_ignored = is_one_of(exports, lambda export: export.ignored_roles)
    strangers = through.join(declared.roles.select("role"), "role", "left_anti").filter(~is_ignored)
    foreign = (
        held.withColumn("via", f.lit(""))
        .select(*columns, "grantee", "role_name", "via")
        .union(strangers.select("export", "given", "kind", "member_key", "grantee", f.lit(None).cast("string"), "via"))
    )
    foreign = (
        foreign.filter(~is_ignored)
        .join(declared.roles.select("role", "role_urn"), "role")
        .join(declared.allowed, columns, "left_anti")
    )
    foreign = foreign.groupBy(*columns, "role_urn").agg(
        f.min("grantee").alias("grantee"), f.max("role_name").alias("object"), f.min("via").alias("via")
    )
    prefix = f.when(f.col("kind") == Grantee.GROUP, "urn:li:corpGroup:").otherwise("urn:li:corpuser:")
    return [
        shaped(
            missing.join(declared.roles.select("role", "role_urn"), "role"),
            type=f.lit(Type.MEMBER_MISSING),
            severity=f.lit(Severity.MEDIUM),
            **here("export", "role", "role_urn", "kind", "actor"),
        ),
        shaped(
            foreign.join(declared.people, "member_key", "left"),
            type=f.lit(Type.EXTRA_MEMBER),
            severity=f.lit(Severity.HIGH),
            **here("export", "role", "role_urn", "kind", "grantee", "object", "via"),
            actor=f.coalesce("urn", f.concat(prefix, "member_key")),
        ),
    ]
