"""Two runs of a kind beside one another: the rows that came, went, or say something else."""

from typing import Any, get_args
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from catalog.models import Report, ReportRow
from catalog.reports.pages import cells, layout
from catalog.reports.pages.layout import SEES
from catalog.reports.queries import report_rows
from catalog.reports.queries.report_rows import Difference
from catalog.reports.run import result_reader
from catalog.reports.spec import ColumnKind, Kind, ResultTable
from policies.engine.model import Actor
from policies.errors import NotFound
from policies.http.guard import actor_of
from policies.http.pages import list_and_form_pages

#: How many earlier and later runs are offered.
_OFFERED = 50
_WHEN = "%Y-%m-%d %H:%M"

_WORDS: dict[Difference, tuple[str, str]] = {
    "gained": ("Gained", "Nothing came"),
    "lost": ("Lost", "Nothing went"),
    "changed": ("Changed", "Nothing changed"),
}


class CompareFilters(forms.Form):
    """Which run to compare with, and which table; a wrong choice is the first one."""

    other = forms.ChoiceField(label="Compare with", required=False)
    table = forms.ChoiceField(label="Table", required=False)
    show = forms.ChoiceField(required=False, widget=forms.HiddenInput, choices=[(one, one) for one in _WORDS])

    def __init__(self, data: Any, others: list[Report], kind: Kind) -> None:
        super().__init__(data)
        runs = [(str(one.pk), f"{one.requested_at.strftime(_WHEN)} UTC") for one in others]
        self.fields["other"].choices = runs  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["table"].choices = [(one.name, one.title) for one in kind.tables]  # type: ignore[attr-defined]
        self.is_valid()


@require_GET
@never_cache
@SEES
def compare(request: HttpRequest, id: UUID) -> HttpResponse:
    """What differs between a run and another one; an htmx request gets the differences alone."""
    run = report_rows.report(id=id)
    kind = layout.kind_of(run)
    if run.status != Report.Status.READY or not kind.tables:
        raise NotFound("There is nothing to compare.")
    here = reverse("report-compare", args=[id])
    context: dict[str, Any] = {
        "kind": kind,
        "compare_url": here,
        "newer": _named(run),
        "breadcrumbs": layout.crumbs((kind.title, reverse("report", args=[id])), ("Compare", "")),
    }
    earlier = report_rows.before(run=run)
    others = list(report_rows.comparable(to=run)[:_OFFERED])
    if earlier is not None:
        # The run before this one comes first, so that it is what is compared with unless somebody chooses.
        others = [earlier, *(one for one in others if one.pk != earlier.pk)]
    if others:
        form = CompareFilters(request.GET, others, kind)
        other = next((one for one in others if str(one.pk) == form.cleaned_data.get("other")), others[0])
        table = next((one for one in kind.tables if one.name == form.cleaned_data.get("table")), kind.tables[0])
        older, newer = sorted((run, other), key=lambda one: one.requested_at)
        show: Difference = form.cleaned_data.get("show") or "gained"
        context |= {"form": form, "older": _named(older), "newer": _named(newer)}
        context |= _differences(request, (older, newer), table, show, here)
    return list_and_form_pages.listed(
        request, whole="reports/compare.html", part="reports/_differences.html", context=context
    )


def _differences(
    request: HttpRequest, between: tuple[Report, Report], table: ResultTable, show: Difference, here: str
) -> dict[str, Any]:
    older, newer = between
    page = list_and_form_pages.page_of(
        request, report_rows.differences(older=older, newer=newer, table=table.name, which=show)
    )
    query = {"other": request.GET.get("other", ""), "table": table.name}
    return {
        "page": page,
        "rows": _rows(list(page), table, actor_of(request)),
        "columns": [{"label": column.title, "is_number": column.kind is ColumnKind.NUMBER} for column in table.columns],
        "caption": f"{table.title}: {_WORDS[show][0].lower()}",
        "empty": _WORDS[show][1],
        "differences": [
            {
                "label": f"{_WORDS[one][0]} ({_count(older, newer, table, one):,})",
                "url": f"{here}?{urlencode(query | {'show': one})}",
                "is_current": one == show,
            }
            for one in get_args(Difference)
        ],
    }


def _count(older: Report, newer: Report, table: ResultTable, which: Difference) -> int:
    """Return how many rows differ; two finished runs differ by the same for ever, so they are counted once."""
    return layout.kept(
        f"report-differences:{older.pk}:{newer.pk}:{table.name}:{which}",
        lambda: report_rows.differences(older=older, newer=newer, table=table.name, which=which).count(),
    )


def _rows(found: list[ReportRow], table: ResultTable, by: Actor) -> list[list[dict[str, Any]]]:
    """Return rows as pairs of cells: what stands there now, and before that, where it differs."""
    rows = [(row.key, row.values) for row in found]
    rows += [(row.key, getattr(row, "was", row.values)) for row in found]
    shown = result_reader.shown(columns=table.columns, rows=rows, by=by)
    drawn = cells.drawn(table.columns, shown, by)
    now, before = drawn[: len(found)], drawn[len(found) :]
    return [
        [{"now": one, "was": other, "is_changed": one != other} for one, other in zip(row, earlier, strict=True)]
        for row, earlier in zip(now, before, strict=True)
    ]


def _named(run: Report) -> dict[str, str]:
    return {"url": reverse("report", args=[run.pk]), "when": run.requested_at.strftime(_WHEN)}
