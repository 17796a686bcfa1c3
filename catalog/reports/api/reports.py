"""Reports over the API: kinds, runs, tables as pages and files, differences between two runs (docs/reports.md)."""

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
from catalog.reports import registry
from catalog.reports.api import serializers as shapes
from catalog.reports.queries import report_rows
from catalog.reports.registry import KINDS
from catalog.reports.run import result_reader
from catalog.reports.services import reports as service
from catalog.reports.tables import ResultTable
from policies.errors import Conflict, Invalid
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import ApiView, PageParameters, build_page_serializer
from policies.http.guard import needs

TAG = "reports"
VIEW_GUARD = needs(service.REQUIRED_PRIVILEGE)

_CONTENT_TYPES = {"csv": "text/csv", "json": "application/json"}


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
    def serialize_run(self, run: Report) -> dict[str, Any]:
        """Return a run as `RunDetailOut`: with parameters, log and summary as the caller may view them."""
        spec = KINDS.get(run.kind)
        return {
            **shapes.RunOut(run).data,
            "parameters": result_reader.read_parameters(spec=spec, run=run, by=self.actor) if spec else {},
            "summary": shapes.SummaryOut(result_reader.read_summary(run=run, by=self.actor)).data,
            "log": run.log,
        }

    def get_ready_table(self, id: str, name: str) -> tuple[Report, ResultTable]:
        """Return a READY run and one of its tables. Raises NotFound, and Conflict while the run has no results."""
        run = report_rows.get_report(id=UUID(id))
        table = registry.get_table(run, name)
        if run.status != Report.Status.READY:
            raise Conflict(f"This report is {Report.Status(run.status).label.lower()}; it has no results.")
        return run, table

    def list_rows(self, run: Report, table: ResultTable, query: dict[str, Any]) -> Any:
        """Return the rows of a table that match the query. Raises Invalid."""
        values_by_column = {}
        if ("column" in query) != ("value" in query):
            raise Invalid.from_problem(
                code="parameter.half", pointer="/column", detail="Give a column and its value together."
            )
        if "column" in query:
            values_by_column = {_column_index(table, query["column"], "/column"): query["value"]}
        return report_rows.list_rows(
            run=run, table=table.name, text=query.get("q", ""), values_by_column=values_by_column
        )


@VIEW_GUARD
class ReportKindListView(_ReportView):
    """The kinds of reports."""

    @openapi_operation(
        "reports_kinds",
        "List the kinds of reports",
        query=PageParameters,
        answer=build_page_serializer(shapes.KindOut, "ReportKind"),
        tag=TAG,
    )
    def get(self, _request: Request) -> Response:
        """Return a page of kinds, each with its parameters and tables."""
        return self.paginate(
            list(KINDS.values()), lambda specs: shapes.KindOut(specs, many=True).data, self.parse_query()
        )


@VIEW_GUARD
class ReportListView(_ReportView):
    """The runs of reports."""

    @openapi_operation(
        "reports_list",
        "List reports",
        query=shapes.RunListFilters,
        answer=build_page_serializer(shapes.RunOut, "Report"),
        tag=TAG,
    )
    def get(self, _request: Request) -> Response:
        """Return a page of runs, newest first."""
        query = self.parse_query(shapes.RunListFilters)
        filters = {name: query[name] for name in ("kind", "status") if name in query}
        runs = report_rows.list_reports(**filters)
        return self.paginate(runs, lambda page: shapes.RunOut(page, many=True).data, query)

    @openapi_operation(
        "reports_create",
        "Start a report",
        body=shapes.RunIn,
        answer=shapes.RunDetailOut,
        status=201,
        statuses=(409,),
        tag=TAG,
    )
    def post(self, request: Request) -> Response:
        """Start a report. Raises Conflict while a run of the same kind is queued or running."""
        payload = strict_fields.validate(shapes.RunIn, request.data)
        parameters = payload.get("parameters", {})
        if not isinstance(parameters, dict):
            raise Invalid.from_problem(code="invalid", pointer="/parameters", detail="This must be an object.")
        report = service.request_report(kind=payload["kind"], parameters=parameters, by=self.actor)
        return Response(self.serialize_run(report), status=201)


@VIEW_GUARD
class ReportDetailView(_ReportView):
    """One run."""

    @openapi_operation("reports_get", "Get a report", answer=shapes.RunDetailOut, tag=TAG)
    def get(self, _request: Request, id: str) -> Response:
        """Return the run with its progress, or with its results."""
        return Response(self.serialize_run(report_rows.get_report(id=UUID(id))))


@VIEW_GUARD
class ReportCancelView(_ReportView):
    """The cancellation of a run."""

    @openapi_operation("reports_cancel", "Cancel a report", answer=shapes.RunDetailOut, statuses=(409,), tag=TAG)
    def post(self, _request: Request, id: str) -> Response:
        """Cancel a run that is queued or running; its worker notices within seconds."""
        service.cancel(report_id=UUID(id), by=self.actor)
        return Response(self.serialize_run(report_rows.get_report(id=UUID(id))))


@VIEW_GUARD
class ReportTableView(_ReportView):
    """One table of a run."""

    @openapi_operation(
        "reports_table",
        "List the rows of a table of a report",
        query=shapes.RowListFilters,
        answer=build_page_serializer(shapes.RowOut, "ReportRow"),
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str, table: str) -> Response:
        """Return a page of rows, in the order of the report unless `sort` is set."""
        query = self.parse_query(shapes.RowListFilters)
        run, result_table = self.get_ready_table(id, table)
        rows = self.list_rows(run, result_table, query)
        if sort := query.get("sort", ""):
            column_index = _column_index(result_table, sort.removeprefix("-"), "/sort")
            is_number = result_table.columns[column_index].is_number
            rows = report_rows.sort_rows(
                rows, column=column_index, is_number=is_number, is_descending=sort.startswith("-")
            )

        def serialize_rows(page: Sequence[ReportRow]) -> list[Any]:
            return [
                _row_fields(result_table, row)
                for row in result_reader.read_rows(table=result_table, rows=page, by=self.actor)
            ]

        return self.paginate(rows, serialize_rows, query)


class _TableFileView(_ReportView):
    content_negotiation_class = _FixedContentNegotiation
    ending = ""

    def stream_table(self, id: str, name: str) -> HttpResponseBase:
        """Return a table as a streamed file, read from the database in batches."""
        query = self.parse_query(shapes.RowSearchFilters)
        run, table = self.get_ready_table(id, name)
        rows = self.list_rows(run, table, query)
        by = self.actor
        if self.ending == "csv":
            chunks = result_reader.as_csv(table=table, rows=rows, by=by)
        else:
            chunks = result_reader.as_json(run=run, table=table, rows=rows, by=by)
        return StreamingHttpResponse(chunks, content_type=f"{_CONTENT_TYPES[self.ending]}; charset=utf-8")


@VIEW_GUARD
class ReportCsvView(_TableFileView):
    """A table as CSV."""

    ending = "csv"

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
        return self.stream_table(id, table)


@VIEW_GUARD
class ReportJsonView(_TableFileView):
    """A table as one JSON object."""

    ending = "json"

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
        return self.stream_table(id, table)


@VIEW_GUARD
class ReportDifferenceListView(_ReportView):
    """The differences between two runs of a kind."""

    @openapi_operation(
        "reports_differences",
        "Compare a table of two reports",
        query=shapes.DifferenceListFilters,
        answer=build_page_serializer(shapes.DifferenceOut, "ReportDifference"),
        statuses=(409,),
        tag=TAG,
    )
    def get(self, _request: Request, id: str, table: str) -> Response:
        """Return a page of rows added, removed or changed from the older run to the newer one, matched by key."""
        query = self.parse_query(shapes.DifferenceListFilters)
        run, result_table = self.get_ready_table(id, table)
        other_run, _ = self.get_ready_table(str(query["other"]), table)
        if other_run.kind != run.kind:
            raise Invalid.from_problem(code="kind.other", pointer="/other", detail="That is a report of another kind.")
        older, newer = sorted((run, other_run), key=lambda candidate: candidate.requested_at)
        rows = report_rows.list_differences(
            older=older, newer=newer, table=result_table.name, difference_kind=query["which"]
        )

        def serialize_rows(page: Sequence[Any]) -> list[Any]:
            current_rows = result_reader.read_rows(table=result_table, rows=page, by=self.actor)
            earlier_values = [(row.key, getattr(row, "was", None) or ()) for row in page]
            earlier_rows = result_reader.redact_rows(columns=result_table.columns, rows=earlier_values, by=self.actor)
            is_changed = query["which"] == "changed"
            return [
                _row_fields(result_table, current_row)
                | {"was": result_reader.to_dict(result_table.columns, earlier_row) if is_changed else None}
                for current_row, earlier_row in zip(current_rows, earlier_rows, strict=True)
            ]

        return self.paginate(rows, serialize_rows, query)


def _column_index(table: ResultTable, name: str, pointer: str) -> int:
    for index, column in enumerate(table.columns):
        if column.name == name:
            return index
    raise Invalid.from_problem(code="column.unknown", pointer=pointer, detail=f"{table.name} has no column {name}.")


def _row_fields(table: ResultTable, row: result_reader.VisibleRow) -> dict[str, Any]:
    return {"key": row.key, "values": result_reader.to_dict(table.columns, row), "is_concealed": bool(row.concealed)}
