"""Which grants and memberships a use may rest on.

A use rests on the grants of the role that the history names, if one of that role, or of a role that it has, reaches
the table at the level of the use; else on all that the person holds, directly, by roles and by groups, if one of these
does; else, as nothing explains it, on every grant on the table of those who have that level, and if nobody has it on
every grant. Where this is ambiguous, too much counts as used and never too little.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    EVERYBODY_NAMES,
    ROLE_COLUMNS,
    Stage,
    is_named_role,
    is_usual_holder,
)
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS
from catalog.reports.kinds.warehouse_usage.uses import USE_COLUMNS
from catalog.reports.spark.job_threads import JobThreads
from catalog.sql_text import quote_text
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.levels import OWNERSHIPS
from catalog.warehouses.principals import is_outside
from catalog.warehouses.warehouse import Export

_MEMBER_COLUMNS = ["export", "role", "kind", "member_key"]
_HIT_COLUMNS = [*USE_COLUMNS, "last", "kind", "grantee_key", "is_explained"]


@dataclass(frozen=True, slots=True)
class HeldAccess:
    """What the source grants: reaching grants, direct members, and the closure of inheritance (export, role, given)."""

    grants: DataFrame
    members: DataFrame
    inherited_roles: DataFrame
    group_members: DataFrame

    def list_effective_roles(self) -> DataFrame:
        """Return (export, role, given): each role that reaches or inherits, with itself and all that it has."""
        pairs = self.inherited_roles.selectExpr("export", "role", "given")
        roles = self.grants.filter(f"kind = '{Grantee.ROLE}'").selectExpr("export", "grantee_key AS role")
        for rows in (self.members, pairs):
            roles = roles.union(rows.selectExpr(*ROLE_COLUMNS))
        return pairs.union(roles.distinct().selectExpr("export", "role", "role AS given")).distinct()

    def list_people(self) -> DataFrame:
        """Return the members (export, role, kind, member_key) with `person_key`: themselves, or who is in the group."""
        users = self.members.filter(f"kind = '{Grantee.USER}'").selectExpr(*_MEMBER_COLUMNS, "member_key AS person_key")
        groups = self.members.filter(f"kind = '{Grantee.GROUP}'").selectExpr(*_MEMBER_COLUMNS)
        people = self.group_members.selectExpr("export", "group_key AS member_key", "member_key AS person_key")
        return users.union(groups.join(people, ["export", "member_key"]).selectExpr(*_MEMBER_COLUMNS, "person_key"))


def find_hits(
    uses: DataFrame, access: HeldAccess, exports: Sequence[Export], stage: Stage, threads: JobThreads
) -> DataFrame:
    """Return a row for each use and each grantee (kind, grantee_key) on whose grants on the dataset it may rest.

    `is_explained` is false where nothing that is known explains the use.
    """
    effective_roles_task = threads.start(lambda: stage("effective", access.list_effective_roles()))
    reached = access.grants.groupBy("export", "number", "kind", "grantee_key").agg(f.expr("max(level) AS held_level"))
    reached = stage("reached", reached)
    role_grants = _select_kind(reached, Grantee.ROLE, "given")
    effective_roles = effective_roles_task.get_result()
    named_uses = uses.filter("role_key <> ''").withColumn("role", f.expr("role_key"))
    named_pairs = named_uses.join(effective_roles, ROLE_COLUMNS).join(role_grants, ["export", "number", "given"])
    named_hits = stage("named", _select_explained(_select_hits(named_pairs)))
    other_uses = stage("others", uses.join(named_hits, USE_COLUMNS, "left_anti"))
    holders = access.list_people().selectExpr("export", "person_key", "role").distinct()
    holders = holders.join(effective_roles, ROLE_COLUMNS).selectExpr("export", "person_key", "given").distinct()
    role_hits = other_uses.join(holders, ["export", "person_key"]).join(role_grants, ["export", "number", "given"])
    user_grants = _select_kind(reached, Grantee.USER, "person_key")
    group_grants = _select_kind(reached, Grantee.GROUP, "group_key")
    people = access.group_members.withColumnRenamed("member_key", "person_key")
    is_everybody = is_named_role(exports, lambda _: EVERYBODY_NAMES)
    open_grants = reached.withColumn("role", f.expr("grantee_key")).filter(is_everybody).drop("role")
    own_pairs = (
        role_hits,
        other_uses.join(user_grants, ["export", "number", "person_key"]),
        other_uses.join(people, ["export", "person_key"]).join(group_grants, ["export", "number", "group_key"]),
        other_uses.join(open_grants, ["export", "number"]),
    )
    own_hits = stage("own", _select_explained(reduce(DataFrame.union, map(_select_hits, own_pairs))))
    unexplained_uses = select_judged_uses(other_uses.join(own_hits, USE_COLUMNS, "left_anti"), exports)
    possible_hits = stage("possible", _select_hits(unexplained_uses.join(reached, ["export", "number"])))
    able_hits = possible_hits.filter("held_level >= level")
    all_hits = possible_hits.join(able_hits, USE_COLUMNS, "left_anti")
    unexplained_hits = able_hits.union(all_hits).withColumn("is_explained", f.expr("false"))
    hits = named_hits.union(own_hits).withColumn("is_explained", f.expr("true")).union(unexplained_hits)
    return hits.selectExpr(*_HIT_COLUMNS).distinct()


def _select_kind(grants: DataFrame, kind: Grantee, key: str) -> DataFrame:
    """Return the grants to grantees of a kind, whose key is a column of that name, too."""
    return grants.filter(f"kind = '{kind}'").withColumn(key, f.expr("grantee_key"))


def select_judged_uses(uses: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the uses that are not by an ignored role: what an administrator does needs no grant."""
    is_ignored = is_named_role(exports, lambda export: export.ignored_roles)
    return uses.withColumn("role", f.expr("role_key")).filter(f"NOT {is_ignored}").drop("role")


def _select_hits(rows: DataFrame) -> DataFrame:
    return rows.selectExpr(*USE_COLUMNS, "last", "kind", "grantee_key", "held_level").distinct()


def _select_explained(hits: DataFrame) -> DataFrame:
    """Return the hits of the uses that one of them allows: a write does not rest on a grant for reading alone."""
    return hits.join(hits.filter("held_level >= level").selectExpr(*USE_COLUMNS).distinct(), USE_COLUMNS, "left_semi")


def find_used_members(
    uses: DataFrame, hits: DataFrame, access: HeldAccess, exports: Sequence[Export], stage: Stage
) -> DataFrame:
    """Return (export, role, kind, member_key, last) of the memberships by which a table may have been used.

    `last` is null for one that was not; memberships of roles that reach no dataset, and of groups that nobody is known
    to be in, are left out.
    """
    effective_roles = access.list_effective_roles()
    reaching = access.grants.filter(f"kind = '{Grantee.ROLE}'").selectExpr("export", "grantee_key AS given")
    reaching_roles = effective_roles.join(reaching.distinct(), ["export", "given"]).selectExpr(*ROLE_COLUMNS).distinct()
    people = stage("people", access.list_people().join(reaching_roles, ROLE_COLUMNS, "left_semi"))
    last = f.expr("max(last) AS last")
    role_uses = hits.filter(f"is_explained AND kind = '{Grantee.ROLE}'")
    role_uses = role_uses.groupBy("export", "person_key", f.expr("grantee_key AS given")).agg(last)
    explained = people.join(effective_roles, ROLE_COLUMNS).join(role_uses, ["export", "person_key", "given"])
    # What nothing explains, even on a table without a grant, may have been any membership of the person.
    unexplained_uses = uses.join(hits.filter("is_explained"), USE_COLUMNS, "left_anti")
    unexplained_uses = select_judged_uses(unexplained_uses, exports)
    unexplained_uses = unexplained_uses.groupBy("export", "person_key").agg(last)
    unexplained = people.join(unexplained_uses, ["export", "person_key"])
    last_uses = explained.selectExpr(*_MEMBER_COLUMNS, "last").union(unexplained.selectExpr(*_MEMBER_COLUMNS, "last"))
    last_uses = last_uses.groupBy(*_MEMBER_COLUMNS).agg(last)
    return people.selectExpr(*_MEMBER_COLUMNS).distinct().join(last_uses, _MEMBER_COLUMNS, "left")


def find_used_grants(grants: DataFrame, hits: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return the grants, one row for each grantee and object: what it opens, and when it was last used.

    export, kind, grantee_key, grantee, OBJECT_COLUMNS, is_container, bits, level, tables, used_tables, used_level,
    people, last, is_sensitive, is_young, and entity and name of a grant on one table.
    """
    used = hits.groupBy("export", "number", "kind", "grantee_key").agg(
        *map(f.expr, ("max(last) AS last", "max(level) AS used_level", "collect_set(person_key) AS people"))
    )
    dataset = declared_access.datasets.selectExpr("export", "number", "urn AS entity", "name", "is_sensitive")
    rows = grants.join(dataset, ["export", "number"]).join(used, ["export", "number", "kind", "grantee_key"], "left")
    aggregates = {
        "grantee": "min(grantee)",
        "bits": "bit_or(bit)",
        "level": "max(level)",
        "tables": "count(DISTINCT number)",
        "used_tables": "count(DISTINCT CASE WHEN last IS NOT NULL THEN number END)",
        "used_level": "max(used_level)",
        "people": "size(array_distinct(flatten(collect_set(people))))",
        "last": "max(last)",
        "is_sensitive": "max(is_sensitive)",
        "is_young": "max(is_young)",
        "entity": "min(entity)",
        "name": "min(name)",
    }
    groups = rows.groupBy("export", "kind", "grantee_key", *OBJECT_COLUMNS, f.expr("at <> '' AS is_container"))
    return groups.agg(*(f.expr(f"{value} AS {name}") for name, value in aggregates.items()))


def select_judged_grants(grants: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the grants that can be called unused: not of ignored roles, nor ownership, which somebody has to have.

    What the consumers of a share or an application read is in no history of its provider. The system itself names usual
    holders.
    """
    ownerships = ["false"]
    for export in exports:
        bits = [str(1 << index) for index, name in enumerate(export.vocabulary) if name in OWNERSHIPS]
        if bits:
            ownerships.append(f"export = {quote_text(export.name)} AND bit IN ({', '.join(bits)})")
    is_owner = f"({' OR '.join(ownerships)})"
    is_ignored = is_named_role(exports, lambda export: export.ignored_roles)
    is_judged = (
        f"NOT {is_owner} AND NOT {is_ignored} AND NOT {is_outside('grantee')} AND NOT {is_usual_holder(exports)}"
    )
    return grants.withColumn("role", f.expr("grantee_key")).filter(is_judged).drop("role")


def select_judged_members(members: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the memberships that can be called unused: not of ignored roles."""
    return members.filter(f"NOT {is_named_role(exports, lambda export: export.ignored_roles)}")
