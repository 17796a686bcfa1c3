"""Comparison of two runs of a kind: rows added, removed or changed."""

from typing import Any, get_args
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from catalog.models import Report, ReportRow
from catalog.reports import registry
from catalog.reports.pages import cells, layout
from catalog.reports.pages.layout import SECTION, VIEW_GUARD
from catalog.reports.queries import report_rows
from catalog.reports.queries.report_rows import DifferenceKind
from catalog.reports.run import result_reader
from catalog.reports.spec import ReportSpec
from catalog.reports.tables import ResultTable
from policies.engine.model import Actor
from policies.engine.wording import word_time
from policies.errors import NotFound
from policies.http.guard import get_actor
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import page_view

_DIFFERENCE_LABELS: dict[DifferenceKind, tuple[str, str]] = {
    "gained": ("Gained", "Nothing came"),
    "lost": ("Lost", "Nothing went"),
    "changed": ("Changed", "Nothing changed"),
}


class CompareForm(forms.Form):
    """The run and the table to compare; an invalid choice means the first one."""

    other = forms.ChoiceField(label="Compare with", required=False)
    table = forms.ChoiceField(label="Table", required=False)
    show = forms.ChoiceField(
        required=False, widget=forms.HiddenInput, choices=[(name, name) for name in _DIFFERENCE_LABELS]
    )

    def __init__(self, data: Any, other_runs: list[Report], spec: ReportSpec) -> None:
        super().__init__(data)
        runs = [(str(item.pk), word_time(item.requested_at)) for item in other_runs]
        self.fields["other"].choices = runs  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["table"].choices = [(item.name, item.title) for item in spec.tables]  # type: ignore[attr-defined]
        self.is_valid()


@page_view(VIEW_GUARD)
def compare_runs(request: HttpRequest, id: UUID) -> HttpResponse:
    """Page of the differences between a run and another one; an htmx request gets only the differences."""
    run = report_rows.get_report(id=id)
    spec = registry.get_spec(run)
    if run.status != Report.Status.READY or not spec.tables:
        raise NotFound("There is nothing to compare.")
    compare_url = reverse("report-compare", args=[id])
    context: dict[str, Any] = {
        "kind": spec,
        "compare_url": compare_url,
        "newer": _report_link(run),
        "breadcrumbs": SECTION.breadcrumbs((spec.title, reverse("report", args=[id])), "Compare"),
    }
    # The previous run comes first, as the default.
    other_runs = list(dict.fromkeys([*report_rows.list_earlier(run=run)[:1], *report_rows.list_comparable(run=run)]))
    if other_runs:
        form = CompareForm(request.GET, other_runs, spec)
        other_run = next(
            (candidate for candidate in other_runs if str(candidate.pk) == form.cleaned_data.get("other")),
            other_runs[0],
        )
        table = next(
            (candidate for candidate in spec.tables if candidate.name == form.cleaned_data.get("table")), spec.tables[0]
        )
        older, newer = sorted((run, other_run), key=lambda candidate: candidate.requested_at)
        difference_kind: DifferenceKind = form.cleaned_data.get("show") or "gained"
        context |= {"form": form, "older": _report_link(older), "newer": _report_link(newer)}
        context |= _build_differences(request, (older, newer), table, difference_kind, compare_url)
    return list_and_form_pages.render_list(
        request, page_template="reports/compare.html", fragment_template="reports/_differences.html", context=context
    )


def _build_differences(
    request: HttpRequest,
    run_pair: tuple[Report, Report],
    table: ResultTable,
    difference_kind: DifferenceKind,
    compare_url: str,
) -> dict[str, Any]:
    older, newer = run_pair
    page = list_and_form_pages.get_page(
        request,
        report_rows.list_differences(older=older, newer=newer, table=table.name, difference_kind=difference_kind),
    )
    query = {"other": request.GET.get("other", ""), "table": table.name}
    return {
        "page": page,
        "rows": _build_rows(list(page), table, get_actor(request)),
        "columns": cells.list_headings(table.columns),
        "caption": f"{table.title}: {_DIFFERENCE_LABELS[difference_kind][0].lower()}",
        "empty": _DIFFERENCE_LABELS[difference_kind][1],
        "differences": [
            {
                "label": f"{_DIFFERENCE_LABELS[kind][0]} ({_count_differences(older, newer, table, kind):,})",
                "url": f"{compare_url}?{urlencode(query | {'show': kind})}",
                "is_current": kind == difference_kind,
            }
            for kind in get_args(DifferenceKind)
        ],
    }


def _count_differences(older: Report, newer: Report, table: ResultTable, difference_kind: DifferenceKind) -> int:
    """Return the number of differences; finished runs never change, so it is cached."""
    return layout.cache_report_result(
        f"report-differences:{older.pk}:{newer.pk}:{table.name}:{difference_kind}",
        lambda: report_rows.list_differences(
            older=older, newer=newer, table=table.name, difference_kind=difference_kind
        ).count(),
    )


def _build_rows(difference_rows: list[ReportRow], table: ResultTable, by: Actor) -> list[list[dict[str, Any]]]:
    """Return rows of pairs of cells: `now`, `was` and whether they differ."""
    rows = [(row.key, row.values) for row in difference_rows]
    rows += [(row.key, getattr(row, "was", row.values)) for row in difference_rows]
    visible_rows = result_reader.redact_rows(columns=table.columns, rows=rows, by=by)
    cell_rows = cells.render_cells(table.columns, visible_rows, by)
    current_rows, earlier_rows = cell_rows[: len(difference_rows)], cell_rows[len(difference_rows) :]
    return [
        [
            {"now": cell, "was": earlier_cell, "is_changed": cell != earlier_cell}
            for cell, earlier_cell in zip(row, earlier_row, strict=True)
        ]
        for row, earlier_row in zip(current_rows, earlier_rows, strict=True)
    ]


def _report_link(run: Report) -> dict[str, str]:
    return {"url": reverse("report", args=[run.pk]), "when": word_time(run.requested_at)}
