"""The rows of a report as their reader may see them, on pages, over the API and in files alike.

A report is made of everything, whoever reads it. While VIEW_AUTHORIZATION_ENABLED is on, a row that names an entity its
reader may not view keeps its numbers and its people and loses what could name that entity: its URN, texts and
statements. Counts stay those of everything.
"""

import csv
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from catalog.access import view_permissions
from catalog.models import Report, ReportRow
from catalog.reports.queries import report_rows
from catalog.reports.run.summary import Summary
from catalog.reports.spec import Column, ColumnKind, Input, Kind, ResultTable
from policies.engine.model import Actor

_URN = "urn:li:"

#: How many rows of a file are read at once.
STEP = 1_000

#: The columns that could name an entity.
_NAMING = frozenset({ColumnKind.ENTITY, ColumnKind.TEXT, ColumnKind.SQL})

#: What a spreadsheet takes for the beginning of a formula (OWASP, CSV Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class Shown:
    """A row: a value for each column, None where there is nothing or where (`concealed`) it may not be viewed."""

    key: str | None
    values: tuple[Any, ...]
    concealed: frozenset[int] = frozenset()


def shown(*, columns: Sequence[Column], rows: Iterable[tuple[str, Sequence[Any]]], by: Actor) -> list[Shown]:
    """Return rows, each a key and its values, without what their reader may not view; queries do not grow with them."""
    found = [(key, _filled(values, len(columns))) for key, values in rows]
    entities = [place for place, column in enumerate(columns) if column.kind is ColumnKind.ENTITY]
    named = {values[place] for _, values in found for place in entities if isinstance(values[place], str)}
    hidden = view_permissions.hidden(urns=named, by=by)
    naming = frozenset(place for place, column in enumerate(columns) if column.kind in _NAMING)
    if not hidden:
        return [Shown(key, values) for key, values in found]
    return [
        Shown(None, tuple(None if place in naming else value for place, value in enumerate(values)), naming)
        if any(values[place] in hidden for place in entities)
        else Shown(key, values)
        for key, values in found
    ]


def of_rows(*, table: ResultTable, rows: Iterable[ReportRow], by: Actor) -> list[Shown]:
    """Return stored rows without what their reader may not view."""
    return shown(columns=table.columns, rows=[(row.key, row.values) for row in rows], by=by)


def summary(*, run: Report, by: Actor) -> Summary:
    """Return the headline numbers and charts of a run; of what the reader may not view only how much there is."""
    found = Summary.read(run.summary)
    return found.without(view_permissions.hidden(urns=found.urns, by=by))


def parameters(*, kind: Kind, run: Report, by: Actor) -> dict[str, Any]:
    """Return what a run was asked, by name, without the URNs that the reader may not view.

    Documents are told to who sent them alone, since they may name anything; what is left out is not among the names.
    """
    said = {one.name: run.parameters.get(one.name) for one in kind.parameters}
    documents = {one.name for one in kind.parameters if one.input is Input.JSON}
    texts = [text for value in said.values() for text in (value if isinstance(value, list) else [value])]
    named = {text for text in texts if _is_urn(text)}
    hidden = view_permissions.hidden(urns=named, by=by)
    if run.requested_by != by.urn:
        said = {name: value for name, value in said.items() if name not in documents}
    return {
        name: [one for one in value if not _is_among(one, hidden)] if isinstance(value, list) else value
        for name, value in said.items()
        if not _is_among(value, hidden)
    }


def as_csv(*, table: ResultTable, found: QuerySet[ReportRow], by: Actor) -> Iterator[str]:
    """Yield a table as CSV (RFC 4180) with the names of the columns first, read from the database in steps.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    lines = csv.writer(_Echo())
    yield lines.writerow([column.name for column in table.columns])
    for step in report_rows.steps(found, size=STEP):
        for row in of_rows(table=table, rows=step, by=by):
            yield lines.writerow([_harmless(value) for value in row.values])


def as_json(*, run: Report, table: ResultTable, found: QuerySet[ReportRow], by: Actor) -> Iterator[str]:
    """Yield a table as one JSON object, its rows as objects by the names of the columns, read in steps."""
    about = {
        "report": str(run.pk),
        "kind": run.kind,
        "table": table.name,
        "policy_version": run.policy_version,
        "as_of": run.as_of.isoformat() if run.as_of else None,
    }
    yield f'{json.dumps(about, ensure_ascii=False)[:-1]}, "rows": ['
    mark = "\n"
    for step in report_rows.steps(found, size=STEP):
        for row in of_rows(table=table, rows=step, by=by):
            yield mark + json.dumps(by_name(table.columns, row), ensure_ascii=False)
            mark = ",\n"
    yield "\n]}\n"


def by_name(columns: Sequence[Column], row: Shown) -> dict[str, Any]:
    """Return the values of a row by the names of their columns."""
    return {column.name: value for column, value in zip(columns, row.values, strict=True)}


def _is_urn(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_URN)


def _is_among(value: Any, hidden: Collection[str]) -> bool:
    return isinstance(value, str) and value in hidden


def _filled(values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Return one value for each column, also of a row that was stored when the table had fewer columns or more."""
    return (*values, *(None for _ in range(count - len(values))))[:count]


def _harmless(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text
