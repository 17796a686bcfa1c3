"""The catalog in partitions, computed by Spark; a job combines their results. The partitioning changes no answer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.spark.job import Job, print_progress
from catalog.reports.spark.parallel_map import map_partitions_unordered

PartitionRowT = TypeVar("PartitionRowT")
SharedT = TypeVar("SharedT")


@dataclass(frozen=True, slots=True)
class _PartitionComputation:
    """The computation of one partition, with what all of them share."""

    compute: Callable[[PartitionFacts, Any], Iterable[Any]]
    state: partitions.SnapshotState
    fields: frozenset[str]
    shared: Any

    def __call__(self, bounds: tuple[int, int]) -> Iterable[Any]:
        numbers = partitions.read_entity_numbers(self.state.source, *bounds)
        partition = partitions.load_partition(self.state, self.fields, numbers)
        return self.compute(PartitionFacts(self.state, partition), self.shared)


def map_partitions(
    job: Job,
    compute: Callable[[PartitionFacts, SharedT], Iterable[PartitionRowT]],
    shared: SharedT,
    *,
    fields: Iterable[str],
    stage: str,
) -> list[PartitionRowT]:
    """Return the rows of `visit_partitions`, in no particular order."""
    rows: list[PartitionRowT] = []
    visit_partitions(job, compute, shared, lambda _, new_rows: rows.extend(new_rows), fields=fields, stage=stage)
    return rows


def visit_partitions(
    job: Job,
    compute: Callable[[PartitionFacts, SharedT], Iterable[PartitionRowT]],
    shared: SharedT,
    on_rows: Callable[[int, list[PartitionRowT]], None],
    *,
    fields: Iterable[str],
    stage: str,
    min_partitions: int = 1,
) -> None:
    """Compute every partition, with these facets loaded and `shared` as the second argument of `compute`.

    `compute` has to be a function of a module. `on_rows` receives the number of a partition and its rows, as soon as it
    is computed.
    """
    computation = _PartitionComputation(compute, job.state, partitions.list_loaded_fields(fields), shared)
    all_bounds = partitions.list_bounds(job.source, min_partitions=min_partitions)
    parts = [(bounds.first, bounds.last) for bounds in all_bounds]
    total = sum(bounds.count for bounds in all_bounds)
    done_count = 0

    def take_rows(number: int, rows: list[PartitionRowT]) -> None:
        nonlocal done_count
        on_rows(number, rows)
        done_count += all_bounds[number].count
        print_progress(stage, done_count, total)

    def open_session() -> SparkSession:
        session = job.spark
        print_progress(stage, 0, total)
        return session

    map_partitions_unordered(open_session, job.target, parts, computation, take_rows)
