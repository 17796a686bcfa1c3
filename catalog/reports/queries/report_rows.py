"""Runs of reports and their rows: lists, one table searched and sorted, and differences of two runs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Count, Exists, F, Func, OuterRef, Q, QuerySet, Subquery, TextField, Window
from django.db.models.functions import RowNumber
from django.db.models.sql.compiler import SQLCompiler

from catalog.models import Report, ReportRow
from policies.errors import NotFound
from policies.models.fields import is_storable
from policies.models.words import split_words

#: Large columns of a run that lists do not load.
_LARGE_COLUMNS = ("log", "summary")

#: Distinct values of a column that are offered as choices at most.
MAX_CHOICES = 50

DifferenceKind = Literal["gained", "lost", "changed"]


class _ColumnValue(Func):
    """The value of one column of a row: text, or a number for columns of numbers; null sorts first."""

    def __init__(self, column: int, *, is_number: bool = False) -> None:
        super().__init__(F("values"), output_field=TextField())
        self.column = column
        self.is_number = is_number

    def as_postgresql(
        self, compiler: SQLCompiler, _connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Return SQL that extracts the value from the JSON text; texts compare byte by byte."""
        (source,) = self.get_source_expressions()
        column, parameters = compiler.compile(source)
        kind = "::numeric" if self.is_number else ' COLLATE "C"'
        return f"(({column})::json ->> {int(self.column)}){kind}", tuple(parameters)

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002 - Django passes it
        **_: Any,
    ) -> tuple[str, tuple[str | int, ...]]:
        """Return SQL with JSON_EXTRACT, which returns numbers as numbers."""
        (source,) = self.get_source_expressions()
        column, parameters = compiler.compile(source)
        return f"JSON_EXTRACT({column}, '$[{int(self.column)}]')", tuple(parameters)


def list_reports(*, kind: str = "", status: str = "") -> QuerySet[Report]:
    """Return the runs, newest first, without their logs and summaries."""
    reports = Report.objects.defer(*_LARGE_COLUMNS)
    if kind:
        reports = reports.filter(kind=kind)
    return reports.filter(status=status) if status else reports


def find_newest_by_kind(*, is_ready: bool = False) -> dict[str, Report]:
    """Return the last run of each kind, or with `is_ready` the last READY one, as kind -> run (one query)."""
    reports = list_reports(status=Report.Status.READY if is_ready else "").order_by()
    row_number = Window(RowNumber(), partition_by="kind", order_by=["-requested_at", "id"])
    return {run.kind: run for run in reports.annotate(place=row_number).filter(place=1)}


def get_report(*, id: UUID) -> Report:
    """Return a run. Raises NotFound."""
    report = Report.objects.filter(pk=id).first()
    if report is None:
        raise NotFound(f"There is no report {id}.")
    return report


def list_comparable(*, run: Report) -> QuerySet[Report]:
    """Return the other READY runs of the same kind, newest first, as many as are kept."""
    return list_reports(kind=run.kind, status=Report.Status.READY).exclude(pk=run.pk)[: settings.REPORTS_KEPT]


def list_earlier(*, run: Report) -> QuerySet[Report]:
    """Return the READY runs of the same kind that were requested before this one, as `list_comparable` does."""
    reports = list_reports(kind=run.kind, status=Report.Status.READY)
    return reports.filter(requested_at__lt=run.requested_at)[: settings.REPORTS_KEPT]


def has_row_at(*, run: Report, table: str, position: int) -> bool:
    """Whether a table of a run has so many rows."""
    return ReportRow.objects.filter(report=run, table=table, position=position).exists()


def list_history(*, kind: str, until: datetime, limit: int) -> list[Report]:
    """Return the last READY runs of a kind, oldest first, with their summaries."""
    reports = Report.objects.defer("log").filter(kind=kind, status=Report.Status.READY, requested_at__lte=until)
    return list(reversed(reports[:limit]))


def list_rows(
    *, run: Report, table: str, text: str = "", values_by_column: Mapping[int, str] | None = None
) -> QuerySet[ReportRow]:
    """Return the rows of a table by position that have each word of the text and these values.

    `values_by_column` maps the number of a column to its value.
    """
    rows = ReportRow.objects.filter(report=run, table=table).order_by("position")
    if not is_storable(text):
        return rows.none()
    for word in split_words(text):
        rows = rows.filter(text__contains=word)
    for column, value in (values_by_column or {}).items():
        rows = rows.annotate(**{f"value_{column}": _ColumnValue(column)}).filter(**{f"value_{column}": value})
    return rows


def select_values(rows: QuerySet[ReportRow], *, column: int, values: Collection[str]) -> QuerySet[ReportRow]:
    """Return the rows with one of these values in a column."""
    return rows.annotate(**{f"value_{column}": _ColumnValue(column)}).filter(**{f"value_{column}__in": list(values)})


def select_line(rows: QuerySet[ReportRow], *, column: int, line: str) -> QuerySet[ReportRow]:
    """Return the rows with a line in a column of several."""
    name = f"value_{column}"
    is_there = (
        Q(**{name: line})
        | Q(**{f"{name}__startswith": f"{line}\n"})
        | Q(**{f"{name}__endswith": f"\n{line}"})
        | Q(**{f"{name}__contains": f"\n{line}\n"})
    )
    return rows.annotate(**{name: _ColumnValue(column)}).filter(is_there)


def count_values(rows: QuerySet[ReportRow], *, columns: Sequence[int]) -> dict[tuple[str, ...], int]:
    """Return the number of rows with each of the values of columns."""
    names = [f"value_{column}" for column in columns]
    valued = rows.order_by().annotate(**{name: _ColumnValue(int(name.removeprefix("value_"))) for name in names})
    return {tuple(row[:-1]): row[-1] for row in valued.values_list(*names).annotate(count=Count("pk"))}


def sort_rows(rows: QuerySet[ReportRow], *, column: int, is_number: bool, is_descending: bool) -> QuerySet[ReportRow]:
    """Return rows ordered by one of their columns; null is the least value."""
    value = _ColumnValue(column, is_number=is_number)
    order = value.desc(nulls_last=True) if is_descending else value.asc(nulls_first=True)
    return rows.order_by(order, "position")


def list_choices(*, run: Report, table: str, column: int) -> list[str]:
    """Return the distinct values of a column, sorted, MAX_CHOICES at most."""
    column_value = _ColumnValue(column)
    rows = ReportRow.objects.filter(report=run, table=table).order_by().annotate(value=column_value)
    values = rows.filter(value__isnull=False).values_list("value", flat=True).distinct().order_by("value")
    return [str(value) for value in values[:MAX_CHOICES]]


def list_differences(
    *, older: Report, newer: Report, table: str, difference_kind: DifferenceKind
) -> QuerySet[ReportRow]:
    """Return the rows that were added, removed, or changed under the same key (with the earlier values as `was`)."""
    older_rows, newer_rows = (ReportRow.objects.filter(report=run, table=table) for run in (older, newer))
    if difference_kind == "gained":
        return _exclude_common_keys(newer_rows, older_rows)
    if difference_kind == "lost":
        return _exclude_common_keys(older_rows, newer_rows)
    # Unordered: ordering by position would scan the whole table for each row, instead of using the index of keys.
    older_values = older_rows.filter(key=OuterRef("key")).order_by().values("values")[:1]
    rows = newer_rows.annotate(was=Subquery(older_values)).filter(was__isnull=False).exclude(values=F("was"))
    return rows.order_by("position")


def _exclude_common_keys(rows: QuerySet[ReportRow], other_rows: QuerySet[ReportRow]) -> QuerySet[ReportRow]:
    return rows.filter(~Exists(other_rows.filter(key=OuterRef("key")))).order_by("position")


def iterate_batches(rows: QuerySet[ReportRow], *, size: int) -> Iterator[list[ReportRow]]:
    """Yield the rows by position in batches of `size`: each batch is an index range, however long the table."""
    last_position = -1
    while batch := list(rows.filter(position__gt=last_position).order_by("position")[:size]):
        yield batch
        last_position = batch[-1].position
