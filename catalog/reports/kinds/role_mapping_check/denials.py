"""Who is denied what: the deny policies of Google Cloud, and the denials of Databricks.

A denial of a group is one of everybody in it, and of the groups in it. A rule that exempts somebody does not take away
what a group holds that this one is in, since it would take it from him, too.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, Grantee, privilege_bit, role_key
from catalog.reports.kinds.role_mapping_check.rules import PassRule

#: Identifies what grants of one kind reach: all of them are denied there, or none is.
HOLDER_COLUMNS = ["export", "number", "kind", "grantee_key", "bit"]
_PRINCIPAL_COLUMNS = ["export", "denial", "kind", "grantee_key"]
#: Forms with denials beside grants, the privilege that is all of them but ownership, and who is everybody there.
_DENYING_FORM, _ALL_PRIVILEGES, _OWNERSHIPS, _EVERYBODY = "databricks", "ALL PRIVILEGES", ("OWN", "OWNERSHIP"), "users"


def select_denials(facts: DataFrame, exports: Sequence[Export]) -> DataFrame | None:
    """Return the denials (export, denial, object_key, is_container, bits, kind, grantee_key), None if there are none.

    `denial` identifies the rule; `bits` are the privileges that it takes, null for all; `kind` is '' for everybody.
    """
    if not any(export.denies or export.form == _DENYING_FORM for export in exports):
        return None
    is_row = (f.col("what") == FactKind.PASSED) & (f.col("rule") == PassRule.DENIED)
    denials = facts.filter((f.col("what") == FactKind.DENIAL) | (is_row & f.col("bit").isNotNull()))
    if not denials.head(1):
        return None
    bits, is_everybody = f.col("bit"), f.expr("false")
    for export in exports:
        if export.form == _DENYING_FORM:
            is_mine = f.col("export") == export.name
            is_all = bits == privilege_bit(export, f.lit(_ALL_PRIVILEGES))
            bits = f.when(is_mine & is_all, _sum_bits(export)).otherwise(bits)
            is_everybody |= is_mine & (f.col("grantee_key") == role_key(export, f.lit(_EVERYBODY)))
    return denials.select(
        "export",
        f.when(is_row, f.concat_ws(":", "file", "block", "line")).otherwise(f.col("object_type")).alias("denial"),
        "object_key",
        "is_container",
        bits.alias("bits"),
        f.when(is_everybody, "").otherwise(f.col("kind")).alias("kind"),
        "grantee_key",
    )


def _sum_bits(export: Export) -> Column:
    """Return the bits of all privileges that a denial takes: nobody takes his own from an owner."""
    return f.lit(sum(1 << index for index, name in enumerate(export.vocabulary) if name not in _OWNERSHIPS))


def list_group_members(
    facts: DataFrame, inherited_roles: DataFrame, group_members: DataFrame, exports: Sequence[Export]
) -> DataFrame:
    """Return (export, group, kind, member): the people and groups in each group that holds grants, at any depth.

    `inherited_roles` and `group_members` are those of `role_pairs.compute_role_closure` and of the catalog.
    """
    members = facts.filter(f.col("what") == FactKind.MEMBER).select(
        "export", f.col("object_key").alias("group"), "kind", f.col("grantee_key").alias("member"), "grantee"
    )
    people = members.filter(f.col("kind") == Grantee.USER).select("export", "group", "member")
    # A group of the catalog is one of the source, too, and may hold grants itself.
    catalog_groups = members.filter(f.col("kind") == Grantee.GROUP)
    people = people.union(
        catalog_groups.withColumnRenamed("member", "group_key")
        .join(group_members.withColumnRenamed("member_key", "member"), ["export", "group_key"])
        .select("export", "group", "member")
    )
    nested = inherited_roles.select("export", f.col("given").alias("group"), f.col("role").alias("member"))
    for export in exports:
        mine = catalog_groups.filter(f.col("export") == export.name)
        nested = nested.union(mine.select("export", "group", role_key(export, f.col("grantee")).alias("member")))
    through = nested.join(people.toDF("export", "inner", "person"), ["export"]).filter(
        f.col("member") == f.col("inner")
    )
    people = people.union(through.select("export", "group", "person"))
    return (
        people.select("export", "group", f.lit(Grantee.USER.value).alias("kind"), "member")
        .union(nested.select("export", "group", f.lit(Grantee.ROLE.value), "member"))
        .distinct()
    )


def find_denied(
    facts: DataFrame, denials: DataFrame, holders: DataFrame, members: DataFrame, places: DataFrame
) -> DataFrame:
    """Return those holders (HOLDER_COLUMNS) of access to a dataset that a rule denies it to.

    `places` has (export, number, object_key, is_container): each dataset, and each container that it is in.
    """
    rules = denials.select("export", "denial", "object_key", "is_container", "bits").distinct()
    denied = _add_members(denials.filter("kind <> ''").select(*_PRINCIPAL_COLUMNS), members)
    everybody = denials.filter("kind = ''").select("export", "denial").distinct()
    exempt = facts.filter(f.col("what") == FactKind.EXEMPT)
    exempt = exempt.select("export", f.col("object_type").alias("denial"), "kind", "grantee_key")
    exempt = _add_groups(_add_members(exempt, members), members)
    pairs = (
        holders.join(denied, ["export", "kind", "grantee_key"])
        .select(*HOLDER_COLUMNS, "denial")
        .union(holders.join(f.broadcast(everybody), "export").select(*HOLDER_COLUMNS, "denial"))
        .join(exempt, _PRINCIPAL_COLUMNS, "left_anti")
    )
    takes_privilege = f.col("bits").isNull() | (f.col("bits").bitwiseAND(f.col("bit")) != 0)
    return (
        pairs.join(rules, ["export", "denial"])
        .filter(takes_privilege)
        .join(places, ["export", "number", "object_key", "is_container"], "left_semi")
        .select(*HOLDER_COLUMNS)
        .distinct()
    )


def _add_members(principals: DataFrame, members: DataFrame) -> DataFrame:
    """Return principals of rules with everybody in those that are groups."""
    groups = principals.filter(f.col("kind") == Grantee.ROLE).select(
        "export", "denial", f.col("grantee_key").alias("group")
    )
    inner = groups.join(members, ["export", "group"]).select("export", "denial", "kind", f.col("member"))
    return principals.union(inner).distinct()


def _add_groups(principals: DataFrame, members: DataFrame) -> DataFrame:
    """Return principals of rules with the groups that they are in."""
    outer = principals.join(
        members.withColumnRenamed("member", "grantee_key"), ["export", "kind", "grantee_key"]
    ).select("export", "denial", f.lit(Grantee.ROLE.value), "group")
    return principals.union(outer).distinct()
