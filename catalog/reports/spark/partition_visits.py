"""The catalog in partitions, computed by Spark; a job combines their results. The partitioning changes no answer."""

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa

from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.spark.job import Job, print_progress
from catalog.reports.spark.parallel_map import map_partitions_unordered

PartitionRowT = TypeVar("PartitionRowT")
SharedT = TypeVar("SharedT")


@dataclass(frozen=True, slots=True)
class _BroadcastInput:
    """Input that is broadcast to every partition."""

    state: partitions.SnapshotState
    fields: frozenset[str]
    shared: Any


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
    loaded_fields = partitions.list_loaded_fields(fields)
    broadcast = job.context.broadcast(_BroadcastInput(job.state, loaded_fields, shared))
    numbers = partitions.read_entity_numbers(job.source)
    bounds = partitions.split_evenly(len(numbers), min_partitions=min_partitions)
    # Packed, since a list of numbers takes several times as long to send.
    parts = [array("q", numbers[start:end].to_pylist()).tobytes() for start, end in pairwise(bounds)]
    done_count = 0

    def compute_part(part: bytes) -> Iterable[PartitionRowT]:
        broadcast_input: _BroadcastInput = broadcast.value
        part_numbers = pa.array(memoryview(part).cast("q"), pa.int64())
        partition = partitions.load_partition(broadcast_input.state, broadcast_input.fields, part_numbers)
        return compute(PartitionFacts(broadcast_input.state, partition), broadcast_input.shared)

    def take_rows(number: int, rows: list[PartitionRowT]) -> None:
        nonlocal done_count
        on_rows(number, rows)
        done_count += bounds[number + 1] - bounds[number]
        print_progress(stage, done_count, len(numbers))

    print_progress(stage, 0, len(numbers))
    map_partitions_unordered(job.context, parts, compute_part, take_rows)
