"""One table of a finished run: searched, filtered, sorted and paged, and as a file."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from catalog.models import Report, ReportRow
from catalog.reports import registry
from catalog.reports.pages import cells, layout, runs
from catalog.reports.pages.layout import VIEW_GUARD
from catalog.reports.queries import report_rows
from catalog.reports.run import result_reader
from catalog.reports.tables import ColumnKind, ResultTable
from policies.engine import families
from policies.errors import NotFound
from policies.http.guard import get_actor
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import page_view

#: Kinds of columns with few distinct values, which get a choice filter.
_CHOICE_COLUMN_KINDS = (ColumnKind.PRIVILEGE, ColumnKind.SEVERITY, ColumnKind.STATE)

_CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


class TableFilterForm(forms.Form):
    """A search text, and a choice for each column with few values; an invalid choice filters nothing."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=512,
        widget=forms.SearchInput(attrs={"placeholder": "Words, or a URN"}),
    )

    def __init__(self, data: Any, run: Report, table: ResultTable) -> None:
        super().__init__(data)
        self.columns: dict[str, int] = {}
        for index, column in enumerate(table.columns):
            if column.kind in _CHOICE_COLUMN_KINDS:
                choices = _load_choices(run, table, index)
                is_privilege = column.kind is ColumnKind.PRIVILEGE
                labels = [
                    (choice, families.display_privilege(choice) if is_privilege else cells.badge(choice)["name"])
                    for choice in choices
                ]
                name = f"of_{column.name}"
                self.columns[name] = index
                is_cut = len(choices) == report_rows.MAX_CHOICES
                any_label = f"Any (the first {report_rows.MAX_CHOICES} are listed)" if is_cut else "Any"
                self.fields[name] = forms.ChoiceField(
                    label=column.title, required=False, choices=[("", any_label), *labels]
                )
        self.is_valid()

    @property
    def filters(self) -> Mapping[str, str]:
        """The valid filters, by field name."""
        return {name: value for name, value in self.cleaned_data.items() if value}

    def list_rows(self, run: Report, table: ResultTable) -> Any:
        """Return the rows that match the filters, by position."""
        values_by_column = {self.columns[name]: value for name, value in self.filters.items() if name in self.columns}
        return report_rows.list_rows(
            run=run, table=table.name, text=self.filters.get("q", ""), values_by_column=values_by_column
        )


@page_view(VIEW_GUARD)
def show_table(request: HttpRequest, id: UUID, name: str) -> HttpResponse:
    """Page of a table of a run; an htmx request gets only the table."""
    run = report_rows.get_report(id=id)
    result_table = registry.get_table(run, name)
    if run.status != Report.Status.READY:
        return redirect("report", id=id)
    form = TableFilterForm(request.GET, run, result_table)
    rows = form.list_rows(run, result_table)
    column, is_descending = _read_order(request, result_table)
    if column is not None:
        is_number = result_table.columns[column].is_number
        rows = report_rows.sort_rows(rows, column=column, is_number=is_number, is_descending=is_descending)
    page = list_and_form_pages.get_page(request, rows)
    by = get_actor(request)
    page_rows: list[ReportRow] = list(page)
    table_url = reverse("report-table", args=[id, name])
    context: dict[str, Any] = {
        "table": result_table,
        "table_url": table_url,
        "form": form,
        "page": page,
        "rows": cells.render_cells(
            result_table.columns, result_reader.read_rows(table=result_table, rows=page_rows, by=by), by
        ),
        "columns": _build_headings(request, result_table, column, is_descending=is_descending),
        "is_filtered": bool(form.filters),
        "is_cut": result_table.limit is not None
        and report_rows.has_row_at(run=run, table=name, position=result_table.limit - 1),
        "files": _file_links(request, run, name),
    }
    if not list_and_form_pages.is_fragment_request(request):
        context |= runs.build_run_context(request, run, tab=name)
    return list_and_form_pages.render_list(
        request, page_template="reports/table.html", fragment_template="reports/_result.html", context=context
    )


@page_view(VIEW_GUARD)
def download_file(request: HttpRequest, id: UUID, name: str, ending: str) -> HttpResponseBase:
    """Download of the rows that match the filters, as a streamed file."""
    run = report_rows.get_report(id=id)
    result_table = registry.get_table(run, name)
    if run.status != Report.Status.READY or ending not in _CONTENT_TYPES:
        raise NotFound("There is no such file.")
    rows = TableFilterForm(request.GET, run, result_table).list_rows(run, result_table)
    chunks = result_reader.iterate_file(ending, run=run, table=result_table, rows=rows, by=get_actor(request))
    day = run.requested_at.strftime("%Y-%m-%d")
    disposition = f'attachment; filename="{run.kind}-{name}-{day}.{ending}"'
    return StreamingHttpResponse(
        chunks, content_type=_CONTENT_TYPES[ending], headers={"Content-Disposition": disposition}
    )


def _load_choices(run: Report, table: ResultTable, column_index: int) -> list[str]:
    return layout.cache_report_result(
        f"report-choices:{run.pk}:{table.name}:{column_index}",
        lambda: report_rows.list_choices(run=run, table=table.name, column=column_index),
    )


def _read_order(request: HttpRequest, table: ResultTable) -> tuple[int | None, bool]:
    sort = request.GET.get("sort", "")
    column_indexes = {
        column.name: index for index, column in enumerate(table.columns) if column.kind is not ColumnKind.SQL
    }
    return column_indexes.get(sort.removeprefix("-")), sort.startswith("-")


def _build_headings(
    request: HttpRequest, table: ResultTable, sort_column: int | None, *, is_descending: bool
) -> list[dict[str, Any]]:
    query = request.GET.copy()
    query.pop("page", None)
    headings = cells.list_headings(table.columns)
    for index, (column, heading) in enumerate(zip(table.columns, headings, strict=True)):
        if index == sort_column:
            heading["sort"] = "descending" if is_descending else "ascending"
        if column.kind is not ColumnKind.SQL:
            query["sort"] = f"-{column.name}" if index == sort_column and not is_descending else column.name
            heading["sort_url"] = f"{request.path}?{query.urlencode()}"
    return headings


def _file_links(request: HttpRequest, run: Report, name: str) -> list[dict[str, str]]:
    query = request.GET.copy()
    for parameter in ("page", "size", "sort"):
        query.pop(parameter, None)
    return [
        {
            "label": f"Download {ending.upper()}",
            "url": f"{reverse('report-file', args=[run.pk, name, ending])}?{query.urlencode()}",
        }
        for ending in _CONTENT_TYPES
    ]
