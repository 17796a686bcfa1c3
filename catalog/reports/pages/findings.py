"""/reports/findings: what reports found wrong, and deciding what becomes of it, one by one or many at once."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.models import Finding, FindingEvent, Report
from catalog.reports.finding_labels import name_finding_type
from catalog.reports.pages import cells, layout
from catalog.reports.pages.charts import CONCEALED
from catalog.reports.pages.layout import SEES
from catalog.reports.queries import findings as reading
from catalog.reports.registry import KINDS
from catalog.reports.run.result_reader import Shown
from catalog.reports.services import findings as service
from catalog.reports.services import reports
from catalog.reports.spec import Column, ColumnKind
from policies.decisions.pages.explore_common import Asker
from policies.engine import requirements
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.http.guard import actor_of, signed_in
from policies.http.pages import list_and_form_pages
from policies.models.people import USER_PREFIX
from policies.pdp import authorizer

_COLUMNS = (
    {"label": "Chosen", "is_hidden_label": True},
    {"label": "Severity"},
    {"label": "What is wrong"},
    {"label": "State"},
    {"label": "Assigned to"},
    {"label": "First seen"},
)

#: What stands in columns of their own beside the others of a finding.
_APART = ("severity", "type", "sentence", "repair", "key")

#: How many findings of a group are shown without leaving the list.
_MEMBERS_SHOWN = 5

_SEVERITIES = {"CRITICAL": "danger", "HIGH": "danger", "MEDIUM": "warning", "LOW": "info"}
_STATES = {"OPEN": "warning", "ASSIGNED": "info", "ACCEPTED": "neutral", "CLOSED": "success"}


def _words(text: str) -> str:
    return text.replace("_", " ").capitalize()


class FindingFilters(forms.Form):
    """What narrows the findings; a value that is no choice narrows nothing."""

    q = forms.CharField(label="Search", required=False, max_length=512, widget=forms.SearchInput)
    state = forms.ChoiceField(
        label="State", required=False, choices=[("", "Waiting"), ("ANY", "Any"), *Finding.State.choices]
    )
    severity = forms.ChoiceField(label="Severity", required=False, choices=[("", "Any"), *Finding.Severity.choices])
    type = forms.CharField(label="What is wrong", required=False, max_length=64, widget=forms.Select)
    kind = forms.ChoiceField(label="Report", required=False)
    assignee = forms.CharField(
        label="Assigned to",
        required=False,
        max_length=512,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "URN or user name"}),
    )
    subject = forms.CharField(required=False, max_length=512, widget=forms.HiddenInput)

    def __init__(self, data: Any) -> None:
        super().__init__(data)
        kinds = [(name, kind.title) for name, kind in KINDS.items()]
        self.fields["kind"].choices = [("", "Any"), *kinds]  # type: ignore[attr-defined]  # a ChoiceField
        self.is_valid()

    def offer(self, types: Mapping[str, int]) -> None:
        """Set what is wrong to choose from."""
        labels = [(name, f"{name_finding_type(name)} ({count})") for name, count in types.items()]
        self.fields["type"].widget.choices = [("", "Any"), *labels]

    @property
    def narrowing(self) -> dict[str, Any]:
        """What is asked for and makes sense, as the query takes it."""
        wanted = {name: value for name, value in self.cleaned_data.items() if value}
        state = wanted.pop("state", "")
        found = {"text": wanted.pop("q", ""), "assignee": _person(wanted.pop("assignee", "")), **wanted}
        return found | {"states": () if state == "ANY" else (state,) if state else reading.WAITING}


class DecisionForm(forms.Form):
    """What becomes of findings. What each needs is the service's to say."""

    what = forms.ChoiceField(
        label="What to do",
        choices=[
            ("accept", "Accept: it is meant to be so"),
            ("assign", "Assign"),
            ("close", "Close"),
            ("reopen", "Open again"),
        ],
    )
    assignee = forms.CharField(
        label="Assign to",
        required=False,
        max_length=512,
        help_text="A user name, or the URN of a user or group.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=4000,
        help_text="Why, for who comes after you. Accepting needs one.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    until = forms.DateField(
        label="Accepted until",
        required=False,
        help_text="The last day (UTC) of an acceptance; the finding is open again after it. Empty: it does not end.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def decide(self, ids: Collection[int], by: Actor) -> int | None:
        """Do it and return to how many; None when something is wrong, which then stands beside its field."""
        if not self.is_valid():
            return None
        if not ids:
            self.add_error(None, "Choose at least one finding.")
            return None
        note, assignee = self.cleaned_data["note"], _person(self.cleaned_data["assignee"])
        try:
            match self.cleaned_data["what"]:
                case "accept":
                    return service.accept(ids=ids, note=note, until=self.cleaned_data["until"], by=by)
                case "assign":
                    return service.assign(ids=ids, assignee=assignee, note=note or None, by=by)
                case "close":
                    return service.close(ids=ids, note=note or None, by=by)
                case _:
                    return service.reopen(ids=ids, by=by)
        except Invalid as refusal:
            for problem in refusal.problems:
                self.add_error(problem.pointer.strip("/"), problem.detail)
            return None


@require_http_methods(["GET", "POST"])
@never_cache
@SEES
def inbox(request: HttpRequest) -> HttpResponse:
    """The findings, the worst first, and what to do with the chosen ones; an htmx request gets the list alone."""
    form, by = FindingFilters(request.GET), actor_of(request)
    decision = DecisionForm(list_and_form_pages.posted(request))
    found = reading.findings(**form.narrowing)
    chosen, groups = _numbers(request, "finding"), _numbers(request, "group")
    status = HTTPStatus.OK
    if request.method == "POST":
        listed = [*chosen, *reading.list_group_ids(found, firsts=groups)] if groups else chosen
        count = decision.decide(listed, by)
        if count is not None:
            messages.success(request, "1 finding was changed." if count == 1 else f"{count:,} findings were changed.")
            return redirect(request.get_full_path())
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    is_grouped = not form.narrowing.get("subject")
    page = list_and_form_pages.page_of(request, reading.group_findings(found) if is_grouped else found)
    listed_rows = list(page)
    context: dict[str, Any] = {
        "page": page,
        "rows": _group_rows(listed_rows, found, chosen | groups, by) if is_grouped else _rows(listed_rows, chosen, by),
        "noun": "groups of equal findings" if is_grouped else "findings",
        "total": found.count() if is_grouped else page.paginator.count,
        "columns": _COLUMNS,
        "change_form": decision,
        "back": request.get_full_path(),
        "all_url": "" if is_grouped else reverse("findings"),
        "is_filtered": any(form.cleaned_data.values()),
    }
    if not list_and_form_pages.wants_fragment(request):
        form.offer(reading.types())
        context |= {"form": form, "tabs": layout.tabs("findings"), "breadcrumbs": layout.crumbs(("Findings", ""))}
    response = list_and_form_pages.listed(
        request, whole="reports/findings.html", part="reports/_findings.html", context=context
    )
    response.status_code = status
    return response


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def finding(request: HttpRequest, id: int) -> HttpResponse:
    """One finding: what it is about, what would mend it, what was decided about it, and deciding anew."""
    by = actor_of(request)
    found = service.read(id=id, by=by)
    decision = DecisionForm(list_and_form_pages.posted(request))
    status = HTTPStatus.OK
    if request.method == "POST":
        authorizer.require(by=by, any_of=[[reports.NEEDED]])
        if decision.decide([id], by) is not None:
            messages.success(request, "The finding was changed.")
            return redirect("finding", id=id)
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    may_decide = list_and_form_pages.may(request, decide=(requirements.one(reports.NEEDED), None))["decide"]
    is_concealed = bool(reading.concealed(findings=[found], by=by))
    trail, title = reading.list_trail(finding=found), name_finding_type(found.type)
    named = {found.assignee, found.decided_by}.union(*({event.assignee, event.by} for event in trail))
    people = layout.people({urn for urn in named if urn}, Asker.of(by))
    context = {
        "finding": found,
        "sentence": CONCEALED if is_concealed else found.sentence,
        "repair": "" if is_concealed else found.repair,
        "severity": _badge(found.get_severity_display(), _SEVERITIES[found.severity]),
        "state": _badge(found.get_state_display(), _STATES[found.state]),
        "about": [] if is_concealed else _about(found, by),
        "assignee": people.get(found.assignee),
        "decided_by": people.get(found.decided_by),
        "first_seen": _seen(found.first_seen, found.first_seen_at, is_linked=may_decide),
        "last_seen": _seen(found.last_seen, found.last_seen_at, is_linked=may_decide),
        "trail": [_event(event, people, is_linked=may_decide) for event in trail],
        "change_form": decision if may_decide else None,
        "breadcrumbs": layout.crumbs(("Findings", reverse("findings")), (title, "")) if may_decide else [],
        "title": title,
    }
    return render(request, "reports/finding.html", context, status=status)


def _numbers(request: HttpRequest, name: str) -> set[int]:
    return {int(one) for one in request.POST.getlist(name) if one.isdecimal() and len(one) < 19}


def _group_rows(
    groups: Sequence[Mapping[str, Any]], found: QuerySet[Finding], chosen: Collection[int], by: Actor
) -> list[dict[str, Any]]:
    """Return groups of equal findings as rows; one that is equal to no other is a row like those of `_rows`."""
    members = reading.list_members(found, groups, limit=_MEMBERS_SHOWN)
    rows = {row["finding"].pk: row for row in _rows([one for some in members.values() for one in some], chosen, by)}
    names = authorizer.names(urns={one.subject for some in members.values() for one in some if one.subject})
    return [_group_row(group, [rows[one.pk] for one in members[group["first"]]], names) for group in groups]


def _group_row(group: Mapping[str, Any], members: list[dict[str, Any]], names: Mapping[str, str]) -> dict[str, Any]:
    first = members[0]
    if group["count"] == 1:
        return first
    subject = first["finding"].subject
    asked = {name: group[name] for name in ("severity", "kind", "type", "state", "assignee") if group[name]}
    title = f"{names.get(subject, subject)}: {first['about']}"
    return {
        **first,
        "title": CONCEALED if first["title"] == CONCEALED else title,
        "url": f"{reverse('findings')}?{urlencode({**asked, 'subject': subject})}",
        "count": group["count"],
        "members": members,
        "since": layout.ago(group["since"]),
    }


def _rows(found: Sequence[Finding], chosen: Collection[int], by: Actor) -> list[dict[str, Any]]:
    hidden = reading.concealed(findings=found, by=by)
    people = layout.people({one.assignee for one in found if one.assignee}, Asker.of(by))
    return [
        {
            "finding": one,
            "url": reverse("finding", args=[one.pk]),
            "title": CONCEALED if one.pk in hidden else one.sentence,
            "about": name_finding_type(one.type),
            "severity": _badge(one.get_severity_display(), _SEVERITIES[one.severity]),
            "state": _badge(one.get_state_display(), _STATES[one.state]),
            "assignee": people.get(one.assignee),
            "until": one.accepted_until,
            "since": layout.ago(one.first_seen_at),
            "is_chosen": one.pk in chosen,
        }
        for one in found
    ]


def _about(found: Finding, by: Actor) -> list[dict[str, Any]]:
    """Return what a finding says beside its sentence, column by column, as cells."""
    kind = KINDS.get(found.kind)
    known = {column.name: column for table in kind.tables for column in table.columns} if kind else {}
    names = [name for name in found.values if name not in _APART]
    columns = [known.get(name) or Column(name, _words(name), ColumnKind.TEXT) for name in names]
    (row,) = cells.drawn(columns, [Shown(None, tuple(found.values[name] for name in names))], by)
    return [
        {"label": column.title, "cell": cell, "template": "reports/_fact_cell.html"}
        for column, cell in zip(columns, row, strict=True)
    ]


def _badge(label: str, kind: str) -> dict[str, str]:
    return {"label": label, "kind": kind}


def _seen(run: Report | None, at: datetime, *, is_linked: bool) -> dict[str, Any]:
    """Return when a run saw a finding, and the run while it is kept, for a reader who may see it."""
    return {"at": at, "url": reverse("report", args=[run.pk]) if run and is_linked else ""}


def _event(event: FindingEvent, people: Mapping[str, Any], *, is_linked: bool) -> dict[str, Any]:
    return {
        "event": event,
        "state": _badge(event.get_state_display(), _STATES[event.state]),
        "by": people.get(event.by),
        "assignee": people.get(event.assignee),
        "report_url": reverse("report", args=[event.report_id]) if event.report_id and is_linked else "",
    }


def _person(word: str) -> str:
    return word if not word or word.startswith("urn:") else f"{USER_PREFIX}{word}"
