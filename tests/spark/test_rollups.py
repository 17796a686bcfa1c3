"""Three findings of one type about one thing are one, whose key stays and whose fingerprint tells its members."""

import json
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from catalog.reports.kinds.role_mapping_check.blocks import LineNumbers
from catalog.reports.kinds.role_mapping_check.differences import DIFFERENCE_COLUMNS
from catalog.reports.kinds.role_mapping_check.evidence import Evidence
from catalog.reports.kinds.role_mapping_check.findings import build_findings
from catalog.reports.spark import rollups
from catalog.warehouses.exports import parse_exports
from tests.spark.drift_world import dataset, interpreted, role, user

pytestmark = pytest.mark.spark

SCHEMA = ", ".join(f"{name} {kind}" for name, kind in DIFFERENCE_COLUMNS.items())
EXPORT = {"name": "snow", "platform": "snowflake", "form": "snowflake", "grants": ["a.csv"]}


def difference(type_: str, table: str, severity: str = "HIGH", **values: Any) -> dict[str, Any]:
    return dict.fromkeys(DIFFERENCE_COLUMNS) | {
        "type": type_,
        "severity": severity,
        "export": "snow",
        "entity": dataset("snowflake", table),
        "name": table,
        **values,
    }


def missing(table: str) -> dict[str, Any]:
    return difference("GRANT_MISSING", table, "MEDIUM", role="r", role_urn=role("r"), grantee="R", wanted=1)


def built(spark: SparkSession, rows: list[dict[str, Any]]) -> list[Any]:
    values = [tuple(row[name] for name in DIFFERENCE_COLUMNS) for row in rows]
    (export,) = parse_exports(json.dumps({"exports": [EXPORT]}))
    with interpreted(spark):
        return build_findings(
            spark.createDataFrame(values, SCHEMA), {"snow": export}, lambda _: Evidence(LineNumbers([]))
        )


def test_one_finding_has_the_repairs_and_datasets_of_all(spark: SparkSession) -> None:
    tables = ["db.s.a", "db.s.b", "db.t.c", "db.t.d"]
    (finding,) = built(spark, [missing(table) for table in tables])
    assert (finding["type"], finding["severity"], finding["role"]) == ("GRANT_MISSING", "MEDIUM", role("r"))
    assert (finding["members"], finding["entity"], finding["export"]) == (4, None, "snow")
    assert finding["sentence"] == "The catalog says that r opens 4 datasets; the source has none of these grants."
    assert finding["datasets"].split("\n") == [dataset("snowflake", table) for table in tables]
    assert finding["repair"].splitlines() == [
        f'GRANT SELECT ON TABLE "DB"."{table[3].upper()}"."{table[5].upper()}" TO ROLE "R";' for table in tables
    ]


def test_the_key_stays_while_members_change_and_the_fingerprint_tells_them(spark: SparkSession) -> None:
    rows = [missing(f"db.s.t{number}") for number in range(6)]
    (four,) = built(spark, rows[:4])
    (again,) = built(spark, Random(1).sample(rows[:4], 4))
    (fewer,) = built(spark, rows[:3])
    (others,) = built(spark, rows[2:])
    assert len({one["key"] for one in (four, again, fewer, others)}) == 1
    assert four["fingerprint"] == again["fingerprint"]
    assert len({one["fingerprint"] for one in (four, fewer, others)}) == 3
    singles = built(spark, rows[:2])
    assert [one.get("members") for one in singles] == [None, None]
    assert four["key"] not in {one["key"] for one in singles}


def test_the_fingerprint_tells_which_column_is_empty(spark: SparkSession) -> None:
    held: dict[str, Any] = {"kind": "USER", "actor": user("ann"), "grantee": "ANN", "bits": 1, "level": 1}
    rows = [difference("DIRECT_USER_GRANT", f"db.s.t{number}", **held) for number in range(2)]
    found = [
        built(spark, [*rows, difference("DIRECT_USER_GRANT", "db.s.t", **held | values)])
        for values in ({"entity": None, "object": "same"}, {"entity": "same", "object": None})
    ]
    assert len({one["fingerprint"] for (one,) in found}) == 2


def test_findings_are_one_by_role_person_or_schema_and_type(spark: SparkSession) -> None:
    extra: dict[str, Any] = {"role": "r", "role_urn": role("r"), "grantee": "R", "bits": 1, "level": 1, "via": ""}
    held: dict[str, Any] = {"kind": "USER", "actor": user("ann"), "grantee": "ANN", "bits": 1, "level": 1}
    nothing: dict[str, Any] = {"export": None}
    rows = [
        *(difference("EXTRA_GRANT", f"db.s.t{number}", **extra) for number in range(3)),
        difference("EXTRA_GRANT", "db.s.secret", "CRITICAL", **extra),
        *(difference("EXTRA_GRANT", f"db.s.t{number}", **extra | {"role": "q"}) for number in range(2)),
        *(missing(f"db.s.t{number}") for number in range(2)),
        *(difference("DIRECT_USER_GRANT", f"db.{name}.t", **held) for name in "abc"),
        difference("DIRECT_USER_GRANT", "db.a.t", **held | {"actor": user("bob")}),
        *(difference("SENSITIVE_WITHOUT_ROLE", f"db.s.t{number}", **nothing) for number in range(3)),
        *(difference("SENSITIVE_WITHOUT_ROLE", f"db.u.t{number}", **nothing) for number in range(2)),
    ]
    findings = built(spark, rows)
    assert sum(finding.get("members") or 1 for finding in findings) == len(rows)
    rolled = {finding["sentence"]: finding for finding in findings if finding.get("members")}
    assert {sentence: (one["severity"], one["members"], one["actor"]) for sentence, one in rolled.items()} == {
        "r has 4 grants that the catalog does not declare.": ("CRITICAL", 4, None),
        "ANN has 3 grants without any role.": ("HIGH", 3, user("ann")),
        "3 datasets in db.s are sensitive, and no role says how they are reached.": ("HIGH", 3, None),
    }


def test_a_finding_lists_no_more_than_a_limit_and_counts_all(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [missing(f"db.s.t{number}") for number in range(5)]
    (unlimited,) = built(spark, rows)
    monkeypatch.setattr(rollups, "MAX_LISTED", 2)
    (finding,) = built(spark, rows)
    assert (finding["members"], len(finding["datasets"].split("\n"))) == (5, 2)
    assert finding["repair"].splitlines()[2:] == ["-- And 3 more."]
    assert finding["fingerprint"] == unlimited["fingerprint"]
