"""Who is denied what: the deny policies of Google Cloud, and the denials of Databricks.

A denial of a group is one of everybody in it, and of the groups in it. What a group holds is taken away where rules
leave nobody in it who may use it: neither one of its known members nor those whom nothing names, for whom the group
itself stands.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, Grantee, role_key
from catalog.reports.kinds.role_mapping_check.role_closure import compute_role_closure
from catalog.reports.kinds.role_mapping_check.rules import PassRule

#: Identifies what grants of one kind reach: all of them are denied there, or none is.
HOLDER_COLUMNS = ["export", "number", "kind", "grantee_key", "bit"]
_PRINCIPAL_COLUMNS = ["export", "denial", "kind", "grantee_key"]
_RULE_COLUMNS = ["export", "object_key", "is_container"]
#: The containers and tables with rules that a dataset is in: few combinations, however many datasets there are.
_HELD_COLUMNS = ["export", "kind", "grantee_key", "bit", "ruled_places"]
_READER_COLUMNS = ["reader_kind", "reader"]
#: Grantees of BigQuery with members that no export tells, and of which anybody may be one.
_OPEN_SET_PATTERN = "^(allusers|allauthenticatedusers)$|^(domain|project(owner|editor|viewer)|principalset):"
#: Forms with denials beside grants, the privilege that is all of them but ownership, and who is everybody there.
_DENYING_FORM, _ALL_PRIVILEGES, _OWNERSHIPS, _EVERYBODY = "databricks", "ALL PRIVILEGES", ("OWN", "OWNERSHIP"), "users"


def select_denials(facts: DataFrame, exports: Sequence[Export]) -> DataFrame | None:
    """Return the denials (export, denial, object_key, is_container, bits, kind, grantee_key), None if there are none.

    `denial` identifies the rule; `bits` are the privileges that it takes; `kind` is '' for everybody.
    """
    if not any(map(_has_denials, exports)):
        return None
    is_row = (f.col("what") == FactKind.PASSED) & (f.col("rule") == PassRule.DENIED)
    denials = facts.filter((f.col("what") == FactKind.DENIAL) | (is_row & f.col("bit").isNotNull()))
    if not denials.head(1):
        return None
    bits, is_everybody = f.col("bit"), f.expr("false")
    for export in exports:
        if export.form == _DENYING_FORM:
            is_mine = f.col("export") == export.name
            is_all = bits == 1 << list(export.vocabulary).index(_ALL_PRIVILEGES)
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


def _has_denials(export: Export) -> bool:
    return bool(export.denies) or export.form == _DENYING_FORM


def _sum_bits(export: Export) -> Column:
    """Return the bits of all privileges that a denial takes: nobody takes his own from an owner."""
    return f.lit(sum(1 << index for index, name in enumerate(export.vocabulary) if name not in _OWNERSHIPS))


def list_group_members(
    facts: DataFrame, group_members: DataFrame, exports: Sequence[Export], stage: Stage
) -> DataFrame:
    """Return (export, group, kind, member): people and groups in groups of exports with denials, at any depth.

    `group_members` are those of the catalog: a group of the catalog is one of the source, too, and may hold grants.
    """
    denying_exports = [export for export in exports if _has_denials(export)]
    facts = facts.filter(f.col("export").isin([export.name for export in denying_exports]))
    members = facts.filter(f.col("what") == FactKind.MEMBER)
    people = members.filter(f.col("kind") == Grantee.USER).select(
        "export", f.col("object_key").alias("group"), f.col("grantee_key").alias("member")
    )
    inheritance = facts.filter(f.col("what") == FactKind.INHERIT)
    for export in denying_exports:
        mine = group_members.filter(f.col("export") == export.name)
        people = people.union(mine.select("export", role_key(export, f.col("group_key")), "member_key"))
        # The closure takes a group in a group as it does a role in a role.
        inner_groups = members.filter((f.col("export") == export.name) & (f.col("kind") == Grantee.GROUP))
        inner_groups = inner_groups.withColumns(
            {"grantee_key": role_key(export, f.col("grantee")), "what": f.lit(FactKind.INHERIT.value)}
        )
        inheritance = inheritance.union(inner_groups.select(*inheritance.columns))
    nested = compute_role_closure(inheritance, stage).select(
        "export", f.col("given").alias("group"), f.col("role").alias("member")
    )
    through = nested.withColumnRenamed("member", "inner").join(
        people.toDF("export", "inner", "member"), ["export", "inner"]
    )
    return (
        people.union(through.select("export", "group", "member"))
        .select("export", "group", f.lit(Grantee.USER.value).alias("kind"), "member")
        .union(nested.select("export", "group", f.lit(Grantee.ROLE.value), "member"))
        .distinct()
    )


def find_denied(
    facts: DataFrame, denials: DataFrame, holders: DataFrame, members: DataFrame, places: DataFrame
) -> DataFrame:
    """Return those holders (HOLDER_COLUMNS) of access to a dataset of which rules leave nobody the use.

    `places` has (export, number, object_key, is_container): each dataset, and each container that it is in.
    """
    rules = denials.select(*_RULE_COLUMNS, "denial", "bits").distinct()
    ruled_place = f.struct("object_key", "is_container")
    dataset_places = (
        places.join(rules.select(*_RULE_COLUMNS).distinct(), _RULE_COLUMNS)
        .groupBy("export", "number")
        .agg(f.sort_array(f.collect_set(ruled_place)).alias("ruled_places"))
    )
    held_access = holders.join(dataset_places, ["export", "number"])
    exempt = facts.filter(f.col("what") == FactKind.EXEMPT)
    exempt = exempt.select("export", f.col("object_type").alias("denial"), "kind", "grantee_key")
    exempt = _rename_readers(_add_members(exempt, members))
    readers = _list_readers(held_access.select(*_HELD_COLUMNS).distinct(), exempt, members)
    questions = (
        readers.withColumn("place", f.explode("ruled_places"))
        .select("*", "place.object_key", "place.is_container")
        .join(rules, _RULE_COLUMNS)
        .filter(f.col("bits").bitwiseAND(f.col("bit")) != 0)
        .select(*_HELD_COLUMNS, *_READER_COLUMNS, "denial")
    )
    named_readers = _rename_readers(_add_members(denials.filter("kind <> ''").select(*_PRINCIPAL_COLUMNS), members))
    everybody = denials.filter("kind = ''").select("export", "denial").distinct()
    matches = ["export", "denial", *_READER_COLUMNS]
    stopped_readers = (
        questions.join(named_readers, matches, "left_semi")
        .select(*questions.columns)
        .union(questions.join(everybody, ["export", "denial"], "left_semi").select(*questions.columns))
        .join(exempt, matches, "left_anti")
        .select(*_HELD_COLUMNS, *_READER_COLUMNS)
        .distinct()
        .withColumn("is_stopped", f.expr("true"))
    )
    lost_access = (
        readers.join(stopped_readers, [*_HELD_COLUMNS, *_READER_COLUMNS], "left")
        .groupBy(*_HELD_COLUMNS)
        .agg(f.bool_and(f.col("is_stopped").isNotNull()).alias("is_taken"))
        .filter("is_taken")
    )
    return held_access.join(lost_access, _HELD_COLUMNS, "left_semi").select(*HOLDER_COLUMNS)


def _list_readers(held_access: DataFrame, exempt: DataFrame, members: DataFrame) -> DataFrame:
    """Return `held_access` with each reader who may have more left than others: the holder, and who in it is exempt.

    Nobody else in a group is left what a rule takes from the group.
    """
    exempt_readers = exempt.select("export", *_READER_COLUMNS).distinct()
    inner_readers = members.select(
        "export",
        f.col("group").alias("grantee_key"),
        f.col("kind").alias("reader_kind"),
        f.col("member").alias("reader"),
    ).join(exempt_readers, ["export", *_READER_COLUMNS], "left_semi")
    groups = held_access.filter(f.col("kind") == Grantee.ROLE)
    columns = [*_HELD_COLUMNS, *_READER_COLUMNS]
    return (
        held_access.select(*_HELD_COLUMNS, f.col("kind").alias("reader_kind"), f.col("grantee_key").alias("reader"))
        .union(groups.join(inner_readers, ["export", "grantee_key"]).select(*columns))
        .union(
            groups.filter(f.rlike("grantee_key", f.lit(_OPEN_SET_PATTERN)))
            .join(exempt_readers, "export")
            .select(*columns)
        )
        .distinct()
    )


def _rename_readers(principals: DataFrame) -> DataFrame:
    return principals.withColumnsRenamed({"kind": "reader_kind", "grantee_key": "reader"})


def _add_members(principals: DataFrame, members: DataFrame) -> DataFrame:
    """Return principals of rules with everybody in those that are groups."""
    groups = principals.filter(f.col("kind") == Grantee.ROLE).select(
        "export", "denial", f.col("grantee_key").alias("group")
    )
    inner = groups.join(members, ["export", "group"]).select("export", "denial", "kind", f.col("member"))
    return principals.union(inner).distinct()
