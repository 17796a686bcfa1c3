"""The layouts of Redshift's own views and of SHOW GRANTS, with the database as our queries (`queries/`) add it."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses.grant_facts import FactKind, Grantee, PolicyKind
from catalog.warehouses.layouts import DescribeRows, Layout, describe_membership, describe_role, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.policy_layouts import build_policy_layout
from catalog.warehouses.principals import GROUP, SHARE, join_name
from catalog.warehouses.redshift.privileges import (
    BYPASS,
    CONTAINER_PRIVILEGES,
    ON_COLUMNS,
    OWNER,
    SERVICE_USER,
    SHARE_PREFIX,
    SUPERUSER,
    SYSTEM_ROLES,
    USAGE,
)
from catalog.warehouses.row_facts import UNKNOWN_LEVEL
from catalog.warehouses.sql_names import normalize_word, split_name
from catalog.warehouses.warehouse import Export

#: Types of objects until it is known which schemas are external, and what opens all schemas of a database.
EXTERNAL_SCHEMA, ALL_SCHEMAS = "EXTERNAL SCHEMA", "ALL SCHEMAS"
#: The condition of an entry where no file says who owns the schema: he gets in, too.
OTHERS_ENTER = "besides its owner"
RELATIONS, SHOWN, SCHEMAS, OWNERS, USERS = (
    "SVV_RELATION_PRIVILEGES",
    "SHOW GRANTS",
    "SVV_SCHEMA_PRIVILEGES",
    "pg_tables",
    "SVV_USER_INFO",
)
SCHEMA_GRANTS, RELATION_OWNERS, DEFAULTS, SHARED = (
    "schema_grants",
    "relation_owners",
    "SVV_DEFAULT_PRIVILEGES",
    "SVV_DATASHARE_OBJECTS",
)

EXTERNAL_SCHEMAS, LISTED_SCHEMAS = "SVV_EXTERNAL_SCHEMAS", "SVV_ALL_SCHEMAS"

_ROLE, _USER = f"'{Grantee.ROLE}'", f"'{Grantee.USER}'"
_IDENTITY = ("privilege_type", "identity_name", "identity_type")
_FURTHER = ("database_name", "identity_id", "admin_option")
_PRIVILEGE = normalize_word("privilege_type")
_TABLE_TYPES = ("TABLE", "VIEW", "MATERIALIZED VIEW", "LATE BINDING VIEW", "EXTERNAL TABLE", "RELATION")
#: What holds no rows of tables.
_OTHER_TYPES = ("FUNCTION", "PROCEDURE", "LANGUAGE", "LIBRARY", "MODEL", "JOB", "COPY JOB", "TEMPLATE", "DATASHARE")
_OTHER_SCOPES = ("FUNCTIONS", "PROCEDURES", "LANGUAGES", "MODELS", "JOBS", "COPY JOBS", "TEMPLATES")


def _is_true(column: str) -> str:
    return f"coalesce(lower(trim({column})) IN ('t', 'true', '1'), false)"


def _find_database(rows: DataFrame, export: Export) -> str:
    export_database = quote_text(export.database)
    return (
        f"coalesce(nullif(trim(database_name), ''), {export_database})"
        if "database_name" in rows.columns
        else export_database
    )


def _join_path(rows: DataFrame, export: Export, *parts: str) -> str:
    return join_path(_find_database(rows, export), *parts)


def _describe_identity(name: str, identity_type: str) -> dict[str, str]:
    """Return privilege and grantee. A group holds privileges as a role does, and so do a datashare and everybody."""
    word, prefix = normalize_word(identity_type), quote_text(SHARE_PREFIX)
    is_share = f"({word} = 'ROLE' AND startswith({name}, {prefix}))"
    share = join_name(quote_text(SHARE), f"substring({name}, {len(SHARE_PREFIX) + 1})")
    return {
        "privilege": _PRIVILEGE,
        "grantee_type": f"""CASE WHEN {is_share} THEN '{SHARE}' WHEN {word} IN ('GROUP', 'PUBLIC') THEN {_ROLE}
            ELSE {word} END""",
        "grantee": f"""CASE WHEN {is_share} THEN {share} WHEN {word} = 'PUBLIC' THEN 'public'
            WHEN {word} = 'GROUP' THEN {join_name(quote_text(GROUP), name)} ELSE {name} END""",
    }


def _describe_relation(rows: DataFrame, export: Export) -> dict[str, str]:
    path = _join_path(rows, export, "namespace_name", "relation_name")
    identity = _describe_identity("identity_name", "identity_type")
    return {"object_type": "'TABLE'", "path": path, **identity, "details": _describe_option(rows)}


def _describe_option(rows: DataFrame) -> str:
    """Return the details of a grant that may have been passed on: whom it was passed on to, no view says."""
    details = f"to_json(named_struct('privilege', {_PRIVILEGE}, 'is_grantable', true))"
    return f"CASE WHEN {_is_true('admin_option')} THEN {details} END" if "admin_option" in rows.columns else NO_TEXT


def _describe_column(rows: DataFrame, export: Export) -> dict[str, str]:
    column = f"to_json(named_struct('privilege', {_PRIVILEGE}, 'column', column_name))"
    return {
        **_describe_relation(rows, export),
        "privilege": f"concat({_PRIVILEGE}, '{ON_COLUMNS}')",
        "condition": "concat('only its column ', column_name)",
        "details": column,
        "said_rule": f"CASE WHEN {_PRIVILEGE} = 'REFERENCES' THEN '{PassRule.NO_DATA_PRIVILEGE}' END",
    }


def _describe_shown_column(rows: DataFrame, export: Export) -> dict[str, str]:
    return {**_describe_column(rows, export), "path": _join_path(rows, export, "schema_name", "table_name")}


def _describe_share_right(_rows: DataFrame, _export: Export) -> dict[str, str]:
    identity = _describe_identity("identity_name", "identity_type")
    return {"object_type": "'DATASHARE'", "path": "datashare_name", **identity}


def _describe_function(rows: DataFrame, export: Export) -> dict[str, str]:
    path = _join_path(rows, export, "namespace_name", "function_name")
    return {"object_type": "'FUNCTION'", "path": path, **_describe_identity("identity_name", "identity_type")}


def _describe_default(rows: DataFrame, export: Export) -> dict[str, str]:
    is_whole = "coalesce(trim(schema_name), '') = ''"
    database, kind = _find_database(rows, export), normalize_word("object_type")
    is_own = f"(coalesce(grantee_name = owner_name, false) AND {normalize_word('grantee_type')} = 'USER')"
    return {
        **_describe_identity("grantee_name", "grantee_type"),
        "object_type": f"CASE WHEN {is_whole} THEN 'DATABASE' ELSE 'SCHEMA' END",
        "path": f"CASE WHEN {is_whole} THEN {database} ELSE {join_path(database, 'schema_name')} END",
        "details": f"""to_json(named_struct('privilege', {_PRIVILEGE}, 'owner', owner_name,
            'schema', nullif(trim(schema_name), '')))""",
        "said_kind": f"'{FactKind.FUTURE}'",
        "said_rule": f"""CASE WHEN {kind} IN ('FUNCTION', 'PROCEDURE') THEN '{PassRule.OTHER_OBJECT}'
            WHEN {is_own} THEN '{PassRule.FUTURE_GRANT}'
            WHEN {_PRIVILEGE} IN {list_texts(("REFERENCES", "RULE", "TRIGGER", "DROP", "ALTER"))}
            THEN '{PassRule.NO_DATA_PRIVILEGE}' END""",
        "said_problem": f"""CASE WHEN {kind} NOT IN ('RELATION', 'TABLE', 'FUNCTION', 'PROCEDURE')
            THEN concat('Nothing is known of privileges on a ', {kind}, '.')
            WHEN {kind} IN ('RELATION', 'TABLE') AND {_PRIVILEGE} NOT IN {
            list_texts(
                (
                    "SELECT",
                    "INSERT",
                    "UPDATE",
                    "DELETE",
                    "TRUNCATE",
                    "ALL PRIVILEGES",
                    "REFERENCES",
                    "RULE",
                    "TRIGGER",
                    "DROP",
                    "ALTER",
                )
            )
        } THEN {UNKNOWN_LEVEL.replace("privilege", _PRIVILEGE)} END""",
    }


def _describe_schema(rows: DataFrame, export: Export) -> dict[str, str]:
    is_external = _is_true("is_external") if "is_external" in rows.columns else "false"
    scope = _describe_scope(rows, "SCHEMA")
    return {
        "path": _join_path(rows, export, "namespace_name"),
        **scope,
        "object_type": f"CASE WHEN {is_external} THEN '{EXTERNAL_SCHEMA}' ELSE 'SCHEMA' END",
        # Our query has a row of the owner, who gets in; the view has none.
        "condition": NO_TEXT
        if "is_external" in rows.columns
        else f"CASE WHEN {scope['said_kind']} IS NOT NULL THEN '{OTHERS_ENTER}' END",
    }


def _describe_database(rows: DataFrame, _export: Export) -> dict[str, str]:
    return {"path": "database_name", **_describe_scope(rows, "DATABASE")}


def _describe_scope(rows: DataFrame, container: str) -> dict[str, str]:
    """Return type, privilege, grantee and outcome of a row on a container, which reaches tables in the scope TABLES."""
    scope = normalize_word("privilege_scope") if "privilege_scope" in rows.columns else f"'{container}'"
    return _describe_container(f"'{container}'", f"coalesce(nullif({scope}, ''), '{container}')")


def _describe_container(container: str, scope: str) -> dict[str, str]:
    opens_all = f"({scope} = 'SCHEMAS' AND {_PRIVILEGE} = '{USAGE}')"
    enters = f"({container} = 'SCHEMA' AND {scope} = 'SCHEMA' AND {_PRIVILEGE} IN ('{USAGE}', '{OWNER}'))"
    is_known = f"""({scope} IN ('SCHEMA', 'DATABASE', 'SCHEMAS') AND {_PRIVILEGE} IN {list_texts(CONTAINER_PRIVILEGES)})
        OR {scope} = 'TABLES' OR {scope} IN {list_texts(_OTHER_SCOPES)}"""
    return {
        **_describe_identity("identity_name", "identity_type"),
        "object_type": f"CASE WHEN {opens_all} THEN '{ALL_SCHEMAS}' ELSE {container} END",
        "said_kind": f"CASE WHEN {enters} THEN '{FactKind.ENTRY}' END",
        "said_rule": f"""CASE WHEN {enters} OR {opens_all} THEN NULL
            WHEN {scope} IN {list_texts(_OTHER_SCOPES)} THEN '{PassRule.OTHER_OBJECT}'
            WHEN {scope} <> 'TABLES' THEN '{PassRule.CONTAINER_PRIVILEGE}' END""",
        "said_problem": f"""CASE WHEN NOT ({is_known})
            THEN concat('Nothing is known of ', {_PRIVILEGE}, ' in the scope ', {scope}, '.') END""",
    }


def _describe_shown(rows: DataFrame, export: Export) -> dict[str, str]:
    """Return what SHOW GRANTS says: on a table, a schema or a database."""
    kind, database = normalize_word("object_type"), _find_database(rows, export)
    schema = "coalesce(nullif(trim(schema_name), ''), object_name)"
    is_table, is_container = f"{kind} IN {list_texts(_TABLE_TYPES)}", f"{kind} IN ('SCHEMA', 'DATABASE')"
    scope = f"coalesce(nullif({normalize_word('privilege_scope')}, ''), {kind})"
    container = _describe_container(kind, scope)
    identity = _describe_identity("identity_name", "identity_type")
    is_own = f"({is_table} AND {normalize_word('identity_type')} = 'USER' AND grantor_name = identity_name)"
    has_grantor = "grantor_name" in rows.columns
    return {
        **identity,
        "privilege": f"CASE WHEN {is_own} THEN '{OWNER}' ELSE {_PRIVILEGE} END" if has_grantor else _PRIVILEGE,
        "object_type": f"CASE WHEN {is_table} THEN 'TABLE' ELSE {container['object_type']} END",
        "details": f"CASE WHEN {is_table} THEN {_describe_option(rows)} END",
        "path": f"""CASE WHEN {kind} = 'DATABASE' THEN {database}
            WHEN {kind} = 'SCHEMA' THEN {join_path(database, schema)}
            ELSE {join_path(database, "schema_name", "object_name")} END""",
        "condition": f"CASE WHEN {kind} = 'SCHEMA' AND {scope} = 'SCHEMA' THEN '{OTHERS_ENTER}' END",
        "said_kind": f"CASE WHEN {is_container} THEN {container['said_kind']} END",
        "said_rule": f"""CASE WHEN {is_container} THEN {container["said_rule"]}
            WHEN {kind} IN {list_texts(_OTHER_TYPES)} THEN '{PassRule.OTHER_OBJECT}' END""",
        "said_problem": f"""CASE WHEN {is_container} THEN {container["said_problem"]}
            WHEN NOT ({is_table} OR {kind} IN {list_texts(_OTHER_TYPES)})
            THEN concat('Nothing is known of privileges on a ', {kind}, '.') END""",
    }


def _describe_owner(schema: str, name: str, owner: str) -> DescribeRows:
    def describe(rows: DataFrame, export: Export) -> dict[str, str]:
        return {
            "object_type": "'TABLE'",
            "path": _join_path(rows, export, schema, name),
            "privilege": f"'{OWNER}'",
            "grantee_type": _USER,
            "grantee": owner,
        }

    return describe


def _describe_user(name: str, is_superuser: str) -> DescribeRows:
    """Return what a row about a user says: a superuser has all that is in the database."""

    def describe(rows: DataFrame, export: Export) -> dict[str, str]:
        has_all = f"({_is_true(is_superuser)} AND {name} <> '{SERVICE_USER}')"
        return {
            "object_type": f"CASE WHEN {has_all} THEN 'DATABASE' ELSE 'ROLE' END",
            "path": f"CASE WHEN {has_all} THEN {_find_database(rows, export)} ELSE {name} END",
            "privilege": f"CASE WHEN {has_all} THEN '{SUPERUSER}' ELSE 'EXISTS' END",
            "grantee_type": _USER,
            "grantee": name,
            "condition": f"CASE WHEN {has_all} THEN 'as a superuser' END",
            "said_rule": f"CASE WHEN NOT {has_all} THEN '{PassRule.LISTED_PERSON}' END",
        }

    return describe


def _describe_member(role: str, member: str, member_type: str) -> DescribeRows:
    """Return a membership; one of some roles of the system is worth a privilege on all that is in the database."""

    def describe(rows: DataFrame, export: Export) -> dict[str, str]:
        columns = describe_membership(role, member, member_type)
        choices = " ".join(f"WHEN '{name}' THEN '{privilege}'" for name, privilege in SYSTEM_ROLES.items())
        privilege = f"CASE {role} {choices} END"
        has_all = f"{role} IN {list_texts(SYSTEM_ROLES)}"
        values = {"object_type": "'DATABASE'", "path": _find_database(rows, export), "privilege": privilege}
        details = f"to_json(named_struct('role', {role}))"
        return {
            **columns,
            **{name: f"CASE WHEN {has_all} THEN {value} ELSE {columns[name]} END" for name, value in values.items()},
            "condition": f"CASE WHEN {has_all} THEN concat('as a member of ', {role}) END",
            "details": f"CASE WHEN {has_all} THEN {details} END",
            "said_kind": f"CASE WHEN {privilege} = '{BYPASS}' THEN '{FactKind.BYPASS}' END",
        }

    return describe


def _describe_shared(rows: DataFrame, export: Export) -> dict[str, str]:
    """Return what a datashare gives to its consumers; one of another account gives nothing of ours."""
    kind = normalize_word("object_type")
    kind = f"regexp_replace({kind}, 'S$', '')"
    is_ours = f"{normalize_word('share_type')} = 'OUTBOUND'"
    gets_new = f"({kind} = 'SCHEMA' AND {_is_true('include_new')})"
    name = split_name(export, "object_name")
    return {
        "object_type": f"CASE WHEN {kind} IN {list_texts(_TABLE_TYPES)} THEN 'TABLE' ELSE {kind} END",
        "path": _join_path(rows, export, name),
        "privilege": "'SELECT'",
        "grantee_type": f"'{SHARE}'",
        "grantee": join_name(quote_text(SHARE), "share_name"),
        "said_kind": f"CASE WHEN {gets_new} THEN '{FactKind.FUTURE}' END",
        "said_rule": f"""CASE WHEN NOT {is_ours} OR {kind} IN {list_texts(_OTHER_TYPES)}
            THEN '{PassRule.OTHER_OBJECT}'
            WHEN {kind} = 'SCHEMA' AND NOT {gets_new} THEN '{PassRule.CONTAINER_PRIVILEGE}' END""",
        "said_problem": f"""CASE WHEN {is_ours} AND {kind} NOT IN {list_texts((*_TABLE_TYPES, *_OTHER_TYPES, "SCHEMA"))}
            THEN concat('Nothing is known of a ', {kind}, ' in a datashare.') END""",
    }


def _describe_listed_schema(name: str) -> DescribeRows:
    """Return what a row that lists a schema says: whether it is external."""

    def describe(rows: DataFrame, export: Export) -> dict[str, str]:
        is_external = f"{normalize_word('schema_type')} = 'EXTERNAL'" if "schema_type" in rows.columns else "true"
        return {
            "object_type": f"CASE WHEN {is_external} THEN '{EXTERNAL_SCHEMA}' ELSE 'SCHEMA' END",
            "path": _join_path(rows, export, name),
            "privilege": "'EXISTS'",
            "grantee_type": _ROLE,
            "grantee": name,
            "said_rule": f"'{PassRule.OTHER_OBJECT}'",
        }

    return describe


def _build_owner_layout(name: str, schema: str, relation: str, owner: str, further: Sequence[str]) -> Layout:
    return Layout(
        (schema, relation, owner), _describe_owner(schema, relation, owner), name, ("database_name", *further)
    )


LAYOUTS = (
    Layout(
        ("namespace_name", "relation_name", "column_name", *_IDENTITY),
        _describe_column,
        "SVV_COLUMN_PRIVILEGES",
        _FURTHER,
    ),
    Layout(
        ("schema_name", "table_name", "column_name", "object_type", *_IDENTITY),
        _describe_shown_column,
        "SHOW COLUMN GRANTS",
        (*_FURTHER, "privilege_scope", "grantor_name"),
    ),
    Layout(("namespace_name", "relation_name", *_IDENTITY), _describe_relation, RELATIONS, _FURTHER),
    Layout(
        ("namespace_name", "function_name", *_IDENTITY),
        _describe_function,
        "SVV_FUNCTION_PRIVILEGES",
        (*_FURTHER, "argument_types"),
    ),
    Layout(
        ("schema_name", "object_type", "owner_name", "privilege_type", "grantee_name", "grantee_type"),
        _describe_default,
        DEFAULTS,
        ("database_name", "owner_id", "owner_type", "grantee_id", "admin_option"),
    ),
    Layout(
        ("database_name", "namespace_name", *_IDENTITY, "privilege_scope", "is_external"),
        _describe_schema,
        SCHEMA_GRANTS,
        ("identity_id", "admin_option"),
    ),
    Layout(("namespace_name", *_IDENTITY), _describe_schema, SCHEMAS, (*_FURTHER, "privilege_scope")),
    Layout(
        ("database_name", *_IDENTITY),
        _describe_database,
        "SVV_DATABASE_PRIVILEGES",
        ("identity_id", "admin_option", "privilege_scope", "grantor_name"),
    ),
    Layout(
        ("database_name", "schema_name", "object_name", "object_type", *_IDENTITY, "privilege_scope"),
        _describe_shown,
        SHOWN,
        ("identity_id", "admin_option", "grantor_name"),
    ),
    Layout(
        ("role_name", "granted_role_name"),
        _describe_member("granted_role_name", "role_name", _ROLE),
        "SVV_ROLE_GRANTS",
        ("database_name", "role_id", "granted_role_id"),
    ),
    Layout(
        ("user_name", "role_name"),
        _describe_member("role_name", "user_name", _USER),
        "SVV_USER_GRANTS",
        ("database_name", "user_id", "role_id", "admin_option"),
    ),
    Layout(
        ("groname", "usename"),
        lambda _rows, _export: describe_membership(join_name(quote_text(GROUP), "groname"), "usename", _USER),
        "group_members",
        (),
    ),
    Layout(
        ("role_name", "role_owner"),
        lambda _rows, _export: describe_role("role_name"),
        "SVV_ROLES",
        ("role_id", "external_id"),
    ),
    Layout(
        ("user_name", "superuser"),
        _describe_user("user_name", "superuser"),
        USERS,
        (
            *("database_name", "user_id", "createdb", "catalog_update", "connection_limit", "syslog_access"),
            *("last_ddl_timestamp", "session_timeout", "external_user_id"),
        ),
    ),
    Layout(
        ("usename", "usesuper"),
        _describe_user("usename", "usesuper"),
        "pg_user",
        ("database_name", "usesysid", "usecreatedb", "usecatupd", "passwd", "valuntil", "useconfig"),
    ),
    _build_owner_layout(RELATION_OWNERS, "schema_name", "relation_name", "owner_name", ()),
    _build_owner_layout(
        OWNERS,
        *("schemaname", "tablename", "tableowner"),
        ("tablespace", "hasindexes", "hasrules", "hastriggers"),
    ),
    _build_owner_layout("pg_views", "schemaname", "viewname", "viewowner", ("definition",)),
    Layout(
        ("share_type", "share_name", "object_type", "object_name", "include_new"),
        _describe_shared,
        SHARED,
        ("database_name", "share_id", "producer_account", "producer_namespace"),
    ),
    Layout(
        ("schemaname", "esoid", "eskind"),
        _describe_listed_schema("schemaname"),
        EXTERNAL_SCHEMAS,
        ("database_name", "esowner", "databasename", "esoptions"),
    ),
    Layout(
        ("database_name", "schema_name", "schema_owner", "schema_type"),
        _describe_listed_schema("schema_name"),
        LISTED_SCHEMAS,
        ("schema_acl", "source_database", "schema_option"),
    ),
    Layout(
        ("datashare_name", *_IDENTITY),
        _describe_share_right,
        "SVV_DATASHARE_PRIVILEGES",
        ("identity_id", "admin_option"),
    ),
)
POLICY_LAYOUTS = (
    build_policy_layout(
        PolicyKind.ROWS,
        ("relschema", "relname"),
        "polname",
        switches=("is_pol_on", "is_rls_on"),
        layout="SVV_RLS_ATTACHED_POLICY",
        further=("relkind", "grantor", "grantee", "granteekind", "is_pol_on", "is_rls_on", "rls_conjunction_type"),
    ),
    build_policy_layout(
        PolicyKind.MASK,
        ("schema_name", "table_name"),
        "policy_name",
        layout="SVV_ATTACHED_MASKING_POLICY",
        further=("table_type", "grantor", "grantee", "grantee_type", "priority", "input_columns", "output_columns"),
    ),
)
