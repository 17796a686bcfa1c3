"""Repairs of a connection: what the last run proposes, and one set with its preview, its confirmation and its end."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from catalog.connections import repairs, sources
from catalog.connections.pages import SECTION, VIEW_GUARD
from catalog.models import WarehouseChange
from catalog.reports.kinds.role_mapping_check.spec import SPEC
from catalog.reports.pages import layout
from policies.decisions.pages.explore_common import AnswerViewer
from policies.errors import Conflict, Forbidden, Invalid
from policies.http.guard import Guard, get_actor
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import build_columns, form_view, page_view

PROPOSE_GUARD = Guard(any_of=(repairs.PROPOSING_PRIVILEGES,))

Status = WarehouseChange.Status
#: Effects that the page of a set lists, and that its question names; the API has all of them.
_MAX_EFFECTS, _MAX_ASKED = 500, 20

STATUS_KINDS = {Status.APPLIED: "success", Status.FAILED: "danger", Status.DISCARDED: "neutral"}


@form_view(PROPOSE_GUARD)
def propose_repairs(request: HttpRequest, name: str) -> HttpResponse:
    """Page of the repairs that the last run has for a connection, to choose from (GET), and the proposal (POST)."""
    problems: list[str] = []
    if request.method == "POST":
        try:
            keys = None if "all" in request.POST else request.POST.getlist("finding")
            change = repairs.propose(name=name, keys=keys, by=get_actor(request))
        except Invalid as refusal:
            problems = [problem.detail for problem in refusal.problems]
        except Conflict as refusal:
            problems = [refusal.detail]
        else:
            return redirect("connection-change", name=name, id=change.pk)
    report, found_repairs = repairs.list_repairs(name=name)
    page = list_and_form_pages.get_page(request, found_repairs)
    context = {
        "name": name,
        "report": report,
        "page": page,
        "rows": list(page),
        "problems": problems,
        "can_apply": bool(sources.get_connection(name).apply_variable),
        "columns": build_columns("Chosen", "Finding", "Statements"),
        "breadcrumbs": SECTION.breadcrumbs((name, reverse("connection", args=[name])), "Repairs"),
    }
    return render(request, "connections/repairs.html", context, status=422 if problems else 200)


@page_view(VIEW_GUARD)
def show_change(request: HttpRequest, name: str, id: UUID) -> HttpResponse:
    """Page of one set: its statements, who gains and who loses, and how it ended; htmx asks until a worker is done."""
    change = repairs.get_change(name=name, change_id=id)
    is_under_way = change.status in WarehouseChange.WORKER_STATUSES
    if list_and_form_pages.is_fragment_request(request):
        if is_under_way:
            return render(request, "connections/_change_progress.html", {"change": change})
        return HttpResponse(headers={"HX-Refresh": "true"})
    effects = _list_effects(change)
    viewer = AnswerViewer.from_actor(get_actor(request))
    urns = [urn for urn in (change.requested_by, change.confirmed_by) if urn]
    people = layout.load_people_links(urns, viewer)
    context = {
        "change": change,
        "url": reverse("connection-change", args=[name, id]),
        "is_under_way": is_under_way,
        "is_waiting": change.status == Status.PREVIEWED,
        "check_url": reverse("report-new", args=[SPEC.name]) if change.status == Status.APPLIED else "",
        "may_confirm": repairs.may_confirm(change, by=get_actor(request)),
        "facts": [
            {
                "label": "State",
                "badges": [
                    {"label": change.get_status_display(), "kind": STATUS_KINDS.get(Status(change.status), "info")}
                ],
            },
            {"label": "Proposed by", "value": people[change.requested_by]["name"]},
            {"label": "Confirmed by", "value": people[change.confirmed_by]["name"] if change.confirmed_by else ""},
            {"label": "Statements that ran", "value": f"{change.done:,} of {len(change.statements):,}"},
        ],
        "rows": [
            {"number": number, **entry, "result": _word_result(change, number)}
            for number, entry in enumerate(change.statements)
        ],
        "columns": build_columns("Statement", "Result"),
        "effects": effects[:_MAX_EFFECTS],
        "more_effects": max(len(effects) - _MAX_EFFECTS, 0),
        "effect_columns": build_columns("Who", "Gains or loses", "On"),
        "breadcrumbs": SECTION.breadcrumbs((name, reverse("connection", args=[name])), "Set of repairs"),
    }
    return render(request, "connections/change.html", context)


@form_view(VIEW_GUARD)
def confirm_change(request: HttpRequest, name: str, id: UUID) -> HttpResponse:
    """Ask whether a set is to be applied (GET), and have a worker apply it (POST)."""
    change = repairs.get_change(name=name, change_id=id)
    if request.method == "POST":
        try:
            repairs.confirm(name=name, change_id=id, by=get_actor(request))
        except Conflict as refusal:
            messages.error(request, refusal.detail)
        return redirect("connection-change", name=name, id=id)
    if not repairs.may_confirm(change, by=get_actor(request)):
        raise Forbidden((), repairs.ANOTHER_CONFIRMS)
    effects = _list_effects(change)
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Apply {len(change.statements):,} statements to {name}?",
        text="They are applied as a whole, if they change for everybody what the preview says, or not at all.",
        losses=[
            f"{effect['who']} {effect['verb']} {effect['privilege']} on {effect['on']}"
            for effect in effects[:_MAX_ASKED]
        ],
        label="Apply",
        cancel_url=reverse("connection-change", args=[name, id]),
    )


@form_view(VIEW_GUARD)
def cancel_change(request: HttpRequest, name: str, id: UUID) -> HttpResponse:
    """Ask whether a set is to be discarded (GET), and discard it (POST)."""
    repairs.get_change(name=name, change_id=id)
    if request.method == "POST":
        try:
            repairs.cancel(name=name, change_id=id, by=get_actor(request))
        except Conflict as refusal:
            messages.error(request, refusal.detail)
        return redirect("connection-change", name=name, id=id)
    return list_and_form_pages.render_confirmation(
        request,
        title="Discard this set of repairs?",
        text="Nothing is changed at the source.",
        label="Discard",
        cancel_url=reverse("connection-change", args=[name, id]),
    )


def _word_result(change: WarehouseChange, number: int) -> str:
    if change.status == Status.APPLIED:
        return "In force"
    if change.status != Status.FAILED:
        return ""
    return "Taken back" if number < change.done else "Failed" if number == change.done else "Not run"


def _list_effects(change: WarehouseChange) -> list[dict[str, str]]:
    """Return who loses and who gains what, in this order."""
    difference = repairs.read_difference(change)
    return [
        {"who": fact.holder, "verb": verb, "privilege": fact.privilege, "on": fact.on}
        for verb, facts in (("loses", difference.lost), ("gains", difference.gained))
        for fact in facts
    ]
