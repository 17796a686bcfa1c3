"""Who gets into which schema and database, in exports that say so: a grant inside opens nothing to anybody else.

A role gets in itself, or by a role that it has. A grant of a role opens something as soon as one of those who hold the
role gets in, by whatever else they hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.containers import list_containers
from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    Stage,
    is_named_role,
    is_unguarded,
    same_named_columns,
    select_difference_columns,
)
from catalog.sql_text import is_among
from catalog.warehouses.grant_facts import FactKind, Grantee
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.principals import EVERYBODY_NAMES, is_outside
from catalog.warehouses.warehouse import Export

_CONTAINER = ["export", "object_key"]


@dataclass(frozen=True, slots=True)
class Entries:
    """Who gets in.

    - `guarded`: export, object_key, object, object_type, is_known; the containers that not everybody gets into.
      `is_known`: nobody gets in but those whom the export names.
    - `roles`: export, object_key, role; the roles that get in.
    - `holders`: export, object_key, kind, grantee_key; who gets in, and roles that one of these holds, or should.
    - `later_holders`: the same if the roles got in that should open something there.
    """

    guarded: DataFrame
    roles: DataFrame
    holders: DataFrame
    later_holders: DataFrame

    def find_closed(self, reach: DataFrame, declared_access: DeclaredAccess, exports: Sequence[Export]) -> DataFrame:
        """Return (export, number, kind, grantee_key, bit, is_container) of grants on what nobody who has them gets to.

        Entries that a role should open count, since `find_missing` says which ones it lacks, and so does a grant to
        everybody, and to a share, whose consumers come in by other ways. Where people act as one role at a time, all
        counts: a grant is reported before another one opens it.
        """
        columns = ["export", "number", "kind", "grantee_key"]
        is_everybody = is_named_role(exports, lambda _: EVERYBODY_NAMES)
        has_ways_in = (
            f"NOT {_has_acting_roles(exports)} AND NOT {is_outside('grantee')} AND NOT {is_unguarded(exports)}"
        )
        is_asked = f"number IS NOT NULL AND NOT is_container AND {has_ways_in}"
        rows = reach.filter(is_asked).selectExpr(*columns, "bit", "grantee_key AS role")
        rows = rows.filter(f"NOT {is_everybody}").drop("role").distinct()
        declared_pairs = declared_access.role_datasets.selectExpr(
            "export", "number", f"'{Grantee.ROLE}' AS kind", "role AS grantee_key"
        )
        places = _list_guarded_places(self.guarded.filter("is_known"), declared_access.datasets)
        needed = rows.join(declared_pairs, columns, "left_anti").join(places, ["export", "number"])
        closed = needed.join(self.later_holders, [*_CONTAINER, "kind", "grantee_key"], "left_anti")
        return closed.selectExpr(*columns, "bit", "false AS is_container").distinct()

    def find_missing(
        self, declared_access: DeclaredAccess, existing_roles: DataFrame, exports: Sequence[Export]
    ) -> DataFrame:
        """Return a difference for each role and each container which it should open datasets in and does not get into.

        Into a database somebody who holds the role may get by another one: that is how accounts are made to connect.
        Where people act as one role at a time, it gets there by itself, too.
        """
        names = declared_access.datasets.selectExpr("export", "number", "name")
        needed = _list_declared_places(self.guarded, declared_access).join(names, ["export", "number"])
        needed = needed.groupBy(*_CONTAINER, "role").agg(*map(f.expr, ("count(*) AS count", "min(name) AS name")))
        needed = needed.join(self.guarded, _CONTAINER)
        keys = [*_CONTAINER, "role"]
        holding_roles = self.holders.filter(f"kind = '{Grantee.ROLE}'").withColumnRenamed("grantee_key", "role")
        is_shared = f"object_type = 'DATABASE' AND NOT {_has_acting_roles(exports)}"
        alone = needed.filter(f"NOT ({is_shared})").join(self.roles, keys, "left_anti")
        shared = needed.filter(is_shared).join(holding_roles, keys, "left_anti")
        roles = declared_access.roles.selectExpr("role", "role_urn")
        return select_difference_columns(
            alone.union(shared).join(existing_roles, ROLE_COLUMNS).join(roles, "role"),
            type=f"'{DifferenceType.GRANT_MISSING}'",
            severity=f"'{DifferenceSeverity.MEDIUM}'",
            **same_named_columns("export", "role", "role_urn", "object", "object_type", "name", "count"),
            grantee="role_name",
            rule=f"'{PassRule.CLOSED_CONTAINER}'",
        )


def find_entries(
    facts: DataFrame,
    members: DataFrame,
    inherited_roles: DataFrame,
    declared_access: DeclaredAccess,
    exports: Sequence[Export],
    stage: Stage,
) -> Entries | None:
    """Return who gets in, None where everybody gets in everywhere.

    `members` are those of `membership.select_members`, `inherited_roles` the closure of inheritance.
    """
    rows = facts.filter(f"what = '{FactKind.ENTRY}'")
    is_everybody = is_named_role(exports, lambda _: EVERYBODY_NAMES)
    open_containers = rows.withColumn("role", f.expr("grantee_key")).filter(is_everybody).selectExpr(*_CONTAINER)
    containers = rows.groupBy(*_CONTAINER).agg(
        *map(
            f.expr,
            ("min(object) AS object", "min(object_type) AS object_type", "count(condition) = 0 AS is_known"),
        )
    )
    guarded = stage("guarded", containers.join(open_containers.distinct(), _CONTAINER, "left_anti"))
    if not guarded.head(1):
        return None
    entries = rows.selectExpr(*_CONTAINER, "kind", "grantee_key").distinct().join(guarded, _CONTAINER, "left_semi")
    people = entries.filter(f"kind = '{Grantee.USER}'").selectExpr(*_CONTAINER, "grantee_key AS member_key")
    own_entries = entries.filter(f"kind = '{Grantee.ROLE}'").selectExpr(*_CONTAINER, "grantee_key AS role")
    inheritance = inherited_roles.selectExpr("export", "role", "given")
    held_roles = members.filter(f"kind = '{Grantee.USER}'").selectExpr("export", "member_key", "role")
    roles = stage("entering", _add_heirs(own_entries, inheritance))
    declared_members = declared_access.members.get_result().required.filter(f"kind = '{Grantee.USER}'")
    later_held_roles = held_roles.union(declared_members.selectExpr("export", "member_key", "role"))
    later_entries = own_entries.union(_list_declared_places(guarded, declared_access).selectExpr(*_CONTAINER, "role"))
    later_roles = _add_heirs(later_entries, inheritance)
    return Entries(
        guarded,
        roles,
        stage("holders", _list_holders(roles, people, later_held_roles, inheritance)),
        stage("later_holders", _list_holders(later_roles, people, later_held_roles, inheritance)),
    )


def _has_acting_roles(exports: Sequence[Export]) -> str:
    return is_among("export", [export.name for export in exports if export.warehouse.has_acting_roles])


def _add_heirs(entries: DataFrame, inheritance: DataFrame) -> DataFrame:
    """Return (export, object_key, role) of roles that get in, and of those which have one of them."""
    heirs = entries.withColumnRenamed("role", "given").join(inheritance, ["export", "given"])
    return entries.union(heirs.selectExpr(*_CONTAINER, "role")).distinct()


def _list_holders(roles: DataFrame, people: DataFrame, held_roles: DataFrame, inheritance: DataFrame) -> DataFrame:
    """Return `Entries.holders`: `people` get in by themselves, `held_roles` are the roles of people."""
    held_roles = held_roles.union(
        held_roles.join(inheritance, ROLE_COLUMNS).selectExpr("export", "member_key", "given")
    ).distinct()
    people = people.union(held_roles.join(roles, ROLE_COLUMNS).selectExpr(*_CONTAINER, "member_key")).distinct()
    role_keys = (
        roles.selectExpr(*_CONTAINER, "role"),
        roles.join(inheritance, ROLE_COLUMNS).selectExpr(*_CONTAINER, "given"),
        people.join(held_roles, ["export", "member_key"]).selectExpr(*_CONTAINER, "role"),
    )
    holders = reduce(DataFrame.union, role_keys).selectExpr(
        *_CONTAINER, f"'{Grantee.ROLE}' AS kind", "role AS grantee_key"
    )
    return holders.union(people.selectExpr(*_CONTAINER, f"'{Grantee.USER}'", "member_key")).distinct()


def _list_guarded_places(guarded: DataFrame, datasets: DataFrame) -> DataFrame:
    """Return (export, number, object_key) of datasets in guarded containers."""
    return list_containers(datasets).join(guarded.selectExpr(*_CONTAINER), _CONTAINER, "left_semi")


def _list_declared_places(guarded: DataFrame, declared_access: DeclaredAccess) -> DataFrame:
    """Return (export, number, object_key, role) of what roles should open in guarded containers."""
    places = _list_guarded_places(guarded, declared_access.datasets)
    return places.join(declared_access.role_datasets.distinct(), ["export", "number"])
