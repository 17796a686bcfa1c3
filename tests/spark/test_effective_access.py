"""Effective access on Spark: what it counts is what deciding one by one says, however the catalog is cut."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from catalog.aspects import facet_fields
from catalog.reports.kinds.effective_access.counts import count_access
from catalog.reports.kinds.effective_access.job import compute_results
from catalog.reports.kinds.effective_access.spec import SPEC
from catalog.reports.run import launcher
from catalog.reports.run.result_loader import read_batches
from catalog.reports.snapshot import partitions as reading
from catalog.reports.snapshot.reader import read_people
from catalog.reports.spark.job import Job
from catalog.reports.spark.parallel_map import map_partitions_unordered
from catalog.reports.storage import parse_address
from policies.engine.evaluate import decide
from policies.engine.model import Question
from tests import strategies, worlds_datazone
from tests.spark import slices
from tests.spark.answering import by_bulk
from tests.worlds import World, document, urn

VIEW = "VIEW_ENTITY_PAGE"
PAIRS = 10_000
GRANTS = {"administrators": [], "instance": "urn:li:instance:cdap", "is_inherited": False}


def drawn(strategy: st.SearchStrategy, number: int) -> list[Any]:
    """Return so many generated worlds."""
    found: list[Any] = []

    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(world=strategy)
    def keep(world):
        found.append(world)

    keep()
    return found


def test_bulk_in_spark_equals_decide(spark: SparkSession, tmp_path: Path):
    sent: list[list[Any]] = [[], [], [], []]
    expected, asked = set(), 0
    worlds = [*drawn(strategies.worlds(), 40), *drawn(worlds_datazone.worlds(), 40)]
    for number, world in enumerate(worlds):
        is_datahub = isinstance(world, World)
        who = strategies.ACTORS if is_datahub else worlds_datazone.USERS
        privileges = strategies.PRIVILEGES if is_datahub else worlds_datazone.ACTIONS
        snapshot, postings, actors = world.snapshot(), world.postings(), [world.actor(urn) for urn in who]
        sent[number % 4].append((number, snapshot, postings, actors, privileges))
        for entity in postings.urns:
            resource = world.resource(entity) if isinstance(world, World) else world.resource({"urn": entity})
            for actor in actors:
                for privilege in privileges:
                    asked += 1
                    if decide(snapshot, Question(actor, privilege, resource)).is_allowed:
                        expected.add((number, actor.urn, privilege, entity))
    found: list[Any] = []
    map_partitions_unordered(spark, tmp_path.as_uri(), sent, by_bulk, lambda _, rows: found.extend(rows))
    assert asked >= PAIRS
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_what_goes_wrong_with_an_answer_is_raised(spark: SparkSession, tmp_path: Path):
    def take(_: int, rows: list[int]) -> None:
        raise ZeroDivisionError(rows)

    with pytest.raises(ZeroDivisionError):
        map_partitions_unordered(spark, tmp_path.as_uri(), [1, 2], range, take)


def test_nothing_to_do_is_done_at_once(spark: SparkSession, tmp_path: Path):
    taken: list[int] = []
    map_partitions_unordered(spark, tmp_path.as_uri(), [], range, lambda _, rows: taken.extend(rows))
    assert not taken


def test_two_slices_and_twenty_count_what_decide_says(spark: SparkSession, tmp_path: Path):
    world = max(drawn(strategies.worlds(), 40), key=lambda one: len(one.policies))
    source = slices.write(world, tmp_path / "in", grants=GRANTS)
    job = Job(spark, source, (tmp_path / "out").as_uri(), {}, {"policy_version": 1})
    state = job.state
    people = read_people(job.source)
    two, twenty = (count_access(job, [VIEW], people, min_partitions=number)[VIEW] for number in (2, 20))
    assert two == twenty
    snapshot, urns = state.snapshot, sorted(world.raw["entities"])
    reached = [
        [decide(snapshot, Question(actor, VIEW, world.resource(urn))).is_allowed for urn in urns]
        for actor in state.actors
    ]
    assert list(two.people) == [sum(row) for row in reached]
    people_by_entity = dict(zip(urns, map(sum, zip(*reached, strict=True)), strict=True))
    assert [people_by_entity[urn] for urn in reading.read_urns(job.source).to_pylist()] == list(two.entities)
    assert not [*(tmp_path / "out").glob("_work-*")]


def test_tables_have_every_privilege_in_the_order_of_the_parameters(spark: SparkSession, tmp_path: Path):
    privileges = ["VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS", "DELETE_ENTITY"]
    world = World()
    people = [world.user(name) for name in ("jo", "al", "bo")]
    for number in range(30):
        world.entity(f"dataset:d{number}", owners=people[: number % 3])
    world.policy("owners", document(privileges=privileges[:2], actors={"resourceOwners": True}))
    source = slices.write(world, tmp_path / "in", grants=GRANTS)
    asked = {"privileges": [privileges[1], privileges[0], privileges[2]]}
    job = Job(spark, source, (tmp_path / "out").as_uri(), asked, {"policy_version": 1})
    numbers = {one.title: one.value for one in compute_results(job).numbers}
    rows = slices.read(tmp_path / "out", "entities")
    counts = {urn(f"dataset:d{number}"): number % 3 for number in range(30)}
    assert [(row["privilege"], row["entity"], row["people"]) for row in rows] == [
        (privilege, *item)
        for privilege in asked["privileges"]
        for item in sorted(
            ((entity, 0 if privilege == privileges[2] else people) for entity, people in counts.items()),
            key=lambda item: (-item[1], item[0]),
        )
    ]
    assert [row["position"] for row in rows] == list(range(90))
    rows = slices.read(tmp_path / "out", "people")
    assert [(row["person"], row["entities"]) for row in rows[:3]] == [(urn("jo"), 20), (urn("al"), 10), (urn("bo"), 0)]
    assert [row["privilege"] for row in rows[::3]] == asked["privileges"]
    assert [row["position"] for row in rows] == list(range(9))
    assert numbers["Entities"] == 30
    assert [value for title, value in numbers.items() if title.endswith("that nobody reaches")] == [10, 10, 30]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "domains",
        "entities",
        "people",
        "platforms",
        "tags",
    ]


def test_an_empty_catalog_has_empty_tables(spark: SparkSession, tmp_path: Path):
    world = World()
    world.user("jo")
    source = slices.write(world, tmp_path / "in", grants=GRANTS)
    job = Job(spark, source, (tmp_path / "out").as_uri(), {"privileges": [VIEW]}, {"policy_version": 1})
    numbers = {one.title: one.value for one in compute_results(job).numbers}
    assert numbers["Entities"] == numbers["View Entity Page: entities that nobody reaches"] == 0
    assert slices.read(tmp_path / "out", "entities") == []
    (table,) = (table for table in SPEC.tables if table.name == "entities")
    assert [*read_batches(table, parse_address(tmp_path / "out"))] == []
    assert [row["entities"] for row in slices.read(tmp_path / "out", "people")] == [0]


def test_fields_are_those_of_the_catalog():
    assert reading.PLATFORM == facet_fields.PLATFORM


def _snapshot(tmp_path: Path) -> tuple[Path, Path]:
    world = World()
    world.user("jo")
    world.entity("dataset:d1")
    slices.write(world, tmp_path / "in", grants=GRANTS, parameters={"privileges": [VIEW]})
    return tmp_path / "in", tmp_path / "out"


def _failed(source: Path, target: Path, spark_folder: Path | None) -> str:
    with pytest.raises(launcher.JobFailed) as found:
        launcher.run(
            module="catalog.reports.kinds.effective_access.job",
            source=parse_address(source),
            target=parse_address(target),
            spark_folder=spark_folder,
            on_progress=lambda *_: True,
        )
    assert not (target / "summary.json").exists()
    assert not [*target.glob("_work-*")]
    return str(found.value)


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    sentence = _failed(*_snapshot(tmp_path), tmp_path / "spark")
    assert sentence.startswith("Spark needs Java 17 or newer")


# The program goes on after what it reads itself, and ends after what its Python processes read.
@pytest.mark.own_spark("ends as that of a worker does")
@pytest.mark.parametrize("table", ["policies", "entities", "facets"])
def test_corrupt_parquet(program_folder: Path, settings: Any, tmp_path: Path, table: str):
    settings.VAR_DIR, settings.SPARK_IDLE_SECONDS = program_folder, 600
    source, target = _snapshot(tmp_path)
    (source / f"{table}.parquet").write_bytes(b"PAR1 and no more")
    sentence = f"{table}.parquet of the snapshot cannot be read. Start the report again, which takes another snapshot."
    assert _failed(source, target, None) == sentence
