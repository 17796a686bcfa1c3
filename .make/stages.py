"""The stages of a run of tests: which tests, on which database, in how many processes."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobs import ROOT, Job
from record import Record
from shards import deal, estimate_seconds, list_files

#: Where a run writes what each test took.
RECORDS = ROOT / "var" / "records"
SQLITE = {"DATABASE_URL": "", "REDIS_URL": ""}


@dataclass(frozen=True, slots=True)
class Stage:
    """Tests that are chosen by marks (see `tests/runs.py`) in some of the folders, with their environment.

    `is_whole`: one process runs all of them, so that they share what is dear to start. `patience`: clock seconds for
    one of the processor, where tests mostly wait for programs; they begin early, so that they do not run alone at last.
    """

    name: str
    marks: str
    variables: Mapping[str, str]
    folders: tuple[str, ...] = ("tests/",)
    without: tuple[str, ...] = ()
    is_whole: bool = False
    patience: float = 1.0

    def list_files(self) -> list[str]:
        """Return the files in which the stage looks for its tests."""
        return [
            file for file in list_files(ROOT) if file.startswith(self.folders) and not file.startswith(self.without)
        ]


@dataclass(frozen=True, slots=True)
class Depth:
    """How deep a run goes. `is_all` leaves nothing out: every test on both databases, wide searches, all clients."""

    is_all: bool = False
    profile: str = "usual"
    seed: int = field(default_factory=lambda: random.SystemRandom().randrange(2**32))

    @property
    def variables(self) -> dict[str, str]:
        """What the processes of tests are told."""
        found = {"TEST_SEED": str(self.seed), "HYPOTHESIS_PROFILE": "all" if self.is_all else self.profile}
        return found | ({"TEST_TRACES": "true", "TEST_BROWSER": "full"} if self.is_all else {})


#: What runs elsewhere than in the queue of both databases.
APART = ("tests/clients/", "tests/faults/", "tests/spark/")


def list_stages(depth: Depth, servers: Mapping[str, str]) -> list[Stage]:
    """Return the stages that can run side by side. Without servers everything runs on SQLite."""
    usual = "not clients and not alone" if depth.is_all else "not clients and not alone and not deep"
    told = usual if depth.is_all or not servers else f"{usual} and (not database or sqlite or both and not spared)"
    stages = [
        Stage("spark", f"{usual} and not own_spark", SQLITE, ("tests/spark/",), is_whole=True),
        Stage("own-spark", f"{usual} and own_spark", SQLITE, ("tests/spark/",), patience=3.0),
        Stage("sqlite", told, SQLITE, without=APART),
    ]
    if servers:
        stages.append(Stage("postgresql", f"{usual} and database and not sqlite", servers, without=APART))
    return stages


def list_client_stages(marks: str) -> list[Stage]:
    """Return other people's programs, in turn or, where no port is the usual one, side by side."""
    return [Stage("clients", marks, {}, ("tests/clients/",), is_whole=marks != "smoke")]


def list_alone(servers: Mapping[str, str]) -> list[Stage]:
    """Return tests during whose faults every other answer has to come in time: nothing runs beside them."""
    return [Stage("faults", "alone", servers, ("tests/faults/",), is_whole=True)] if servers else []


def list_jobs(stage: Stage, depth: Depth, record: Record) -> Iterator[Job]:
    """Yield the processes of a stage."""
    seconds = estimate_seconds(stage.list_files(), record, stage.name)
    shards = [(sorted(seconds), sum(seconds.values()))] if stage.is_whole else deal(seconds)
    for number, (files, total) in enumerate(shards, 1):
        name = stage.name if len(shards) == 1 else f"{stage.name} {number} of {len(shards)}"
        # Tests of the clients that are left out still have their files read.
        command = ["python", "-m", "pytest", "-q", "-p", "no:xdist", "-m", stage.marks, *files]
        variables = {**depth.variables, "TEST_RECORDS": str(RECORDS / stage.name), **stage.variables}
        yield Job(
            name,
            tuple(command),
            variables,
            total * stage.patience,
            after="class archive" if "spark" in stage.name else "",
        )


def forget_records(folder: Path = RECORDS) -> None:
    """Remove what the last run wrote."""
    for path in folder.glob("*/*.jsonl"):
        path.unlink()
