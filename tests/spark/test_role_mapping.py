"""Every kind of difference between the catalog and what sources grant, and the statement that repairs it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from pyspark.sql import SparkSession

from catalog.reports.spark.job import BadInput
from tests.spark.drift_world import PII, World, dataset, group, interpreted, role, user

pytestmark = pytest.mark.spark

EXPORTS: dict[str, list[dict[str, Any]]] = {
    "exports": [
        {
            "name": "snow",
            "platform": "snowflake",
            "form": "snowflake",
            "instance": "eu",
            "role_prefix": "snow_",
            "roles": {'Odd "Name"': "urn-of-odd"},
            "grants": ["snow/roles.csv", "snow/shown.csv"],
            "members": ["snow/users.csv"],
            "ignored_roles": ["SYSADMIN"],
        },
        {
            "name": "bq",
            "platform": "bigquery",
            "form": "bigquery",
            "email_domain": "x.example",
            "grants": ["bq.jsonl"],
            "members": ["bq_members.csv"],
            "levels": {"projects/p/roles/reads": "READ"},
        },
        {"name": "pg", "platform": "postgres", "form": "csv", "instance": "eu", "grants": ["pg.csv"]},
        {"name": "streams", "platform": "kafka", "form": "csv", "grants": ["kafka.csv"]},
    ]
}


def snow(name: str) -> str:
    return dataset("snowflake", f"eu.db.s.{name}")


def big(name: str) -> str:
    return dataset("bigquery", f"p.{name}")


# role in the catalog | type | users | groups | datasets that name it
CATALOG = """
snow_right     | READ  | ann     | -    | s:a
snow_lacks     | READ  | -       | -    | s:b
snow_more      | READ  | -       | -    | s:a
snow_much      | READ  | -       | -    | s:c
snow_little    | WRITE | -       | -    | s:c
snow_own       | READ  | -       | -    | s:own
snow_heir      | READ  | -       | -    | s:b
snow_greedy    | READ  | -       | -    | s:a
snow_gone      | READ  | bob     | -    | s:a s:b
snow_idle      | READ  | -       | -    | -
snow_nowhere   | READ  | -       | -    | -
snow_team      | READ  | ann     | crew | s:a
urn-of-odd     | READ  | ann     | -    | s:quoted
snow_vague     | Owner of things | - | - | s:a
readers        | READ  | ann bob | crew | b:s.t b:s.u
writers        | WRITE | -       | -    | b:s.t
pg_app         | READ  | ann     | -    | p:a
pg_admin       | ADMIN | -       | -    | p:a
k_reader       | READ  | ann     | -    | k:t
"""
ROLES = """
CREATED_ON | PRIVILEGE | GRANTED_ON | NAME | TABLE_CATALOG | TABLE_SCHEMA | GRANTED_TO | GRANTEE_NAME | DELETED_ON
2026 | SELECT    | TABLE     | A        | DB | S | ROLE         | RIGHT    | -
2026 | REFERENCES| TABLE     | A        | DB | S | ROLE         | RIGHT    | -
2026 | SELECT    | TABLE     | B        | DB | S | ROLE         | LACKS    | 2026-02-02
2026 | OWNERSHIP | ROLE      | LACKS    | -  | - | ROLE         | SYSADMIN | -
2026 | SELECT    | TABLE     | A        | DB | S | ROLE         | MORE     | -
2026 | SELECT    | TABLE     | B        | DB | S | ACCOUNT ROLE | MORE     | -
2026 | SELECT    | TABLE     | SECRET   | DB | S | ROLE         | MORE     | -
2026 | SELECT    | TABLE     | C        | DB | S | ROLE         | MUCH     | -
2026 | INSERT    | TABLE     | C        | DB | S | ROLE         | MUCH     | -
2026 | SELECT    | TABLE     | C        | DB | S | ROLE         | LITTLE   | -
2026 | OWNERSHIP | TABLE     | OWN      | DB | S | ROLE         | OWN      | -
2026 | SELECT    | TABLE     | B        | DB | S | ROLE         | BASE     | -
2026 | SELECT    | TABLE     | SECRET   | DB | S | ROLE         | DEEP     | -
2026 | USAGE     | ROLE      | MIDDLE   | -  | - | ROLE         | HEIR     | -
2026 | USAGE     | ROLE      | BASE     | -  | - | ROLE         | MIDDLE   | -
2026 | USAGE     | ROLE      | MIDDLE   | -  | - | ROLE         | BASE     | -
2026 | SELECT    | TABLE     | A        | DB | S | ROLE         | GREEDY   | -
2026 | USAGE     | ROLE      | DEEP     | -  | - | ROLE         | GREEDY   | -
2026 | USAGE     | ROLE      | TEAM     | -  | - | ROLE         | STRANGER | -
2026 | SELECT    | VIEW      | A        | DB | S | ROLE         | TEAM     | -
2026 | SELECT    | TABLE     | A        | DB | S | ROLE         | VAGUE    | -
2026 | OWNERSHIP | TABLE     | A        | DB | S | ROLE         | SYSADMIN | -
2026 | SELECT    | TABLE     | A        | DB | S | ROLE         | PUBLIC   | -
2026 | OWNERSHIP | ROLE      | IDLE     | -  | - | ROLE         | SYSADMIN | -
2026 | SELECT    | TABLE     | A        | DB | S | USER         | CARL     | -
2026 | SELECT    | TABLE     | SECRET   | DB | S | USER         | O"HARA   | -
2026 | USAGE     | WAREHOUSE | W        | -  | - | ROLE         | RIGHT    | -
2026 | SELECT    | TABLE     | UNKNOWN  | DB | S | ROLE         | RIGHT    | -
"""
SHOWN = """
created_on | privilege | granted_on | name | granted_to | grantee_name | grant_option | granted_by
2026 | SELECT | TABLE | DB.S."QUOTED"  | ROLE | Odd "Name" | false | X
2026 | -      | TABLE | DB.S.A         | ROLE | RIGHT      | false | X
2026 | SELECT | TABLE | DB.S.A         | ROLE | -          | false | X
2026 | SELECT | TABLE | -              | ROLE | RIGHT      | false | X
"""
USERS = """
CREATED_ON | DELETED_ON | ROLE | GRANTED_TO | GRANTEE_NAME | GRANTED_BY
2026 | -    | RIGHT    | USER | ANN      | X
2026 | 2026 | RIGHT    | USER | CARL     | X
2026 | -    | RIGHT    | USER | DORA     | X
2026 | -    | TEAM     | USER | ANN      | X
2026 | -    | TEAM     | USER | EVE      | X
2026 | -    | TEAM     | USER | IDA      | X
2026 | -    | STRANGER | USER | CARL     | X
"""
BOUND = [
    ("projects/p/datasets/s/tables/t", "roles/bigquery.dataViewer", ["group:readers@x.example", "user:ann@x.example"]),
    ("projects/p/datasets/s/tables/t", "roles/bigquery.dataEditor", ["group:writers@x.example"]),
    ("projects/p/datasets/s", "projects/p/roles/reads", ["group:readers@x.example"]),
    ("projects/p/datasets/s", "roles/bigquery.dataOwner", ["serviceAccount:bot@y.example", "user:bob@x.example"]),
    ("projects/p/datasets/z", "roles/bigquery.dataViewer", ["group:writers@x.example"]),
    ("projects/p/datasets/s/tables/t", "roles/bigquery.dataViewer", ["allUsers", "deleted:user:a@x.example?uid=1"]),
    ("projects/p/datasets/s", "roles/analyticshub.subscriber", ["group:readers@x.example"]),
    ("projects/p/datasets/s", "projects/p/roles/unknown", ["group:readers@x.example"]),
]
BQ_MEMBERS = """
object_type | object | privilege | grantee_type | grantee
role | readers@x.example | -      | user  | ann@x.example
role | readers@x.example | MEMBER | group | others@x.example
role | writers@x.example | MEMBER | user  | ANN@X.example
"""
PLAIN = """
object_type | object | privilege | grantee_type | grantee
table  | app.public.a  | SELECT | role | pg_app
schema | app.public    | ALL    | role | pg_admin
table  | app.public."b" | write | user | ann
table  | app.hr.*      | SELECT | group | crew
table  | app.*.pay     | SELECT | group | crew
role   | pg_app        | USAGE  | user | bob
cube   | app.x         | READ   | role | pg_app
table  | app.public.a  | FLY    | role | pg_app
"""
KAFKA = """
object_type | object | privilege | grantee_type | grantee
table | t.v1 | READ | user | ann
role  | k_reader | MEMBER | user | bob
"""

DATASETS = {
    **{f"s:{name}": snow(name) for name in ("a", "b", "c", "own", "secret", "quoted")},
    "b:s.t": big("s.t"),
    "b:s.u": big("s.u"),
    "b:s.pii": big("s.pii"),
    "b:z.t": big("z.t"),
    "p:a": dataset("postgres", "eu.app.public.a"),
    "p:b": dataset("postgres", "eu.app.public.b"),
    "p:h": dataset("postgres", "eu.app.hr.pay"),
    "k:t": dataset("kafka", "t.v1"),
}


def expected() -> list[list[str]]:
    """Return the rows of the decision table."""
    text = Path(__file__).with_name("role_mapping.md").read_text(encoding="utf-8")
    lines = [line.strip("| ") for line in text.splitlines() if line.startswith("|")]
    return cells("\n".join(lines[2:]), 6)


def cells(text: str, size: int) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|", size - 1)] for line in text.strip().splitlines()]


def world() -> World:
    made = World()
    made.person("ann")
    made.person("bob")
    made.person("carl")
    made.person("dora", "crew")
    made.person("eve", "crew")
    made.person("IDA", "crew", may_act=False)
    opened: dict[str, list[str]] = {}
    for name, kind, users, groups, opens in cells(CATALOG, 5):
        facts = {"ROLE_USER": [user(one) for one in users.split() if one != "-"]}
        facts["ROLE_GROUP"] = [group(one) for one in groups.split() if one != "-"]
        made.entity(role(name), ROLE_TYPE=[kind.upper()], **facts)
        for one in opens.split():
            opened.setdefault(one, []).append(role(name))
    for short, urn in DATASETS.items():
        tags = [PII] if short in ("s:secret", "b:s.pii") else []
        made.entity(urn, ACCESS_ROLE=opened.get(short, []), TAG=tags)
    # Of an installation and a stage that nobody exported.
    made.entity(dataset("snowflake", "us.db.s.a"), ACCESS_ROLE=[role("snow_lacks")])
    made.files["exports.json"] = json.dumps(EXPORTS)
    made.csv("snow/roles.csv", ROLES)
    made.csv("snow/shown.csv", SHOWN)
    made.csv("snow/users.csv", USERS)
    made.files["snow/users.csv"] += "one,cell too,few\n\udcff,,RIGHT,USER,ANN,X\n"
    lines = [
        {"resource": f"//bigquery.googleapis.com/{place}", "policy": {"bindings": [{"role": iam, "members": members}]}}
        for place, iam, members in BOUND
    ]
    others = ["no json", '{"policy": {}}', '{"name": "//storage.googleapis.com/projects/_/buckets/b"}', ""]
    elsewhere = {
        "name": "//storage.googleapis.com/projects/_/buckets/b",
        "iam_policy": {"bindings": [{"role": "projects/p/roles/unknown", "members": ["user:ann@x.example"]}]},
    }
    made.files["bq.jsonl"] = "\n".join([*map(json.dumps, [*lines, elsewhere]), *others])
    made.csv("bq_members.csv", BQ_MEMBERS)
    made.csv("pg.csv", PLAIN)
    made.csv("kafka.csv", KAFKA)
    return made


@pytest.fixture(scope="module")
def checked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with interpreted(spark):
        # Through files, as jobs that are not short store what they compute.
        return world().checked(spark, tmp_path_factory.mktemp("mapping"), is_short=False)


def short(finding: dict[str, Any]) -> list[str]:
    """Return a finding as a line of the table says it."""
    datasets = {urn: name for name, urn in DATASETS.items()}
    actor = re.sub("^urn:li:corpuser:|^urn:li:corpGroup:", "", finding["actor"] or "-")
    return [
        finding["type"],
        finding["severity"],
        (finding["role"] or "-").removeprefix("urn:li:role:"),
        datasets.get(finding["entity"] or "", "-"),
        f"g:{actor}" if (finding["actor"] or "").startswith("urn:li:corpGroup:") else actor,
        finding["repair"].replace("\n", " "),
    ]


def test_every_difference_is_found_and_nothing_else(checked: dict[str, Any]) -> None:
    assert sorted(map(short, checked["findings"])) == sorted(expected())


def test_repairs_are_sql_of_their_dialect(checked: dict[str, Any]) -> None:
    dialects = {"snow": "snowflake", "bq": "bigquery", "pg": "postgres"}
    for one in checked["findings"]:
        for line in one["repair"].splitlines():
            if not line.startswith(("-- ", "gcloud ")):
                (parsed,) = sqlglot.parse(line, read=dialects[one["export"]])
                assert parsed is not None, line


def test_keys_are_all_different(checked: dict[str, Any]) -> None:
    keys = [one["key"] for one in checked["findings"]]
    assert len(set(keys)) == len(keys)
    assert all(re.fullmatch("[A-Z_]+:[0-9a-f]{64}", key) for key in keys)


def test_rows_that_are_not_understood_are_kept_and_counted(checked: dict[str, Any]) -> None:
    found = [(one["export"], one["file"], one["reason"]) for one in checked["quarantine"]]
    unknown = 'How far {} goes is not known; say it under "levels".'
    assert sorted(found) == sorted(
        [
            ("bq", "bq.jsonl", unknown.format("projects/p/roles/unknown")),
            ("bq", "bq.jsonl", "It has no policy with bindings."),
            ("bq", "bq.jsonl", "It is no JSON object with a resource."),
            ("bq", "bq.jsonl", "It is no JSON object with a resource."),
            ("pg", "pg.csv", "There is no CUBE to grant on."),
            ("pg", "pg.csv", unknown.format("FLY")),
            ("pg", "pg.csv", "A * can only stand for all that follows in a name: database.schema.*"),
            ("snow", "snow/shown.csv", "It names no object."),
            ("snow", "snow/shown.csv", "It names no privilege."),
            ("snow", "snow/shown.csv", "It names nobody who has it."),
            ("snow", "snow/users.csv", "It has not the columns of the first line."),
            ("snow", "snow/users.csv", "It is not UTF-8."),
        ]
    )
    assert {one["export"]: one["quarantined"] for one in checked["exports"]} == {
        "snow": 5,
        "bq": 4,
        "pg": 3,
        "streams": 0,
    }
    numbers = {one.title: one.value for one in checked["summary"].numbers}
    assert numbers["Rows not understood"] == 12
    assert numbers["Findings"] == len(checked["findings"])


def test_which_roles_open_what_is_sensitive(checked: dict[str, Any]) -> None:
    assert [(one["tag"], one["role"], one["declared"], one["opened"]) for one in checked["compliance"]] == [
        (PII, role("readers"), 0, 1),
        (PII, role("snow_greedy"), 0, 1),
        (PII, role("snow_more"), 0, 1),
    ]


def test_how_much_an_export_holds(checked: dict[str, Any]) -> None:
    (one,) = [one for one in checked["exports"] if one["export"] == "snow"]
    assert (one["rows"], one["compared"], one["passed"], one["quarantined"]) == (41, 31, 5, 5)
    assert (one["grants"], one["members"], one["inherited"]) == (19, 6, 5)
    for one in checked["exports"]:
        assert one["rows"] == one["compared"] + one["passed"] + one["quarantined"]


def test_what_was_passed_over_by_which_rule(checked: dict[str, Any]) -> None:
    found = {(one["export"], one["rule"]): (one["count"], one["sample"]) for one in checked["passed"]}
    table = "//bigquery.googleapis.com/projects/p/datasets/s/tables/t"
    assert found.pop(("bq", "deleted_member")) == (
        1,
        f"bq.jsonl:6 {table} roles/bigquery.dataViewer deleted:user:a@x.example?uid=1",
    )
    assert found.pop(("snow", "unknown_table")) == (1, "snow/roles.csv:29 DB.S.UNKNOWN to RIGHT")
    assert found.pop(("snow", "revoked")) == (
        2,
        "snow/roles.csv:4 2026,SELECT,TABLE,B,DB,S,ROLE,LACKS,2026-02-02 · "
        "snow/users.csv:3 2026,2026,RIGHT,USER,CARL,X",
    )
    assert {key: (count, sample.split()[0]) for key, (count, sample) in found.items()} == {
        ("bq", "other_service"): (1, "bq.jsonl:9"),
        ("bq", "unlisted_role"): (1, "bq.jsonl:7"),
        ("snow", "no_data_privilege"): (1, "snow/roles.csv:3"),
        ("snow", "other_object"): (1, "snow/roles.csv:28"),
    }


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({}, "exports.json of the exports of grants cannot be read."),
        ({"exports.json": "{}"}, "exports.json has to hold"),
        ({"exports.json": json.dumps(EXPORTS)}, "The export snow names files that are not there: snow/roles.csv."),
        (
            {"exports.json": json.dumps({"exports": EXPORTS["exports"][2:]}), "pg.csv": "object,object\n"},
            "The files pg.csv of the export pg lack the column object_type.",
        ),
        (
            {
                "exports.json": json.dumps({"exports": [{**EXPORTS["exports"][2], "role_prefix": "w_"}]}),
                "pg.csv": "object_type,object,privilege,grantee_type,grantee\ntable,app.a,READ,role,pg_app\n",
            },
            "The catalog knows no role of the export pg under its role_prefix 'w_'; one of them would be w_pg_app.",
        ),
    ],
)
def test_exports_that_cannot_be_read_are_a_sentence(
    spark: SparkSession, tmp_path: Path, files: dict[str, str], sentence: str
) -> None:
    made = World()
    made.files = files
    with pytest.raises(BadInput, match=re.escape(sentence)):
        made.checked(spark, tmp_path)
    assert not (tmp_path / "output" / "_stages").exists()
