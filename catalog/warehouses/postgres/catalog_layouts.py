"""The layouts of our own queries of `pg_catalog` (`queries/`), which show all that gives access.

An owner holds his privileges as the owner: they are one privilege, OWNER, and end with another owner alone. `public` is
everybody, and the name of no role.
"""

from pyspark.sql import DataFrame

from catalog.sql_text import NO_TEXT
from catalog.warehouses.grant_facts import FactKind, PolicyKind
from catalog.warehouses.layouts import Layout, describe_membership, describe_role, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.policy_layouts import build_policy_layout
from catalog.warehouses.postgres.privileges import ON_COLUMNS, OWNER
from catalog.warehouses.sql_names import normalize_word
from catalog.warehouses.warehouse import Export

#: Types that rows have until it is known who is a person, and of names that can sign in.
ANYBODY, LOGIN = "ANYBODY", "LOGIN"

RELATION_GRANTS, SCHEMA_GRANTS, DATABASE_GRANTS = "relation_grants", "schema_grants", "database_grants"
ROLES, ROLE_MEMBERS = "roles", "role_members"

_SCHEMA = ("database_name", "schema_name")
_RELATION = (*_SCHEMA, "relation_name")
_GRANT = ("grantor_name", "grantee_name", "privilege_type", "is_grantable")
_PRIVILEGE = normalize_word("privilege_type")
_IS_OWN = "grantee_name = owner_name"
#: A name that `pg_get_userbyid` gives to a role that is no longer there, and that no statement can name.
_GONE_PATTERN = "unknown (OID=%"


def is_true(column: str) -> str:
    """Return a condition: PostgreSQL's text of a boolean says yes."""
    return f"coalesce(lower(trim({column})) IN ('t', 'true', 'yes', '1'), false)"


def build_grant_details(grantor: str, *, is_grantable: str, owner: str = NO_TEXT, column: str = NO_TEXT) -> str:
    """Return the details of a grant, all of which are expressions of SQL; fields without a value are left out."""
    privilege = f"regexp_replace({_PRIVILEGE}, ' [(]COLUMNS[)]$', '')"
    fields = f"'privilege', {privilege}, 'grantor', {grantor}, 'owner', {owner}, 'is_grantable', {is_grantable}"
    return f"to_json(named_struct({fields}, 'column', {column}))"


def build_member_details(grantor: str, *, is_chained: str, is_admin: str) -> str:
    """Return the details of a membership.

    `is_chained`: it ends with that of its grantor, as since PostgreSQL 16. `is_admin`: its member may pass it on.
    """
    return f"to_json(named_struct('grantor', {grantor}, 'is_chained', {is_chained}, 'is_admin', {is_admin}))"


def _describe_relation(_rows: DataFrame, _export: Export) -> dict[str, str]:
    # Nearly all grants are the owner's, and cannot be passed on: these need no details.
    is_plain = f"{_IS_OWN} OR (grantor_name = owner_name AND NOT {is_true('is_grantable')})"
    details = build_grant_details("grantor_name", owner="owner_name", is_grantable=is_true("is_grantable"))
    return {
        "object_type": normalize_word("relation_kind"),
        "path": join_path(*_RELATION),
        "privilege": f"CASE WHEN {_IS_OWN} THEN '{OWNER}' ELSE {_PRIVILEGE} END",
        "details": f"CASE WHEN NOT ({is_plain}) THEN {details} END",
        **_describe_grantee(),
    }


def _describe_grantee() -> dict[str, str]:
    gone = f"CASE WHEN grantee_name LIKE '{_GONE_PATTERN}' THEN '{PassRule.DELETED_MEMBER}' END"
    return {"grantee_type": f"'{ANYBODY}'", "grantee": "grantee_name", "said_rule": gone}


def describe_column(name: str) -> str:
    """Return the condition of a grant on a column."""
    return f"concat('only its column ', {name})"


def _describe_column(_rows: DataFrame, _export: Export) -> dict[str, str]:
    grantee = _describe_grantee()
    return {
        **grantee,
        "object_type": "'TABLE'",
        "path": join_path(*_RELATION),
        "privilege": f"CASE WHEN {_IS_OWN} THEN '{OWNER}' ELSE concat({_PRIVILEGE}, '{ON_COLUMNS}') END",
        "condition": f"CASE WHEN NOT {_IS_OWN} THEN {describe_column('column_name')} END",
        "details": build_grant_details(
            "grantor_name", owner="owner_name", is_grantable=is_true("is_grantable"), column="column_name"
        ),
        "said_rule": f"""CASE WHEN {_PRIVILEGE} = 'REFERENCES' THEN '{PassRule.NO_DATA_PRIVILEGE}'
            ELSE {grantee["said_rule"]} END""",
    }


def _describe_schema(_rows: DataFrame, _export: Export) -> dict[str, str]:
    return {"object_type": "'SCHEMA'", "path": join_path(*_SCHEMA), **_describe_entry("USAGE")}


def _describe_database(_rows: DataFrame, _export: Export) -> dict[str, str]:
    return {"object_type": "'DATABASE'", "path": "database_name", **_describe_entry("CONNECT")}


def _describe_entry(privilege: str) -> dict[str, str]:
    """Return the columns of rows on a container: who owns it, or has a privilege, gets in."""
    grantee = _describe_grantee()
    enters = f"{_PRIVILEGE} IN ('{privilege}', '{OWNER}')"
    return {
        **grantee,
        "privilege": _PRIVILEGE,
        "said_kind": f"CASE WHEN {enters} THEN '{FactKind.ENTRY}' END",
        "said_rule": f"""CASE WHEN NOT {enters} THEN '{PassRule.CONTAINER_PRIVILEGE}'
            ELSE {grantee["said_rule"]} END""",
    }


def _describe_default(_rows: DataFrame, _export: Export) -> dict[str, str]:
    owner = "'role', role_name, 'schema', schema_name"
    return {
        "object_type": "CASE WHEN coalesce(schema_name, '') = '' THEN 'DATABASE' ELSE 'SCHEMA' END",
        "path": f"CASE WHEN coalesce(schema_name, '') = '' THEN database_name ELSE {join_path(*_SCHEMA)} END",
        "privilege": _PRIVILEGE,
        "grantee_type": f"'{ANYBODY}'",
        "grantee": "grantee_name",
        "details": f"to_json(named_struct('privilege', {_PRIVILEGE}, {owner}))",
        "said_kind": f"'{FactKind.FUTURE}'",
        "said_rule": f"""CASE WHEN {normalize_word("object_type")} <> 'TABLES' THEN '{PassRule.OTHER_OBJECT}'
            WHEN grantee_name = role_name THEN '{PassRule.FUTURE_GRANT}'
            WHEN {_PRIVILEGE} NOT IN ('SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE')
            THEN '{PassRule.NO_DATA_PRIVILEGE}' END""",
    }


def _describe_listed(_rows: DataFrame, _export: Export) -> dict[str, str]:
    return {
        **describe_role("role_name"),
        "grantee_type": f"CASE WHEN {is_true('can_login')} THEN '{LOGIN}' ELSE '{ANYBODY}' END",
        "details": f"""to_json(named_struct(
            'is_superuser', {is_true("is_superuser")}, 'bypasses_row_security', {is_true("bypasses_row_security")},
            'dependency_count', try_to_number(dependency_count, '999999999999')))""",
    }


def _describe_member(_rows: DataFrame, _export: Export) -> dict[str, str]:
    inherits, can_set, is_admin = (is_true(name) for name in ("inherits", "can_set_role", "has_admin_option"))
    return {
        **describe_membership("role_name", "member_name", f"'{ANYBODY}'"),
        "condition": describe_hold(inherits, can_set),
        "details": build_member_details("grantor_name", is_chained=is_true("depends_on_grantor"), is_admin=is_admin),
        "said_rule": f"""CASE WHEN NOT ({inherits} OR {can_set} OR {is_admin})
            THEN '{PassRule.IDLE_MEMBERSHIP}' END""",
    }


#: How a member holds a role that he may only give, such as whoever made it since PostgreSQL 16.
BY_GIVING = "by giving it to himself"


def describe_hold(inherits: str, can_set: str) -> str:
    """Return how a member uses a role that does not simply give him its privileges, null where it does."""
    return f"CASE WHEN {inherits} THEN NULL WHEN {can_set} THEN 'by SET ROLE only' ELSE '{BY_GIVING}' END"


LAYOUTS = (
    Layout((*_RELATION, "relation_kind", "owner_name", *_GRANT), _describe_relation, RELATION_GRANTS, ()),
    Layout((*_RELATION, "column_name", "owner_name", *_GRANT), _describe_column, "column_grants", ()),
    Layout((*_SCHEMA, "role_name", "object_type", *_GRANT), _describe_default, "default_privileges", ()),
    Layout((*_SCHEMA, "owner_name", *_GRANT), _describe_schema, SCHEMA_GRANTS, ()),
    Layout(("database_name", "owner_name", *_GRANT), _describe_database, DATABASE_GRANTS, ()),
    Layout(
        (
            *("role_name", "is_superuser", "can_login", "inherits", "bypasses_row_security", "is_bootstrap"),
            *("valid_until", "dependency_count"),
        ),
        _describe_listed,
        ROLES,
        (),
    ),
    Layout(
        (
            *("role_name", "member_name", "grantor_name", "has_admin_option", "inherits", "can_set_role"),
            "depends_on_grantor",
        ),
        _describe_member,
        ROLE_MEMBERS,
        (),
    ),
)
POLICY_LAYOUT = build_policy_layout(
    PolicyKind.ROWS,
    _RELATION,
    "policy_name",
    *("command", "role_names", "permissive", "has_row_security", "forces_row_security"),
    switches=("has_row_security",),
    owner_switch="forces_row_security",
    layout="row_policies",
    further=(),
)
