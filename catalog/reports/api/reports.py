"""Reports over the API: kinds, runs, tables as pages and files, differences between two runs (docs/reports.md)."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponseBase, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from catalog.models import Report, ReportRow
from catalog.reports import registry
from catalog.reports.api import serializers as shapes
from catalog.reports.queries import report_rows
from catalog.reports.queries.report_rows import DifferenceKind
from catalog.reports.registry import KINDS
from catalog.reports.run import repair_scripts, result_reader
from catalog.reports.services import reports as service
from catalog.reports.spec import ReportSpec
from catalog.reports.tables import ResultTable
from policies.errors import Conflict, Invalid
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.operations import api_operation, list_operation
from policies.http.api.views import ApiView
from policies.http.guard import needs

TAG = "reports"
VIEW_GUARD = needs(service.REQUIRED_PRIVILEGE)


class _FixedContentNegotiation(BaseContentNegotiation):
    """Content negotiation that ignores the Accept header: a file has the type that its view sends."""

    def select_parser(self, request: Request, parsers: Any) -> Any:  # noqa: ARG002 - the framework's
        return parsers[0]

    def select_renderer(
        self,
        request: Request,  # noqa: ARG002 - the framework's
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002 - the framework's
    ) -> Any:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class _ReportView(ApiView):
    def send_run(self, run: Report, *, status: int = 200) -> Response:
        """Return a run as `RunDetailOut`: with parameters, log and summary as the caller may view them."""
        spec = registry.get_spec(run)
        data = {
            **shapes.RunOut(run).data,
            "parameters": result_reader.read_parameters(spec=spec, run=run, by=self.actor),
            "summary": shapes.SummaryOut(result_reader.read_summary(run=run, by=self.actor)).data,
            "log": run.log,
        }
        return Response(data, status=status)

    def get_ready_table(self, id: str, name: str) -> tuple[Report, ResultTable]:
        """Return a READY run and one of its tables. Raises NotFound, and Conflict while the run has no results."""
        run = report_rows.get_report(id=UUID(id))
        table = registry.get_table(run, name)
        if run.status != Report.Status.READY:
            raise Conflict(f"This report is {Report.Status(run.status).label.lower()}; it has no results.")
        return run, table

    def list_rows(
        self, run: Report, table: ResultTable, *, q: str = "", column: str | None = None, value: str | None = None
    ) -> QuerySet[ReportRow]:
        """Return the rows of a table that match the query. Raises Invalid."""
        if (column is None) != (value is None):
            raise Invalid.from_problem(
                code="parameter.half", pointer="/column", detail="Give a column and its value together."
            )
        values_by_column = {} if column is None else {_column_index(table, column, "/column"): value or ""}
        return report_rows.list_rows(run=run, table=table.name, text=q, values_by_column=values_by_column)


@VIEW_GUARD
class ReportKindListView(_ReportView):
    """The kinds of reports."""

    @list_operation("reports_kinds", "List the kinds of reports", shapes.KindOut, "ReportKind", tag=TAG)
    def get(self) -> list[ReportSpec]:
        """Return a page of kinds, each with its parameters and tables."""
        return list(KINDS.values())


@VIEW_GUARD
class ReportListView(_ReportView):
    """The runs of reports."""

    @list_operation("reports_list", "List reports", shapes.RunOut, "Report", query=shapes.RunListFilters, tag=TAG)
    def get(self, **filters: str) -> QuerySet[Report]:
        """Return a page of runs, newest first."""
        return report_rows.list_reports(**filters)

    @api_operation(
        "reports_create",
        "Start a report",
        body=shapes.RunIn,
        answer=shapes.RunDetailOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, payload: dict[str, Any]) -> Response:
        """Start a report. Raises Conflict while a run of the same kind is queued or running."""
        parameters = payload.get("parameters", {})
        if not isinstance(parameters, dict):
            raise Invalid.from_problem(code="invalid", pointer="/parameters", detail="This must be an object.")
        report = service.request_report(kind=payload["kind"], parameters=parameters, by=self.actor)
        return self.send_run(report, status=201)


@VIEW_GUARD
class ReportDetailView(_ReportView):
    """One run."""

    @api_operation("reports_get", "Get a report", answer=shapes.RunDetailOut, tag=TAG)
    def get(self, id: str) -> Response:
        """Return the run with its progress, or with its results."""
        return self.send_run(report_rows.get_report(id=UUID(id)))


@VIEW_GUARD
class ReportCancelView(_ReportView):
    """The cancellation of a run."""

    @api_operation("reports_cancel", "Cancel a report", answer=shapes.RunDetailOut, statuses=(409,), tag=TAG)
    def post(self, id: str) -> Response:
        """Cancel a run that is queued or running; its worker notices within seconds."""
        service.cancel(report_id=UUID(id), by=self.actor)
        return self.send_run(report_rows.get_report(id=UUID(id)))


@VIEW_GUARD
class ReportTableView(_ReportView):
    """One table of a run."""

    @list_operation(
        "reports_table",
        "List the rows of a table of a report",
        shapes.RowOut,
        "ReportRow",
        query=shapes.RowListFilters,
        statuses=(409,),
        tag=TAG,
    )
    def get(self, id: str, table: str, sort: str = "", **search: str) -> QuerySet[ReportRow]:
        """Return a page of rows, in the order of the report unless `sort` is set."""
        run, self.table = self.get_ready_table(id, table)
        rows = self.list_rows(run, self.table, **search)
        if not sort:
            return rows
        index = _column_index(self.table, sort.removeprefix("-"), "/sort")
        is_number = self.table.columns[index].is_number
        return report_rows.sort_rows(rows, column=index, is_number=is_number, is_descending=sort.startswith("-"))

    def prepare_rows(self, rows: Sequence[ReportRow]) -> list[dict[str, Any]]:
        """Return the rows as the caller may view them."""
        visible_rows = result_reader.read_rows(table=self.table, rows=rows, by=self.actor)
        return [_row_fields(self.table, row) for row in visible_rows]


class _TableFileView(_ReportView):
    content_negotiation_class = _FixedContentNegotiation

    def send_file(self, id: str, name: str, ending: str, media_type: str) -> HttpResponseBase:
        """Return the rows that match the query as a streamed file."""
        query = self.parse_query(shapes.RowSearchFilters)
        run, table = self.get_ready_table(id, name)
        rows = self.list_rows(run, table, **query)
        chunks = result_reader.iterate_file(ending, run=run, table=table, rows=rows, by=self.actor)
        return StreamingHttpResponse(chunks, content_type=f"{media_type}; charset=utf-8")


@VIEW_GUARD
class ReportCsvView(_TableFileView):
    """A table as CSV."""

    @openapi_operation(
        "reports_csv",
        "Get a table of a report as CSV",
        query=shapes.RowSearchFilters,
        answer=OpenApiTypes.STR,
        media_type="text/csv",
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str, table: str) -> HttpResponseBase:
        """Return every row, column names first; a text that a spreadsheet reads as a formula gets an apostrophe."""
        return self.send_file(id, table, "csv", "text/csv")


@VIEW_GUARD
class ReportJsonView(_TableFileView):
    """A table as one JSON object."""

    @openapi_operation(
        "reports_json",
        "Get a table of a report as one JSON object",
        query=shapes.RowSearchFilters,
        answer=shapes.TableFileOut,
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str, table: str) -> HttpResponseBase:
        """Return every row, as an object by column name."""
        return self.send_file(id, table, "json", "application/json")


@VIEW_GUARD
class ReportScriptView(_ReportView):
    """The repairs of a run for one export, as a script."""

    content_negotiation_class = _FixedContentNegotiation

    @openapi_operation(
        "reports_script",
        "Get the repairs of an export as one script",
        query=shapes.ScriptQuery,
        answer=OpenApiTypes.STR,
        media_type="application/sql",
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str) -> HttpResponseBase:
        """Return the statements in an order that works, with a check at the end."""
        query = self.parse_query(shapes.ScriptQuery)
        run = report_rows.get_report(id=UUID(id))
        lines = repair_scripts.render(
            run=run, export=query["export"], is_inverse=query["which"] == "inverse", by=self.actor
        )
        return StreamingHttpResponse((f"{line}\n" for line in lines), content_type="application/sql; charset=utf-8")


@VIEW_GUARD
class ReportDifferenceListView(_ReportView):
    """The differences between two runs of a kind."""

    @list_operation(
        "reports_differences",
        "Compare a table of two reports",
        shapes.DifferenceOut,
        "ReportDifference",
        query=shapes.DifferenceListFilters,
        statuses=(409,),
        tag=TAG,
    )
    def get(self, id: str, table: str, other: UUID, which: DifferenceKind) -> QuerySet[ReportRow]:
        """Return a page of rows added, removed or changed from the older run to the newer one, matched by key."""
        run, self.table = self.get_ready_table(id, table)
        other_run, _ = self.get_ready_table(str(other), table)
        if other_run.kind != run.kind:
            raise Invalid.from_problem(code="kind.other", pointer="/other", detail="That is a report of another kind.")
        older, newer = sorted((run, other_run), key=lambda candidate: candidate.requested_at)
        return report_rows.list_differences(older=older, newer=newer, table=table, difference_kind=which)

    def prepare_rows(self, rows: Sequence[ReportRow]) -> list[dict[str, Any]]:
        """Return the rows as the caller may view them, with their earlier values where these changed."""
        columns = self.table.columns
        current_rows = result_reader.read_rows(table=self.table, rows=rows, by=self.actor)
        earlier_values = [(row.key, getattr(row, "was", None) or ()) for row in rows]
        earlier_rows = result_reader.redact_rows(columns=columns, rows=earlier_values, by=self.actor)
        return [
            _row_fields(self.table, current_row)
            | {"was": result_reader.to_dict(columns, earlier_row) if hasattr(row, "was") else None}
            for row, current_row, earlier_row in zip(rows, current_rows, earlier_rows, strict=True)
        ]


def _column_index(table: ResultTable, name: str, pointer: str) -> int:
    for index, column in enumerate(table.columns):
        if column.name == name:
            return index
    raise Invalid.from_problem(code="column.unknown", pointer=pointer, detail=f"{table.name} has no column {name}.")


def _row_fields(table: ResultTable, row: result_reader.VisibleRow) -> dict[str, Any]:
    return {"key": row.key, "values": result_reader.to_dict(table.columns, row), "is_concealed": bool(row.concealed)}
