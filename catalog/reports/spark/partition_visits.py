"""The catalog in partitions, computed by Spark; a job combines their results. The partitioning changes no answer."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, TypeVar

from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.snapshot.partitions import SnapshotState
from catalog.reports.spark.job import Job, print_progress
from catalog.reports.spark.parallel_map import map_partitions_unordered

PartitionRowT = TypeVar("PartitionRowT")
SharedT = TypeVar("SharedT")


#: Returns the facet fields that a computation needs, by the policies.
FieldChooser = Callable[[SnapshotState], Iterable[str]]


@dataclass(frozen=True, slots=True)
class _PartitionComputation:
    """The computation of one partition, with what all of them share.

    Every process reads policies and people from the snapshot, which takes no longer than to receive them.
    """

    compute: Callable[[PartitionFacts, Any], Iterable[Any]]
    source: str
    version: int
    choose_fields: FieldChooser
    shared: Any

    def __call__(self, bounds: tuple[int, int]) -> Iterable[Any]:
        state = _load_state(self.source, self.version)
        fields = partitions.list_loaded_fields(self.choose_fields(state))
        numbers = partitions.read_entity_numbers(self.source, *bounds)
        partition = partitions.load_partition(state, fields, numbers)
        return self.compute(PartitionFacts(state, partition), self.shared)


@lru_cache(maxsize=1)
def _load_state(source: str, version: int) -> SnapshotState:
    """Return policies and people, read once in each process. Raises CorruptSnapshot."""
    return partitions.load_state(source, version)


def _return_fields(fields: frozenset[str], state: SnapshotState) -> frozenset[str]:  # noqa: ARG001 - any are the same
    return fields


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
    choose_fields = partial(_return_fields, frozenset(fields))
    visit_partitions(
        job, compute, shared, lambda _, new_rows: rows.extend(new_rows), choose_fields=choose_fields, stage=stage
    )
    return rows


def visit_partitions(
    job: Job,
    compute: Callable[[PartitionFacts, SharedT], Iterable[PartitionRowT]],
    shared: SharedT,
    on_rows: Callable[[int, list[PartitionRowT]], None],
    *,
    choose_fields: FieldChooser,
    stage: str,
    min_partitions: int = 1,
) -> None:
    """Compute every partition, with these facets loaded and `shared` as the second argument of `compute`.

    `compute` and `choose_fields` have to be functions of a module. `on_rows` receives the number of a partition and
    its rows, as soon as it is computed.
    """
    version = job.manifest["policy_version"]
    computation = _PartitionComputation(compute, job.source, version, choose_fields, shared)
    all_bounds = partitions.list_bounds(job.source, min_partitions=min_partitions)
    parts = [(bounds.first, bounds.last) for bounds in all_bounds]
    total = sum(bounds.count for bounds in all_bounds)
    done_count = 0

    def take_rows(number: int, rows: list[PartitionRowT]) -> None:
        nonlocal done_count
        on_rows(number, rows)
        done_count += all_bounds[number].count
        print_progress(stage, done_count, total)

    print_progress(stage, 0, total)
    map_partitions_unordered(job.spark, job.target, parts, computation, take_rows)
