"""Work on parts of something, done in the processes of Spark, whose answers are handed over as parts are done.

Parts travel as an RDD, since a plan of SQL would cost more than handing out a few dozen of them, and answers in an
accumulator: nothing waits for the slowest part, and only what is made of the answers has to fit into memory.

Python's collector of cycles rests while a part is worked on: slices make millions of objects and no cycles, and it
would look through all of them again and again, which took half of the time.
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
    """Do a work on each part; `on_result` is called here with the number of a part and its rows, in any order.

    Raises what `on_result` raised first, and what Spark raises when a work fails.
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
    """Parts that are done, numbers and rows: gathered in the processes until a task ends, and taken here at once."""

    def __init__(self, on_result: Callable[[int, list[Any]], None] | None = None) -> None:
        self._on_result = on_result
        self.error: Exception | None = None

    def __reduce__(self) -> tuple[type["_ResultAccumulator"], tuple[()]]:
        return _ResultAccumulator, ()

    def zero(self, value: list[Any]) -> list[Any]:  # noqa: ARG002 - Spark's signature
        """Return no parts."""
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802 - Spark's name
        """Take further parts, or gather them."""
        if self._on_result is None:
            return [*value1, *value2]
        try:
            for number, rows in value2 if self.error is None else ():
                self._on_result(number, rows)
        except Exception as error:  # noqa: BLE001 - Spark's thread, where it would be lost, and the job with it
            self.error = error
        return value1
