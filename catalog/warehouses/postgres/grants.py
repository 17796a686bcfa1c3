"""Reads the grants and members of PostgreSQL, in the layouts of our queries or of the system's own views.

PostgreSQL calls people roles, too. Who is a person is found from all files of an export together. Some roles and
attributes are worth a privilege on everything in the database: such a row gives that grant, too.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import is_among, list_texts, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.grant_facts import FactKind, Grantee
from catalog.warehouses.layouts import LayoutForm
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.postgres import catalog_layouts, schema_layouts
from catalog.warehouses.postgres.catalog_layouts import BY_GIVING, LOGIN
from catalog.warehouses.postgres.privileges import BYPASS, DATA_ROLES, SUPERUSER
from catalog.warehouses.warehouse import Export

_FORM = LayoutForm(
    layouts=(*catalog_layouts.LAYOUTS, *schema_layouts.LAYOUTS), harmless=("REFERENCES", "TRIGGER", "MAINTAIN")
)
_IS_ROLE_ROW = "object_type = 'ROLE'"
#: How a member of a role that reaches all tables has that access.
_AS_MEMBER = "concat_ws(', ', concat('as a member of ', path), condition)"
_LISTED_FIELDS = "is_superuser boolean, bypasses_row_security boolean"


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of PostgreSQL. Raises BadExports."""
    described_files = layouts.describe_files(spark, folder, export, _FORM)
    rows, plain_frames = described_files.rows, described_files.plain_frames
    if rows is None:
        return [*plain_frames]
    if schema_layouts.COLUMN_PRIVILEGES in described_files.layout_names:
        rows = schema_layouts.resolve_columns(rows)
    if schema_layouts.MEMBERS in described_files.layout_names:
        rows = schema_layouts.resolve_inheritance(schema_layouts.resolve_numbers(rows))
    people = _find_people(rows, export)
    layouts.check_database(rows, export)
    databases = [export.database] if export.database else layouts.list_databases(rows)
    if databases:
        rows = _add_grants_of_roles(rows, databases)
    return [*plain_frames, layouts.build_facts(_resolve_grantees(rows, people), export, _FORM)]


def _add_grants_of_roles(rows: DataFrame, databases: Sequence[str]) -> DataFrame:
    """Return rows in which membership in a role that reaches all tables is a grant on each of the databases.

    So is being a superuser; whoever bypasses row security is a row of its own. Only the first row of a line is counted.
    """
    is_data_role = f"({_IS_ROLE_ROW} AND privilege = 'MEMBER' AND path IN {list_texts(DATA_ROLES)})"
    grant = f"'{FactKind.GRANT}'"
    own_values = {
        "object_type": f"CASE WHEN {is_data_role} THEN 'DATABASE' ELSE object_type END",
        "path": f"CASE WHEN {is_data_role} THEN {quote_text(databases[0])} ELSE path END",
        "privilege": f"CASE WHEN {is_data_role} THEN upper(path) ELSE privilege END",
        "said_kind": f"CASE WHEN {is_data_role} THEN {grant} ELSE said_kind END",
        "condition": f"CASE WHEN {is_data_role} THEN {_AS_MEMBER} ELSE condition END",
    }
    fields = f"from_json(details, '{_LISTED_FIELDS}')"
    is_listed = "privilege = 'EXISTS'"
    given_everywhere, given_elsewhere = (
        f"array({', '.join(map(quote_text, names))})" if names else "CAST(array() AS array<string>)"
        for names in (databases, databases[1:])
    )
    bypasses = f"{is_listed} AND {fields}.bypasses_row_security AND NOT {fields}.is_superuser"
    gifts = (
        (f"CASE WHEN {is_data_role} THEN upper(path) END", grant, given_elsewhere),
        (f"CASE WHEN {is_listed} AND {fields}.is_superuser THEN '{SUPERUSER}' END", grant, given_everywhere),
        (f"CASE WHEN {bypasses} THEN '{BYPASS}' END", f"'{FactKind.BYPASS}'", given_everywhere),
    )
    structs = (
        f"named_struct('privilege', {gift}, 'kind', {kind}, 'databases', {names})" for gift, kind, names in gifts
    )
    gift_list = f"filter(array({', '.join(structs)}), gift -> gift.privilege IS NOT NULL)"
    given_rows = rows.filter(_IS_ROLE_ROW).withColumn("given", f.explode(f.expr(gift_list)))
    given_rows = given_rows.withColumn("database", f.explode("given.databases"))
    given_values = {
        "object_type": "'DATABASE'",
        "path": "database",
        "privilege": "given.privilege",
        "said_kind": "given.kind",
        "condition": f"CASE WHEN {is_data_role} THEN {_AS_MEMBER} ELSE 'as a superuser' END",
    }
    own_rows, further_rows = (
        frame.selectExpr(*(f"{values.get(name, name)} AS {name}" for name in rows.columns), f"{is_first} AS is_counted")
        for frame, values, is_first in ((rows, own_values, "true"), (given_rows, given_values, "false"))
    )
    return own_rows.union(further_rows)


def _find_people(rows: DataFrame, export: Export) -> DataFrame:
    """Return the names (`person`) of those who can sign in and that nobody is a member of, but to administer them.

    Where no file says who can sign in, these are the members that nobody is a member of.
    """
    rows = rows.filter(_IS_ROLE_ROW)
    members = rows.filter("privilege = 'MEMBER'")
    logins = rows.filter(f"grantee_type = '{LOGIN}'").selectExpr("grantee AS person")
    if logins.isEmpty():
        logins = members.selectExpr("grantee AS person")
    held_roles = members.filter(f"said_rule IS NULL AND coalesce(condition, '') <> '{BY_GIVING}'")
    people = logins.join(held_roles.selectExpr("path AS person"), "person", "left_anti")
    return people.filter(f"NOT {is_among('person', export.roles)}").distinct()


def _resolve_grantees(rows: DataFrame, people: DataFrame) -> DataFrame:
    """Return rows with the type of each grantee; a row that lists a person is passed."""
    rows = rows.join(people, rows["grantee"] == people["person"], "left")
    grantee_type = f"CASE WHEN person IS NOT NULL THEN '{Grantee.USER}' ELSE '{Grantee.ROLE}' END"
    rule = f"""CASE WHEN person IS NOT NULL AND privilege = 'EXISTS' THEN '{PassRule.LISTED_PERSON}'
        ELSE said_rule END"""
    return rows.withColumns({"grantee_type": f.expr(grantee_type), "said_rule": f.expr(rule)}).drop("person")
