"""The result of a measurement: tables of figures that can be read and kept."""

import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TypeVar

Cell = str | int | float
Item = TypeVar("Item")
Made = TypeVar("Made")


@dataclass
class Table:
    """Rows of figures under named columns, and what one needs to know to read them."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def render(self) -> str:
        """Return the table as text."""
        cells = [list(self.columns), *([_shown(cell) for cell in row] for row in self.rows)]
        widths = [max(len(row[index]) for row in cells) for index in range(len(self.columns))]
        lines = [
            "  ".join(
                cell.ljust(width) if index == 0 else cell.rjust(width) for index, (cell, width) in enumerate(pairs)
            )
            for pairs in (tuple(zip(row, widths, strict=True)) for row in cells)
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join([self.title, "=" * len(self.title), *lines, *(f"* {note}" for note in self.notes), ""])


def as_json(tables: Iterable[Table]) -> str:
    """Return tables as a JSON document."""
    return json.dumps([asdict(table) for table in tables], indent=2)


def median_us(ask: Callable[[Made], object], items: Iterable[Item], ready: Callable[[Item], Made]) -> float:
    """Return the median time of one call in microseconds, each item asked once.

    The arguments of a call are made right before the clock starts, as facts are in hand in real life: they were just
    loaded.
    """
    clock = time.perf_counter_ns
    spent = []
    for item in items:
        made = ready(item)
        started = clock()
        ask(made)
        spent.append(clock() - started)
    return statistics.median(spent) / 1000


def seconds(work: Callable[[], Item]) -> tuple[float, Item]:
    """Return how long some work took, and what it returned."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _shown(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if cell >= 1000 else f"{cell:,.1f}" if cell >= 10 else f"{cell:,.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell
