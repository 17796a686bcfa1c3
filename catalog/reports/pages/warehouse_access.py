"""/reports/warehouse: who can read what in the warehouses, with what is declared, granted and used side by side."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.urls import reverse

from catalog.models import Report, ReportRow
from catalog.reports.pages import cells, layout
from catalog.reports.pages.layout import SECTION, VIEW_GUARD
from catalog.reports.queries import report_rows, warehouse_access
from catalog.reports.queries.warehouse_access import AccessPosition, WarehouseRuns
from catalog.reports.run import result_reader
from catalog.reports.run.result_reader import READ_BATCH_SIZE, VisibleRow
from catalog.reports.tables import ColumnKind, ReportColumn, number_column
from policies.engine.model import Actor
from policies.http.guard import get_actor
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import page_view

_DATASET = ReportColumn("dataset", "Dataset", ColumnKind.ENTITY)
_POSITION_COLUMNS = (
    ReportColumn("grantee", "Who", ColumnKind.ACTOR),
    ReportColumn("through", "Through"),
    ReportColumn("declared", "Declared"),
    ReportColumn("granted", "Granted"),
    ReportColumn("used", "Used"),
    number_column("people", "People"),
    ReportColumn("export", "Export"),
)
_COLUMNS = (_DATASET, *_POSITION_COLUMNS)
#: Uses without a grant that are shown of one dataset.
MAX_UNEXPLAINED = 50


class WarehouseAccessForm(forms.Form):
    """Filters of who can read what; an invalid choice filters nothing."""

    dataset = forms.CharField(
        label="Dataset",
        required=False,
        max_length=2048,
        widget=forms.SearchInput(attrs={"placeholder": "URN, or words of it"}),
    )
    person = forms.CharField(
        label="Person or role",
        required=False,
        max_length=512,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "URN or name"}),
    )
    tag = forms.ChoiceField(label="Sensitive tag", required=False)

    def __init__(self, data: Any, run: Report | None) -> None:
        super().__init__(data)
        tags = run.parameters.get("tags", []) if run else []
        self.fields["tag"].choices = [("", "Any"), *((tag, tag) for tag in tags)]  # type: ignore[attr-defined]  # a ChoiceField
        self.is_valid()

    @property
    def filters(self) -> dict[str, str]:
        """The valid filters, by name."""
        return {name: value.strip() for name, value in self.cleaned_data.items() if value and value.strip()}


@page_view(VIEW_GUARD)
def show_warehouse_access(request: HttpRequest) -> HttpResponse:
    """Page of who can read what, filtered and paged; an htmx request gets only the list."""
    runs, by = warehouse_access.find_runs(), get_actor(request)
    form = WarehouseAccessForm(request.GET, runs.mapping)
    rows: Any = warehouse_access.list_rows(runs.mapping, **form.filters) if runs.mapping else []
    page = list_and_form_pages.get_page(request, rows)
    query = request.GET.copy()
    for name in ("page", "size"):
        query.pop(name, None)
    context: dict[str, Any] = {
        "page": page,
        "rows": _render(runs, list(page), form.filters.get("person", ""), by),
        "columns": cells.list_headings(_COLUMNS),
        "is_filtered": bool(form.filters),
        "csv_url": f"{reverse('warehouse-access-file')}?{query.urlencode()}",
        "unexplained": render_unexplained(runs, form.filters.get("dataset", ""), by),
        **describe_runs(runs),
    }
    if not list_and_form_pages.is_fragment_request(request):
        context |= {
            "form": form,
            "tabs": layout.tabs("warehouse-access"),
            "breadcrumbs": SECTION.breadcrumbs("Warehouse access"),
        }
    return list_and_form_pages.render_list(
        request,
        page_template="reports/warehouse_access.html",
        fragment_template="reports/_warehouse_access.html",
        context=context,
    )


@page_view(VIEW_GUARD)
def download_warehouse_access(request: HttpRequest) -> HttpResponseBase:
    """Download of the rows that match the filters, as a streamed CSV file."""
    runs, by = warehouse_access.find_runs(), get_actor(request)
    filters = WarehouseAccessForm(request.GET, runs.mapping).filters
    rows = warehouse_access.list_rows(runs.mapping, **filters) if runs.mapping else ReportRow.objects.none()
    chunks = result_reader.write_csv(_COLUMNS, _iterate_visible(runs, rows, filters.get("person", ""), by))
    return StreamingHttpResponse(
        chunks,
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="warehouse-access.csv"'},
    )


def render_positions(positions: Sequence[AccessPosition], by: Actor) -> list[list[cells.Cell]]:
    """Return the cells of positions on one dataset, without the column of the dataset."""
    rows = _redact(positions, by)
    bare_rows = [VisibleRow(row.key, row.values[1:], frozenset(index - 1 for index in row.concealed)) for row in rows]
    return cells.render_cells(_POSITION_COLUMNS, bare_rows, by)


def list_position_headings() -> list[dict[str, Any]]:
    """Return the headings of `render_positions`."""
    return cells.list_headings(_POSITION_COLUMNS)


def render_unexplained(runs: WarehouseRuns, dataset: str, by: Actor) -> list[list[cells.Cell]]:
    """Return the cells of uses of a dataset that rest on no grant: who, when, and the export."""
    columns = (_DATASET, ReportColumn("person", "Who", ColumnKind.ACTOR), *_UNEXPLAINED_TEXTS)
    uses = warehouse_access.list_unexplained(runs, dataset=dataset, limit=MAX_UNEXPLAINED)
    values = [("", [use[column.name] for column in columns]) for use in uses]
    rows = result_reader.redact_rows(columns=columns, rows=values, by=by)
    return [row[1:] for row in cells.render_cells(columns, rows, by)]


_UNEXPLAINED_TEXTS = (
    ReportColumn("level", "Level"),
    ReportColumn("last", "Last use"),
    ReportColumn("export", "Export"),
)


def describe_runs(runs: WarehouseRuns) -> dict[str, Any]:
    """Return when the runs were that rows come from, and what their summaries warn of."""
    warnings = [text for run in (runs.mapping, runs.usage) if run for text in (run.summary or {}).get("warnings", ())]
    return {
        "mapping_run": _describe_run(runs.mapping),
        "usage_run": _describe_run(runs.usage),
        "warnings": list(dict.fromkeys(warnings)),
    }


def _describe_run(run: Report | None) -> dict[str, Any] | None:
    return None if run is None else {"at": run.requested_at, "url": reverse("report", args=[run.pk])}


def _render(runs: WarehouseRuns, rows: Sequence[ReportRow], person: str, by: Actor) -> list[list[cells.Cell]]:
    positions = warehouse_access.build_positions(runs, rows, person=person)
    return cells.render_cells(_COLUMNS, _redact(positions, by), by)


def _redact(positions: Iterable[AccessPosition], by: Actor) -> list[VisibleRow]:
    values = [("", [getattr(position, column.name) for column in _COLUMNS]) for position in positions]
    return result_reader.redact_rows(columns=_COLUMNS, rows=values, by=by)


def _iterate_visible(runs: WarehouseRuns, rows: Any, person: str, by: Actor) -> Iterator[list[VisibleRow]]:
    for batch in report_rows.iterate_batches(rows, size=READ_BATCH_SIZE):
        yield _redact(warehouse_access.build_positions(runs, batch, person=person), by)
