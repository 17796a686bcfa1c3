"""Effective access on Spark: what it counts is what deciding one by one says, however the catalog is cut."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from catalog.aspects import facet_fields
from catalog.reports.kinds.effective_access.counts import count_access
from catalog.reports.run import launcher
from catalog.reports.run.job_output import Progress
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
from tests.worlds import World

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
        for urn in postings.urns:
            resource = world.resource(urn) if isinstance(world, World) else world.resource({"urn": urn})
            for actor in actors:
                for privilege in privileges:
                    asked += 1
                    if decide(snapshot, Question(actor, privilege, resource)).is_allowed:
                        expected.add((number, actor.urn, privilege, urn))
    found: list[Any] = []
    map_partitions_unordered(lambda: spark, tmp_path.as_uri(), sent, by_bulk, lambda _, rows: found.extend(rows))
    assert asked >= PAIRS
    assert len(found) == len(set(found))
    assert set(found) == expected


def test_what_goes_wrong_with_an_answer_is_raised(spark: SparkSession, tmp_path: Path):
    def take(_: int, rows: list[int]) -> None:
        raise ZeroDivisionError(rows)

    with pytest.raises(ZeroDivisionError):
        map_partitions_unordered(lambda: spark, tmp_path.as_uri(), [1, 2], range, take)


def test_nothing_to_do_is_done_at_once(spark: SparkSession, tmp_path: Path):
    taken: list[int] = []
    map_partitions_unordered(lambda: spark, tmp_path.as_uri(), [], range, lambda _, rows: taken.extend(rows))
    assert not taken


def test_two_slices_and_twenty_count_what_decide_says(spark: SparkSession, tmp_path: Path):
    world = max(drawn(strategies.worlds(), 40), key=lambda one: len(one.policies))
    source = slices.write(world, tmp_path / "in", grants=GRANTS)
    job = Job(spark, source, (tmp_path / "out").as_uri(), {}, {"policy_version": 1})
    state = job.state
    two, twenty = (
        count_access(job, [VIEW], read_people(job.source), min_partitions=number)[VIEW] for number in (2, 20)
    )
    assert two == twenty
    snapshot, urns = state.snapshot, sorted(world.raw["entities"])
    reached = [
        [decide(snapshot, Question(actor, VIEW, world.resource(urn))).is_allowed for urn in urns]
        for actor in state.actors
    ]
    assert list(two.people) == [sum(row) for row in reached]
    assert list(two.entities) == [sum(column) for column in zip(*reached, strict=True)]
    assert sum(two.people) == sum(two.entities)


def test_fields_are_those_of_the_catalog():
    assert reading.PLATFORM == facet_fields.PLATFORM


def _snapshot(tmp_path: Path) -> tuple[Path, Path]:
    world = World()
    world.user("jo")
    world.entity("dataset:d1")
    slices.write(world, tmp_path / "in", grants=GRANTS, parameters={"privileges": [VIEW]})
    return tmp_path / "in", tmp_path / "out"


def _failed(source: Path, target: Path, tell: launcher.ProgressCallback = lambda *_: True) -> str:
    with pytest.raises(launcher.JobFailed) as found:
        launcher.run(
            module="catalog.reports.kinds.effective_access.job",
            source=parse_address(source),
            target=parse_address(target),
            spark_folder=target.with_name("spark"),
            on_progress=tell,
        )
    assert not (target / "summary.json").exists()
    return str(found.value)


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert _failed(*_snapshot(tmp_path)).startswith("Spark needs Java 17 or newer")


@pytest.mark.parametrize("table", ["entities", "facets", "policies"])
def test_corrupt_parquet(tmp_path: Path, table: str):
    source, target = _snapshot(tmp_path)
    (source / f"{table}.parquet").write_bytes(b"PAR1 and no more")
    sentence = f"{table}.parquet of the snapshot cannot be read. Start the report again, which takes another snapshot."
    assert _failed(source, target) == sentence


def test_the_java_program_is_killed_in_the_middle(tmp_path: Path):
    source, target = _snapshot(tmp_path)

    def kill(progress: Progress, _: str) -> bool:
        if progress.stage == "Counting":
            for process in _javas_of(os.getpid()):
                os.kill(process, signal.SIGKILL)
        return True

    assert "Spark" in _failed(source, target, kill)


def _javas_of(ancestor: int) -> list[int]:
    """Return the Java programs below a process that a job of ours started."""
    parents, names = {}, {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            said = (place / "stat").read_text()
        except OSError:
            continue
        name, _, rest = said.partition("(")[2].rpartition(")")
        parents[int(place.name)], names[int(place.name)] = int(rest.split()[1]), name
    jobs = [child for child, parent in parents.items() if parent == ancestor and names[child].startswith("python")]
    return [child for child, parent in parents.items() if parent in jobs and names[child] == "java"]
