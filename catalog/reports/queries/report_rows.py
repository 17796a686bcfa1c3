"""Runs of reports and the rows they ended with: lists, one table searched and sorted, and two runs compared."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Exists, F, Func, OuterRef, QuerySet, Subquery, TextField, Window
from django.db.models.functions import RowNumber
from django.db.models.sql.compiler import SQLCompiler

from catalog.models import Report, ReportRow
from policies.errors import NotFound
from policies.models.fields import is_storable
from policies.models.words import words

#: Large texts of a run that no list shows.
_LARGE = ("log", "summary")

#: How many different values of a column are offered to choose from.
OFFERED = 50

Difference = Literal["gained", "lost", "changed"]


class _Value(Func):
    """What stands in one column of a row: text, or a number where the column holds numbers; null sorts first."""

    def __init__(self, column: int, *, is_number: bool = False) -> None:
        super().__init__(F("values"), output_field=TextField())
        self.column = column
        self.is_number = is_number

    def as_postgresql(
        self, compiler: SQLCompiler, _connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, tuple[str | int, ...]]:
        """Return it out of the text that is parsed as JSON, compared byte by byte."""
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
        """Return it as SQLite reads JSON: numbers are numbers there."""
        (source,) = self.get_source_expressions()
        column, parameters = compiler.compile(source)
        return f"JSON_EXTRACT({column}, '$[{int(self.column)}]')", tuple(parameters)


def reports(*, kind: str = "", status: str = "") -> QuerySet[Report]:
    """Return the runs, newest first, without their logs and summaries."""
    found = Report.objects.defer(*_LARGE)
    if kind:
        found = found.filter(kind=kind)
    return found.filter(status=status) if status else found


def newest(*, is_ready: bool = False) -> dict[str, Report]:
    """Return the last run (that came through, when asked) of each kind, in one query."""
    found = reports(status=Report.Status.READY if is_ready else "").order_by()
    last = Window(RowNumber(), partition_by="kind", order_by=["-requested_at", "id"])
    return {run.kind: run for run in found.annotate(place=last).filter(place=1)}


def report(*, id: UUID) -> Report:
    """Return a run. Raises NotFound."""
    found = Report.objects.filter(pk=id).first()
    if found is None:
        raise NotFound(f"There is no report {id}.")
    return found


def comparable(*, to: Report) -> QuerySet[Report]:
    """Return the other runs of the same kind that came through, newest first."""
    return reports(kind=to.kind, status=Report.Status.READY).exclude(pk=to.pk)


def before(*, run: Report) -> Report | None:
    """Return the last run of the same kind that came through and was asked for before this one."""
    return comparable(to=run).filter(requested_at__lt=run.requested_at).first()


def history(*, kind: str, until: datetime, limit: int) -> list[Report]:
    """Return the last runs of a kind that came through, oldest first, with their summaries."""
    found = Report.objects.defer("log").filter(kind=kind, status=Report.Status.READY, requested_at__lte=until)
    return list(reversed(found[:limit]))


def rows(*, run: Report, table: str, text: str = "", equal: Mapping[int, str] | None = None) -> QuerySet[ReportRow]:
    """Return the rows of a table in their places, narrowed to those with each word of the text and these values.

    `equal` gives values by the number of their column.
    """
    found = ReportRow.objects.filter(report=run, table=table).order_by("position")
    if not is_storable(text):
        return found.none()
    for word in words(text):
        found = found.filter(text__contains=word)
    for column, value in (equal or {}).items():
        found = found.annotate(**{f"value_{column}": _Value(column)}).filter(**{f"value_{column}": value})
    return found


def sorted_by(found: QuerySet[ReportRow], *, column: int, is_number: bool, is_descending: bool) -> QuerySet[ReportRow]:
    """Return rows in the order of one of their columns; those that have nothing there are the least."""
    value = _Value(column, is_number=is_number)
    order = value.desc(nulls_last=True) if is_descending else value.asc(nulls_first=True)
    return found.order_by(order, "position")


def choices(*, run: Report, table: str, column: int) -> list[str]:
    """Return the different values of a column, the first few of them, in order."""
    value = _Value(column)
    found = ReportRow.objects.filter(report=run, table=table).order_by().annotate(value=value)
    listed = found.filter(value__isnull=False).values_list("value", flat=True).distinct().order_by("value")
    return [str(one) for one in listed[:OFFERED]]


def differences(*, older: Report, newer: Report, table: str, which: Difference) -> QuerySet[ReportRow]:
    """Return the rows that came, went, or say something else than the row of the same key did (then `was`)."""
    before, after = (ReportRow.objects.filter(report=run, table=table) for run in (older, newer))
    if which == "gained":
        return _without(after, before)
    if which == "lost":
        return _without(before, after)
    # In no order: that of positions would have every row of the table read for each one, instead of the index of keys.
    same = before.filter(key=OuterRef("key")).order_by().values("values")[:1]
    found = after.annotate(was=Subquery(same)).filter(was__isnull=False).exclude(values=F("was"))
    return found.order_by("position")


def _without(found: QuerySet[ReportRow], others: QuerySet[ReportRow]) -> QuerySet[ReportRow]:
    return found.filter(~Exists(others.filter(key=OuterRef("key")))).order_by("position")


def steps(found: QuerySet[ReportRow], *, size: int) -> Iterator[list[ReportRow]]:
    """Yield the rows in their places, so many at a time: each step is a range of an index, however long the table."""
    place = -1
    while step := list(found.filter(position__gt=place).order_by("position")[:size]):
        yield step
        place = step[-1].position
