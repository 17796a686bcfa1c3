"""Warehouse usage tells reads from writes: on which grants a write rests, and what least privilege leaves for it."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.drift_world import World, dataset, interpreted
from tests.spark.usage_world import find_usage

pytestmark = pytest.mark.spark

HEADER = "object_type|object|privilege|grantee_type|grantee\n"
FIRST_USE = "2025-01-01,nobody,,db.s.a,SELECT\n"


def find(spark: SparkSession, folder: Path, grants: str, *uses: str, **export: Any) -> dict[str, Any]:
    """Run the job on grants and the uses of one day, with tables a and b of the schema db.s."""
    world = World()
    for name in ("a", "b"):
        world.entity(dataset("snowflake", f"db.s.{name}"))
    world.csv("grants.csv", HEADER + grants)
    lines = "".join(f"2025-05-29,{use}\n" for use in uses)
    world.files["usage.csv"] = f"used_at,user,role,object,privilege\n{FIRST_USE}{lines}"
    described = {"name": "w", "platform": "snowflake", "form": "csv", "grants": ["grants.csv"], "usage": ["usage.csv"]}
    world.files["exports.json"] = json.dumps({"exports": [described | export]})
    with interpreted(spark):
        return find_usage(spark, world, folder, days=90)


def list_states(found: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(row["grantee"], row["object"]): row["state"] for row in found["grants"]}


def list_proposals(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(row["action"], row["object"], row["repair"]) for row in found["proposals"]]


def test_a_write_rests_on_no_grant_for_reading_alone(spark: SparkSession, tmp_path: Path) -> None:
    grants = """
    table|db.s.a|SELECT|role|reader
    table|db.s.a|INSERT|role|writer
    table|db.s.b|SELECT|role|reader
    table|db.s.b|INSERT|role|loader
    table|db.s.b|SELECT|role|viewer
    role|reader|MEMBER|user|ann
    role|writer|MEMBER|user|ann
    role|reader|MEMBER|user|bob
    """
    # Ann has another role beside the one that the history names; what lets bob write is not known.
    found = find(spark, tmp_path, grants, "ann,reader,db.s.a,INSERT", "bob,,db.s.b,INSERT", "bob,,db.s.a,SELECT")
    assert list_states(found) == {
        ("reader", "db.s.a"): "USED",
        ("writer", "db.s.a"): "USED",
        ("loader", "db.s.b"): "USED",
        ("reader", "db.s.b"): "UNUSED",
        ("viewer", "db.s.b"): "UNUSED",
    }
    held = {(row["held"], row["person"].rpartition(":")[2]): row["state"] for row in found["memberships"]}
    assert held == {("reader", "ann"): "USED", ("writer", "ann"): "USED", ("reader", "bob"): "USED"}


def test_what_an_ignored_role_does_rests_on_nobody_elses_grant(spark: SparkSession, tmp_path: Path) -> None:
    grants = "table|db.s.a|SELECT|role|reader\ntable|db.s.b|SELECT|role|reader\nrole|reader|MEMBER|user|root"
    uses = ("root,root,db.s.a,SELECT", "root,,db.s.b,SELECT", "eve,root,db.s.a,SELECT")
    found = find(spark, tmp_path, grants.replace("|user|root", "|user|ann"), *uses[::2], ignored_roles=["root"])
    assert set(list_states(found).values()) == {"UNUSED"}
    assert [row["state"] for row in found["memberships"]] == ["UNUSED"]
    # What they hold themselves counts first.
    found = find(spark, tmp_path / "held", grants, *uses, ignored_roles=["root"])
    assert set(list_states(found).values()) == {"USED"}


SCHEMA_READ = "schema|db.s|SELECT|role|r\ntable|db.s.a|INSERT|role|r\nrole|r|MEMBER|user|ann"
SCHEMA_WRITE = "schema|db.s|INSERT|role|r\ntable|db.s.a|SELECT|role|r\nrole|r|MEMBER|user|ann"


def test_a_grant_for_writing_stays_below_one_for_reading(spark: SparkSession, tmp_path: Path) -> None:
    reads = ("ann,,db.s.a,SELECT", "ann,,db.s.b,SELECT")
    found = find(spark, tmp_path / "written", SCHEMA_READ, *reads, "ann,,db.s.a,INSERT")
    assert found["proposals"] == []
    found = find(spark, tmp_path / "read", SCHEMA_READ, *reads)
    assert [(action, name) for action, name, _ in list_proposals(found)] == [("KEEP", "db.s"), ("REVOKE", "db.s.a")]


def test_a_container_that_goes_leaves_its_level(spark: SparkSession, tmp_path: Path) -> None:
    found = find(spark, tmp_path, SCHEMA_WRITE, "ann,,db.s.a,INSERT")
    assert list_proposals(found) == [
        (
            "GRANT",
            "db.s.a",
            'GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON TABLE "db"."s"."a" TO ROLE "r";',
        ),
        ("KEEP", "db.s.a", ""),
        ("REVOKE", "db.s", 'REVOKE INSERT ON SCHEMA "db"."s" FROM ROLE "r";'),
    ]


def test_what_goes_to_shares_is_not_judged(spark: SparkSession, tmp_path: Path) -> None:
    header = "PRIVILEGE|GRANTED_ON|NAME|TABLE_CATALOG|TABLE_SCHEMA|GRANTED_TO|GRANTEE_NAME\n"
    rows = "SELECT|TABLE|A|DB|S|SHARE|PARTNERS\nSELECT|TABLE|A|DB|S|APPLICATION|APP\nSELECT|TABLE|A|DB|S|ROLE|R\n"
    world = World()
    world.entity(dataset("snowflake", "db.s.a"))
    world.entity(dataset("snowflake", "db.s.b"))
    world.csv("grants.csv", header + rows)
    objects = '"[{""objectDomain"":""Table"",""objectName"":""DB.S.B""}]",[],[]'
    header = "query_start_time,user_name,direct_objects_accessed,base_objects_accessed,objects_modified\n"
    world.files["usage.csv"] = header + "".join(f"{day},ANN,{objects}\n" for day in ("2025-01-01", "2025-05-29"))
    described = {"name": "w", "platform": "snowflake", "form": "snowflake", "grants": ["grants.csv"]}
    world.files["exports.json"] = json.dumps({"exports": [described | {"usage": ["usage.csv"]}]})
    with interpreted(spark):
        found = find_usage(spark, world, tmp_path, days=90)
    assert list_states(found) == {("R", "DB.S.A"): "UNUSED"}


@pytest.mark.parametrize(
    ("dialect", "grant"),
    [
        ("snowflake", 'GRANT SELECT ON ALL TABLES IN SCHEMA "db"."s" TO ROLE "r";'),
        ("postgres", 'GRANT SELECT ON ALL TABLES IN SCHEMA "s" TO "r";'),
        ("redshift", 'GRANT SELECT FOR TABLES IN SCHEMA "s" TO ROLE "r";'),
        ("databricks", "GRANT SELECT ON SCHEMA `db`.`s` TO `r`;"),
        ("trino", 'GRANT SELECT ON SCHEMA "db"."s" TO ROLE "r";'),
        ("bigquery", 'GRANT `roles/bigquery.dataViewer` ON SCHEMA `db.s` TO "group:r";'),
    ],
)
def test_a_container_is_narrowed_for_all_that_it_has(
    spark: SparkSession, tmp_path: Path, dialect: str, grant: str
) -> None:
    uses = ("ann,,db.s.a,SELECT", "ann,,db.s.b,SELECT")
    found = find(spark, tmp_path, "schema|db.s|ALL|role|r\nrole|r|MEMBER|user|ann", *uses, dialect=dialect)
    ((action, name, repair),) = list_proposals(found)
    assert (action, name, repair.splitlines()[-1]) == ("NARROW", "db.s", grant)


def test_a_time_that_is_wrong_does_not_move_the_days(spark: SparkSession, tmp_path: Path) -> None:
    grants = "table|db.s.a|SELECT|role|r\nrole|r|MEMBER|user|ann"
    uses = ("ann,,db.s.a,SELECT", "ann,,db.s.b,SELECT\n9999-12-31,ann,,db.s.b,SELECT\n08:00,ann,,db.s.b,SELECT")
    found = find(spark, tmp_path, grants, *uses)
    assert list_states(found) == {("r", "db.s.a"): "USED"}
    (export,) = found["exports"]
    assert (export["first"], export["last"], export["quarantined"]) == ("2025-01-01 00:00", "2025-05-29 00:00", 2)


def test_a_container_covers_only_what_its_condition_lets_it_reach(spark: SparkSession, tmp_path: Path) -> None:
    world = World()
    for name in ("a", "b"):
        world.entity(dataset("bigquery", f"p.s.{name}"))
    member, place = "group:r@x.example", "//bigquery.googleapis.com/projects/p/datasets/s"
    condition = {"expression": "resource.name.startsWith('projects/p/datasets/s/tables/a')", "title": "a"}
    viewer = {"role": "roles/bigquery.dataViewer", "members": [member]}
    policies = [
        {"resource": place, "policy": {"bindings": [viewer | {"condition": condition}]}},
        {"resource": f"{place}/tables/b", "policy": {"bindings": [viewer]}},
    ]
    world.files["grants.jsonl"] = "".join(f"{json.dumps(policy)}\n" for policy in policies)
    entry = (
        '{{"timestamp": "{}T08:00:00Z", "protoPayload": {{"authenticationInfo": {{"principalEmail": "ann@x.example"}}, '
    )
    entry += (
        '"resourceName": "projects/p/datasets/s/tables/{}", "metadata": {{"tableDataRead": {{"reason": "JOB"}}}}}}}}\n'
    )
    days = ("2025-01-01", "2025-05-29")
    world.files["usage.jsonl"] = "".join(entry.format(day, name) for day in days for name in ("a", "b"))
    described = {"name": "w", "platform": "bigquery", "form": "bigquery", "grants": ["grants.jsonl"]}
    world.files["exports.json"] = json.dumps({"exports": [described | {"usage": ["usage.jsonl"]}]})
    with interpreted(spark):
        found = find_usage(spark, world, tmp_path, days=90)
    assert [row["state"] for row in found["grants"]] == ["USED", "USED"]
    assert found["proposals"] == []
