"""Pages of lists: start, count and total."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from catalog.protocols.datahub_graphql import nodes
from catalog.protocols.datahub_graphql.context import Info
from policies.engine.errors import Problem
from policies.errors import Invalid

DEFAULT_PAGE_SIZE = 20
MAX_PAGE_SIZE = 10_000

ModelT = TypeVar("ModelT", bound=Model)


def load_page(
    rows: QuerySet[ModelT],
    arguments: Mapping[str, Any],
    member: str,
    render: Callable[[list[ModelT]], Any],
    *,
    default_count: int = DEFAULT_PAGE_SIZE,
) -> dict[str, Any]:
    """Return the page for `start` and `count` with its total, and its rows through `render` under `member`.

    Two queries, and those of prefetched relations. Raises Invalid for numbers out of range.
    """
    start, count = parse_bounds(arguments, default_count=default_count)
    page_rows = list(rows[start : start + count])
    return {"start": start, "count": len(page_rows), "total": rows.count(), member: render(page_rows)}


def load_nodes_page(rows: QuerySet[Any], arguments: Mapping[str, Any], member: str, info: Info) -> dict[str, Any]:
    """Return the page of `load_page` with the rows as nodes."""
    return load_page(rows, arguments, member, lambda page_rows: nodes.build_many([row.urn for row in page_rows], info))


def parse_bounds(arguments: Mapping[str, Any], *, default_count: int = DEFAULT_PAGE_SIZE) -> tuple[int, int]:
    """Return start and count of a page. Raises Invalid for numbers out of range."""
    start, count = arguments.get("start"), arguments.get("count")
    start, count = 0 if start is None else start, default_count if count is None else count
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
