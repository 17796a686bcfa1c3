"""One table of a finished run: searched, filtered, sorted and paged, and as a file."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog.models import Report, ReportRow
from catalog.reports.pages import cells, layout, runs
from catalog.reports.pages.layout import SEES
from catalog.reports.queries import report_rows
from catalog.reports.run import result_reader
from catalog.reports.spec import ColumnKind, ResultTable
from policies.engine import families
from policies.errors import NotFound
from policies.http.guard import actor_of
from policies.http.pages import list_and_form_pages

#: Columns that hold a few words again and again, and so are chosen from.
_CHOSEN = (ColumnKind.PRIVILEGE, ColumnKind.SEVERITY, ColumnKind.STATE)

_FILES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}


class TableFilters(forms.Form):
    """Words to search for, and a choice for each column that holds a few words; a wrong choice narrows nothing."""

    q = forms.CharField(
        label="Search",
        required=False,
        max_length=512,
        widget=forms.SearchInput(attrs={"placeholder": "Words, or a URN"}),
    )

    def __init__(self, data: Any, run: Report, table: ResultTable) -> None:
        super().__init__(data)
        self.columns: dict[str, int] = {}
        for place, column in enumerate(table.columns):
            if column.kind in _CHOSEN:
                known = _choices(run, table, place)
                is_privilege = column.kind is ColumnKind.PRIVILEGE
                labels = [
                    (one, families.display_privilege(one) if is_privilege else cells.badge(one)["name"])
                    for one in known
                ]
                name = f"of_{column.name}"
                self.columns[name] = place
                self.fields[name] = forms.ChoiceField(
                    label=column.title, required=False, choices=[("", "Any"), *labels]
                )
        self.is_valid()

    @property
    def narrowing(self) -> Mapping[str, str]:
        """What is asked for and makes sense, by the name of its field."""
        return {name: value for name, value in self.cleaned_data.items() if value}

    def rows(self, run: Report, table: ResultTable) -> Any:
        """Return the rows that are asked for, in their places."""
        equal = {self.columns[name]: value for name, value in self.narrowing.items() if name in self.columns}
        return report_rows.rows(run=run, table=table.name, text=self.narrowing.get("q", ""), equal=equal)


@require_GET
@never_cache
@SEES
def table(request: HttpRequest, id: UUID, name: str) -> HttpResponse:
    """A table of a run; an htmx request gets the table alone."""
    run = report_rows.report(id=id)
    found = _table(run, name)
    if run.status != Report.Status.READY:
        return redirect("report", id=id)
    form = TableFilters(request.GET, run, found)
    rows = form.rows(run, found)
    column, is_descending = _order(request, found)
    if column is not None:
        is_number = found.columns[column].kind is ColumnKind.NUMBER
        rows = report_rows.sorted_by(rows, column=column, is_number=is_number, is_descending=is_descending)
    page = list_and_form_pages.page_of(request, rows)
    by = actor_of(request)
    listed: list[ReportRow] = list(page)
    here = reverse("report-table", args=[id, name])
    context: dict[str, Any] = {
        "table": found,
        "table_url": here,
        "form": form,
        "page": page,
        "rows": cells.drawn(found.columns, result_reader.of_rows(table=found, rows=listed, by=by), by),
        "columns": _headings(request, found, column, is_descending=is_descending),
        "is_filtered": bool(form.narrowing),
        "is_cut": found.limit is not None and page.paginator.count >= found.limit,
        "files": _files(request, run, name),
    }
    if not list_and_form_pages.wants_fragment(request):
        context |= runs.around(request, run, tab=name)
    return list_and_form_pages.listed(request, whole="reports/table.html", part="reports/_result.html", context=context)


@require_GET
@never_cache
@SEES
def file(request: HttpRequest, id: UUID, name: str, ending: str) -> HttpResponseBase:
    """The rows that the table shows under its filters as a file, written while they are read."""
    run = report_rows.report(id=id)
    found = _table(run, name)
    if run.status != Report.Status.READY or ending not in _FILES:
        raise NotFound("There is no such file.")
    rows = TableFilters(request.GET, run, found).rows(run, found)
    by = actor_of(request)
    if ending == "csv":
        written = result_reader.as_csv(table=found, found=rows, by=by)
    else:
        written = result_reader.as_json(run=run, table=found, found=rows, by=by)
    when = run.requested_at.strftime("%Y-%m-%d")
    disposition = f'attachment; filename="{run.kind}-{name}-{when}.{ending}"'
    return StreamingHttpResponse(written, content_type=_FILES[ending], headers={"Content-Disposition": disposition})


def _table(run: Report, name: str) -> ResultTable:
    found = next((one for one in layout.kind_of(run).tables if one.name == name), None)
    if found is None:
        raise NotFound(f"Reports of this kind have no table {name}.")
    return found


def _choices(run: Report, table: ResultTable, place: int) -> list[str]:
    return layout.kept(
        f"report-choices:{run.pk}:{table.name}:{place}",
        lambda: report_rows.choices(run=run, table=table.name, column=place),
    )


def _order(request: HttpRequest, table: ResultTable) -> tuple[int | None, bool]:
    asked = request.GET.get("sort", "")
    places = {column.name: place for place, column in enumerate(table.columns) if column.kind is not ColumnKind.SQL}
    return places.get(asked.removeprefix("-")), asked.startswith("-")


def _headings(
    request: HttpRequest, table: ResultTable, sorted_by: int | None, *, is_descending: bool
) -> list[dict[str, Any]]:
    query = request.GET.copy()
    query.pop("page", None)
    headings: list[dict[str, Any]] = []
    for place, column in enumerate(table.columns):
        heading: dict[str, Any] = {"label": column.title, "is_number": column.kind is ColumnKind.NUMBER}
        if place == sorted_by:
            heading["sort"] = "descending" if is_descending else "ascending"
        if column.kind is not ColumnKind.SQL:
            query["sort"] = f"-{column.name}" if place == sorted_by and not is_descending else column.name
            heading["sort_url"] = f"{request.path}?{query.urlencode()}"
        headings.append(heading)
    return headings


def _files(request: HttpRequest, run: Report, name: str) -> list[dict[str, str]]:
    query = request.GET.copy()
    for dropped in ("page", "size", "sort"):
        query.pop(dropped, None)
    return [
        {
            "label": f"Download {ending.upper()}",
            "url": f"{reverse('report-file', args=[run.pk, name, ending])}?{query.urlencode()}",
        }
        for ending in _FILES
    ]
