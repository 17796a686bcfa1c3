"""Rows of a report as the caller may view them, for pages, the API and files.

A report covers everything, whoever reads it. While VIEW_AUTHORIZATION_ENABLED is on, a row with an entity that the
caller may not view retains its numbers and people and loses all columns that could name that entity: URNs, texts and
statements. Counts always cover everything.
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
from catalog.reports.spec import ParameterType, ReportSpec
from catalog.reports.summary import Summary
from catalog.reports.tables import ColumnKind, ReportColumn, ResultTable
from policies.engine.model import Actor

_URN_PREFIX = "urn:li:"

#: Rows of a file read at once.
READ_BATCH_SIZE = 1_000

#: Kinds of columns that hold entities, and all that could name one.
_ENTITY_COLUMN_KINDS = (ColumnKind.ENTITY, ColumnKind.ENTITIES)
_NAMING_COLUMN_KINDS = frozenset({*_ENTITY_COLUMN_KINDS, ColumnKind.TEXT, ColumnKind.LINES, ColumnKind.SQL})

#: First characters that a spreadsheet reads as a formula (OWASP, CSV Injection).
_FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class VisibleRow:
    """A row: a value for each column, None where empty or where the viewer may not view it (`concealed`)."""

    key: str | None
    values: tuple[Any, ...]
    concealed: frozenset[int] = frozenset()


def redact_rows(
    *, columns: Sequence[ReportColumn], rows: Iterable[tuple[str, Sequence[Any]]], by: Actor
) -> list[VisibleRow]:
    """Return rows (key, values) without what the caller may not view; the number of queries does not depend on them."""
    padded_rows = [(key, _pad_values(values, len(columns))) for key, values in rows]
    entity_columns = [index for index, column in enumerate(columns) if column.kind in _ENTITY_COLUMN_KINDS]
    urns_by_row = [
        {urn for index in entity_columns if isinstance(values[index], str) for urn in values[index].split("\n")}
        for _, values in padded_rows
    ]
    urns = set().union(*urns_by_row)
    hidden_urns = view_permissions.find_hidden(urns=urns, by=by)
    naming_columns = frozenset(index for index, column in enumerate(columns) if column.kind in _NAMING_COLUMN_KINDS)
    if not hidden_urns:
        return [VisibleRow(key, values) for key, values in padded_rows]
    return [
        VisibleRow(
            None,
            tuple(None if index in naming_columns else value for index, value in enumerate(values)),
            naming_columns,
        )
        if urns_of_row & hidden_urns
        else VisibleRow(key, values)
        for (key, values), urns_of_row in zip(padded_rows, urns_by_row, strict=True)
    ]


def read_rows(*, table: ResultTable, rows: Iterable[ReportRow], by: Actor) -> list[VisibleRow]:
    """Return stored rows without what the caller may not view."""
    return redact_rows(columns=table.columns, rows=[(row.key, row.values) for row in rows], by=by)


def read_summary(*, run: Report, by: Actor) -> Summary:
    """Return the headline numbers and charts of a run; bars that the caller may not view retain only their value."""
    summary = Summary.parse(run.summary)
    return summary.without_urns(view_permissions.find_hidden(urns=summary.urns, by=by))


def read_parameters(*, spec: ReportSpec, run: Report, by: Actor) -> dict[str, Any]:
    """Return the parameters of a run by name, without the URNs that the caller may not view.

    JSON parameters are returned only to the user who started the run; omitted parameters have no key.
    """
    values = {item.name: run.parameters.get(item.name) for item in spec.parameters}
    document_names = {item.name for item in spec.parameters if item.input is ParameterType.JSON}
    texts = [text for value in values.values() for text in (value if isinstance(value, list) else [value])]
    urns = {text for text in texts if _is_urn(text)}
    hidden_urns = view_permissions.find_hidden(urns=urns, by=by)
    if run.requested_by != by.urn:
        values = {name: value for name, value in values.items() if name not in document_names}
    return {
        name: [item for item in value if not _is_hidden(item, hidden_urns)] if isinstance(value, list) else value
        for name, value in values.items()
        if not _is_hidden(value, hidden_urns)
    }


def iterate_file(
    ending: str, *, run: Report, table: ResultTable, rows: QuerySet[ReportRow], by: Actor
) -> Iterator[str]:
    """Yield a table as a file with the ending "csv" or "json"."""
    return as_csv(table=table, rows=rows, by=by) if ending == "csv" else as_json(run=run, table=table, rows=rows, by=by)


def as_csv(*, table: ResultTable, rows: QuerySet[ReportRow], by: Actor) -> Iterator[str]:
    """Yield a table as CSV (RFC 4180), column names first, read from the database in batches.

    A text that a spreadsheet would read as a formula is prefixed with an apostrophe.
    """
    batches = report_rows.iterate_batches(rows, size=READ_BATCH_SIZE)
    yield from write_csv(table.columns, (read_rows(table=table, rows=batch, by=by) for batch in batches))


def write_csv(columns: Sequence[ReportColumn], batches: Iterable[Iterable[VisibleRow]]) -> Iterator[str]:
    """Yield rows as CSV, as `as_csv` does."""
    writer = csv.writer(_Echo())
    yield writer.writerow([column.name for column in columns])
    for batch in batches:
        for row in batch:
            yield writer.writerow([_escape_formula(value) for value in row.values])


def as_json(*, run: Report, table: ResultTable, rows: QuerySet[ReportRow], by: Actor) -> Iterator[str]:
    """Yield a table as one JSON object, its rows as objects by column name, read in batches."""
    header = {
        "report": str(run.pk),
        "kind": run.kind,
        "table": table.name,
        "policy_version": run.policy_version,
        "as_of": run.as_of.isoformat() if run.as_of else None,
    }
    yield f'{json.dumps(header, ensure_ascii=False)[:-1]}, "rows": ['
    separator = "\n"
    for batch in report_rows.iterate_batches(rows, size=READ_BATCH_SIZE):
        for row in read_rows(table=table, rows=batch, by=by):
            yield separator + json.dumps(to_dict(table.columns, row), ensure_ascii=False)
            separator = ",\n"
    yield "\n]}\n"


def to_dict(columns: Sequence[ReportColumn], row: VisibleRow) -> dict[str, Any]:
    """Return the values of a row by column name."""
    return {column.name: value for column, value in zip(columns, row.values, strict=True)}


def _is_urn(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(_URN_PREFIX)


def _is_hidden(value: Any, hidden_urns: Collection[str]) -> bool:
    return isinstance(value, str) and value in hidden_urns


def _pad_values(values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Return one value for each column, also for a row stored when the table had fewer or more columns."""
    return (*values, *(None for _ in range(count - len(values))))[:count]


def _escape_formula(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA_PREFIXES) else value


class _Echo:
    """A file whose `write` returns the text, for `csv.writer`."""

    def write(self, text: str) -> str:
        return text
