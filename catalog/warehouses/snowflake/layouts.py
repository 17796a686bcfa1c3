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
from catalog.warehouses.snowflake.privileges import PUBLISHED
from catalog.warehouses.sql_names import normalize_word, split_name, unquote_name
from catalog.warehouses.warehouse import Export

GRANTS_TO_ROLES, GRANTS_TO_USERS, FUTURE_GRANTS = "grants_to_roles", "grants_to_users", "show_future_grants"
SHOW_GRANTS, USERS = "show_grants", "users"
DATABASE_LAYOUTS, SCHEMA_LAYOUTS = ("databases", "show_databases"), ("schemata", "show_schemas")
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
    """Return SCHEMATA or SHOW SCHEMAS: who owns a schema gets in, and alone gives away what is in it if managed."""
    columns = {
        "object_type": "'SCHEMA'",
        "privilege": "'OWNERSHIP'",
        "grantee_type": "'ROLE'",
        "grantee": _pick_column(rows, "schema_owner", "owner"),
        "is_revoked": _is_time(_pick_column(rows, "deleted", "dropped_on")),
    }
    is_managed = "contains(upper(options), 'MANAGED ACCESS')"
    if "is_managed_access" in rows.columns:
        is_managed = "lower(trim(is_managed_access)) IN ('yes', 'true')"
    rows = rows.withColumns({name: f.expr(text) for name, text in columns.items()})
    details = f"to_json(named_struct('is_managed', {is_managed}, 'owner', grantee))"
    rule = f"CASE WHEN coalesce(trim(grantee), '') = '' THEN '{PassRule.CONTAINER_PRIVILEGE}' END"
    database, name = _pick_column(rows, "catalog_name", "database_name"), _pick_column(rows, "schema_name", "name")
    return _finish(
        rows, path=join_path(database, name), details=details, said_kind=f"'{FactKind.ENTRY}'", said_rule=rule
    )


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


_DESCRIBERS = {
    **dict.fromkeys((GRANTS_TO_ROLES, SHOW_GRANTS, FUTURE_GRANTS), _describe_grants),
    GRANTS_TO_USERS: _describe_members,
    USERS: _describe_users,
    **dict.fromkeys(DATABASE_LAYOUTS, _describe_databases),
    **dict.fromkeys(SCHEMA_LAYOUTS, _describe_schemata),
}
# What rows say takes several steps, which `describe` takes.
LAYOUTS = tuple(
    Layout(header.needed, lambda _rows, _export: {}, name, header.further)
    for name, header in PUBLISHED.headers.items()
    if name in _DESCRIBERS
)
