"""Warehouse usage tells reads from writes: on which grants a write rests, and what least privilege leaves for it.

The cases stand above their tests, and one job judges them all.
"""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.usage_world import Tables, UsageCases

pytestmark = [pytest.mark.spark, pytest.mark.drawn(2, "usage")]

HEADER = "object_type|object|privilege|grantee_type|grantee\n"
FIRST_USE = "2025-01-01,nobody,,db.s.a,SELECT\n"
CASES = UsageCases()


def add(case: str, grants: str, *uses: str, **export: Any) -> None:
    """Add grants and the uses of one day, with tables a and b of the schema db.s."""
    for name in ("a", "b"):
        CASES.add_dataset(case, f"db.s.{name}")
    CASES.world.csv(f"{case}/grants.csv", HEADER + grants)
    lines = "".join(f"2025-05-29,{use}\n" for use in uses)
    CASES.world.files[f"{case}/usage.csv"] = f"used_at,user,role,object,privilege\n{FIRST_USE}{lines}"
    CASES.add_export(case, **{"form": "csv", "grants": ["grants.csv"], "usage": ["usage.csv"]} | export)


@pytest.fixture(scope="module")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tables]:
    return CASES.judge(spark, tmp_path_factory.mktemp("levels"), days=90)


def list_states(found: Tables) -> dict[tuple[str, str], str]:
    return {(row["grantee"], row["object"]): row["state"] for row in found["grants"]}


def list_proposals(found: Tables) -> list[tuple[str, str, str]]:
    return [(row["action"], row["object"], row["repair"]) for row in found["proposals"]]


# Ann has another role beside the one that the history names; nothing that is known lets bob write.
add(
    "resting",
    """
    table|db.s.a|SELECT|role|reader
    table|db.s.a|INSERT|role|writer
    table|db.s.b|SELECT|role|reader
    table|db.s.b|INSERT|role|loader
    table|db.s.b|SELECT|role|viewer
    role|reader|MEMBER|user|ann
    role|writer|MEMBER|user|ann
    role|reader|MEMBER|user|bob
    """,
    "ann,reader,db.s.a,INSERT",
    "bob,,db.s.b,INSERT",
    "bob,,db.s.a,SELECT",
)


def test_a_write_rests_on_no_grant_for_reading_alone(judged: dict[str, Tables]) -> None:
    found = judged["resting"]
    assert list_states(found) == {
        ("reader", "db.s.a"): "USED",
        ("writer", "db.s.a"): "USED",
        # Who holds these is not known, so that bob may.
        ("loader", "db.s.b"): "NOT_SEEN",
        ("viewer", "db.s.b"): "NOT_SEEN",
        ("reader", "db.s.b"): "UNUSED",
    }
    others = {(row["grantee"], row["object"]): row["others"] for row in found["grants"]}
    # Bob reads a as a reader, and is no writer.
    assert others == {**dict.fromkeys(others, 1), ("reader", "db.s.a"): 0}
    held = {(row["held"], row["person"].rpartition(":")[2]): row["state"] for row in found["memberships"]}
    assert held == {("reader", "ann"): "USED", ("writer", "ann"): "USED", ("reader", "bob"): "USED"}


READER = "table|db.s.a|SELECT|role|reader\ntable|db.s.b|SELECT|role|reader\nrole|reader|MEMBER|user|"
add("ignored", f"{READER}ann", "root,root,db.s.a,SELECT", "eve,root,db.s.a,SELECT", ignored_roles=["root"])
add(
    "ignored_and_held",
    f"{READER}root",
    "root,root,db.s.a,SELECT",
    "root,,db.s.b,SELECT",
    "eve,root,db.s.a,SELECT",
    ignored_roles=["root"],
)


def test_what_an_ignored_role_does_rests_on_nobody_elses_grant(judged: dict[str, Tables]) -> None:
    found = judged["ignored"]
    assert set(list_states(found).values()) == {"UNUSED"}
    assert [row["state"] for row in found["memberships"]] == ["UNUSED"]
    # What they hold themselves counts first.
    assert set(list_states(judged["ignored_and_held"]).values()) == {"USED"}


SCHEMA_READ = "schema|db.s|SELECT|role|r\ntable|db.s.a|INSERT|role|r\nrole|r|MEMBER|user|ann"
SCHEMA_WRITE = "schema|db.s|INSERT|role|r\ntable|db.s.a|SELECT|role|r\nrole|r|MEMBER|user|ann"
READS = ("ann,,db.s.a,SELECT", "ann,,db.s.b,SELECT")
add("written", SCHEMA_READ, *READS, "ann,,db.s.a,INSERT")
add("read", SCHEMA_READ, *READS)
add("going", SCHEMA_WRITE, "ann,,db.s.a,INSERT")


def test_a_grant_for_writing_stays_below_one_for_reading(judged: dict[str, Tables]) -> None:
    assert judged["written"]["proposals"] == []
    assert {row["state"] for row in judged["written"]["grants"]} == {"USED"}
    proposals = [(action, name) for action, name, _ in list_proposals(judged["read"])]
    assert proposals == [("KEEP", "db.s"), ("REVOKE", "db.s.a")]


def test_a_container_that_goes_leaves_its_level(judged: dict[str, Tables]) -> None:
    assert list_proposals(judged["going"]) == [
        (
            "GRANT",
            "db.s.a",
            'GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON TABLE "db"."s"."a" TO ROLE "r";',
        ),
        ("KEEP", "db.s.a", ""),
        ("REVOKE", "db.s", 'REVOKE INSERT ON SCHEMA "db"."s" FROM ROLE "r";'),
    ]


def add_postgres() -> None:
    for name in ("a", "b"):
        CASES.add_dataset("passed_on", f"db.s.{name}", "postgres")
    header = "grantor|grantee|table_catalog|table_schema|table_name|privilege_type|is_grantable|with_hierarchy\n"
    rows = "keeper|keeper|db|s|a|SELECT|YES|YES\nkeeper|lead|db|s|a|SELECT|YES|YES\nlead|r|db|s|a|SELECT|NO|YES\n"
    CASES.world.csv("passed_on/grants.csv", header + rows)
    CASES.world.csv("passed_on/members.csv", "roleid|member|grantor\nlead|ann|boss\nr|bob|boss\n")
    columns = '"db",101,"[local]",65c.1,1,"SELECT",2025-01-01 07:59:00 UTC,3/1,0,LOG,00000'
    audit = '"AUDIT: SESSION,1,1,READ,SELECT,TABLE,s.a,select 1 from a,<none>"'
    lines = (
        f'{day} 08:00:00.000 UTC,"ann",{columns},{audit},,,,,,,,,"psql","client backend",,0\n'
        for day in ("2025-01-01", "2025-05-29")
    )
    CASES.world.files["passed_on/usage.csv"] = "".join(lines)
    files = {"grants": ["grants.csv"], "members": ["members.csv"], "usage": ["usage.csv"]}
    CASES.add_export(
        "passed_on", platform="postgres", form="postgres", database="db", ignored_roles=["keeper"], **files
    )


add_postgres()


def test_what_was_passed_on_is_taken_as_who_granted_it(judged: dict[str, Tables]) -> None:
    found = judged["passed_on"]
    assert list_states(found) == {("lead", "db.s.a"): "USED", ("r", "db.s.a"): "UNUSED"}
    statement = 'SET ROLE "lead"; REVOKE SELECT ON TABLE "s"."a" FROM "r"; RESET ROLE;'
    assert ("REVOKE", "db.s.a", statement) in list_proposals(found)
    assert {finding["repair"] for finding in found["findings"] if finding["type"] == "UNUSED_GRANT"} == {
        statement,
        'REVOKE "r" FROM "bob" GRANTED BY "boss";',
    }


def add_shares() -> None:
    header = "PRIVILEGE|GRANTED_ON|NAME|TABLE_CATALOG|TABLE_SCHEMA|GRANTED_TO|GRANTEE_NAME\n"
    rows = "SELECT|TABLE|A|DB|S|SHARE|PARTNERS\nSELECT|TABLE|A|DB|S|APPLICATION|APP\nSELECT|TABLE|A|DB|S|ROLE|R\n"
    CASES.add_dataset("shares", "db.s.a")
    CASES.add_dataset("shares", "db.s.b")
    CASES.world.csv("shares/grants.csv", header + rows)
    objects = '"[{""objectDomain"":""Table"",""objectName"":""DB.S.B""}]",[],[]'
    header = "query_start_time,user_name,direct_objects_accessed,base_objects_accessed,objects_modified\n"
    uses = "".join(f"{day},ANN,{objects}\n" for day in ("2025-01-01", "2025-05-29"))
    CASES.world.files["shares/usage.csv"] = header + uses
    CASES.add_export("shares", form="snowflake", grants=["grants.csv"], usage=["usage.csv"])


add_shares()


def test_what_goes_to_shares_is_not_judged(judged: dict[str, Tables]) -> None:
    assert list_states(judged["shares"]) == {("R", "DB.S.A"): "UNUSED"}


NARROWED = {
    "snowflake": 'GRANT SELECT ON ALL TABLES IN SCHEMA "db"."s" TO ROLE "r";',
    "postgres": 'GRANT SELECT ON ALL TABLES IN SCHEMA "s" TO "r";',
    "redshift": 'GRANT SELECT FOR TABLES IN SCHEMA "s" TO ROLE "r";',
    "databricks": "GRANT SELECT ON SCHEMA `db`.`s` TO `r`;",
    "trino": 'GRANT SELECT ON SCHEMA "db"."s" TO ROLE "r";',
    "bigquery": 'GRANT `roles/bigquery.dataViewer` ON SCHEMA `db.s` TO "group:r";',
}
for one in NARROWED:
    add(f"narrowed_{one}", "schema|db.s|ALL|role|r\nrole|r|MEMBER|user|ann", *READS, dialect=one)


@pytest.mark.parametrize(("dialect", "grant"), list(NARROWED.items()))
def test_a_container_is_narrowed_for_all_that_it_has(judged: dict[str, Tables], dialect: str, grant: str) -> None:
    ((action, name, repair),) = list_proposals(judged[f"narrowed_{dialect}"])
    assert (action, name, repair.splitlines()[-1]) == ("NARROW", "db.s", grant)


WRONG_TIMES = ("9999-12-31,ann,,db.s.b,SELECT", "08:00,ann,,db.s.b,SELECT")
add(
    "wrong_times",
    "table|db.s.a|SELECT|role|r\nrole|r|MEMBER|user|ann",
    "ann,,db.s.a,SELECT",
    "\n".join(("ann,,db.s.b,SELECT", *WRONG_TIMES)),
)


def test_a_time_that_is_wrong_does_not_move_the_days(judged: dict[str, Tables]) -> None:
    found = judged["wrong_times"]
    assert list_states(found) == {("r", "db.s.a"): "USED"}
    (export,) = found["exports"]
    assert (export["first"], export["last"], export["quarantined"]) == ("2025-01-01 00:00", "2025-05-29 00:00", 2)


def add_condition() -> None:
    for name in ("a", "b"):
        CASES.add_dataset("condition", f"p.s.{name}", "bigquery")
    member, place = "group:r@x.example", "//bigquery.googleapis.com/projects/p/datasets/s"
    condition = {"expression": "resource.name.startsWith('projects/p/datasets/s/tables/a')", "title": "a"}
    viewer = {"role": "roles/bigquery.dataViewer", "members": [member]}
    policies = [
        {"resource": place, "policy": {"bindings": [viewer | {"condition": condition}]}},
        {"resource": f"{place}/tables/b", "policy": {"bindings": [viewer]}},
    ]
    CASES.world.files["condition/grants.jsonl"] = "".join(f"{json.dumps(policy)}\n" for policy in policies)
    entry = (
        '{{"timestamp": "{}T08:00:00Z", "protoPayload": {{"authenticationInfo": {{"principalEmail": "ann@x.example"}}, '
    )
    entry += (
        '"resourceName": "projects/p/datasets/s/tables/{}", "metadata": {{"tableDataRead": {{"reason": "JOB"}}}}}}}}\n'
    )
    uses = (entry.format(day, name) for day in ("2025-01-01", "2025-05-29") for name in ("a", "b"))
    CASES.world.files["condition/usage.jsonl"] = "".join(uses)
    members = "object_type|object|privilege|grantee_type|grantee\nrole|r@x.example|MEMBER|user|ann@x.example"
    CASES.world.csv("condition/members.csv", members)
    files = {"grants": ["grants.jsonl"], "members": ["members.csv"], "usage": ["usage.jsonl"]}
    CASES.add_export("condition", platform="bigquery", form="bigquery", **files)


add_condition()


def test_a_container_covers_only_what_its_condition_lets_it_reach(judged: dict[str, Tables]) -> None:
    found = judged["condition"]
    assert [row["state"] for row in found["grants"]] == ["USED", "USED"]
    assert found["proposals"] == []
