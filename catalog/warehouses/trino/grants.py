"""Trino: the tables of `information_schema` about privileges and roles as CSV, also as our queries (`queries/`) do.

Roles are those of a catalog: two catalogs may each have one of a name. Those of the only catalog of an export, or of
`database`, have their bare names; others are called CATALOG.ROLE.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import NO_TEXT, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.grant_facts import SEPARATOR, FactKind
from catalog.warehouses.layouts import DescribeRows, Layout, LayoutForm, describe_membership, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.principals import CATALOG_ROLE, join_name
from catalog.warehouses.sql_names import normalize_word
from catalog.warehouses.trino.privileges import ADMIN_MEMBER, ADMIN_ROLE, OWNERSHIP
from catalog.warehouses.warehouse import Export

TABLE_PRIVILEGES, MEMBERS, APPLICABLE, ENABLED = (
    "information_schema.table_privileges",
    "information_schema.role_authorization_descriptors",
    "information_schema.applicable_roles",
    "information_schema.enabled_roles",
)

_TABLE = ("grantee", "grantee_type", "table_catalog", "table_schema", "table_name", "privilege_type")
_GRANTOR = ("grantor", "grantor_type", "is_grantable")
_IS_ROLE_ROW = "object_type = 'ROLE'"
_NAMED_CATALOG = "get_json_object(details, '$.catalog')"
_UNKNOWN_CATALOG = (
    "It does not say in which catalog the role is: name one as database in exports.json, or export role_catalog, too."
)


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of Trino. Raises BadExports."""
    files = layouts.describe_files(spark, folder, export, _FORM)
    rows = files.rows
    if rows is None:
        return list(files.plain_frames)
    home = export.database or _find_only_catalog(rows)
    rows = _add_grants_of_admins(_name_roles(rows, home))
    return [*files.plain_frames, layouts.build_facts(rows, export, _FORM)]


def _find_only_catalog(rows: DataFrame) -> str:
    """Return the catalog of the roles of an export, '' where there are several or none."""
    table_catalog = f"substring_index(path, {quote_text(SEPARATOR)}, 1)"
    catalog = f"CASE WHEN {_IS_ROLE_ROW} THEN {_NAMED_CATALOG} ELSE {table_catalog} END AS name"
    named_rows = rows.filter("is_row").selectExpr(catalog).filter("name <> ''").distinct().limit(2).collect()
    return str(named_rows[0]["name"]) if len(named_rows) == 1 else ""


def _name_roles(rows: DataFrame, home: str) -> DataFrame:
    """Return rows with the names of roles, those of other catalogs than `home` with their catalog; details name it."""
    own_catalog = f"""CASE WHEN {_IS_ROLE_ROW} THEN coalesce({_NAMED_CATALOG}, {quote_text(home)})
        ELSE substring_index(path, {quote_text(SEPARATOR)}, 1) END"""
    rows = rows.withColumn("role_catalog", f.expr(own_catalog))
    is_other = f"(role_catalog <> {quote_text(home)} AND role_catalog <> '')"

    def name_role(name: str, is_role: str) -> str:
        typed_name = join_name(quote_text(CATALOG_ROLE), "role_catalog", name)
        return f"CASE WHEN {is_role} AND {is_other} AND lower({name}) <> 'public' THEN {typed_name} ELSE {name} END"

    values = {
        "path": name_role("path", _IS_ROLE_ROW),
        "grantee": name_role("grantee", "grantee_type = 'ROLE'"),
        "details": f"""CASE WHEN {_IS_ROLE_ROW} AND role_catalog <> ''
            THEN to_json(named_struct('catalog', role_catalog)) WHEN NOT {_IS_ROLE_ROW} THEN details END""",
        "said_problem": f"""CASE WHEN {_IS_ROLE_ROW} AND role_catalog = '' AND {quote_text(home)} = ''
            AND NOT has_one THEN {quote_text(_UNKNOWN_CATALOG)} ELSE said_problem END""",
    }
    # Without a row about a table there is no catalog to confuse.
    has_tables = not rows.filter(f"is_row AND NOT {_IS_ROLE_ROW}").isEmpty()
    rows = rows.withColumn("has_one", f.expr("false" if has_tables else "true"))
    names = [name for name in rows.columns if name not in ("role_catalog", "has_one")]
    return rows.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in names))


def _add_grants_of_admins(rows: DataFrame) -> DataFrame:
    """Return rows with a grant on the whole catalog for each member of its role `admin`."""
    rows = rows.withColumn("is_counted", f.expr("true"))
    admins = rows.filter(f"{_IS_ROLE_ROW} AND privilege = 'MEMBER' AND path = '{ADMIN_ROLE}' AND details IS NOT NULL")
    values = {
        "object_type": "'CATALOG'",
        "path": _NAMED_CATALOG,
        "privilege": f"'{ADMIN_MEMBER}'",
        "said_kind": f"'{FactKind.GRANT}'",
        "condition": f"'as a member of {ADMIN_ROLE}, by SET ROLE only'",
        "is_counted": "false",
    }
    return rows.union(admins.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in rows.columns)))


def _describe_table(rows: DataFrame, _export: Export) -> dict[str, str]:
    privilege = normalize_word("privilege_type")
    is_own = "false"
    if set(_GRANTOR) <= set(rows.columns):
        # Nobody but the owner has a grant of his own making.
        is_own = "coalesce(grantor = grantee AND grantor_type = grantee_type AND upper(is_grantable) = 'YES', false)"
    is_view = f"{normalize_word('table_type')} = 'VIEW'" if "table_type" in rows.columns else "false"
    return {
        "object_type": f"CASE WHEN {is_view} THEN 'VIEW' ELSE 'TABLE' END",
        "path": join_path("table_catalog", "table_schema", "table_name"),
        "privilege": f"CASE WHEN {is_own} THEN '{OWNERSHIP}' ELSE {privilege} END",
        "grantee_type": normalize_word("grantee_type"),
        "grantee": "grantee",
        "details": NO_TEXT if "grantor" in rows.columns else "to_json(named_struct('hides_owner', true))",
    }


def _describe_column(rows: DataFrame, export: Export) -> dict[str, str]:
    return {**_describe_table(rows, export), "said_rule": f"'{PassRule.COLUMN_PRIVILEGE}'"}


def _name_catalog(rows: DataFrame) -> str:
    """Return details with the catalog of a role, where the file has it."""
    return "to_json(named_struct('catalog', role_catalog))" if "role_catalog" in rows.columns else NO_TEXT


def _describe_member(rows: DataFrame, _export: Export) -> dict[str, str]:
    columns = describe_membership("role_name", "grantee", normalize_word("grantee_type"))
    return {**columns, "details": _name_catalog(rows)}


def _describe_listed(rows: DataFrame, _export: Export) -> dict[str, str]:
    return {**layouts.describe_role("role_name"), "details": _name_catalog(rows)}


def _build_member_layout(name: str, required: tuple[str, ...], further: tuple[str, ...]) -> Layout:
    describe: DescribeRows = _describe_member
    return Layout(("role_name", "grantee", "grantee_type", *required), describe, name, further)


_FORM = LayoutForm(
    layouts=(
        Layout(
            (*_TABLE, "column_name"),
            _describe_column,
            "information_schema.column_privileges",
            (*_GRANTOR, "with_hierarchy"),
        ),
        Layout(_TABLE, _describe_table, TABLE_PRIVILEGES, (*_GRANTOR, "with_hierarchy", "table_type")),
        _build_member_layout(MEMBERS, ("grantor",), ("grantor_type", "is_grantable", "role_catalog")),
        _build_member_layout(APPLICABLE, (), ("is_grantable",)),
        Layout(("role_name", "role_catalog"), _describe_listed, "information_schema.roles", ()),
        Layout(("role_name",), _describe_listed, ENABLED, ()),
    ),
    harmless=("CREATE", "BRANCH"),
)
