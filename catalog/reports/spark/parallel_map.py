"""Parallel map over parts in Spark's processes; each result is delivered as soon as its part is done.

Parts are distributed as an RDD, since an SQL plan costs more than distributing a few dozen parts, and results return in
an accumulator: nothing waits for the slowest part, and only the reduced results need memory.

Garbage collection of cycles is paused while a part is computed: partitions make millions of objects and no cycles, and
scanning them took half of the time.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from pyspark import SparkContext
from pyspark.accumulators import AccumulatorParam

from policies.engine.gc_pause import pause_gc

PartT = TypeVar("PartT")
ResultRowT = TypeVar("ResultRowT")


def map_partitions_unordered(
    context: SparkContext,
    parts: Sequence[PartT],
    compute: Callable[[PartT], Iterable[ResultRowT]],
    on_result: Callable[[int, list[ResultRowT]], None],
) -> None:
    """Compute each part; `on_result` is called in this process with the number of a part and its rows, in any order.

    Raises the first exception of `on_result`, and Spark's exception when `compute` fails.
    """
    if not parts:
        return
    accumulator_param = _ResultAccumulator(on_result)
    accumulator = context.accumulator([], accumulator_param)

    def compute_part(numbered_part: tuple[int, PartT]) -> None:
        number, part = numbered_part
        with pause_gc():
            accumulator.add([(number, list(compute(part)))])

    context.parallelize(list(enumerate(parts)), len(parts)).foreach(compute_part)
    if accumulator_param.error is not None:
        raise accumulator_param.error


class _ResultAccumulator(AccumulatorParam[list[Any]]):
    """Accumulator of (part number, rows): collects in Spark's processes, delivers in the driver."""

    def __init__(self, on_result: Callable[[int, list[Any]], None] | None = None) -> None:
        self._on_result = on_result
        self.error: Exception | None = None

    def __reduce__(self) -> tuple[type["_ResultAccumulator"], tuple[()]]:
        return _ResultAccumulator, ()

    def zero(self, value: list[Any]) -> list[Any]:  # noqa: ARG002 - Spark's signature
        """Return an empty list."""
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802 - Spark's name
        """Concatenate results, or in the driver deliver `value2` to the callback."""
        if self._on_result is None:
            return [*value1, *value2]
        try:
            for number, rows in value2 if self.error is None else ():
                self._on_result(number, rows)
        except Exception as error:  # noqa: BLE001 - Spark's thread, where it would be lost, and the job with it
            self.error = error
        return value1
