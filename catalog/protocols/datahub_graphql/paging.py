"""Pages of lists: where one starts, how much it holds, how much there is."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from policies.engine.errors import Problem
from policies.errors import Invalid

#: What a page holds where nobody says.
USUAL = 20
#: Most that a page holds.
MOST = 10_000

Row = TypeVar("Row", bound=Model)


def part(
    rows: QuerySet[Row], asked: Mapping[str, Any], member: str, show: Callable[[list[Row]], Any]
) -> dict[str, Any]:
    """Return the page that `start` and `count` ask for: its numbers, and its rows as `show` tells them under `member`.

    Two queries, and those of what is prefetched. Raises Invalid for numbers out of range.
    """
    start, count = bounds(asked)
    found = list(rows[start : start + count])
    return {"start": start, "count": len(found), "total": rows.count(), member: show(found)}


def bounds(asked: Mapping[str, Any]) -> tuple[int, int]:
    """Return the start and the count that are asked for. Raises Invalid for numbers out of range."""
    start, count = _number(asked, "start", 0), _number(asked, "count", USUAL)
    limits = (("start", start, 2**31 - 1), ("count", count, MOST))
    problems = [
        Problem("range", f"/input/{name}", f"This is a whole number from 0 to {most}.")
        for name, value, most in limits
        if not 0 <= value <= most
    ]
    if problems:
        raise Invalid(problems)
    return start, count


def words(asked: Mapping[str, Any]) -> str:
    """Return the words that a list is searched by; clients write `*` for no words."""
    return without_star(asked.get("query") or "")


def without_star(text: str) -> str:
    """Return the words that a text asks for: `*` is none."""
    found = text.strip()
    return "" if found == "*" else found


def _number(asked: Mapping[str, Any], name: str, default: int) -> int:
    found: int | None = asked.get(name)
    return default if found is None else found
