"""/reports: the kinds and their runs, and one run from waiting to its results."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from catalog.models import Report
from catalog.reports.pages import charts, layout, start_form
from catalog.reports.pages.layout import SEES
from catalog.reports.queries import report_rows
from catalog.reports.registry import KINDS
from catalog.reports.run import result_reader
from catalog.reports.services import reports as service
from policies.decisions.pages.explore_common import Asker
from policies.errors import Conflict
from policies.http.guard import actor_of
from policies.http.pages import list_and_form_pages

_COLUMNS = (
    {"label": "Report"},
    {"label": "Status"},
    {"label": "Asked for"},
    {"label": "By"},
    {"label": "Took", "is_number": True},
)
_KIND_COLUMNS = (
    {"label": "Report"},
    {"label": "Last run"},
    {"label": "Last results"},
    {"label": "Actions", "is_hidden_label": True},
)


class RunFilters(forms.Form):
    """What narrows the runs; a value that is no choice narrows nothing."""

    kind = forms.ChoiceField(label="Report", required=False)
    status = forms.ChoiceField(label="Status", required=False, choices=[("", "Any"), *Report.Status.choices])

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        known = [(kind.name, kind.title) for kind in KINDS.values()]
        self.fields["kind"].choices = [("", "Any"), *known]  # type: ignore[attr-defined]  # a ChoiceField


@require_GET
@never_cache
@SEES
def report_list(request: HttpRequest) -> HttpResponse:
    """The kinds of reports and the runs, filtered and paged; an htmx request gets the runs alone."""
    asker = Asker.of(actor_of(request))
    form = RunFilters(request.GET)
    form.is_valid()
    filters = {name: value for name, value in form.cleaned_data.items() if value}
    page = list_and_form_pages.page_of(request, report_rows.reports(**filters))
    context: dict[str, Any] = {
        "page": page,
        "rows": _rows(list(page), asker),
        "columns": _COLUMNS,
        "is_filtered": bool(filters),
    }
    if not list_and_form_pages.wants_fragment(request):
        context |= {
            "form": form,
            "kinds": _kinds(),
            "kind_columns": _KIND_COLUMNS,
            "tabs": layout.tabs("reports"),
            "breadcrumbs": layout.crumbs(),
        }
    return list_and_form_pages.listed(request, whole="reports/list.html", part="reports/_runs.html", context=context)


@require_GET
@never_cache
@SEES
def run(request: HttpRequest, id: UUID) -> HttpResponse:
    """One run: how far it is, what came of it, or why nothing did. An htmx request gets how far it is."""
    found = report_rows.report(id=id)
    is_under_way = found.status in Report.OPEN
    if list_and_form_pages.wants_fragment(request):
        if is_under_way:
            return render(request, "reports/_progress.html", {**_progress(found), "is_fragment": True})
        # It has ended: the whole page has more to say than its progress.
        return HttpResponse(headers={"HX-Refresh": "true"})
    context = around(request, found, tab="report") | {"log": found.log}
    if is_under_way:
        context |= _progress(found) | {"is_under_way": True, "cancel_url": reverse("report-cancel", args=[id])}
    elif found.status == Report.Status.READY:
        context |= _results(request, found)
    else:
        good = report_rows.before(run=found)
        context |= {
            "problem": found.problem,
            "is_cancelled": found.status == Report.Status.CANCELLED,
            "last_good_url": reverse("report", args=[good.pk]) if good else "",
        }
    return render(request, "reports/run.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@SEES
def cancel(request: HttpRequest, id: UUID) -> HttpResponse:
    """The question whether to end a run, and the end of it."""
    found = report_rows.report(id=id)
    if request.method == "POST":
        try:
            service.cancel(report_id=id, by=actor_of(request))
        except Conflict as refusal:
            messages.info(request, refusal.detail)
        else:
            messages.success(request, "The report was cancelled.")
        return redirect("report", id=id)
    return list_and_form_pages.ask(
        request,
        title=f"Cancel {layout.kind_of(found).title}?",
        text="What it has worked out so far is lost. Earlier results stay.",
        label="Cancel report",
        cancel_url=reverse("report", args=[id]),
    )


def around(request: HttpRequest, found: Report, *, tab: str) -> dict[str, Any]:
    """Return what every page of a run draws around its content; `tab` is the name of its table, or "report"."""
    kind = layout.kind_of(found)
    asker = Asker.of(actor_of(request))
    url = reverse("report", args=[found.pk])
    is_ready = found.status == Report.Status.READY
    parts = [("report", "Overview", url)]
    parts += [(table.name, table.title, reverse("report-table", args=[found.pk, table.name])) for table in kind.tables]
    if is_ready and kind.keeps_snapshot:
        parts.append(("access", "Ask", reverse("report-access", args=[found.pk])))
    return {
        "report": found,
        "kind": kind,
        "url": url,
        "is_ready": is_ready,
        "by": layout.people([found.requested_by], asker)[found.requested_by],
        "age": layout.ago(found.requested_at),
        "duration": layout.duration(found),
        "tabs": [{"label": label, "url": place, "is_current": name == tab} for name, label, place in parts],
        "compare_url": reverse("report-compare", args=[found.pk]) if is_ready and kind.tables else "",
        "again_url": f"{reverse('report-new', args=[kind.name])}?again={found.pk}" if kind.name in KINDS else "",
        "parameters": start_form.facts(kind, found, asker.actor),
        "breadcrumbs": layout.crumbs((kind.title, "")),
    }


def _progress(found: Report) -> dict[str, Any]:
    took = layout.duration(found)
    waits = found.status == Report.Status.QUEUED
    return {
        "state": layout.state_of(found),
        "stage": found.stage or ("Waiting for a worker" if waits else "Working"),
        "done": f"{found.done:,}" if found.done else "",
        "total": f"{found.total:,}",
        "percent": min(100 * found.done // found.total, 100) if found.total else None,
        "elapsed": f"Asked for {layout.ago(found.requested_at)}." if waits else f"Running for {took}.",
        "log": found.log,
    }


def _results(request: HttpRequest, found: Report) -> dict[str, Any]:
    summary = result_reader.summary(run=found, by=actor_of(request))
    is_over_time = any(chart.is_over_time for chart in summary.charts)
    past = report_rows.history(kind=found.kind, until=found.requested_at, limit=charts.RUNS) if is_over_time else []
    return {
        "numbers": [{"label": number.title, "value": f"{number.value:,}"} for number in summary.numbers],
        "charts": charts.drawn(summary, past, actor_of(request)),
    }


def _kinds() -> list[dict[str, Any]]:
    last, ready = report_rows.newest(), report_rows.newest(is_ready=True)
    return [
        {
            "kind": kind,
            "last": _brief(last.get(kind.name)),
            "ready": _brief(ready.get(kind.name)),
            "start_url": reverse("report-new", args=[kind.name]),
        }
        for kind in KINDS.values()
    ]


def _brief(found: Report | None) -> dict[str, Any] | None:
    if found is None:
        return None
    url = reverse("report", args=[found.pk])
    return {"state": layout.state_of(found), "url": url, "age": layout.ago(found.requested_at)}


def _rows(found: list[Report], asker: Asker) -> list[dict[str, Any]]:
    people = layout.people({one.requested_by for one in found}, asker)
    return [
        {
            "url": reverse("report", args=[one.pk]),
            "title": layout.kind_of(one).title,
            "state": layout.state_of(one),
            "sentence": one.problem or (one.stage if one.status == Report.Status.RUNNING else ""),
            "requested_at": one.requested_at,
            "age": layout.ago(one.requested_at),
            "by": people[one.requested_by],
            "duration": layout.duration(one),
        }
        for one in found
    ]
