"""The published layouts of Snowflake: views of ACCOUNT_USAGE, and the output of SHOW.

The views have names as the system stores them, each part in its column. SHOW has the names of objects as SQL writes
them, and those of grantees as they are stored.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, list_texts, quote_text
from catalog.warehouses import principals
from catalog.warehouses.csv_grants import mark_types
from catalog.warehouses.grant_facts import SEPARATOR, FactKind, Grantee
from catalog.warehouses.layouts import Layout, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.sql_names import normalize_word, split_name, unquote_name
from catalog.warehouses.warehouse import Export

GRANTS_TO_ROLES, GRANTS_TO_USERS, FUTURE_GRANTS = "grants_to_roles", "grants_to_users", "show_future_grants"
SHOW_GRANTS, USERS, SCHEMATA = "show_grants", "users", "schemata"
DATABASE_LAYOUTS = ("databases", "show_databases")
#: What becomes a fact of a row; `database` is that of the object, `is_imported` says that it was made from a share.
COLUMNS = (
    *(
        "object_type",
        "path",
        "privilege",
        "grantee_type",
        "grantee",
        "created_on",
        "granted_by",
        "details",
        "is_future",
    ),
    *("is_revoked", "is_unscoped", "said_kind", "said_rule", "is_imported"),
)
#: Who grants what the owner gives: nearly all grants are theirs, and need no details.
_USUAL_GRANTORS = ("", "ACCOUNTADMIN", "SECURITYADMIN", "SYSADMIN", "USERADMIN")
#: SHOW FUTURE GRANTS has objects without a name: DB.SCHEMA.<TABLE>.
_FUTURE_NAME_PATTERN = "[.]?<[A-Z_ ]+>$"
_SEPARATOR = quote_text(SEPARATOR)
_ON_SCOPED_ROLE = f"object_type IN {list_texts(principals.SCOPED_ROLE_TYPES)}"
_IS_VIEW_NAME = "object_type IN ('ROLE', 'ACCOUNT ROLE', 'ACCOUNT') OR endswith(object_type, 'DATABASE')"


def describe(rows: DataFrame, export: Export, layout: Layout) -> DataFrame:
    """Return COLUMNS of rows of a layout, with the columns of lines."""
    return _DESCRIBERS[layout.name](rows, export)


def _describe_grants(rows: DataFrame, export: Export) -> DataFrame:
    """Return GRANTS_TO_ROLES, SHOW GRANTS or SHOW FUTURE GRANTS."""
    # A future grant is on all objects of a type that are made in the container that its name is of.
    is_unnamed = f"endswith(name, '>') AND name RLIKE {quote_text(_FUTURE_NAME_PATTERN)}"
    is_option = "lower(trim(grant_option)) = 'true'" if "grant_option" in rows.columns else "false"
    grantor = f"upper(trim(coalesce({_pick_column(rows, 'granted_by')}, '')))"
    grant_fields = f"named_struct('grantor', {_pick_column(rows, 'granted_by')}, 'is_grantable', {is_option})"
    rows = rows.withColumns(
        {
            "is_future": f.expr(is_unnamed if "granted_on" in rows.columns else "true"),
            "object_type": f.expr(normalize_word(_pick_column(rows, "granted_on", "grant_on"))),
            "privilege": f.expr(normalize_word("privilege")),
            "grantee_type": f.expr(normalize_word(_pick_column(rows, "granted_to", "grant_to", default="'ROLE'"))),
        }
    )
    rows = mark_types(rows)
    is_view = "table_catalog" in rows.columns
    future = f"regexp_replace(name, {quote_text(_FUTURE_NAME_PATTERN)}, '')"
    path = f"""CASE WHEN is_future THEN {split_name(export, future)}
        ELSE {_join_view_path(export) if is_view else split_name(export, "name")} END"""
    rows = rows.withColumn("object_path", f.expr(path))
    database = f"""CASE WHEN on_table OR on_container OR is_future OR {_ON_SCOPED_ROLE}
        THEN substring_index(object_path, {_SEPARATOR}, 1) END"""
    scope = f"""CASE WHEN grantee_type = '{principals.INSTANCE_ROLE}' THEN {_pick_column(rows, "object_instance")}
        ELSE {database} END"""
    path = f"CASE WHEN {_ON_SCOPED_ROLE} THEN {_join_scoped_role('object_path')} ELSE object_path END"
    return _finish(
        _join_grantees(rows, scope),
        path=path,
        details=f"""CASE WHEN is_future THEN to_json(named_struct('privilege', privilege, 'type', object_type))
            WHEN {is_option} OR {grantor} NOT IN {list_texts(_USUAL_GRANTORS)} THEN to_json({grant_fields}) END""",
    )


def _describe_members(rows: DataFrame, _: Export) -> DataFrame:
    """Return GRANTS_TO_USERS or SHOW GRANTS OF ROLE."""
    role_parts = "split(role, '[.]', 2)"
    is_scoped = f"(size({role_parts}) = 2 AND NOT startswith(role, '\"'))"
    database, name = (unquote_name(f"get({role_parts}, {index})") for index in (0, 1))
    scoped_name = principals.join_name(quote_text(principals.DATABASE_ROLE), database, name)
    columns = {
        "object_type": f"CASE WHEN {is_scoped} THEN '{principals.DATABASE_ROLE}' ELSE 'ROLE' END",
        "privilege": "'USAGE'",
        "grantee_type": normalize_word(_pick_column(rows, "granted_to", default="'USER'")),
    }
    rows = mark_types(rows.withColumns({name: f.expr(text) for name, text in columns.items()}))
    # A database role is granted to no database role of another database.
    rows = _join_grantees(rows, f"CASE WHEN {is_scoped} THEN {database} END")
    return _finish(rows, path=f"CASE WHEN {is_scoped} THEN {scoped_name} ELSE {unquote_name('role')} END")


def _describe_users(rows: DataFrame, _: Export) -> DataFrame:
    """Return USERS or SHOW USERS: whoever is there is an account, and no role."""
    is_deleted = _is_time(_pick_column(rows, "deleted_on"))
    columns = {
        "object_type": "'USER'",
        "privilege": "'EXISTS'",
        "grantee_type": f"'{Grantee.USER}'",
        "grantee": f"CASE WHEN NOT {is_deleted} THEN name END",
    }
    rows = rows.withColumns({name: f.expr(text) for name, text in columns.items()})
    return _finish(rows, path="name", said_rule=f"'{PassRule.LISTED_PERSON}'")


def _describe_databases(rows: DataFrame, _: Export) -> DataFrame:
    """Return DATABASES: their owners are roles; which were made from shares is said in `is_imported`."""
    is_imported = f"{normalize_word(_pick_column(rows, 'type', 'kind'))} = 'IMPORTED DATABASE'"
    rows = rows.withColumn("object_type", f.expr("'DATABASE'")).withColumn("privilege", f.expr("'EXISTS'"))
    owner = _pick_column(rows, "database_owner", "owner")
    rows = rows.withColumns({"grantee_type": f.expr("'ROLE'"), "grantee": f.expr(f"coalesce({owner}, '-')")})
    name = _pick_column(rows, "database_name", "name")
    is_imported = f"({is_imported} AND NOT {_is_time(_pick_column(rows, 'deleted'))})"
    return _finish(rows, path=name, said_rule=f"'{PassRule.CONTAINER_PRIVILEGE}'", is_imported=is_imported)


def _describe_schemata(rows: DataFrame, _: Export) -> DataFrame:
    """Return SCHEMATA: who owns a schema gets in, and alone gives access to what is in it if that is managed."""
    columns = {
        "object_type": "'SCHEMA'",
        "privilege": "'OWNERSHIP'",
        "grantee_type": "'ROLE'",
        "grantee": "schema_owner",
        "is_revoked": _is_time(_pick_column(rows, "deleted")),
    }
    rows = rows.withColumns({name: f.expr(text) for name, text in columns.items()})
    details = "to_json(named_struct('is_managed', lower(trim(is_managed_access)) IN ('yes', 'true'), 'owner', grantee))"
    rule = f"CASE WHEN coalesce(trim(grantee), '') = '' THEN '{PassRule.CONTAINER_PRIVILEGE}' END"
    path = join_path("catalog_name", "schema_name")
    return _finish(rows, path=path, details=details, said_kind=f"'{FactKind.ENTRY}'", said_rule=rule)


def _finish(rows: DataFrame, **values: str) -> DataFrame:
    """Return rows with COLUMNS: `values`, else what is there, else what most rows have."""
    usual = dict.fromkeys(COLUMNS, NO_TEXT) | {"is_future": "false", "is_unscoped": "false", "is_imported": "false"}
    # Unloaded files have \N where there is no date, others NULL: without a digit it is none.
    usual["is_revoked"] = _is_time(_pick_column(rows, "deleted_on"))
    usual |= {name: name for name in COLUMNS if name in rows.columns} | values
    return rows.withColumns({name: f.expr(usual[name]) for name in COLUMNS})


def _is_time(column: str) -> str:
    return f"coalesce({column} RLIKE '[0-9]', false)"


def _pick_column(rows: DataFrame, *names: str, default: str = NO_TEXT) -> str:
    """Return the first of the columns that the rows have, else the default."""
    return next((name for name in names if name in rows.columns), default)


# -- names ------------------------------------------------------------------------------------------------------------


def _join_view_path(export: Export) -> str:
    """Return the parts of an object's name in a view; a name without its database is a whole one in SQL."""
    name = unquote_name("name")
    return f"""CASE
        WHEN {_IS_VIEW_NAME} THEN {name}
        WHEN coalesce(table_catalog, '') = '' THEN {split_name(export, "name")}
        WHEN on_container OR {_ON_SCOPED_ROLE} THEN concat_ws({_SEPARATOR}, table_catalog, {name})
        ELSE concat_ws({_SEPARATOR}, table_catalog, table_schema, {name}) END"""


def _join_scoped_role(path: str) -> str:
    """Return the name of a role that is part of something; null for one of which nothing says of what."""
    return f"""CASE WHEN contains({path}, {_SEPARATOR}) THEN {principals.join_name("object_type", path)}
        WHEN coalesce({path}, '') = '' THEN '' END"""


def _join_grantees(rows: DataFrame, scope: str) -> DataFrame:
    """Return rows with `grantee`, and `is_unscoped` for roles of which nothing says what they are a part of.

    The scope stands before a dot, else it is the object's. A share has its account there.
    """
    is_scoped = f"grantee_type IN {list_texts(principals.SCOPED_ROLE_TYPES)}"
    is_qualified = "contains(grantee_name, '.') AND NOT startswith(grantee_name, '\"')"
    # Columns of their own, since names and outcomes are made of them several times.
    rows = rows.withColumns(
        {
            "scope": f.expr(f"CASE WHEN {is_qualified} THEN substring_index(grantee_name, '.', 1) END"),
            "last_name": f.expr(
                f"CASE WHEN {is_qualified} THEN substring_index(grantee_name, '.', -1) ELSE grantee_name END"
            ),
        }
    )
    # The account of a share, and the databases of roles, are no part of the name.
    last_name = f"""CASE WHEN {is_scoped} OR grantee_type = '{principals.SHARE}' THEN last_name
        ELSE grantee_name END"""
    rows = rows.withColumns(
        {
            "scope": f.expr(
                f"""CASE WHEN {is_scoped}
                THEN CASE WHEN scope IS NULL THEN {scope} ELSE {unquote_name("scope")} END END"""
            ),
            "last_name": f.expr(unquote_name(f"({last_name})")),
        }
    )
    outside_types = list_texts((principals.SHARE, principals.APPLICATION))
    grantee = f"""CASE WHEN trim(grantee_name) = '' THEN NULL
        WHEN {is_scoped} THEN concat_ws({_SEPARATOR}, grantee_type, scope, last_name)
        WHEN grantee_type IN {outside_types} THEN {principals.join_name("grantee_type", "last_name")}
        ELSE last_name END"""
    return rows.withColumns({"is_unscoped": f.expr(f"{is_scoped} AND scope IS NULL"), "grantee": f.expr(grantee)})


def _build_layout(name: str, columns: tuple[str, ...], further: tuple[str, ...] | None) -> Layout:
    # What rows say takes several steps, which `describe` takes.
    return Layout(columns, lambda _rows, _export: {}, name, further)


_GRANT = ("privilege", "name", "grantee_name")
_LATER = ("created_on", "granted_to", "grant_option", "granted_by", "granted_by_role_type")
#: What views and SHOW say of users, databases and schemas beside what is read.
_OF_USERS = (
    *("user_id", "created_on", "deleted_on", "display_name", "first_name", "last_name", "email", "comment", "disabled"),
    *("must_change_password", "has_password", "snowflake_lock", "default_warehouse", "default_namespace", "owner"),
    *("default_role", "default_secondary_role", "default_secondary_roles", "ext_authn_duo", "ext_authn_uid", "has_mfa"),
    *("bypass_mfa_until", "mins_to_bypass_mfa", "mins_to_unlock", "days_to_expiry", "last_success_login", "expires_at"),
    *("expires_at_time", "locked_until_time", "has_rsa_public_key", "password_last_set_time", "type", "has_pat"),
    *("database_name", "database_id", "schema_name", "schema_id", "org_identity", "is_from_organization_user"),
    *("has_federated_workload_authentication", "has_workload_identity"),
)
_OF_OBJECTS = (
    *("is_transient", "comment", "created", "last_altered", "deleted", "retention_time", "resource_group"),
    *("owner_role_type", "object_visibility", "sql_path", "default_character_set_name"),
)
_OF_SHOWN_DATABASES = (
    *("created_on", "is_default", "is_current", "owner", "comment", "options", "retention_time", "budget"),
    *("owner_role_type", "object_visibility", "dropped_on", "resource_group", "catalog_sync"),
)
LAYOUTS = (
    _build_layout(
        GRANTS_TO_ROLES,
        (*_GRANT, "granted_on", "table_catalog", "table_schema"),
        (*_LATER, "modified_on", "deleted_on", "object_instance"),
    ),
    # SHOW GRANTS TO USER has the role that a row is about in a column of its own.
    _build_layout(SHOW_GRANTS, (*_GRANT, "granted_on"), (*_LATER, "role")),
    _build_layout(FUTURE_GRANTS, (*_GRANT, "grant_on"), ("created_on", "grant_to", "grant_option")),
    _build_layout(GRANTS_TO_USERS, ("role", "grantee_name"), ("created_on", "deleted_on", "granted_to", "granted_by")),
    _build_layout(USERS, ("name", "login_name"), _OF_USERS),
    _build_layout("databases", ("database_name", "type"), ("database_id", "database_owner", *_OF_OBJECTS)),
    _build_layout("show_databases", ("name", "origin", "kind"), _OF_SHOWN_DATABASES),
    _build_layout(
        SCHEMATA,
        ("catalog_name", "schema_name", "schema_owner", "is_managed_access"),
        ("schema_id", "catalog_id", "default_character_set_catalog", "default_character_set_schema", *_OF_OBJECTS),
    ),
)
_DESCRIBERS = {
    **dict.fromkeys((GRANTS_TO_ROLES, SHOW_GRANTS, FUTURE_GRANTS), _describe_grants),
    GRANTS_TO_USERS: _describe_members,
    USERS: _describe_users,
    **dict.fromkeys(DATABASE_LAYOUTS, _describe_databases),
    SCHEMATA: _describe_schemata,
}
