"""The layouts of the system's own views: `information_schema`, `pg_roles`, `pg_auth_members` and views with owners.

They are read as they always were. Their gaps are said by `coverage`.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.grant_facts import PolicyKind
from catalog.warehouses.layouts import Layout, describe_membership, describe_role, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.policy_layouts import build_policy_layout
from catalog.warehouses.postgres.catalog_layouts import (
    ANYBODY,
    LOGIN,
    build_grant_details,
    build_member_details,
    describe_column,
    describe_hold,
    is_true,
)
from catalog.warehouses.postgres.privileges import ON_COLUMNS, OWNER
from catalog.warehouses.sql_names import normalize_word, unquote_name
from catalog.warehouses.warehouse import Export

TABLE_PRIVILEGES, COLUMN_PRIVILEGES = "information_schema.table_privileges", "information_schema.column_privileges"
MEMBERS = "pg_auth_members"
#: Views that show owners of relations whose grants `information_schema` shows.
OWNERS = ("pg_tables", "pg_views")

_TABLE = ("grantee", "table_catalog", "table_schema", "table_name", "privilege_type")
_GRANT_OPTIONS = ("grantor", "is_grantable")
#: Options of each membership, since PostgreSQL 16.
_OPTIONS = frozenset({"inherit_option", "set_option"})
#: What is wrong with a membership of numbers, which no file explains.
_NUMBERED = (
    "It has the numbers of roles: export roleid::regrole and member::regrole, or pg_roles with its column oid, too."
)
#: The grantee; PUBLIC is a word, and no role is called public.
_GRANTEE = "CASE WHEN grantee = 'PUBLIC' THEN 'public' ELSE grantee END"


def _describe_table(rows: DataFrame, _export: Export) -> dict[str, str]:
    privilege = normalize_word("privilege_type")
    # Nobody but the owner has a grant of his own making.
    is_own = "coalesce(grantor = grantee, false)" if "grantor" in rows.columns else "false"
    details = "to_json(named_struct('hides_owner', true))" if "grantor" not in rows.columns else NO_TEXT
    if "grantor" in rows.columns and "is_grantable" in rows.columns:
        column = "column_name" if "column_name" in rows.columns else NO_TEXT
        details = build_grant_details("grantor", is_grantable=is_true("is_grantable"), column=column)
    return {
        "object_type": "'TABLE'",
        "path": join_path("table_catalog", "table_schema", "table_name"),
        "privilege": f"CASE WHEN {is_own} THEN '{OWNER}' ELSE {privilege} END",
        "grantee_type": f"'{ANYBODY}'",
        "grantee": _GRANTEE,
        "details": f"CASE WHEN NOT {is_own} THEN {details} END",
    }


def _describe_column(rows: DataFrame, export: Export) -> dict[str, str]:
    """Return what a row says of a column; `resolve_columns` knows whether it repeats a grant on the table."""
    table = _describe_table(rows, export)
    privilege = table["privilege"]
    return {
        **table,
        "privilege": f"CASE WHEN {privilege} = '{OWNER}' THEN '{OWNER}' ELSE concat({privilege}, '{ON_COLUMNS}') END",
        "condition": f"CASE WHEN {privilege} <> '{OWNER}' THEN {describe_column('column_name')} END",
        "said_rule": f"CASE WHEN {privilege} = 'REFERENCES' THEN '{PassRule.NO_DATA_PRIVILEGE}' END",
    }


def resolve_columns(rows: DataFrame) -> DataFrame:
    """Return described rows, in which privileges on columns that repeat one on the table are passed."""
    is_column = f"layout = '{COLUMN_PRIVILEGES}'"
    keys = ["path", "grantee", "table_privilege"]
    table_rows = rows.filter(f"layout = '{TABLE_PRIVILEGES}'").selectExpr(
        *keys[:-1], "privilege AS table_privilege", "true AS is_repeated"
    )
    privilege = f"CASE WHEN {is_column} THEN replace(privilege, '{ON_COLUMNS}', '') END"
    joined_rows = rows.withColumn("table_privilege", f.expr(privilege)).join(table_rows.distinct(), keys, "left")
    rule = f"CASE WHEN is_repeated THEN '{PassRule.REPEATED}' ELSE said_rule END"
    columns = (f"{rule} AS said_rule" if name == "said_rule" else name for name in rows.columns)
    return joined_rows.selectExpr(*columns)


def resolve_inheritance(rows: DataFrame) -> DataFrame:
    """Return described rows, in which a membership of a role that does not inherit says so."""
    inherits = "from_json(details, 'inherits boolean').inherits"
    strict_roles = rows.filter(f"privilege = 'EXISTS' AND NOT {inherits}")
    strict_roles = strict_roles.selectExpr(
        "grantee", f"{describe_hold('false', 'true')} AS strict_condition"
    ).distinct()
    is_member = f"layout = '{MEMBERS}' AND privilege = 'MEMBER' AND {inherits} IS NULL"
    condition = f"CASE WHEN {is_member} THEN coalesce(condition, strict_condition) ELSE condition END AS condition"
    columns = (condition if name == "condition" else name for name in rows.columns)
    return rows.join(strict_roles, "grantee", "left").selectExpr(*columns)


def resolve_numbers(rows: DataFrame) -> DataFrame:
    """Return described rows, in which memberships name roles in place of their numbers, as far as `pg_roles` has both.

    The others are quarantined.
    """
    is_numbered = f"said_problem = {quote_text(_NUMBERED)}"
    if not rows.filter(is_numbered).head(1):
        return rows
    known_roles = rows.filter("privilege = 'EXISTS'").selectExpr("get_json_object(details, '$.oid') AS number", "path")
    known_roles = known_roles.filter("number IS NOT NULL").distinct()
    numbers = {"path": "path", "grantee": "grantee", "grantor": "get_json_object(details, '$.grantor')"}
    joined_rows = rows
    for key, number in numbers.items():
        names = known_roles.toDF(f"{key}_number", f"{key}_name")
        joined_rows = joined_rows.join(names, f.expr(f"{is_numbered} AND {number} = {key}_number"), "left")
    is_chained, is_admin = (f"get_json_object(details, '$.{name}') = 'true'" for name in ("is_chained", "is_admin"))
    details = build_member_details("grantor_name", is_chained=is_chained, is_admin=is_admin)
    values = {
        "path": "coalesce(path_name, path)",
        "grantee": "coalesce(grantee_name, grantee)",
        "details": f"CASE WHEN {is_numbered} THEN {details} ELSE details END",
        "said_problem": "CASE WHEN path_name IS NULL OR grantee_name IS NULL THEN said_problem END",
    }
    return joined_rows.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in rows.columns))


def _describe_other(kind: str) -> layouts.DescribeRows:
    def describe(_rows: DataFrame, _export: Export) -> dict[str, str]:
        return {
            "object_type": "'OTHER'",
            "path": join_path(f"{kind}_catalog", f"{kind}_schema", f"{kind}_name"),
            "privilege": normalize_word("privilege_type"),
            "grantee_type": f"'{ANYBODY}'",
            "grantee": _GRANTEE,
        }

    return describe


def _describe_owner(name: str, owner: str, object_type: str) -> layouts.DescribeRows:
    def describe(_: DataFrame, export: Export) -> dict[str, str]:
        return {
            "object_type": f"'{object_type}'",
            "path": join_path(quote_text(export.database), "schemaname", name),
            "privilege": f"'{OWNER}'",
            "grantee_type": f"'{ANYBODY}'",
            "grantee": owner,
        }

    return describe


def _describe_listed(rows: DataFrame, _export: Export) -> dict[str, str]:
    is_superuser, bypasses = (
        is_true(name) if name in rows.columns else "false" for name in ("rolsuper", "rolbypassrls")
    )
    inherits = is_true("rolinherit") if "rolinherit" in rows.columns else "true"
    return {
        **describe_role("rolname"),
        "grantee_type": f"CASE WHEN {is_true('rolcanlogin')} THEN '{LOGIN}' ELSE '{ANYBODY}' END",
        "details": f"""to_json(named_struct(
            'is_superuser', {is_superuser}, 'bypasses_row_security', {bypasses}, 'inherits', {inherits},
            'oid', {"oid" if "oid" in rows.columns else NO_TEXT}))""",
    }


def _describe_options(rows: DataFrame) -> dict[str, str]:
    """Return what the options of a membership say of its use; without them the member's own attribute counts."""
    if not set(rows.columns) >= _OPTIONS:
        return {}
    inherits, can_set = is_true("inherit_option"), is_true("set_option")
    is_admin = is_true("admin_option") if "admin_option" in rows.columns else "false"
    return {
        "condition": describe_hold(inherits, can_set),
        "said_rule": f"""CASE WHEN NOT ({inherits} OR {can_set} OR {is_admin})
            THEN '{PassRule.IDLE_MEMBERSHIP}' END""",
    }


def _describe_member(role: str, member: str) -> layouts.DescribeRows:
    def describe(rows: DataFrame, _export: Export) -> dict[str, str]:
        details = NO_TEXT
        if "grantor" in rows.columns:
            # These columns came with the chain of grantors.
            is_chained = "true" if _OPTIONS & set(rows.columns) else "false"
            is_admin = is_true("admin_option") if "admin_option" in rows.columns else "false"
            details = build_member_details(unquote_name("grantor"), is_chained=is_chained, is_admin=is_admin)
        columns = describe_membership(unquote_name(role), unquote_name(member), f"'{ANYBODY}'")
        is_numbered = " OR ".join(f"trim({name}) RLIKE '^[0-9]+$'" for name in (role, member))
        problem = f"CASE WHEN {is_numbered} THEN {quote_text(_NUMBERED)} END"
        # A name of digits stands in quotation marks where the system writes it as a name.
        numbers = {"said_problem": problem} if role == "roleid" else {}
        return {**columns, "details": details, **_describe_options(rows), **numbers}

    return describe


LAYOUTS = (
    Layout((*_TABLE, "column_name"), _describe_column, COLUMN_PRIVILEGES, _GRANT_OPTIONS),
    Layout(_TABLE, _describe_table, TABLE_PRIVILEGES, (*_GRANT_OPTIONS, "with_hierarchy")),
    Layout(
        ("grantee", "routine_catalog", "routine_schema", "routine_name", "privilege_type"),
        _describe_other("routine"),
        "information_schema.routine_privileges",
        (*_GRANT_OPTIONS, "specific_catalog", "specific_schema", "specific_name"),
    ),
    Layout(
        ("grantee", "object_catalog", "object_schema", "object_name", "privilege_type"),
        _describe_other("object"),
        "information_schema.usage_privileges",
        (*_GRANT_OPTIONS, "object_type"),
    ),
    Layout(
        ("grantee", "udt_catalog", "udt_schema", "udt_name", "privilege_type"),
        _describe_other("udt"),
        "information_schema.udt_privileges",
        _GRANT_OPTIONS,
    ),
    Layout(
        ("schemaname", "tablename", "tableowner"),
        _describe_owner("tablename", "tableowner", "TABLE"),
        "pg_tables",
        ("tablespace", "hasindexes", "hasrules", "hastriggers", "rowsecurity"),
    ),
    Layout(
        ("schemaname", "viewname", "viewowner"),
        _describe_owner("viewname", "viewowner", "VIEW"),
        "pg_views",
        ("definition",),
    ),
    Layout(
        ("schemaname", "matviewname", "matviewowner"),
        _describe_owner("matviewname", "matviewowner", "MATERIALIZED VIEW"),
        "pg_matviews",
        ("tablespace", "hasindexes", "ispopulated", "definition"),
    ),
    Layout(
        ("rolname", "rolcanlogin"),
        _describe_listed,
        "pg_roles",
        (
            *("rolsuper", "rolinherit", "rolcreaterole", "rolcreatedb", "rolreplication", "rolconnlimit"),
            *("rolpassword", "rolvaliduntil", "rolbypassrls", "rolconfig", "oid"),
        ),
    ),
    *(
        Layout((name, member), _describe_member(name, member), layout, further)
        for name, member, layout, further in (
            *(
                (name, "member", MEMBERS, ("oid", "grantor", "admin_option", "inherit_option", "set_option"))
                for name in ("roleid", "role")
            ),
            ("role_name", "member_name", MEMBERS, ("grantor", "admin_option")),
            ("role_name", "grantee", "information_schema.applicable_roles", ("is_grantable",)),
        )
    ),
)
POLICY_LAYOUT = build_policy_layout(
    PolicyKind.ROWS,
    ("schemaname", "tablename"),
    "policyname",
    switches=("rowsecurity", "relrowsecurity"),
    owner_switch="relforcerowsecurity",
    layout="pg_policies",
    further=(
        *("permissive", "roles", "cmd", "qual", "with_check"),
        *("rowsecurity", "relrowsecurity", "relforcerowsecurity"),
    ),
)
