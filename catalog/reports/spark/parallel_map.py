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

from policies.engine.gc_pause import uncollected

Part = TypeVar("Part")
Row = TypeVar("Row")


def spread(
    context: SparkContext,
    parts: Sequence[Part],
    work: Callable[[Part], Iterable[Row]],
    take: Callable[[int, list[Row]], None],
) -> None:
    """Do a work on each part; `take` is called here with the number of a part and its rows, in any order of the parts.

    Raises what `take` raised first, and what Spark raises when a work fails.
    """
    if not parts:
        return
    taken = _Handed(take)
    handed = context.accumulator([], taken)

    def worked(numbered: tuple[int, Part]) -> None:
        number, part = numbered
        with uncollected():
            handed.add([(number, list(work(part)))])

    context.parallelize(list(enumerate(parts)), len(parts)).foreach(worked)
    if taken.error is not None:
        raise taken.error


class _Handed(AccumulatorParam[list[Any]]):
    """Parts that are done, numbers and rows: gathered in the processes until a task ends, and taken here at once."""

    def __init__(self, take: Callable[[int, list[Any]], None] | None = None) -> None:
        self._take = take
        self.error: Exception | None = None

    def __reduce__(self) -> tuple[type["_Handed"], tuple[()]]:
        return _Handed, ()

    def zero(self, value: list[Any]) -> list[Any]:  # noqa: ARG002 - Spark's signature
        """Return no parts."""
        return []

    def addInPlace(self, value1: list[Any], value2: list[Any]) -> list[Any]:  # noqa: N802 - Spark's name
        """Take further parts, or gather them."""
        if self._take is None:
            return [*value1, *value2]
        try:
            for number, rows in value2 if self.error is None else ():
                self._take(number, rows)
        except Exception as error:  # noqa: BLE001 - Spark's thread, where it would be lost, and the job with it
            self.error = error
        return value1
