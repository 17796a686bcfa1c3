"""The grants and memberships that a use may rest on.

A use rests on the grants of the role that the history names, if one of that role, or of a role that it has, reaches
the table at the level of the use; else on all that the person holds, directly, by roles and by groups, if one of these
does; else on nothing that the export shows. It rests on no grant, and on no membership, that is younger than the use.
Where several of them allow it, all of these count as used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    FIRST_PLACES,
    ROLE_COLUMNS,
    Stage,
    is_named_role,
    is_ownership,
    is_usual_holder,
)
from catalog.reports.kinds.role_mapping_check.fact_survey import FactSurvey
from catalog.reports.kinds.role_mapping_check.reach import OBJECT_COLUMNS
from catalog.reports.kinds.warehouse_usage.uses import USE_COLUMNS
from catalog.reports.spark.job_threads import JobThreads
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.principals import EVERYBODY_NAMES, is_outside
from catalog.warehouses.warehouse import Export

_MEMBER_COLUMNS = ["export", "role", "kind", "member_key"]
_HIT_COLUMNS = [*USE_COLUMNS, "last", "kind", "grantee_key"]
#: A grant or membership was there at a use; of those without a time it is not known since when.
_WAS_THERE = "coalesce({} <= last, true)"


@dataclass(frozen=True, slots=True)
class HeldAccess:
    """The source's grants: reaching grants, direct members, and the closure of inheritance (export, role, given).

    `facts` are those that it comes from, with their `survey`.
    """

    grants: DataFrame
    members: DataFrame
    inherited_roles: DataFrame
    group_members: DataFrame
    facts: DataFrame
    survey: FactSurvey

    def list_effective_roles(self) -> DataFrame:
        """Return (export, role, given): each role that reaches or inherits, with itself and all that it has."""
        pairs = self.inherited_roles.selectExpr("export", "role", "given")
        roles = self.grants.filter(f"kind = '{Grantee.ROLE}'").selectExpr("export", "grantee_key AS role")
        for rows in (self.members, pairs):
            roles = roles.union(rows.selectExpr(*ROLE_COLUMNS))
        return pairs.union(roles.distinct().selectExpr("export", "role", "role AS given")).distinct()

    def list_people(self) -> DataFrame:
        """Return the members with `person_key`: themselves, or who is in the group; `granted_at` is null if unknown."""
        columns = [*_MEMBER_COLUMNS, "granted_at"]
        users = self.members.filter(f"kind = '{Grantee.USER}'").selectExpr(*columns, "member_key AS person_key")
        groups = self.members.filter(f"kind = '{Grantee.GROUP}'").selectExpr(*columns)
        people = self.group_members.selectExpr("export", "group_key AS member_key", "member_key AS person_key")
        return users.union(groups.join(people, ["export", "member_key"]).selectExpr(*columns, "person_key"))

    def list_uncertain_roles(self) -> DataFrame:
        """Return (export, grantee_key) of roles without a member, or with a group in which nobody is known."""
        people = self.list_people()
        unknown_groups = self.members.filter(f"kind = '{Grantee.GROUP}'").join(
            people.selectExpr(*_MEMBER_COLUMNS), _MEMBER_COLUMNS, "left_anti"
        )
        effective_roles = self.list_effective_roles()
        held_roles = people.join(effective_roles, ROLE_COLUMNS).selectExpr("export", "given AS grantee_key")
        reaching = self.grants.filter(f"kind = '{Grantee.ROLE}'").selectExpr("export", "grantee_key").distinct()
        unheld = reaching.join(held_roles, ["export", "grantee_key"], "left_anti")
        unknown = unknown_groups.join(effective_roles, ROLE_COLUMNS).selectExpr("export", "given")
        return unheld.union(unknown).distinct()


def find_hits(
    uses: DataFrame, access: HeldAccess, exports: Sequence[Export], stage: Stage, threads: JobThreads
) -> DataFrame:
    """Return a row for each use and each grantee (kind, grantee_key) on whose grants on the dataset it rests."""
    effective_roles_task = threads.start(lambda: stage("effective", access.list_effective_roles()))
    reached = stage("reached", _find_reached(access.grants))
    role_grants = _select_kind(reached, Grantee.ROLE, "given")
    effective_roles = effective_roles_task.get_result()
    named_uses = uses.filter("role_key <> ''").withColumn("role", f.expr("role_key"))
    named_pairs = named_uses.join(effective_roles, ROLE_COLUMNS).join(role_grants, ["export", "number", "given"])
    named_hits = stage("named", _select_explained(_select_hits(named_pairs)))
    other_uses = stage("others", uses.join(named_hits, USE_COLUMNS, "left_anti"))
    holders = access.list_people().selectExpr("export", "person_key", "role", "granted_at AS held_since")
    holders = holders.join(effective_roles, ROLE_COLUMNS)
    holders = holders.selectExpr("export", "person_key", "given", "held_since").distinct()
    role_hits = other_uses.join(holders, ["export", "person_key"]).filter(_WAS_THERE.format("held_since"))
    role_hits = role_hits.join(role_grants, ["export", "number", "given"])
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
    own_hits = _select_explained(reduce(DataFrame.union, map(_select_hits, own_pairs)))
    return named_hits.union(own_hits).selectExpr(*_HIT_COLUMNS).distinct()


def _find_reached(grants: DataFrame) -> DataFrame:
    """Return (export, number, kind, grantee_key, held_level, given_at): since when a grantee has a level on a dataset.

    `given_at` is null where nothing says it.
    """
    since = f.expr("CASE WHEN count(granted_at) = count(*) THEN min(granted_at) END AS given_at")
    keys = ("export", "number", "kind", "grantee_key", "level AS held_level")
    return grants.groupBy(*map(f.expr, keys)).agg(since)


def find_uncertain_roles(uses: DataFrame, hits: DataFrame, access: HeldAccess) -> DataFrame:
    """Return (export, kind, grantee_key) of roles of which nobody can say whether they were used.

    Somebody used what such a role opens, and the export does not name all who hold it.
    """
    pairs = _select_kind(access.grants, Grantee.ROLE, "role").selectExpr("export", "number", "kind", "grantee_key")
    pairs = pairs.distinct().join(access.list_uncertain_roles(), ["export", "grantee_key"])
    used = pairs.join(uses.selectExpr("export", "number", "person_key").distinct(), ["export", "number"])
    own = hits.selectExpr("export", "number", "person_key", "kind", "grantee_key")
    by_others = used.join(own, own.columns, "left_anti")
    return by_others.selectExpr("export", "kind", "grantee_key", "true AS is_uncertain").distinct()


def _select_kind(grants: DataFrame, kind: Grantee, key: str) -> DataFrame:
    """Return the grants to grantees of a kind, whose key is a column of that name, too."""
    return grants.filter(f"kind = '{kind}'").withColumn(key, f.expr("grantee_key"))


def select_judged_uses(uses: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the uses that are not by an ignored role: what an administrator does needs no grant."""
    is_ignored = is_named_role(exports, lambda export: export.ignored_roles)
    return uses.withColumn("role", f.expr("role_key")).filter(f"NOT {is_ignored}").drop("role")


def _select_hits(rows: DataFrame) -> DataFrame:
    return (
        rows.filter(_WAS_THERE.format("given_at"))
        .selectExpr(*USE_COLUMNS, "last", "kind", "grantee_key", "held_level")
        .distinct()
    )


def _select_explained(hits: DataFrame) -> DataFrame:
    """Return the hits of the uses that one of them allows: a write does not rest on a grant for reading alone."""
    return hits.join(hits.filter("held_level >= level").selectExpr(*USE_COLUMNS).distinct(), USE_COLUMNS, "left_semi")


def find_used_members(hits: DataFrame, access: HeldAccess, stage: Stage) -> DataFrame:
    """Return (export, role, kind, member_key, last) of the memberships by which a table may have been used.

    `last` is null for one that was not; memberships of roles that reach no dataset, and of groups that nobody is known
    to be in, are left out.
    """
    effective_roles = access.list_effective_roles()
    reaching = access.grants.filter(f"kind = '{Grantee.ROLE}'").selectExpr("export", "grantee_key AS given")
    reaching_roles = effective_roles.join(reaching.distinct(), ["export", "given"]).selectExpr(*ROLE_COLUMNS).distinct()
    people = stage("people", access.list_people().join(reaching_roles, ROLE_COLUMNS, "left_semi"))
    role_uses = hits.filter(f"kind = '{Grantee.ROLE}'")
    role_uses = role_uses.groupBy("export", "person_key", f.expr("grantee_key AS given")).agg(
        f.expr("max(last) AS last")
    )
    used = people.join(effective_roles, ROLE_COLUMNS).join(role_uses, ["export", "person_key", "given"])
    last_uses = used.filter(_WAS_THERE.format("granted_at")).groupBy(*_MEMBER_COLUMNS).agg(f.expr("max(last) AS last"))
    return people.selectExpr(*_MEMBER_COLUMNS).distinct().join(last_uses, _MEMBER_COLUMNS, "left")


def find_used_grants(
    grants: DataFrame, uses: DataFrame, hits: DataFrame, uncertain_roles: DataFrame, declared_access: DeclaredAccess
) -> DataFrame:
    """Return the grants, one row for each grantee and object: what it opens, and when it was last used.

    export, kind, grantee_key, grantee, OBJECT_COLUMNS, is_container, bits, level, tables, used_tables, used_level,
    people, others, last, is_sensitive, is_young, is_uncertain, details, places, and entity and name of a grant on
    one table. `others` used what it opens, and not by it.
    """
    keys = ["export", "number", "kind", "grantee_key"]
    used = hits.groupBy(*keys).agg(
        *map(f.expr, ("max(last) AS last", "max(level) AS used_level", "collect_set(person_key) AS people"))
    )
    users = uses.groupBy("export", "number").agg(f.expr("collect_set(person_key) AS users"))
    dataset = declared_access.datasets.selectExpr("export", "number", "urn AS entity", "name", "is_sensitive")
    rows = grants.join(dataset, ["export", "number"]).join(used, keys, "left").join(users, ["export", "number"], "left")
    people, users_of_all = (f"array_distinct(flatten(collect_set({name})))" for name in ("people", "users"))
    aggregates = {
        "grantee": "min(grantee)",
        "bits": "bit_or(bit)",
        "level": "max(level)",
        "tables": "count(DISTINCT number)",
        "used_tables": "count(DISTINCT CASE WHEN last IS NOT NULL THEN number END)",
        "used_level": "max(used_level)",
        "people": f"size({people})",
        "others": f"size(array_except({users_of_all}, {people}))",
        "last": "max(last)",
        "is_sensitive": "max(is_sensitive)",
        "is_young": "max(is_young)",
        "entity": "min(entity)",
        "name": "min(name)",
        "details": "to_json(collect_set(details))",
        "places": FIRST_PLACES,
    }
    groups = rows.groupBy("export", "kind", "grantee_key", *OBJECT_COLUMNS, f.expr("at <> '' AS is_container"))
    used_grants = groups.agg(*(f.expr(f"{value} AS {name}") for name, value in aggregates.items()))
    used_grants = used_grants.join(uncertain_roles, ["export", "kind", "grantee_key"], "left")
    return used_grants.withColumn("is_uncertain", f.expr("coalesce(is_uncertain, false)"))


def select_judged_grants(grants: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the grants that can be called unused: not of ignored roles, nor ownership, which somebody has to have.

    The reads by consumers of a share or an application are in no history of its provider. The system itself names usual
    holders.
    """
    is_ignored = is_named_role(exports, lambda export: export.ignored_roles)
    is_other = f"{is_ownership(exports)} OR {is_outside('grantee')} OR {is_usual_holder(exports)}"
    is_judged = f"NOT ({is_ignored} OR {is_other})"
    return grants.withColumn("role", f.expr("grantee_key")).filter(is_judged).drop("role")


def select_judged_members(members: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return the memberships that can be called unused: not of ignored roles."""
    return members.filter(f"NOT {is_named_role(exports, lambda export: export.ignored_roles)}")
