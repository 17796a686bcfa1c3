"""The open table of access edges: joined as the document says, it is who may do what by deciding one by one."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from shutil import rmtree
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

from catalog.models import Report
from catalog.reports import storage
from catalog.reports.kinds.effective_access.counts import count_access
from catalog.reports.run import table_publishing
from catalog.reports.snapshot.reader import read_people
from catalog.reports.spark.job import Job
from policies.engine.evaluate import decide
from policies.engine.model import Question
from tests import result_tables, strategies
from tests.spark import slices
from tests.spark.test_effective_access import GRANTS, drawn
from tests.spark.test_result_tables import ask_spark
from tests.worlds import World, criterion, document, matching_all

MOMENT = datetime(2026, 11, 24, 0, 30, tzinfo=UTC)
PRIVILEGES = ("VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS")
MANY = 1_000_000


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.RESULT_TABLES_DIR = str(tmp_path / "tables")


def owned_world() -> World:
    """Return a world in which some people reach everything, a group what is tagged, and owners what they own."""
    world = World()
    world.group("analysts")
    people = [world.user(f"p{number}", groups=["analysts"] if number % 3 == 0 else []) for number in range(40)]
    for number in range(30):
        # One has more owners than are written one by one.
        owners = people[:25] if number == 7 else people[number : number + number % 3]
        world.entity(f"dataset:d{number:02}", owners=owners, tags=["tag:open"] if number % 4 == 0 else [])
    view, edit = PRIVILEGES
    tagged = matching_all(criterion("TAG", "urn:li:tag:open"))
    everywhere = {"users": [*people[:2]]}
    world.policy("some", document(privileges=[view], actors=everywhere))
    world.policy(
        "tagged", document(privileges=[view], actors={"groups": ["urn:li:corpGroup:analysts"]}, resources=tagged)
    )
    world.policy("owners", document(privileges=[view, edit], actors={"resourceOwners": True}))
    return world


def counted(spark: SparkSession, world: World, folder: Path, max_edges: int, min_partitions: int) -> Job:
    """Return the job that counted the world and wrote its edges."""
    source = slices.write(world, folder / "in", grants=GRANTS)
    rows = {"entities": len(world.raw["entities"])}
    job = Job(spark, source, (folder / "out").as_uri(), {}, {"policy_version": 1, "rows": rows})
    people = read_people(job.source)
    count_access(job, PRIVILEGES, people, min_partitions=min_partitions, max_edges=max_edges)
    return job


def published(job: Job) -> dict[str, dict[str, Any]]:
    """Publish a run with the results of a job, and return the rows about its tables."""
    report = Report(pk=uuid4(), kind="effective_access", attempts=1, as_of=MOMENT, policy_version=7)
    table_publishing.publish(report, storage.parse_address(job.target))
    return {row["table"]: row for row in result_tables.rows("runs") if row["run"] == str(report.pk)}


def decided(job: Job, world: World) -> set[tuple[str, str, str]]:
    """Return (privilege, entity, person) of everything that the engine allows."""
    return {
        (privilege, urn, actor.urn)
        for privilege in PRIVILEGES
        for urn in world.raw["entities"]
        for actor in job.state.actors
        if decide(job.state.snapshot, Question(actor, privilege, world.resource(urn))).is_allowed
    }


def joined() -> Counter[tuple[str, str, str]]:
    """Return the pairs that the published rows are."""
    rows = result_tables.rows("effective_access/edges")
    members: dict[str, list[str]] = {}
    for row in rows:
        if row["entity"] is None:
            assert row["privilege"] is None
            members.setdefault(row["crowd"], []).append(row["person"])
    found: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        if row["entity"] is not None:
            people = [row["person"]] if row["crowd"] is None else members[row["crowd"]]
            found.update((row["privilege"], row["entity"], person) for person in people)
    return found


@pytest.mark.parametrize("min_partitions", [1, 4])
def test_edges_are_what_decide_says(spark: SparkSession, tmp_path: Path, min_partitions: int):
    worlds = sorted(drawn(strategies.worlds(), 30), key=lambda world: -len(world.policies))[:3]
    for number, world in enumerate([owned_world(), *worlds]):
        job = counted(spark, world, tmp_path / f"{number}", MANY, min_partitions)
        tables = published(job)
        found = joined()
        assert set(found) == decided(job, world)
        assert set(found.values()) <= {1}
        item = tables["edges"]
        assert (item["rows"], item["left_out"]) == (len(result_tables.rows("effective_access/edges")), 0)
        rmtree(result_tables.folder())


def test_a_crowd_is_written_once_and_few_people_one_by_one(spark: SparkSession, tmp_path: Path):
    published(counted(spark, owned_world(), tmp_path, MANY, 4))
    rows = result_tables.rows("effective_access/edges")
    members = [(row["crowd"], row["person"]) for row in rows if row["entity"] is None]
    assert len(members) == len(set(members))
    people_by_crowd = Counter(crowd for crowd, _ in members)
    # The two of everywhere, the analysts besides, the owners of one table who reach it besides, and all who own it.
    assert sorted(people_by_crowd.values()) == [2, 13, 23, 25]
    singles = Counter((row["privilege"], row["entity"]) for row in rows if row["entity"] and row["person"])
    assert set(singles.values()) == {1, 2}


@pytest.mark.parametrize("max_edges", [40, 90, 130])
def test_beyond_the_bound_entities_are_left_out_whole(spark: SparkSession, tmp_path: Path, max_edges: int):
    world = owned_world()
    full = published(counted(spark, world, tmp_path / "full", MANY, 2))["edges"]
    rmtree(result_tables.folder())
    job = counted(spark, world, tmp_path / "bounded", max_edges, 2)
    item = published(job)["edges"]
    assert 0 < item["rows"] <= max_edges
    assert item["left_out"] > 0
    assert item["rows"] + item["left_out"] >= full["rows"]
    found, expected = set(joined()), decided(job, world)
    reached = {(privilege, urn) for privilege, urn, _ in found}
    assert found == {edge for edge in expected if edge[:2] in reached} < expected


def test_a_run_without_edges_does_not_say_that_there_are_none(spark: SparkSession, tmp_path: Path):
    assert "edges" not in published(counted(spark, owned_world(), tmp_path, 0, 1))


def test_the_examples_of_the_document(spark: SparkSession, tmp_path: Path):
    world = owned_world()
    job = counted(spark, world, tmp_path, MANY, 2)
    published(job)
    expected = sorted(("2026-11-24", *edge) for edge in decided(job, world))
    assert [tuple(row) for row in result_tables.ask_duckdb(result_tables.read_example("duckdb-edges"))] == expected
    answer = ask_spark(spark, result_tables.read_example("spark-edges"))
    assert [(f"{day}", *edge) for day, *edge in answer] == expected
