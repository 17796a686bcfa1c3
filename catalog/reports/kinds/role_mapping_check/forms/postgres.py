"""PostgreSQL: grants of `information_schema`, owners of `pg_tables`, and roles and their members by name, as CSV.

PostgreSQL calls people roles, too. Who is a person is found from all files of an export together.
"""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.exports import Export
from catalog.reports.kinds.role_mapping_check.forms import layouts
from catalog.reports.kinds.role_mapping_check.forms.layouts import Layout, LayoutForm, describe_membership, join_path
from catalog.reports.kinds.role_mapping_check.forms.sql_names import normalize_word, unquote_name
from catalog.reports.kinds.role_mapping_check.grant_facts import Grantee
from catalog.reports.kinds.role_mapping_check.rules import PassRule

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
    members = rows.filter(f.col("privilege") == "MEMBER")
    logins = rows.filter(f.col("grantee_type") == _LOGIN).select(f.col("grantee").alias("person"))
    if logins.isEmpty():
        logins = members.select(f.col("grantee").alias("person"))
    groups = members.select(f.col("path").alias("person"))
    people = logins.join(groups, "person", "left_anti").filter(~f.col("person").isin(*export.roles))
    return people.distinct()


def _resolve_grantees(rows: DataFrame, people: DataFrame) -> DataFrame:
    """Return rows with the type of each grantee; a row that lists a person is passed."""
    rows = rows.join(people, rows["grantee"] == people["person"], "left")
    is_person = f.col("person").isNotNull()
    return rows.withColumns(
        {
            "grantee_type": f.when(is_person, Grantee.USER).otherwise(f.lit(Grantee.ROLE)),
            "said_rule": f.when(is_person & (f.col("privilege") == "EXISTS"), PassRule.LISTED_PERSON).otherwise(
                f.col("said_rule")
            ),
        }
    ).drop("person")


def _describe_grantee() -> Column:
    """Return the grantee; PUBLIC is a word, and no role is called public."""
    return f.when(f.col("grantee") == "PUBLIC", "public").otherwise(f.col("grantee"))


def _describe_table(_rows: DataFrame, _export: Export) -> dict[str, Column]:
    return {
        "object_type": f.lit("TABLE"),
        "path": join_path("table_catalog", "table_schema", "table_name"),
        "privilege": normalize_word(f.col("privilege_type")),
        "grantee_type": f.lit(_ANYBODY),
        "grantee": _describe_grantee(),
    }


def _describe_column(rows: DataFrame, export: Export) -> dict[str, Column]:
    return {**_describe_table(rows, export), "said_rule": f.lit(PassRule.COLUMN_PRIVILEGE)}


def _describe_other(kind: str) -> layouts.DescribeRows:
    def describe(_rows: DataFrame, _export: Export) -> dict[str, Column]:
        return {
            "object_type": f.lit("OTHER"),
            "path": join_path(f"{kind}_catalog", f"{kind}_schema", f"{kind}_name"),
            "privilege": normalize_word(f.col("privilege_type")),
            "grantee_type": f.lit(_ANYBODY),
            "grantee": _describe_grantee(),
        }

    return describe


def _describe_owner(name: str, owner: str) -> layouts.DescribeRows:
    def describe(_: DataFrame, export: Export) -> dict[str, Column]:
        return {
            "object_type": f.lit("TABLE"),
            "path": join_path(f.lit(export.database), "schemaname", name),
            "privilege": f.lit("OWNER"),
            "grantee_type": f.lit(_ANYBODY),
            "grantee": f.col(owner),
        }

    return describe


def _describe_listed(_rows: DataFrame, _export: Export) -> dict[str, Column]:
    can_sign_in = f.lower(f.trim("rolcanlogin")).isin("t", "true", "yes", "1")
    grantee_type = f.when(can_sign_in, f.lit(_LOGIN)).otherwise(f.lit(_ANYBODY))
    return {**layouts.describe_role("rolname"), "grantee_type": grantee_type}


def _describe_member(role: str, member: str) -> layouts.DescribeRows:
    return lambda _rows, _export: describe_membership(
        unquote_name(f.col(role)), unquote_name(f.col(member)), f.lit(_ANYBODY)
    )


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
