"""Pages of lists: start, count and total."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from policies.engine.errors import Problem
from policies.errors import Invalid

DEFAULT_PAGE_SIZE = 20
MAX_PAGE_SIZE = 10_000

ModelT = TypeVar("ModelT", bound=Model)


def load_page(
    rows: QuerySet[ModelT], arguments: Mapping[str, Any], member: str, render: Callable[[list[ModelT]], Any]
) -> dict[str, Any]:
    """Return the page for `start` and `count` with its total, and its rows through `render` under `member`.

    Two queries, and those of prefetched relations. Raises Invalid for numbers out of range.
    """
    start, count = parse_bounds(arguments)
    page_rows = list(rows[start : start + count])
    return {"start": start, "count": len(page_rows), "total": rows.count(), member: render(page_rows)}


def parse_bounds(arguments: Mapping[str, Any]) -> tuple[int, int]:
    """Return start and count of a page. Raises Invalid for numbers out of range."""
    start, count = _read_number(arguments, "start", 0), _read_number(arguments, "count", DEFAULT_PAGE_SIZE)
    limits = (("start", start, 2**31 - 1), ("count", count, MAX_PAGE_SIZE))
    problems = [
        Problem("range", f"/input/{name}", f"This is a whole number from 0 to {maximum}.")
        for name, value, maximum in limits
        if not 0 <= value <= maximum
    ]
    if problems:
        raise Invalid(problems)
    return start, count


def query_words(arguments: Mapping[str, Any]) -> str:
    """Return the search words of a list, '' for `*`."""
    return without_star(arguments.get("query") or "")


def without_star(text: str) -> str:
    """Return the search words of a text, '' for `*`."""
    words = text.strip()
    return "" if words == "*" else words


def _read_number(arguments: Mapping[str, Any], name: str, default: int) -> int:
    value: int | None = arguments.get(name)
    return default if value is None else value
