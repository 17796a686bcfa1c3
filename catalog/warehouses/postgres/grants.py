"""PostgreSQL: grants of `information_schema`, owners of `pg_tables`, and roles and their members by name, as CSV.

PostgreSQL calls people roles, too. Who is a person is found from all files of an export together.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.sql_text import is_among, quote_text
from catalog.warehouses import layouts
from catalog.warehouses.grant_facts import Grantee
from catalog.warehouses.layouts import Layout, LayoutForm, describe_membership, join_path
from catalog.warehouses.pass_rules import PassRule
from catalog.warehouses.sql_names import normalize_word, unquote_name
from catalog.warehouses.warehouse import Export

#: Types that rows have until it is known who is a person, and of names that can sign in.
_ANYBODY, _LOGIN = "ANYBODY", "LOGIN"
_TABLE = ("grantee", "table_catalog", "table_schema", "table_name", "privilege_type")


def read_export(spark: SparkSession, folder: str, export: Export) -> list[DataFrame]:
    """Return the facts of an export of PostgreSQL. Raises BadExports."""
    rows, plain_frames = layouts.describe_files(spark, folder, export, _FORM)
    if rows is None:
        return plain_frames
    people = _find_people(rows, export)
    return [*plain_frames, layouts.build_facts(_resolve_grantees(rows, people), export, _FORM)]


def _find_people(rows: DataFrame, export: Export) -> DataFrame:
    """Return the names (`person`) of those who can sign in and that nobody is a member of.

    Where no file says who can sign in, these are the members that nobody is a member of.
    """
    rows = rows.filter("object_type = 'ROLE'")
    members = rows.filter("privilege = 'MEMBER'")
    logins = rows.filter(f"grantee_type = '{_LOGIN}'").selectExpr("grantee AS person")
    if logins.isEmpty():
        logins = members.selectExpr("grantee AS person")
    people = logins.join(members.selectExpr("path AS person"), "person", "left_anti")
    return people.filter(f"NOT {is_among('person', export.roles)}").distinct()


def _resolve_grantees(rows: DataFrame, people: DataFrame) -> DataFrame:
    """Return rows with the type of each grantee; a row that lists a person is passed."""
    rows = rows.join(people, rows["grantee"] == people["person"], "left")
    grantee_type = f"CASE WHEN person IS NOT NULL THEN '{Grantee.USER}' ELSE '{Grantee.ROLE}' END"
    rule = f"""CASE WHEN person IS NOT NULL AND privilege = 'EXISTS' THEN '{PassRule.LISTED_PERSON}'
        ELSE said_rule END"""
    return rows.withColumns({"grantee_type": f.expr(grantee_type), "said_rule": f.expr(rule)}).drop("person")


#: The grantee; PUBLIC is a word, and no role is called public.
_GRANTEE = "CASE WHEN grantee = 'PUBLIC' THEN 'public' ELSE grantee END"


def _describe_table(_rows: DataFrame, _export: Export) -> dict[str, str]:
    return {
        "object_type": "'TABLE'",
        "path": join_path("table_catalog", "table_schema", "table_name"),
        "privilege": normalize_word("privilege_type"),
        "grantee_type": f"'{_ANYBODY}'",
        "grantee": _GRANTEE,
    }


def _describe_column(rows: DataFrame, export: Export) -> dict[str, str]:
    return {**_describe_table(rows, export), "said_rule": f"'{PassRule.COLUMN_PRIVILEGE}'"}


def _describe_other(kind: str) -> layouts.DescribeRows:
    def describe(_rows: DataFrame, _export: Export) -> dict[str, str]:
        return {
            "object_type": "'OTHER'",
            "path": join_path(f"{kind}_catalog", f"{kind}_schema", f"{kind}_name"),
            "privilege": normalize_word("privilege_type"),
            "grantee_type": f"'{_ANYBODY}'",
            "grantee": _GRANTEE,
        }

    return describe


def _describe_owner(name: str, owner: str) -> layouts.DescribeRows:
    def describe(_: DataFrame, export: Export) -> dict[str, str]:
        return {
            "object_type": "'TABLE'",
            "path": join_path(quote_text(export.database), "schemaname", name),
            "privilege": "'OWNER'",
            "grantee_type": f"'{_ANYBODY}'",
            "grantee": owner,
        }

    return describe


def _describe_listed(_rows: DataFrame, _export: Export) -> dict[str, str]:
    can_sign_in = "lower(trim(rolcanlogin)) IN ('t', 'true', 'yes', '1')"
    grantee_type = f"CASE WHEN {can_sign_in} THEN '{_LOGIN}' ELSE '{_ANYBODY}' END"
    return {**layouts.describe_role("rolname"), "grantee_type": grantee_type}


def _describe_member(role: str, member: str) -> layouts.DescribeRows:
    return lambda _rows, _export: describe_membership(unquote_name(role), unquote_name(member), f"'{_ANYBODY}'")


_FORM = LayoutForm(
    layouts=(
        Layout((*_TABLE, "column_name"), _describe_column),
        Layout(_TABLE, _describe_table),
        *(
            Layout(
                ("grantee", f"{kind}_catalog", f"{kind}_schema", f"{kind}_name", "privilege_type"),
                _describe_other(kind),
            )
            for kind in ("routine", "object", "udt")
        ),
        *(
            Layout(("schemaname", name, owner), _describe_owner(name, owner))
            for name, owner in (
                ("tablename", "tableowner"),
                ("viewname", "viewowner"),
                ("matviewname", "matviewowner"),
            )
        ),
        Layout(("rolname", "rolcanlogin"), _describe_listed),
        *(
            Layout((name, member), _describe_member(name, member))
            for name, member in (
                *(("roleid", "member"), ("role", "member"), ("role_name", "member_name")),
                ("role_name", "grantee"),
            )
        ),
    ),
    harmless=("REFERENCES", "TRIGGER", "MAINTAIN"),
)
