"""/reports: the kinds of reports and their runs, and the page of one run."""

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from catalog.models import Report
from catalog.reports import registry
from catalog.reports.pages import charts, layout, start_form
from catalog.reports.pages.layout import SECTION, VIEW_GUARD
from catalog.reports.queries import report_rows
from catalog.reports.registry import KINDS
from catalog.reports.run import repair_scripts, result_reader
from catalog.reports.services import reports as service
from policies.decisions.pages.explore_common import AnswerViewer
from policies.errors import Conflict
from policies.http.guard import get_actor
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import build_columns, form_view, page_view


class RunFilterForm(forms.Form):
    """Filters of the runs; an invalid choice filters nothing."""

    kind = forms.ChoiceField(label="Report", required=False)
    status = forms.ChoiceField(label="Status", required=False, choices=[("", "Any"), *Report.Status.choices])

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        kind_choices = [(spec.name, spec.title) for spec in KINDS.values()]
        self.fields["kind"].choices = [("", "Any"), *kind_choices]  # type: ignore[attr-defined]  # a ChoiceField


@page_view(VIEW_GUARD)
def list_reports(request: HttpRequest) -> HttpResponse:
    """Page of the kinds of reports and the runs, filtered and paged; an htmx request gets only the runs."""
    viewer = AnswerViewer.from_actor(get_actor(request))
    return list_and_form_pages.render_filtered_list(
        request,
        "reports/list.html",
        "reports/_runs.html",
        form=RunFilterForm(request.GET),
        query=report_rows.list_reports,
        build_rows=lambda runs: _build_rows(runs, viewer),
        columns=build_columns("Report", "Status", "Requested", "By", "Took", numbers=["Took"]),
        # A function, since the fragment does not need it.
        kinds=_build_kind_rows,
        kind_columns=build_columns("Report", "Last run", "Last results", "Actions"),
        tabs=layout.tabs("reports"),
        breadcrumbs=SECTION.breadcrumbs(),
    )


@page_view(VIEW_GUARD)
def show_run(request: HttpRequest, id: UUID) -> HttpResponse:
    """Page of one run: progress, results, or the reason of its failure. An htmx request gets only the progress.

    A page that started it gets what it shows in its own place.
    """
    run = report_rows.get_report(id=id)
    is_under_way = run.status in Report.OPEN_STATUSES
    if layout.is_shown_in_place(request):
        return render(request, "reports/_run_in_place.html", _build_place_context(request, run))
    if list_and_form_pages.is_fragment_request(request):
        if is_under_way:
            return render(request, "reports/_progress.html", {**_progress_context(run), "is_fragment": True})
        # The run has ended: reload the whole page.
        return HttpResponse(headers={"HX-Refresh": "true"})
    context = build_run_context(request, run, tab="report") | {"log": run.log}
    if is_under_way:
        context |= _progress_context(run) | {"is_under_way": True, "cancel_url": reverse("report-cancel", args=[id])}
    elif run.status == Report.Status.READY:
        context |= _build_results_context(request, run)
    else:
        last_good_run = report_rows.list_earlier(run=run).first()
        context |= {
            "problem": run.problem,
            "is_cancelled": run.status == Report.Status.CANCELLED,
            "last_good_url": reverse("report", args=[last_good_run.pk]) if last_good_run else "",
        }
    return render(request, "reports/run.html", context)


@form_view(VIEW_GUARD)
def cancel_run(request: HttpRequest, id: UUID) -> HttpResponse:
    """Confirmation page for cancelling a run, and the cancellation."""
    run = report_rows.get_report(id=id)
    if request.method == "POST":
        try:
            service.cancel(report_id=id, by=get_actor(request))
        except Conflict as refusal:
            messages.info(request, refusal.detail)
        else:
            messages.success(request, "The report was cancelled.")
        return redirect("report", id=id)
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Cancel {registry.get_spec(run).title}?",
        text="Its work so far is lost. Earlier results stay.",
        label="Cancel report",
        cancel_url=reverse("report", args=[id]),
    )


@page_view(VIEW_GUARD)
def download_script(request: HttpRequest, id: UUID) -> HttpResponseBase:
    """Download of the repairs of an export (`export`) as one script, or of what takes them back (`inverse`)."""
    run, is_inverse = report_rows.get_report(id=id), "inverse" in request.GET
    lines = repair_scripts.render(
        run=run, export=request.GET.get("export", ""), is_inverse=is_inverse, by=get_actor(request)
    )
    disposition = f'attachment; filename="{repair_scripts.name_file(run, is_inverse=is_inverse)}"'
    return StreamingHttpResponse(
        (f"{line}\n" for line in lines),
        content_type="application/sql; charset=utf-8",
        headers={"Content-Disposition": disposition},
    )


def build_run_context(request: HttpRequest, run: Report, *, tab: str) -> dict[str, Any]:
    """Return the context that all pages of a run share; `tab` is the name of its table, "report" or "access"."""
    spec = registry.get_spec(run)
    viewer = AnswerViewer.from_actor(get_actor(request))
    url = reverse("report", args=[run.pk])
    is_ready = run.status == Report.Status.READY
    tabs = [("report", "Overview", url)]
    tabs += [(table.name, table.title, reverse("report-table", args=[run.pk, table.name])) for table in spec.tables]
    if is_ready and spec.keeps_snapshot:
        tabs.append(("access", "Ask", reverse("report-access", args=[run.pk])))
    return {
        "report": run,
        "kind": spec,
        "url": url,
        "is_ready": is_ready,
        "by": layout.load_people_links([run.requested_by], viewer)[run.requested_by],
        "age": layout.relative_time(run.requested_at),
        "duration": layout.duration(run),
        "tabs": [{"label": label, "url": tab_url, "is_current": name == tab} for name, label, tab_url in tabs],
        "compare_url": reverse("report-compare", args=[run.pk]) if is_ready and spec.tables else "",
        "again_url": f"{reverse('report-new', args=[spec.name])}?again={run.pk}" if spec.name in KINDS else "",
        "parameters": start_form.list_parameter_facts(spec, run, viewer.actor),
        "breadcrumbs": SECTION.breadcrumbs(spec.title),
    }


def _build_place_context(request: HttpRequest, run: Report) -> dict[str, Any]:
    url = reverse("report", args=[run.pk])
    if run.status in Report.OPEN_STATUSES:
        return {"url": url, "is_under_way": True, **_progress_context(run)}
    if run.status != Report.Status.READY:
        is_cancelled = run.status == Report.Status.CANCELLED
        return {"url": url, "problem": "This report was cancelled." if is_cancelled else run.problem}
    tables = registry.get_spec(run).tables
    links = [{"label": table.title, "url": reverse("report-table", args=[run.pk, table.name])} for table in tables]
    return {"url": url, "links": links, **_build_results_context(request, run)}


def _progress_context(run: Report) -> dict[str, Any]:
    duration = layout.duration(run)
    is_waiting = run.status == Report.Status.QUEUED
    return {
        "state": layout.status_badge(run),
        "stage": run.stage or ("Waiting for a worker" if is_waiting else "Working"),
        "done": f"{run.done:,}" if run.done else "",
        "total": f"{run.total:,}",
        "percent": min(100 * run.done // run.total, 100) if run.total else None,
        "elapsed": f"Requested {layout.relative_time(run.requested_at)}." if is_waiting else f"Running for {duration}.",
        "log": run.log,
    }


def _build_results_context(request: HttpRequest, run: Report) -> dict[str, Any]:
    summary = result_reader.read_summary(run=run, by=get_actor(request))
    is_over_time = any(chart.is_over_time for chart in summary.charts)
    past_runs = (
        report_rows.list_history(kind=run.kind, until=run.requested_at, limit=charts.MAX_RUNS) if is_over_time else []
    )
    return {
        "numbers": [{"label": number.title, "value": f"{number.value:,}"} for number in summary.numbers],
        "charts": charts.render_charts(summary, past_runs, get_actor(request)),
        "notes": summary.notes,
        "warnings": summary.warnings,
        "unjudged": summary.unjudged,
        "scripts": _list_scripts(run),
    }


def _list_scripts(run: Report) -> list[dict[str, str]]:
    url = reverse("report-script", args=[run.pk])
    return [
        {
            "export": export,
            "dialect": dialect,
            "url": f"{url}?{urlencode({'export': export})}",
            "inverse_url": f"{url}?{urlencode({'export': export, 'inverse': 1})}",
        }
        for export, dialect in repair_scripts.list_exports(run).items()
    ]


def _build_kind_rows() -> list[dict[str, Any]]:
    last_runs, last_ready_runs = report_rows.find_newest_by_kind(), report_rows.find_newest_by_kind(is_ready=True)
    return [
        {
            "kind": spec,
            "last": _report_summary(last_runs.get(spec.name)),
            "ready": _report_summary(last_ready_runs.get(spec.name)),
            "start_url": reverse("report-new", args=[spec.name]),
        }
        for spec in KINDS.values()
    ]


def _report_summary(run: Report | None) -> dict[str, Any] | None:
    if run is None:
        return None
    url = reverse("report", args=[run.pk])
    return {"state": layout.status_badge(run), "url": url, "age": layout.relative_time(run.requested_at)}


def _build_rows(runs: list[Report], viewer: AnswerViewer) -> list[dict[str, Any]]:
    people = layout.load_people_links({run.requested_by for run in runs}, viewer)
    return [
        {
            "url": reverse("report", args=[run.pk]),
            "title": registry.get_spec(run).title,
            "state": layout.status_badge(run),
            "sentence": run.problem or (run.stage if run.status == Report.Status.RUNNING else ""),
            "requested_at": run.requested_at,
            "age": layout.relative_time(run.requested_at),
            "by": people[run.requested_by],
            "duration": layout.duration(run),
        }
        for run in runs
    ]
