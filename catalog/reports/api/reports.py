"""Reports over the API: kinds, runs, their tables as pages and files, what differs between two (docs/reports.md)."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.models import Report, ReportRow
from catalog.reports.api import serializers as shapes
from catalog.reports.queries import report_rows
from catalog.reports.registry import KINDS
from catalog.reports.run import result_reader
from catalog.reports.services import reports as service
from catalog.reports.spec import ColumnKind, Kind, ResultTable
from policies.errors import Conflict, Invalid, NotFound
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import Door, Paged, page_of
from policies.http.guard import needs

TAG = "reports"
SEES = needs(service.NEEDED)

_FILES = {"csv": "text/csv", "json": "application/json"}


class _Anything(BaseContentNegotiation):
    """Files are sent as what they are, whatever the caller says to accept."""

    def select_parser(self, request: Request, parsers: Any) -> Any:  # noqa: ARG002 - the framework's
        return parsers[0]

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002 - the framework's
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002 - the framework's
    ) -> Any:
        first = next(iter(renderers))
        return first, first.media_type


class _Reports(Door):
    def shown(self, runs: Sequence[Report]) -> list[Any]:
        """Return runs as lists show them."""
        return [shapes.RunOut(_run(one)).data for one in runs]

    def one(self, run: Report) -> Any:
        """Return a run with everything."""
        kind = KINDS.get(run.kind)
        summary = result_reader.summary(run=run, by=self.actor)
        return shapes.OneRunOut(
            _run(run)
            | {
                "parameters": result_reader.parameters(kind=kind, run=run, by=self.actor) if kind else {},
                "log": run.log,
                "summary": {
                    "numbers": summary.numbers,
                    "charts": [
                        {
                            "name": chart.name,
                            "title": chart.title,
                            "bars": [
                                {"label": bar.label or None, "urn": bar.urn or None, "value": bar.value}
                                for bar in chart.bars
                            ],
                        }
                        for chart in summary.charts
                    ],
                },
            }
        ).data

    def table(self, id: str, name: str) -> tuple[Report, ResultTable]:
        """Return a run that came through and one of its tables. Raises NotFound, and Conflict before it is ready."""
        run = report_rows.report(id=UUID(id))
        kind = KINDS.get(run.kind)
        found = next((one for one in kind.tables if one.name == name), None) if kind else None
        if found is None:
            raise NotFound(f"Reports of this kind have no table {name}.")
        if run.status != Report.Status.READY:
            raise Conflict(f"This report is {Report.Status(run.status).label.lower()}; it has no results.")
        return run, found

    def rows(self, run: Report, table: ResultTable, asked: dict[str, Any]) -> Any:
        """Return the rows that are asked for. Raises Invalid."""
        equal = {}
        if ("column" in asked) != ("value" in asked):
            raise Invalid.one(code="parameter.half", pointer="/column", detail="Give a column and its value together.")
        if "column" in asked:
            equal = {_place(table, asked["column"], "/column"): asked["value"]}
        return report_rows.rows(run=run, table=table.name, text=asked.get("q", ""), equal=equal)


@SEES
class ReportKinds(_Reports):
    """The kinds of reports."""

    @described(
        "reports_kinds", "List the kinds of reports", query=Paged, answer=page_of(shapes.KindOut, "ReportKind"), tag=TAG
    )
    def get(self, _request: Request) -> Response:
        """Return a page of kinds, each with its parameters and tables."""
        return self.page(list(KINDS.values()), lambda kinds: [_kind(one) for one in kinds], self.asked())


@SEES
class Reports(_Reports):
    """The runs of reports."""

    @described(
        "reports_list", "List reports", query=shapes.RunFilters, answer=page_of(shapes.RunOut, "Report"), tag=TAG
    )
    def get(self, _request: Request) -> Response:
        """Return a page of runs, newest first."""
        asked = self.asked(shapes.RunFilters)
        wanted = {name: asked[name] for name in ("kind", "status") if name in asked}
        return self.page(report_rows.reports(**wanted), self.shown, asked)

    @described(
        "reports_create",
        "Start a report",
        body=shapes.RunIn,
        answer=shapes.OneRunOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Start a report; one of a kind is under way at a time."""
        sent = strict_fields.checked(shapes.RunIn, request.data)
        given = sent.get("parameters", {})
        if not isinstance(given, dict):
            raise Invalid.one(code="invalid", pointer="/parameters", detail="This must be an object.")
        made = service.request(kind=sent["kind"], parameters=given, by=self.actor)
        return Response(self.one(made), status=201)


@SEES
class OneReport(_Reports):
    """One run."""

    @described("reports_get", "Get a report", answer=shapes.OneRunOut, tag=TAG)
    def get(self, _request: Request, id: str) -> Response:
        """Return the run: how far it is, or what came of it."""
        return Response(self.one(report_rows.report(id=UUID(id))))


@SEES
class CancelReport(_Reports):
    """The end of a run."""

    @described("reports_cancel", "Cancel a report", answer=shapes.OneRunOut, statuses=(409,), tag=TAG)
    def post(self, _request: Request, id: str) -> Response:
        """End a run that is queued or running; its worker notices within seconds."""
        service.cancel(report_id=UUID(id), by=self.actor)
        return Response(self.one(report_rows.report(id=UUID(id))))


@SEES
class ReportTable(_Reports):
    """One table of a run."""

    @described(
        "reports_table",
        "List the rows of a table of a report",
        query=shapes.RowFilters,
        answer=page_of(shapes.RowOut, "ReportRow"),
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str, table: str) -> Response:
        """Return a page of rows, in the order of the report unless another one is asked for."""
        asked = self.asked(shapes.RowFilters)
        run, found = self.table(id, table)
        rows = self.rows(run, found, asked)
        if sort := asked.get("sort", ""):
            place = _place(found, sort.removeprefix("-"), "/sort")
            is_number = found.columns[place].kind is ColumnKind.NUMBER
            rows = report_rows.sorted_by(rows, column=place, is_number=is_number, is_descending=sort.startswith("-"))

        def show(page: Sequence[ReportRow]) -> list[Any]:
            return [_row(found, one) for one in result_reader.of_rows(table=found, rows=page, by=self.actor)]

        return self.page(rows, show, asked)


class _File(_Reports):
    content_negotiation_class = _Anything
    ending = ""

    def sent(self, id: str, name: str) -> HttpResponseBase:
        """Return a table as a file, written while it is read."""
        asked = self.asked(shapes.Searched)
        run, table = self.table(id, name)
        rows = self.rows(run, table, asked)
        by = self.actor
        if self.ending == "csv":
            written = result_reader.as_csv(table=table, found=rows, by=by)
        else:
            written = result_reader.as_json(run=run, table=table, found=rows, by=by)
        return StreamingHttpResponse(written, content_type=f"{_FILES[self.ending]}; charset=utf-8")


@SEES
class ReportCsv(_File):
    """A table as CSV."""

    ending = "csv"

    @described(
        "reports_csv",
        "Get a table of a report as CSV",
        query=shapes.Searched,
        answer=OpenApiTypes.STR,
        media_type="text/csv",
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str, table: str) -> HttpResponseBase:
        """Return every row, the names of the columns first; a text that begins like a formula gets an apostrophe."""
        return self.sent(id, table)


@SEES
class ReportJson(_File):
    """A table as one JSON object."""

    ending = "json"

    @described(
        "reports_json",
        "Get a table of a report as one JSON object",
        query=shapes.Searched,
        answer=shapes.TableFileOut,
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str, table: str) -> HttpResponseBase:
        """Return every row, as objects by the names of the columns."""
        return self.sent(id, table)


@SEES
class ReportDifferences(_Reports):
    """What differs between two runs."""

    @described(
        "reports_differences",
        "Compare a table of two reports",
        query=shapes.DifferenceFilters,
        answer=page_of(shapes.DifferenceOut, "ReportDifference"),
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str, table: str) -> Response:
        """Return a page of rows that came, went or changed from the older run to the newer one, by their keys."""
        asked = self.asked(shapes.DifferenceFilters)
        run, found = self.table(id, table)
        other, _ = self.table(str(asked["other"]), table)
        if other.kind != run.kind:
            raise Invalid.one(code="kind.other", pointer="/other", detail="That is a report of another kind.")
        older, newer = sorted((run, other), key=lambda one: one.requested_at)
        rows = report_rows.differences(older=older, newer=newer, table=found.name, which=asked["which"])

        def show(page: Sequence[Any]) -> list[Any]:
            now = result_reader.of_rows(table=found, rows=page, by=self.actor)
            earlier = [(row.key, getattr(row, "was", None) or ()) for row in page]
            was = result_reader.shown(columns=found.columns, rows=earlier, by=self.actor)
            is_changed = asked["which"] == "changed"
            return [
                _row(found, one) | {"was": result_reader.by_name(found.columns, before) if is_changed else None}
                for one, before in zip(now, was, strict=True)
            ]

        return self.page(rows, show, asked)


def _place(table: ResultTable, name: str, pointer: str) -> int:
    for place, column in enumerate(table.columns):
        if column.name == name:
            return place
    raise Invalid.one(code="column.unknown", pointer=pointer, detail=f"{table.name} has no column {name}.")


def _row(table: ResultTable, row: result_reader.Shown) -> dict[str, Any]:
    return {"key": row.key, "values": result_reader.by_name(table.columns, row), "is_concealed": bool(row.concealed)}


def _run(run: Report) -> dict[str, Any]:
    columns = ("id", "kind", "status", "problem", "requested_by", "requested_at", "started_at", "finished_at")
    return {
        **{column: getattr(run, column) for column in (*columns, "policy_version", "as_of")},
        "progress": {"stage": run.stage, "done": run.done, "total": run.total},
    }


def _kind(kind: Kind) -> Any:
    parameters = [
        {
            **{name: getattr(one, name) for name in ("name", "title", "help", "default", "is_required")},
            "input": one.input.value,
            "choices": dict(one.choices()),
        }
        for one in kind.parameters
    ]
    tables = [
        {
            "name": one.name,
            "title": one.title,
            "columns": [{"name": it.name, "title": it.title, "kind": it.kind.value} for it in one.columns],
            "key": list(one.keys),
            "limit": one.limit,
        }
        for one in kind.tables
    ]
    about = {name: getattr(kind, name) for name in ("name", "title", "description", "is_nightly")}
    return shapes.KindOut({**about, "parameters": parameters, "tables": tables}).data
