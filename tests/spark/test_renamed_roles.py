"""A role that a source has under another name is one finding, and the rest is compared under that name."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from pyspark.sql import SparkSession

from catalog.reports.kinds.role_mapping_check.differences import DIFFERENCE_COLUMNS, DifferenceType
from catalog.reports.kinds.role_mapping_check.repairs import render_repair
from catalog.warehouses.exports import parse_exports
from tests.spark.drift_world import World, dataset, interpreted, role, user

EXPORT = {
    "name": "snow",
    "platform": "snowflake",
    "form": "snowflake",
    "role_prefix": "w_",
    "grants": ["grants.csv"],
    "members": ["members.csv"],
    "ignored_roles": ["SYSADMIN"],
}
# role in the catalog | type | users | datasets that name it
CATALOG = """
moved    | READ  | ann bob | t0 t1 t2 t3 t4 t5 t6 t7 t8 t9
few      | READ  | -       | f0 f1
part     | READ  | -       | p0 p1 p2 p3 p4 p5 p6 p7 p8 p9
level    | WRITE | -       | l0 l1 l2
known    | READ  | -       | k0 k1 k2
taken    | READ  | -       | k0 k1 k2
twin_a   | READ  | -       | x0 x1 x2
twin_b   | READ  | -       | x0 x1 x2
"""
# role in the source | privilege | tables
SOURCE = """
MOVED_NEW  | SELECT | t0 t1 t2 t3 t4 t5 t6 t7 t8 t10
MOVED_ALSO | SELECT | t0 t1 t2 t3 t4 t5 t6 t7 t8 t10 t11
FEW_NEW    | SELECT | f0 f1
PART_NEW   | SELECT | p0 p1 p2 p3 p4 p5 p6 p7
LEVEL_NEW  | SELECT | l0 l1 l2
TAKEN      | SELECT | k0 k1 k2
SYSADMIN   | SELECT | k0 k1 k2
PUBLIC     | SELECT | k0 k1 k2
TWIN_X     | SELECT | x0 x1 x2
TWIN_Y     | SELECT | x0 x1 x2
"""
MEMBERS = """
ROLE | GRANTEE_NAME
MOVED_NEW | ANN
MOVED_NEW | EVE
TWIN_B    | EVE
"""


def cells(text: str, size: int) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|", size - 1)] for line in text.strip().splitlines()]


@pytest.fixture(scope="module")
def findings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    world = World()
    for name in ("ann", "bob", "eve"):
        world.person(name)
    opened: dict[str, list[str]] = {"t10": [], "t11": []}
    for name, kind, users, tables in cells(CATALOG, 4):
        world.entity(role(f"w_{name}"), ROLE_TYPE=[kind], ROLE_USER=[user(one) for one in users.split() if one != "-"])
        for table in tables.split():
            opened.setdefault(table, []).append(role(f"w_{name}"))
    for name, roles in opened.items():
        world.entity(dataset("snowflake", f"db.s.{name}"), ACCESS_ROLE=roles)
    rows = ["PRIVILEGE|GRANTED_ON|NAME|TABLE_CATALOG|TABLE_SCHEMA|GRANTED_TO|GRANTEE_NAME"]
    for name, privilege, tables in cells(SOURCE, 3):
        rows += [f"{privilege}|TABLE|{table.upper()}|DB|S|ROLE|{name}" for table in tables.split()]
    world.csv("grants.csv", "\n".join(rows))
    world.csv("members.csv", MEMBERS)
    world.files["exports.json"] = json.dumps({"exports": [EXPORT]})
    with interpreted(spark):
        rows_found: list[dict[str, Any]] = world.checked(spark, tmp_path_factory.mktemp("renamed"))["findings"]
    return rows_found


def about(findings: list[dict[str, Any]], name: str) -> list[tuple[str, ...]]:
    """Return type, dataset, person and repair of the findings about a role of the catalog."""
    return sorted(
        (
            one["type"],
            re.sub(r".*db\.s\.|,PROD\)", "", one["entity"] or ""),
            (one["actor"] or "").removeprefix("urn:li:corpuser:"),
            one["repair"].splitlines()[-1],
        )
        for one in findings
        if one["role"] == role(f"w_{name}")
    )


@pytest.mark.spark
def test_a_renamed_role_is_one_finding_and_the_rest_is_compared_under_its_new_name(
    findings: list[dict[str, Any]],
) -> None:
    assert about(findings, "moved") == [
        ("EXTRA_GRANT", "t10", "", 'REVOKE SELECT ON TABLE "DB"."S"."T10" FROM ROLE "MOVED_NEW";'),
        ("EXTRA_MEMBER", "", "eve", 'REVOKE ROLE "MOVED_NEW" FROM USER "EVE";'),
        ("GRANT_MISSING", "t9", "", 'GRANT SELECT ON TABLE "DB"."S"."T9" TO ROLE "MOVED_NEW";'),
        (
            *("MEMBER_MISSING", "", "bob"),
            "-- The export names no account of bob: make it, then give it MOVED_NEW.",
        ),
        ("ROLE_RENAMED", "", "", 'ALTER ROLE "MOVED_NEW" RENAME TO "MOVED";'),
    ]
    (renamed,) = [one for one in findings if one["type"] == "ROLE_RENAMED" and one["role"] == role("w_moved")]
    assert renamed["sentence"] == "w_moved is called MOVED_NEW in the source: 9 of its 10 grants agree."
    assert renamed["repair"].splitlines()[0] == (
        '-- Name it under roles of snow in exports.json, "MOVED_NEW": "w_moved", or rename it in the source.'
    )
    (extra,) = [one for one in findings if one["type"] == "EXTRA_GRANT" and one["role"] == role("w_moved")]
    assert extra["sentence"].startswith("w_moved (now MOVED_NEW) has READ on DB.S.T10;")


@pytest.mark.spark
@pytest.mark.parametrize("name", ["few", "part", "level", "known"])
def test_what_agrees_too_little_or_with_what_the_catalog_knows_is_no_new_name(
    findings: list[dict[str, Any]], name: str
) -> None:
    assert [kind for kind, *_ in about(findings, name)] == ["ROLE_GONE"]


@pytest.mark.spark
def test_each_role_has_one_new_name_and_each_name_one_role(findings: list[dict[str, Any]]) -> None:
    assert about(findings, "twin_a") == [("ROLE_RENAMED", "", "", 'ALTER ROLE "TWIN_X" RENAME TO "TWIN_A";')]
    # The source still has a role of the old name.
    assert about(findings, "twin_b") == [
        ("EXTRA_MEMBER", "", "eve", 'REVOKE ROLE "TWIN_B" FROM USER "EVE";'),
        (
            "ROLE_RENAMED",
            "",
            "",
            '-- Name it under roles of snow in exports.json, "TWIN_Y": "w_twin_b", '
            "or give the grants back in the source.",
        ),
    ]


@pytest.mark.parametrize(
    ("export", "new_name", "urn", "statement"),
    [
        ({"form": "snowflake"}, "NEW", "old", 'ALTER ROLE "NEW" RENAME TO "OLD";'),
        (
            {"form": "snowflake"},
            "DATABASE ROLE\x1fSALES\x1fNEW",
            "sales.old",
            'ALTER DATABASE ROLE "SALES"."NEW" RENAME TO "SALES"."OLD";',
        ),
        ({"form": "snowflake"}, "DATABASE ROLE\x1fCRM\x1fNEW", "sales.old", ""),
        ({"form": "snowflake"}, "NEW", "sales.old", ""),
        ({"form": "postgres"}, "new", "old", 'ALTER ROLE "new" RENAME TO "old";'),
        ({"form": "redshift"}, "new", "old", 'ALTER ROLE "new" RENAME TO "old";'),
        ({"form": "redshift"}, "GROUP\x1fnew", "old", 'ALTER GROUP "new" RENAME TO "old";'),
        ({"form": "databricks"}, "new", "old", ""),
        ({"form": "trino"}, "new", "old", ""),
        ({"form": "bigquery"}, "new@x.example", "old", ""),
        ({"form": "csv", "platform": "kafka"}, "new", "old", ""),
    ],
)
def test_a_role_is_renamed_where_a_statement_does_it(
    export: dict[str, Any], new_name: str, urn: str, statement: str
) -> None:
    described = {"name": "one", "platform": export["form"], "grants": ["a"], **export}
    (parsed,) = parse_exports(json.dumps({"exports": [described]}))
    difference = {
        **dict.fromkeys(DIFFERENCE_COLUMNS),
        "type": DifferenceType.ROLE_RENAMED,
        "export": "one",
        "role": urn,
        "role_urn": role(urn),
        "grantee": new_name,
        "new_name": new_name,
        "count": 3,
        "total": 3,
        "is_there": False,
    }
    first_line, *statements = render_repair(parsed, difference).splitlines()
    assert first_line.startswith("-- Name it under roles of one in exports.json, ")
    assert statements == ([statement] if statement else [])
    for line in statements:
        assert sqlglot.parse(line, read=parsed.dialect.name if parsed.dialect else None)


def test_a_name_in_a_repair_ends_neither_a_comment_nor_a_string() -> None:
    (export,) = parse_exports(
        json.dumps({"exports": [{"name": "one", "platform": "snowflake", "form": "snowflake", "grants": ["a"]}]})
    )
    name = 'N"; DROP ROLE X;\nDROP ROLE "Y'
    difference = dict.fromkeys(DIFFERENCE_COLUMNS) | {
        "type": DifferenceType.ROLE_RENAMED,
        "export": "one",
        "role": "old",
        "role_urn": role("old"),
        "grantee": name,
        "new_name": name,
        "count": 3,
        "total": 3,
        "is_there": False,
    }
    comment, *rest = render_repair(export, difference).split("\n", 1)
    assert comment.startswith("-- ")
    (parsed,) = sqlglot.parse(rest[0], read="snowflake")
    assert parsed is not None


def test_types_of_findings_are_listed_in_the_documentation() -> None:
    text = (Path(__file__).parents[2] / "docs" / "grants-exports.md").read_text(encoding="utf-8")
    assert {kind for kind in DifferenceType if f"| {kind} |" not in text} == set()
