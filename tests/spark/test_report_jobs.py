"""The jobs from snapshot to results, on Spark: what they write, and that cutting the catalog changes nothing."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from catalog.reports.kinds.dataset_access_check import job as dataset_access_check_job
from catalog.reports.kinds.policy_hygiene import job as policy_hygiene_job
from catalog.reports.kinds.policy_impact import job as policy_impact_job
from catalog.reports.kinds.unused_access import job as unused_access_job
from catalog.reports.snapshot import partitions
from catalog.reports.spark.job import Job
from catalog.reports.summary import Summary
from tests.spark import slices
from tests.worlds import World, criterion, document, matching_all, urn

VIEW = "VIEW_ENTITY_PAGE"
JO, AL, READERS, PII = urn("jo"), urn("al"), urn("group:readers"), urn("tag:pii")
PII_ONLY = [{"field": "TAG", "condition": "EQUALS", "values": [PII]}]


@pytest.fixture
def world() -> World:
    made = World()
    made.user("jo", groups=["readers"])
    made.user("al")
    made.group("readers")
    for number in range(20):
        made.entity(f"dataset:d{number}", tags=["tag:pii"] if number % 2 else [], owners=["al"] if number > 17 else [])
    resources = matching_all(criterion("TAG", PII))
    made.policy("readers", document(privileges=[VIEW], actors={"groups": [READERS]}, resources=resources))
    made.policy("owners", document(privileges=[VIEW], actors={"resourceOwners": True}, resources=resources))
    return made


@pytest.fixture(params=[partitions.MAX_PARTITION_ENTITIES, 3], ids=["one slice", "seven slices"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "MAX_PARTITION_ENTITIES", request.param)


def job(spark: SparkSession, world: World, folder: Path, **files: object) -> Job:
    source = slices.write(world, folder / "in", **files)
    return Job(spark, source, (folder / "out").as_uri(), {}, {"policy_version": 1})


def numbers(summary: Summary) -> dict[str, float]:
    return {one.title: one.value for one in summary.numbers}


@pytest.mark.usefixtures("size")
def test_dataset_access_check(spark: SparkSession, world: World, tmp_path: Path):
    said = {"line": 1, "platform": [], "privileges": [VIEW], "on": PII_ONLY, "expected": []}
    assertions = [
        {**said, "name": "Readers", "kind": "every", "holders": [READERS]},
        {**said, "name": "Nobody", "kind": "nobody", "holders": [READERS]},
    ]
    nope = [{"field": "DOMAIN", "condition": "EQUALS", "values": [urn("domain:nope")]}]
    misspelt = {**said, "kind": "nobody", "holders": [READERS], "on": nope}
    assertions += [{**misspelt, "name": "Misspelt"}, {**misspelt, "name": "Later", "may_be_absent": True}]
    given = job(spark, world, tmp_path, assertions={"assertions": assertions})
    assert numbers(dataset_access_check_job.compute_results(given)) == {"Assertions": 4, "Fail": 2, "Pass": 2}
    assert [row["state"] for row in slices.read(tmp_path / "out", "assertions")] == ["PASS", "FAIL", "FAIL", "PASS"]
    failure, absence = slices.read(tmp_path / "out", "failures")
    assert (absence["assertion"], absence["entity"]) == ("Misspelt", urn("domain:nope"))
    assert absence["lacks"].startswith(f"There is no {urn('domain:nope')}: ")
    assert (failure["person"], failure["entities"], failure["entity"]) == (AL, 1, urn("dataset:d19"))
    assert failure["policy"] == "urn:li:dataHubPolicy:owners"


@pytest.mark.usefixtures("size")
def test_policy_impact(spark: SparkSession, world: World, tmp_path: Path):
    proposed = document(privileges=[VIEW], actors={"users": [AL]})
    policy = {"urn": "urn:li:dataHubPolicy:readers", "family": "datahub", "name": "Readers", "document": proposed}
    given = job(spark, world, tmp_path, proposed={"policies": [policy], "gone": []})
    assert numbers(policy_impact_job.compute_results(given)) == {"People who gain": 1, "People who lose": 1}
    (row,) = slices.read(tmp_path / "out", "privileges")[1:]
    assert row == {
        "privilege": VIEW,
        "people_gain": 1,
        "people_lose": 1,
        "gained": 19,
        "lost": 10,
        "position": 1,
    }
    people = slices.read(tmp_path / "out", "people")
    assert {(one["person"], one["gained"], one["lost"]) for one in people} == {(AL, 19, 0), (JO, 0, 10)}


@pytest.mark.usefixtures("size")
def test_policy_hygiene(spark: SparkSession, world: World, tmp_path: Path):
    world.policy(
        "twice",
        document(
            privileges=[VIEW],
            actors={"groups": [READERS]},
            resources=matching_all(criterion("TYPE", "dataset"), criterion("TAG", PII)),
        ),
    )
    world.policy(
        "gone",
        document(privileges=[VIEW], actors={"users": [AL]}, resources=matching_all(criterion("TAG", "urn:li:tag:x"))),
    )
    known = {"people": [JO, AL, READERS], "unknown_fields": {"urn:li:dataHubPolicy:newer": ["/priority", "/a~1b"]}}
    given = job(spark, world, tmp_path, known=known)
    assert numbers(policy_hygiene_job.compute_results(given)) == {
        "Policies": 4,
        "Policies with findings": 3,
        "Findings": 4,
    }
    found = slices.read(tmp_path / "out", "findings")
    assert [(row["type"], row["policy"].rpartition(":")[2], row["other"]) for row in found] == [
        ("ORPHAN", "gone", None),
        ("UNKNOWN_FIELDS", "newer", None),
        ("REACHES_NOTHING", "gone", None),
        ("SHADOWED", "twice", "urn:li:dataHubPolicy:readers"),
    ]
    assert "/priority, /a~1b" in found[1]["sentence"]
    assert len({row["key"] for row in found}) == 4
    policies = slices.read(tmp_path / "out", "policies")
    assert [(row["policy"].rpartition(":")[2], row["people"], row["entities"]) for row in policies] == [
        ("gone", 1, 0),
        ("owners", 0, 10),
        ("readers", 1, 10),
        ("twice", 1, 10),
    ]


@pytest.mark.usefixtures("size")
def test_unused_access(spark: SparkSession, world: World, tmp_path: Path):
    said = {
        "days": 30,
        "since": "2025-12-10",
        "complete_since": "2025-12-01",
        "counted_until": "2026-01-09T00:00:00+00:00",
        "is_sure": True,
    }
    given = job(spark, world, tmp_path, usage=said)
    uses = [{"person": JO, "privilege": VIEW, "policy": "urn:li:dataHubPolicy:readers", "last": "2026-01-01T00:00:00Z"}]
    pq.write_table(pa.Table.from_pylist(uses), tmp_path / "in" / "usage.parquet")
    summary = unused_access_job.compute_results(given)
    found = numbers(summary)
    assert found["Policies without a use"] == 1
    assert summary.notes == (
        "Every use is counted from 2025-12-01 on; these are those from 2025-12-10 until 2026-01-09 00:00 UTC.",
    )
    people = slices.read(tmp_path / "out", "people")
    assert [(row["person"], row["privilege"], row["state"]) for row in people] == [
        (AL, "VIEW_ENTITY", "UNUSED"),
        (AL, VIEW, "UNUSED"),
        (JO, "VIEW_ENTITY", "UNUSED"),
    ]
    assert slices.read(tmp_path / "out", "memberships") == []
