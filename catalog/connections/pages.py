"""Settings > Installation > Connections: the list, and one connection with its snapshots."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince

from catalog.connections import overview, repairs, snapshots, sources
from catalog.connections.overview import ConnectionState
from catalog.models import WarehouseSnapshot
from catalog.reports.pages import layout
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine.requirements import any_of_requirement
from policies.errors import Conflict
from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import Section, build_columns, form_view, page_view

VIEW_GUARD = needs(snapshots.REQUIRED_PRIVILEGE)

SECTION = Section("Connections", "connections", ("Settings", "Installation"))

#: Sets of repairs that the page of a connection lists.
_MAX_CHANGES = 20

_STATUS_KINDS = {
    WarehouseSnapshot.Status.QUEUED: "info",
    WarehouseSnapshot.Status.RUNNING: "info",
    WarehouseSnapshot.Status.READY: "success",
    WarehouseSnapshot.Status.FAILED: "danger",
}


@page_view(VIEW_GUARD)
def list_connections(request: HttpRequest) -> HttpResponse:
    """Page of the connections, each with where it leads and the age of its last snapshot."""
    return list_and_form_pages.render_filtered_list(
        request,
        "connections/list.html",
        "connections/_list.html",
        form=forms.Form({}),
        query=sources.list_connections,
        build_rows=lambda connections: [_build_row(state) for state in overview.describe_connections(connections)],
        columns=build_columns("Connection", "Leads to", "Last snapshot", "State"),
        breadcrumbs=SECTION.breadcrumbs(),
    )


@page_view(VIEW_GUARD)
def show_connection(request: HttpRequest, name: str) -> HttpResponse:
    """Page of one connection; an htmx request gets the progress of its snapshot, or the page anew when it has ended."""
    state = overview.describe_connection(name)
    is_under_way = state.last is not None and state.last.status in WarehouseSnapshot.OPEN_STATUSES
    if list_and_form_pages.is_fragment_request(request):
        if is_under_way:
            return render(request, "connections/_progress.html", _build_progress(state.last))
        return HttpResponse(headers={"HX-Refresh": "true"})
    viewer = AnswerViewer.from_actor(get_actor(request))
    page = list_and_form_pages.get_page(request, snapshots.list_snapshots(name=name))
    people = layout.load_people_links([snapshot.requested_by for snapshot in page], viewer)
    context = {
        **_build_row(state),
        "is_under_way": is_under_way,
        "facts": _build_facts(state),
        "rights": state.last_good.reading["rights"] if state.last_good else [],
        "right_columns": build_columns("Right", "Held", "Meaning"),
        **list_and_form_pages.check_permissions(
            request, has_repairs=any_of_requirement([list(repairs.PROPOSING_PRIVILEGES)])
        ),
        "changes": repairs.list_changes(name=name)[:_MAX_CHANGES],
        "change_columns": build_columns("Proposed", "State", "Statements", numbers=["Statements"]),
        "page": page,
        "rows": [_build_snapshot_row(snapshot, people[snapshot.requested_by]) for snapshot in page],
        "columns": build_columns("Requested", "By", "State", "Rows", numbers=["Rows"]),
        "take_url": reverse("connection-snapshot", args=[name]),
        "breadcrumbs": SECTION.breadcrumbs(name),
        **(_build_progress(state.last) if is_under_way else {}),
    }
    return render(request, "connections/detail.html", context)


@form_view(VIEW_GUARD)
def take_snapshot(request: HttpRequest, name: str) -> HttpResponse:
    """Ask whether a snapshot of a connection is to be taken (GET), and have a worker take it (POST)."""
    state = overview.describe_connection(name)
    if request.method == "POST":
        try:
            snapshots.request_snapshot(name=name, by=get_actor(request))
        except Conflict as refusal:
            messages.info(request, refusal.detail)
        return redirect("connection", name=name)
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Take a snapshot of {name}?",
        text=f"A worker reads the grants and roles of {_word_place(state)}. Nothing is changed there.",
        label="Take a snapshot",
        kind="primary",
        cancel_url=reverse("connection", args=[name]),
    )


def _build_row(state: ConnectionState) -> dict[str, Any]:
    last = state.last
    problem = state.problem or (last.problem if last else "")
    if state.is_moved and not problem:
        problem = "It leads elsewhere than the last good snapshot: what that shows is of another place."
    return {
        "connection": state.connection,
        "url": reverse("connection", args=[state.name]),
        "place": _word_place(state) if state.address else "",
        "taken_at": state.last_good.taken_at if state.last_good else None,
        "age": _word_age(state.last_good),
        "status": _build_status(last) if last else None,
        "problem": problem,
    }


def _word_place(state: ConnectionState) -> str:
    return f"{state.address.host}/{state.address.database}" if state.address else "an address that is not known here"


def _build_facts(state: ConnectionState) -> list[dict[str, Any]]:
    reading = state.last_good.reading if state.last_good else {}
    return [
        {"label": "System", "value": " ".join(filter(None, (state.system, reading.get("version"))))},
        {"label": "Server", "value": state.address.host if state.address else ""},
        {"label": "Database", "value": state.address.database if state.address else ""},
        {"label": "Role that reads", "value": state.address.role if state.address else ""},
        {"label": "DSN to read", "value": state.connection.read_variable},
        {"label": "Last good snapshot", "value": _word_age(state.last_good)},
        {
            "label": "Rows in it",
            "lines": [f"{name}: {count:,}" for name, count in reading.get("rows", {}).items()],
        },
    ]


def _build_snapshot_row(snapshot: WarehouseSnapshot, person: Any) -> dict[str, Any]:
    return {
        "snapshot": snapshot,
        "by": person,
        "status": _build_status(snapshot),
        "row_count": sum(snapshot.reading["rows"].values()) if snapshot.reading else None,
    }


def _build_status(snapshot: WarehouseSnapshot) -> dict[str, str]:
    return {"label": snapshot.get_status_display(), "kind": _STATUS_KINDS[WarehouseSnapshot.Status(snapshot.status)]}


def _build_progress(snapshot: WarehouseSnapshot | None) -> dict[str, Any]:
    if snapshot is None:
        return {}
    return {
        "stage": snapshot.stage or "Waiting for a worker",
        "done": snapshot.done,
        "total": snapshot.total,
        "percent": 100 * snapshot.done // snapshot.total if snapshot.total else None,
    }


def _word_age(snapshot: WarehouseSnapshot | None) -> str:
    if snapshot is None or snapshot.taken_at is None:
        return ""
    return f"{timesince(snapshot.taken_at, timezone.now())} old"
