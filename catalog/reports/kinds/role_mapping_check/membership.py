"""Differences of roles and their members: missing roles, idle roles, missing and extra members."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.declared import DeclaredAccess
from catalog.reports.kinds.role_mapping_check.differences import (
    DETAILS,
    PLACES,
    ROLE_COLUMNS,
    DifferenceSeverity,
    DifferenceType,
    is_ignored_person,
    is_named_role,
    same_named_columns,
    select_difference_columns,
)
from catalog.reports.spark.rollups import MAX_LISTED
from catalog.sql_text import NO_TEXT, is_among, list_texts
from catalog.warehouses.grant_facts import FactKind, Grantee
from catalog.warehouses.levels import READ
from catalog.warehouses.pass_rules import DORMANT_RULES, PassRule
from catalog.warehouses.principals import is_group
from catalog.warehouses.warehouse import Export


def find_existing_roles(facts: DataFrame) -> DataFrame:
    """Return (export, role, role_name) of roles in the facts: grantees, inherited, with members, or listed."""
    is_dormant = f"""
        what = '{FactKind.PASSED}' AND rule IN {list_texts(sorted(DORMANT_RULES))} AND grantee_key IS NOT NULL
    """
    is_holder = list_texts((FactKind.GRANT, FactKind.INHERIT, FactKind.ENTRY, FactKind.FUTURE))
    is_granted = f"what IN {is_holder} OR {is_dormant}"
    granted_roles = facts.filter(f"kind = '{Grantee.ROLE}' AND ({is_granted})")
    role_facts = facts.filter(f"what IN ('{FactKind.INHERIT}', '{FactKind.MEMBER}', '{FactKind.ROLE}')")
    role_names = granted_roles.selectExpr("export", "grantee_key AS role", "grantee AS role_name").union(
        role_facts.selectExpr("export", "object_key AS role", "object AS role_name")
    )
    # Spark sorts all rows to find the least text of a group: these are few.
    return role_names.distinct().groupBy(*ROLE_COLUMNS).agg(f.expr("min(role_name) AS role_name"))


# -- roles ------------------------------------------------------------------------------------------------------------


def build_missing_roles(missing_roles: DataFrame, declared_access: DeclaredAccess, accounts: DataFrame) -> DataFrame:
    """Return differences for the roles that an export should have and does not, with what they should open and to whom.

    `accounts` are those of `find_accounts`.
    """
    names = declared_access.datasets.selectExpr("export", "number", "name")
    datasets = declared_access.role_datasets.join(missing_roles, ROLE_COLUMNS, "left_semi").join(
        names, ["export", "number"]
    )
    datasets = datasets.join(declared_access.subtypes, "number", "left")
    types = (
        "map_from_entries(collect_set(CASE WHEN object_type IS NOT NULL THEN struct(name, object_type) END)) AS types"
    )
    datasets = datasets.groupBy(*ROLE_COLUMNS).agg(*map(f.expr, (f"{_list_first('name')} AS datasets", types)))
    members = declared_access.members.get_result().required.filter(f"kind = '{Grantee.USER}'")
    members = members.join(missing_roles, ROLE_COLUMNS, "left_semi")
    members = members.join(accounts, ["export", "kind", "member_key"], "left")
    people = (f"{_list_first('account')} AS accounts", f"{_list_first(_UNKNOWN)} AS people")
    members = members.groupBy(*ROLE_COLUMNS).agg(*map(f.expr, people))
    rows = missing_roles.join(declared_access.roles, "role").join(datasets, ROLE_COLUMNS, "left")
    rows = rows.join(members, ROLE_COLUMNS, "left")
    lists = ", ".join(f"'{name}', {name}" for name in ("datasets", "types", "accounts", "people"))
    return select_difference_columns(
        rows,
        type=f"'{DifferenceType.ROLE_GONE}'",
        severity=f"'{DifferenceSeverity.HIGH}'",
        **same_named_columns("export", "role", "role_urn", "count"),
        wanted=f"coalesce(declared_level, {READ})",
        details=f"to_json(array(to_json(named_struct({lists}))))",
    )


#: The person whom an export names no account of, by the URN.
_UNKNOWN = "CASE WHEN account IS NULL THEN split(actor, ':', 4)[3] END"


def _list_first(value: str) -> str:
    """Return an aggregate: the first values that are not null, in their order."""
    return f"slice(array_sort(collect_set({value})), 1, {MAX_LISTED})"


def find_idle_roles(declared_access: DeclaredAccess, existing_roles: DataFrame) -> DataFrame:
    """Return differences for described roles without datasets, with the export that contains them, if any."""
    rows = declared_access.roles.filter("is_described AND count = 0").join(existing_roles, "role", "left")
    return select_difference_columns(
        rows,
        type=f"'{DifferenceType.ROLE_WITHOUT_DATASETS}'",
        severity=f"'{DifferenceSeverity.LOW}'",
        **same_named_columns("export", "role", "role_urn"),
        grantee="role_name",
    )


def select_members(facts: DataFrame) -> DataFrame:
    """Return the direct members of roles: export, role, kind, member_key, names in the source, granted_at.

    `condition` is how the member uses the role if not simply, `details` and `places` are those of the facts, which have
    a `place`.
    """
    rows = facts.filter(f"what = '{FactKind.MEMBER}'")
    keys = ("export", "object_key AS role", "kind", "grantee_key AS member_key")
    names = ("min(object) AS role_name", "min(grantee) AS grantee", "max(granted_at) AS granted_at")
    # Who holds a role in two ways uses the simpler one, which has no condition.
    ways = ("nullif(min(coalesce(condition, '')), '') AS condition", DETAILS, PLACES)
    return rows.groupBy(*map(f.expr, keys)).agg(*map(f.expr, (*names, *ways)))


def find_accounts(facts: DataFrame, exports: Sequence[Export]) -> DataFrame:
    """Return (export, member_key, account) of the people that exports name, if accounts are not guessed."""
    is_asked = is_among("export", [export.name for export in exports if not export.warehouse.guesses_accounts])
    is_revoked = f"coalesce(rule, '') = '{PassRule.REVOKED}'"
    people = facts.filter(f"{is_asked} AND kind = '{Grantee.USER}' AND grantee IS NOT NULL AND NOT {is_revoked}")
    # Of two names of one person, the one without the domain is the shorter one.
    account = "min(struct(length(grantee) AS size, grantee)).grantee AS account"
    people = people.groupBy("export", f.expr("grantee_key AS member_key")).agg(f.expr(account))
    return people.selectExpr("export", "member_key", f"'{Grantee.USER}' AS kind", "account")


def compare_members(
    direct_members: DataFrame,
    declared_access: DeclaredAccess,
    inherited_roles: DataFrame,
    existing_roles: DataFrame,
    missing_roles: DataFrame,
    accounts: DataFrame,
    exports: Sequence[Export],
) -> list[DataFrame]:
    """Return the differences of members: first missing, then extra ones. `accounts` are those of `find_accounts`.

    A member of a group that holds the role, or a holder of a role that inherits it, holds the role. Holding it through
    a role of the catalog is legitimate; excess access of that role is a difference of the role. A role that the catalog
    does not have makes its members extra members.
    """
    role_pairs = inherited_roles.selectExpr("export", "role", "given", "given_condition", "hop")
    inherited_members = direct_members.join(role_pairs, ROLE_COLUMNS)
    columns = ["export", "role", "kind", "member_key"]
    role_members = direct_members.selectExpr(*columns).union(
        inherited_members.selectExpr("export", "given", "kind", "member_key")
    )
    group_members = role_members.filter(f"kind = '{Grantee.GROUP}'").withColumnRenamed("member_key", "group_key")
    group_members = group_members.join(declared_access.group_members, ["export", "group_key"]).selectExpr(
        "export", "role", f"'{Grantee.USER}' AS kind", "member_key"
    )
    declared_members = declared_access.members.get_result()
    missing_members = declared_members.required.join(role_members.union(group_members), columns, "left_anti").join(
        missing_roles, ROLE_COLUMNS, "left_anti"
    )
    is_considered = f"NOT {is_named_role(exports, lambda export: export.ignored_roles)}"
    roles = declared_access.roles.selectExpr("role", "role_urn")
    undescribed_members = inherited_members.join(roles, "role", "left_anti").filter(is_considered)
    undescribed_members = undescribed_members.withColumn("condition", f.expr("coalesce(condition, given_condition)"))
    hold = ("condition", "details", "places")
    inherited_hold = ("condition", "details", "concat(places, array(hop)) AS places")
    extra_members = direct_members.selectExpr(*columns, "grantee", "role_name", "'' AS via", *hold).union(
        undescribed_members.selectExpr(
            "export", "given", "kind", "member_key", "grantee", NO_TEXT, "role_name", *inherited_hold
        )
    )
    is_administrator = f"kind = '{Grantee.USER}' AND {is_ignored_person(exports, 'member_key')}"
    extra_members = extra_members.filter(f"{is_considered} AND NOT ({is_administrator})")
    extra_members = extra_members.join(roles, "role").join(declared_members.allowed, columns, "left_anti")
    extra_members = extra_members.groupBy(*columns, "role_urn").agg(
        *map(
            f.expr,
            (
                "min(grantee) AS grantee",
                "max(role_name) AS object",
                "min(struct(via, condition, details, places)) AS hold",
            ),
        )
    )
    missing_members = missing_members.join(roles, "role").join(existing_roles, ROLE_COLUMNS, "left")
    missing_members = missing_members.join(accounts, ["export", "kind", "member_key"], "left")
    prefix = f"CASE WHEN kind = '{Grantee.GROUP}' THEN 'urn:li:corpGroup:' ELSE 'urn:li:corpuser:' END"
    return [
        select_difference_columns(
            missing_members,
            type=f"'{DifferenceType.MEMBER_MISSING}'",
            severity=f"'{DifferenceSeverity.MEDIUM}'",
            **same_named_columns("export", "role", "role_urn", "kind", "actor"),
            grantee="account",
            is_known="true",
            # Statements about members of groups are others than those of roles.
            object=f"CASE WHEN {is_group('role_name')} THEN role_name END",
        ),
        select_difference_columns(
            extra_members.join(declared_access.people, "member_key", "left"),
            type=f"'{DifferenceType.EXTRA_MEMBER}'",
            severity=f"'{DifferenceSeverity.HIGH}'",
            **same_named_columns("export", "role", "role_urn", "kind", "grantee", "object"),
            **{name: f"hold.{name}" for name in ("via", "condition", "details")},
            places="array_join(hold.places, ' ')",
            actor=f"coalesce(urn, concat({prefix}, member_key))",
            is_known="urn IS NOT NULL",
        ),
    ]
