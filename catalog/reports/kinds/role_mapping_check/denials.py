"""Who is denied what: the deny policies of Google Cloud, and the denials of Databricks.

A denial of a group is one of everybody in it, and of the groups in it. A group's access is taken away where rules
leave nobody in it who may use it: neither one of its known members nor the unnamed people for whom the group itself
stands.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.reports.kinds.role_mapping_check.role_closure import compute_role_closure
from catalog.sql_text import list_texts, quote_text
from catalog.warehouses.grant_facts import FactKind, Grantee, role_key
from catalog.warehouses.levels import OWNERSHIPS
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.warehouse import Export

#: Identifies what grants of one kind reach: all of them are denied there, or none is.
HOLDER_COLUMNS = ["export", "number", "kind", "grantee_key", "bit"]
_PRINCIPAL_COLUMNS = ["export", "denial", "kind", "grantee_key"]
_RULE_COLUMNS = ["export", "object_key", "is_container"]
#: The containers and tables with rules that a dataset is in: few combinations, however many datasets there are.
_HELD_COLUMNS = ["export", "kind", "grantee_key", "bit", "ruled_places"]
_READER_COLUMNS = ["reader_kind", "reader"]
#: Grantees of BigQuery with members that no export tells, and of which anybody may be one.
_OPEN_SET_PATTERN = "^(allusers|allauthenticatedusers)$|^(domain|project(owner|editor|viewer)|principalset):"


def select_denials(facts: DataFrame, exports: Sequence[Export]) -> DataFrame | None:
    """Return the denials (export, denial, object_key, is_container, bits, kind, grantee_key), None if there are none.

    `denial` identifies the rule; `bits` are the privileges that it takes; `kind` is '' for everybody.
    """
    if not any(map(_has_denials, exports)):
        return None
    is_row = f"what = '{FactKind.PASSED}' AND rule = '{PassRule.DENIED}'"
    denials = facts.filter(f"what = '{FactKind.DENIAL}' OR ({is_row} AND bit IS NOT NULL)")
    if not denials.head(1):
        return None
    bits, is_everybody = "bit", "false"
    for export in exports:
        if (rows := export.warehouse.denials) is not None:
            is_mine = f"export = {quote_text(export.name)}"
            all_privileges = 1 << list(export.vocabulary).index(rows.all_privileges)
            bits = f"CASE WHEN {is_mine} AND bit = {all_privileges} THEN {_sum_bits(export)} ELSE {bits} END"
            everybody = quote_text(export.role_identifier(rows.everybody))
            is_everybody = f"{is_everybody} OR ({is_mine} AND grantee_key = {everybody})"
    return denials.selectExpr(
        "export",
        f"CASE WHEN {is_row} THEN concat_ws(':', file, block, line) ELSE object_type END AS denial",
        "object_key",
        "is_container",
        f"{bits} AS bits",
        f"CASE WHEN {is_everybody} THEN '' ELSE kind END AS kind",
        "grantee_key",
    )


def _has_denials(export: Export) -> bool:
    return bool(export.denies) or export.warehouse.denials is not None


def _sum_bits(export: Export) -> int:
    """Return the bits of all privileges that a denial takes: nobody takes his own from an owner."""
    return sum(1 << index for index, name in enumerate(export.vocabulary) if name not in OWNERSHIPS)


def list_group_members(
    facts: DataFrame, group_members: DataFrame, exports: Sequence[Export], stage: Stage
) -> DataFrame:
    """Return (export, group, kind, member): people and groups in groups of exports with denials, at any depth.

    `group_members` are those of the catalog: a group of the catalog is one of the source, too, and may hold grants.
    """
    denying_exports = [export for export in exports if _has_denials(export)]
    facts = facts.filter(f"export IN {list_texts(export.name for export in denying_exports)}")
    members = facts.filter(f"what = '{FactKind.MEMBER}'")
    people = members.filter(f"kind = '{Grantee.USER}'").selectExpr(
        "export", "object_key AS `group`", "grantee_key AS member"
    )
    inheritance = facts.filter(f"what = '{FactKind.INHERIT}'")
    for export in denying_exports:
        is_mine = f"export = {quote_text(export.name)}"
        mine = group_members.filter(is_mine)
        people = people.union(mine.selectExpr("export", role_key(export, "group_key"), "member_key"))
        # The closure takes a group in a group as it does a role in a role.
        inner_groups = members.filter(f"{is_mine} AND kind = '{Grantee.GROUP}'")
        inheritance = inheritance.union(
            inner_groups.withColumns(
                {"grantee_key": f.expr(role_key(export, "grantee")), "what": f.expr(f"'{FactKind.INHERIT}'")}
            )
        )
    nested = compute_role_closure(inheritance, stage).selectExpr("export", "given AS `group`", "role AS member")
    through = nested.withColumnRenamed("member", "inner_group").join(
        people.withColumnRenamed("group", "inner_group"), ["export", "inner_group"]
    )
    return (
        people.union(through.selectExpr("export", "`group`", "member"))
        .selectExpr("export", "`group`", f"'{Grantee.USER}' AS kind", "member")
        .union(nested.selectExpr("export", "`group`", f"'{Grantee.ROLE}'", "member"))
        .distinct()
    )


def find_denied(
    facts: DataFrame, denials: DataFrame, holders: DataFrame, members: DataFrame, places: DataFrame
) -> DataFrame:
    """Return those holders (HOLDER_COLUMNS) of access to a dataset of which rules leave nobody the use.

    `places` has (export, number, object_key, is_container): each dataset, and each container that it is in.
    """
    rules = denials.selectExpr(*_RULE_COLUMNS, "denial", "bits").distinct()
    dataset_places = (
        places.join(rules.selectExpr(*_RULE_COLUMNS).distinct(), _RULE_COLUMNS)
        .groupBy("export", "number")
        .agg(f.expr("sort_array(collect_set(struct(object_key, is_container))) AS ruled_places"))
    )
    held_access = holders.join(dataset_places, ["export", "number"])
    exempt = facts.filter(f"what = '{FactKind.EXEMPT}'")
    exempt = exempt.selectExpr("export", "object_type AS denial", "kind", "grantee_key")
    exempt = _rename_readers(_add_members(exempt, members))
    readers = _list_readers(held_access.selectExpr(*_HELD_COLUMNS).distinct(), exempt, members)
    reader_columns = [*_HELD_COLUMNS, *_READER_COLUMNS]
    question_columns = [*reader_columns, "denial"]
    questions = (
        readers.selectExpr("*", "inline(ruled_places)")
        .join(rules, _RULE_COLUMNS)
        .filter("(bits & bit) <> 0")
        .selectExpr(*question_columns)
    )
    stopped_principals = denials.filter("kind <> ''").selectExpr(*_PRINCIPAL_COLUMNS)
    named_readers = _rename_readers(_add_members(stopped_principals, members))
    everybody = denials.filter("kind = ''").selectExpr("export", "denial").distinct()
    matches = ["export", "denial", *_READER_COLUMNS]
    stopped_readers = (
        questions.join(named_readers, matches, "left_semi")
        .selectExpr(*question_columns)
        .union(questions.join(everybody, ["export", "denial"], "left_semi").selectExpr(*question_columns))
        .join(exempt, matches, "left_anti")
        .selectExpr(*reader_columns)
        .distinct()
        .withColumn("is_stopped", f.expr("true"))
    )
    lost_access = (
        readers.join(stopped_readers, reader_columns, "left")
        .groupBy(*_HELD_COLUMNS)
        .agg(f.expr("bool_and(is_stopped IS NOT NULL) AS is_taken"))
        .filter("is_taken")
    )
    return held_access.join(lost_access, _HELD_COLUMNS, "left_semi").selectExpr(*HOLDER_COLUMNS)


def _list_readers(held_access: DataFrame, exempt: DataFrame, members: DataFrame) -> DataFrame:
    """Return `held_access` with each reader who may have more left than others: the holder, and who in it is exempt.

    Nobody else in a group is left what a rule takes from the group.
    """
    exempt_readers = exempt.selectExpr("export", *_READER_COLUMNS).distinct()
    inner_readers = members.selectExpr(
        "export", "`group` AS grantee_key", "kind AS reader_kind", "member AS reader"
    ).join(exempt_readers, ["export", *_READER_COLUMNS], "left_semi")
    groups = held_access.filter(f"kind = '{Grantee.ROLE}'")
    open_sets = groups.filter(f"grantee_key RLIKE {quote_text(_OPEN_SET_PATTERN)}")
    columns = [*_HELD_COLUMNS, *_READER_COLUMNS]
    return (
        held_access.selectExpr(*_HELD_COLUMNS, "kind AS reader_kind", "grantee_key AS reader")
        .union(groups.join(inner_readers, ["export", "grantee_key"]).selectExpr(*columns))
        .union(open_sets.join(exempt_readers, "export").selectExpr(*columns))
        .distinct()
    )


def _rename_readers(principals: DataFrame) -> DataFrame:
    return principals.withColumnsRenamed({"kind": "reader_kind", "grantee_key": "reader"})


def _add_members(principals: DataFrame, members: DataFrame) -> DataFrame:
    """Return principals of rules with everybody in those that are groups."""
    groups = principals.filter(f"kind = '{Grantee.ROLE}'").selectExpr("export", "denial", "grantee_key AS `group`")
    inner = groups.join(members, ["export", "group"]).selectExpr("export", "denial", "kind", "member")
    return principals.union(inner).distinct()
