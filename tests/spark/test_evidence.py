"""The evidence of findings: rows of the exports, who granted what they say and when, and the datasets reached."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.drift_world import PII, World, dataset, interpreted, role, user

pytestmark = pytest.mark.spark

#: The tables of a schema on which a role has everything, of which the last one by name is sensitive.
TABLES = [f"db.wide.t{number:03}" for number in range(120)]


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    world = World()
    world.person("ann")
    for name in (*TABLES, "db.s.a"):
        tags = [PII] if name == TABLES[-1] else []
        world.entity(
            dataset("snowflake", name), TAG=tags, ACCESS_ROLE=[role("snow_reader")] if name == "db.s.a" else []
        )
    world.entity(role("snow_reader"), ROLE_TYPE=["READ"], ROLE_USER=[user("ann")])
    world.csv(
        "roles.csv",
        """
created_on | modified_on | privilege | granted_on | name | table_catalog | table_schema | granted_to | grantee_name | grant_option | granted_by | deleted_on
2026-01-02 08:00:00.000 +0000 | - | SELECT | TABLE | A | DB | S | ROLE | OTHER | false | BOSS | -
2026-01-03 08:00:00.000 +0000 | - | USAGE | ROLE | BASE | - | - | ROLE | READER | false | SECURITYADMIN | -
- | - | SELECT | TABLE | T000 | DB | WIDE | ROLE | BASE | false | - | -
2026-01-05 08:00:00.000 +0000 | - | OWNERSHIP | SCHEMA | WIDE | DB | - | ROLE | WIDE_OWNER | true | - | -
2026-01-06 08:00:00.000 +0000 | - | OWNERSHIP | TABLE | T119 | DB | WIDE | ROLE | BASE | true | BASE | -
""",  # noqa: E501 - a table
    )
    members = "created_on | role | granted_to | grantee_name | granted_by\n2026-02-01 | READER | USER | IDA | ANN"
    world.csv("users.csv", members)
    world.add_exports(
        {
            "name": "snow",
            "platform": "snowflake",
            "form": "snowflake",
            "role_prefix": "snow_",
            "grants": ["roles.csv"],
            "members": ["users.csv"],
        }
    )
    with interpreted(spark):
        return world.checked(spark, tmp_path_factory.mktemp("evidence"))


def finding(found: dict[str, Any], type_: str, grantee: str) -> dict[str, Any]:
    (row,) = [row for row in found["findings"] if (row["type"], row["grantee"]) == (type_, grantee)]
    return dict(row)


def test_a_grant_names_its_row_and_who_gave_it_when(found: dict[str, Any]) -> None:
    other = finding(found, "EXTRA_GRANT", "OTHER")
    assert other["evidence"] == "roles.csv:2, granted 2026-01-02 08:00:00.000 +0000 by BOSS"
    # A stranger has the name that the system has.
    member = finding(found, "EXTRA_MEMBER", "IDA")
    assert member["evidence"] == "users.csv:2, granted 2026-02-01 by ANN"
    assert member["actor"] == user("ida")


def test_what_comes_through_a_role_names_the_row_of_that_too(found: dict[str, Any]) -> None:
    reader = finding(found, "EXTRA_GRANT", role("snow_reader"))
    assert reader["evidence"].splitlines() == [
        "roles.csv:3, granted 2026-01-03 08:00:00.000 +0000 by SECURITYADMIN",
        "roles.csv:4",
        "roles.csv:6, granted 2026-01-06 08:00:00.000 +0000 by BASE",
    ]
    assert reader["datasets"].splitlines() == [dataset("snowflake", TABLES[number]) for number in (-1, 0)]


def test_a_container_names_its_first_datasets_the_sensitive_ones_first(found: dict[str, Any]) -> None:
    owner = finding(found, "EXTRA_GRANT", "WIDE_OWNER")
    urns = owner["datasets"].splitlines()
    assert urns == [dataset("snowflake", name) for name in (TABLES[-1], *TABLES[:99])]


def test_what_no_row_says_names_the_files_that_were_read(found: dict[str, Any]) -> None:
    missing = [row["evidence"] for row in found["findings"] if row["type"] == "GRANT_MISSING"]
    assert set(missing) == {"No row of roles.csv, users.csv gives it."}
    assert finding(found, "MEMBER_MISSING", user("ann"))["evidence"].startswith("No row of roles.csv, users.csv says")
    assert all(row["evidence"] for row in found["findings"])


def test_who_can_read_what_is_listed_beside_what_the_catalog_declares(found: dict[str, Any]) -> None:
    rows = {(row["dataset"], row["grantee"]): row for row in found["access"]}
    declared = rows[dataset("snowflake", "db.s.a"), role("snow_reader")]
    assert (declared["level"], declared["declared"]) == (None, "READ")
    stranger = rows[dataset("snowflake", "db.s.a"), "OTHER"]
    assert (stranger["level"], stranger["declared"], stranger["through"]) == ("READ", None, None)
    first = found["access"][0]
    assert (first["dataset"], first["tags"]) == (dataset("snowflake", TABLES[-1]), PII)
    assert rows[first["dataset"], "WIDE_OWNER"]["through"] == "DB.WIDE"
    holders = [(row["holder"], row["role"], row["through"]) for row in found["holders"]]
    assert holders == [
        ("IDA", "BASE", "READER"),
        ("IDA", role("snow_reader"), ""),
        (role("snow_reader"), "BASE", ""),
    ]
