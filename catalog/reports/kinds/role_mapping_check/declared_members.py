"""Members of roles, and of groups, as a snapshot of the catalog declares them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.differences import Stage
from catalog.sql_text import is_among, quote_text
from catalog.warehouses.grant_facts import Grantee, without_domain
from catalog.warehouses.warehouse import Export

_USER_PREFIX, _GROUP_PREFIX = "urn:li:corpuser:", "urn:li:corpGroup:"


@dataclass(frozen=True, slots=True)
class DeclaredMembers:
    """The members of roles.

    - `required`: export, role, kind, member_key, actor; the members that these roles should have.
    - `allowed`: export, role, kind, member_key; the members that these roles may have.
    """

    required: DataFrame
    allowed: DataFrame


def collect_members(
    table: Callable[[str], DataFrame],
    described_roles: DataFrame,
    expected_roles: DataFrame,
    exports: Sequence[Export],
    stage: Stage,
) -> DeclaredMembers:
    """Return the members of the expected roles. Users who may not act are neither required nor allowed members.

    `described_roles` are number and role, `expected_roles` those of `DeclaredAccess`.
    """
    kind = f"CASE field WHEN 'ROLE_USER' THEN '{Grantee.USER}' WHEN 'ROLE_GROUP' THEN '{Grantee.GROUP}' END"
    member_facets = table("facets").filter("field IN ('ROLE_USER', 'ROLE_GROUP')")
    member_facets = member_facets.selectExpr("entity AS number", f"{kind} AS kind", "value AS actor")
    declared_members = (
        member_facets.join(described_roles, "number")
        .join(expected_roles, "role")
        .selectExpr("export", "role", "kind", "actor")
    )
    user_rows, group_rows = (
        declared_members.filter(f"kind = '{Grantee.USER}'"),
        declared_members.filter(f"kind = '{Grantee.GROUP}'"),
    )
    members_through_groups = group_rows.join(_read_memberships(table), "actor").selectExpr(
        "export", "role", f"'{Grantee.USER}' AS kind", "member AS actor"
    )
    inactive_users = table("users").filter("NOT may_act").selectExpr("urn AS actor")
    exports_with_groups = [export.name for export in exports if export.has_groups]
    keeps_groups = is_among("export", exports_with_groups)

    # All of them are allowed members, and some of them required ones.
    possible_members = reduce(
        DataFrame.union,
        (
            rows.selectExpr("export", "role", "kind", "actor", f"{is_required} AS is_required")
            for rows, is_required in (
                (user_rows, "true"),
                (group_rows, keeps_groups),
                (members_through_groups, f"NOT {keeps_groups}"),
            )
        ),
    )
    possible_members = possible_members.groupBy("export", "role", "kind", "actor").agg(
        f.expr("max(is_required) AS is_required")
    )
    active_members = possible_members.join(inactive_users, "actor", "left_anti")
    members = stage("members", active_members.withColumn("member_key", f.expr(_member_key(exports, "actor"))))
    return DeclaredMembers(
        required=members.filter("is_required").selectExpr("export", "role", "kind", "member_key", "actor"),
        allowed=members.selectExpr("export", "role", "kind", "member_key"),
    )


def _read_memberships(table: Callable[[str], DataFrame]) -> DataFrame:
    """Return actor and member: groups, and the users in them."""
    return table("memberships").selectExpr("`group` AS actor", "`user` AS member")


def read_group_members(table: Callable[[str], DataFrame], exports: Sequence[Export]) -> DataFrame:
    """Return `DeclaredAccess.group_members`."""
    memberships = _read_memberships(table)
    export_memberships = [
        memberships.selectExpr(f"{quote_text(export.name)} AS export", "actor", "member")
        for export in exports
        if export.has_groups
    ]
    no_memberships = memberships.selectExpr("'' AS export", "actor", "member").limit(0)
    return reduce(DataFrame.union, export_memberships, no_memberships).selectExpr(
        "export", f"{_member_key(exports, 'actor')} AS group_key", f"{_member_key(exports, 'member')} AS member_key"
    )


def read_people(table: Callable[[str], DataFrame]) -> DataFrame:
    """Return `DeclaredAccess.people`."""
    users_by_key = table("users").selectExpr(f"lower(substring(urn, {len(_USER_PREFIX) + 1})) AS member_key", "urn")
    return users_by_key.groupBy("member_key").agg(f.expr("min(urn) AS urn"))


def _member_key(exports: Sequence[Export], actor: str) -> str:
    """Return the comparison key of the URN of a user or group, as `Export.normalize` of the row's export."""
    bare_name = f"regexp_replace({actor}, '^({_USER_PREFIX}|{_GROUP_PREFIX})', '')"
    choices = " ".join(f"WHEN {quote_text(export.name)} THEN {without_domain(export, bare_name)}" for export in exports)
    return f"CASE export {choices} ELSE lower({bare_name}) END"
