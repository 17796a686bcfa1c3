"""Grants that a denial or their condition takes away: they count as not there, and a rule with a name passes them."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.drift_world import PII, World, dataset, interpreted, role, user

pytestmark = pytest.mark.spark

GOLDEN = Path(__file__).with_name("golden_exports") / "bigquery_conditions"
DATASETS = {
    "reef-a.bay.tides": ["bay"],
    "reef-a.bay.crew": [],
    "reef-a.cove.logs": ["gone", "buckets", "divers"],
    "reef-b.deep.maps": [],
}
CONDITION = 'resource.name.startsWith("projects/reef-a/datasets/bay/tables/")'
EXTRACTED = 'resource.name.extract("/datasets/{name}/") == "cove"'
#: type, severity, role, dataset, person, repair
FOUND = [
    (
        *("EXTRA_GRANT", "CRITICAL", "bay", "", ""),
        f"-- Take roles/bigquery.dataViewer on reef-a from group:bay@reef.example, under the condition: {CONDITION}",
    ),
    # Its member may read in spite of the denial, by this grant.
    (
        *("EXTRA_GRANT", "HIGH", "", "", ""),
        'REVOKE `roles/bigquery.dataViewer` ON SCHEMA `reef-b.deep` FROM "group:mixed@reef.example";',
    ),
    (
        *("DIRECT_USER_GRANT", "HIGH", "", "", "dora"),
        'REVOKE `roles/bigquery.dataViewer` ON SCHEMA `reef-b.deep` FROM "user:dora@reef.example";',
    ),
    (
        *("DIRECT_USER_GRANT", "HIGH", "", "", "frank"),
        f"-- Take roles/bigquery.dataViewer on reef-a from user:frank@reef.example, under the condition: {EXTRACTED}",
    ),
    *(
        (
            *("GRANT_MISSING", "MEDIUM", name, "reef-a.cove.logs", ""),
            f'GRANT `roles/bigquery.dataViewer` ON TABLE `reef-a.cove.logs` TO "group:{name}@reef.example";\n'
            "-- If it is a view: ON VIEW.",
        )
        for name in ("gone", "buckets", "divers")
    ),
    (
        *("PASSED_SENSITIVE", "HIGH", "", "", ""),
        "-- See who has access to reef-a in this way: the report only counts it.",
    ),
    # The check knows of no role that opens what is sensitive.
    (
        *("SENSITIVE_WITHOUT_ROLE", "HIGH", "", "reef-a.bay.crew", ""),
        f"-- Name an external role on {dataset('bigquery', 'reef-a.bay.crew')}, or take its tag off.",
    ),
]


@pytest.fixture(scope="module")
def checked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    made = World()
    for name in ("ann", "bob", "dora", "eve", "frank"):
        made.person(name)
    for name in ("bay", "gone", "buckets", "divers"):
        made.entity(role(name), ROLE_TYPE=["READ"])
    for name, roles in DATASETS.items():
        made.entity(dataset("bigquery", name), ACCESS_ROLE=list(map(role, roles)), TAG=[PII] if "crew" in name else [])
    made.files = {file.name: file.read_text(encoding="utf-8") for file in GOLDEN.iterdir()}
    with interpreted(spark):
        return made.checked(spark, tmp_path_factory.mktemp("withheld"))


def test_what_is_withheld_is_not_there(checked: dict[str, Any]) -> None:
    names = {dataset("bigquery", name): name for name in DATASETS}
    found = [
        (
            *(one["type"], one["severity"], (one["role"] or "").removeprefix("urn:li:role:")),
            *(names.get(one["entity"], ""), (one["actor"] or "").removeprefix(user("")), one["repair"]),
        )
        for one in checked["findings"]
    ]
    assert sorted(found) == sorted(FOUND)


def test_what_is_withheld_is_passed_by_its_rule(checked: dict[str, Any]) -> None:
    (counts,) = checked["exports"]
    assert [counts[name] for name in ("rows", "compared", "passed", "quarantined")] == [21, 7, 10, 4]
    # Banned by a group, in a group of a banned one, and nobody but one.
    assert {one["rule"]: one["count"] for one in checked["passed"]} == {
        "denied": 4,
        "outside_condition": 2,
        "undecided_condition": 2,
        "expired": 1,
        "uncertain": 1,
    }
    (sample,) = (one["sample"] for one in checked["passed"] if one["rule"] == "denied")
    assert "iam.jsonl:2 reef-a.cove to user:bob@reef.example" in sample
