"""/reports/findings: the findings of reports, and decisions about one or many of them."""

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

from catalog.models import Finding, FindingEvent, Report
from catalog.reports.finding_labels import finding_type_label
from catalog.reports.pages import cells, layout
from catalog.reports.pages.charts import CONCEALED_LABEL
from catalog.reports.pages.layout import SECTION, VIEW_GUARD
from catalog.reports.queries import findings as reading
from catalog.reports.registry import KINDS
from catalog.reports.run.result_reader import VisibleRow
from catalog.reports.services import findings as service
from catalog.reports.services import reports
from catalog.reports.tables import ColumnKind, ReportColumn
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine import requirements
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.http.guard import get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL, form_view
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

#: Columns that the page shows outside the facts of a finding.
_OWN_COLUMNS = ("severity", "type", "sentence", "repair", "key", "fingerprint")

#: Values of findings that no report makes.
_EXTRA_COLUMNS = (ReportColumn("guardrail", "Guardrail", ColumnKind.POLICY),)

#: Findings of a group that the list shows at most.
_MAX_GROUP_MEMBERS = 5

_SEVERITIES = {"CRITICAL": "danger", "HIGH": "danger", "MEDIUM": "warning", "LOW": "info"}
_STATES = {"OPEN": "warning", "ASSIGNED": "info", "ACCEPTED": "neutral", "CLOSED": "success"}


def _spell_code(text: str) -> str:
    return text.replace("_", " ").capitalize()


class FindingFilterForm(forms.Form):
    """Filters of the findings; an invalid choice filters nothing."""

    q = forms.CharField(label="Search", required=False, max_length=512, widget=forms.SearchInput)
    state = forms.ChoiceField(
        label="State", required=False, choices=[("", "Open or assigned"), ("ANY", "Any"), *Finding.State.choices]
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

    def set_type_choices(self, types: Mapping[str, int]) -> None:
        """Set the choices of the type filter, with counts."""
        labels = [(name, f"{finding_type_label(name)} ({count})") for name, count in types.items()]
        self.fields["type"].widget.choices = [("", "Any"), *labels]

    @property
    def filters(self) -> dict[str, Any]:
        """The valid filters as arguments of `list_findings`."""
        values = {name: value for name, value in self.cleaned_data.items() if value}
        state = values.pop("state", "")
        query_filters = {"text": values.pop("q", ""), "assignee": _person_urn(values.pop("assignee", "")), **values}
        return query_filters | {"states": () if state == "ANY" else (state,) if state else reading.WAITING_STATES}


class DecisionForm(forms.Form):
    """A decision about findings; the service validates what each decision requires."""

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
        help_text="Reason (required to accept).",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    until = forms.DateField(
        label="Accepted until",
        required=False,
        help_text="The last day (UTC) of an acceptance; the finding is open again after it. Empty: it does not end.",
        widget=forms.DateInput(attrs={"type": "date"}),
    )

    def decide(self, ids: Collection[int], by: Actor) -> int | None:
        """Apply the decision and return the number of findings; None on problems, which become form errors."""
        if not self.is_valid():
            return None
        if not ids:
            self.add_error(None, "Choose at least one finding.")
            return None
        note, assignee = self.cleaned_data["note"], _person_urn(self.cleaned_data["assignee"])
        try:
            match self.cleaned_data["what"]:
                case "accept":
                    return service.accept(ids=ids, note=note, until=self.cleaned_data["until"], by=by, channel=CHANNEL)
                case "assign":
                    return service.assign(ids=ids, assignee=assignee, note=note or None, by=by, channel=CHANNEL)
                case "close":
                    return service.close(ids=ids, note=note or None, by=by, channel=CHANNEL)
                case _:
                    return service.reopen(ids=ids, by=by, channel=CHANNEL)
        except Invalid as refusal:
            for problem in refusal.problems:
                self.add_error(problem.pointer.strip("/"), problem.detail)
            return None


@form_view(VIEW_GUARD)
def show_findings(request: HttpRequest) -> HttpResponse:
    """Page of the findings, worst first, with decisions about chosen ones; an htmx request gets only the list."""
    form, by = FindingFilterForm(request.GET), get_actor(request)
    decision = DecisionForm(list_and_form_pages.get_post_data(request))
    findings = reading.list_findings(**form.filters)
    chosen_ids, chosen_group_ids = _posted_ids(request, "finding"), _posted_ids(request, "group")
    status = HTTPStatus.OK
    if request.method == "POST":
        ids = (
            [*chosen_ids, *reading.list_group_ids(findings, first_ids=chosen_group_ids)]
            if chosen_group_ids
            else chosen_ids
        )
        changed_count = decision.decide(ids, by)
        if changed_count is not None:
            messages.success(
                request, "1 finding was changed." if changed_count == 1 else f"{changed_count:,} findings were changed."
            )
            return redirect(request.get_full_path())
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    is_grouped = not form.filters.get("subject")
    page = list_and_form_pages.get_page(request, reading.group_findings(findings) if is_grouped else findings)
    page_rows = list(page)
    context: dict[str, Any] = {
        "page": page,
        "rows": _build_group_rows(page_rows, findings, chosen_ids | chosen_group_ids, by)
        if is_grouped
        else _build_rows(page_rows, chosen_ids, by),
        "noun": "groups of equal findings" if is_grouped else "findings",
        "total": findings.count() if is_grouped else page.paginator.count,
        "columns": _COLUMNS,
        "change_form": decision,
        "back": request.get_full_path(),
        "all_url": "" if is_grouped else reverse("findings"),
        "is_filtered": any(form.cleaned_data.values()),
    }
    if not list_and_form_pages.is_fragment_request(request):
        form.set_type_choices(reading.count_waiting_by_type())
        context |= {"form": form, "tabs": layout.tabs("findings"), "breadcrumbs": SECTION.breadcrumbs("Findings")}
    response = list_and_form_pages.render_list(
        request, page_template="reports/findings.html", fragment_template="reports/_findings.html", context=context
    )
    response.status_code = status
    return response


@form_view(signed_in)
def show_finding(request: HttpRequest, id: int) -> HttpResponse:
    """Page of one finding: its facts, repair, trail and decision form. Its assignee may see it too."""
    by = get_actor(request)
    finding = service.read(id=id, by=by)
    decision = DecisionForm(list_and_form_pages.get_post_data(request))
    status = HTTPStatus.OK
    if request.method == "POST":
        authorizer.require(by=by, any_of=[[reports.REQUIRED_PRIVILEGE]])
        if decision.decide([id], by) is not None:
            messages.success(request, "The finding was changed.")
            return redirect("finding", id=id)
        status = HTTPStatus.UNPROCESSABLE_ENTITY
    may_decide = list_and_form_pages.check_permissions(
        request, decide=(requirements.privilege_requirement(reports.REQUIRED_PRIVILEGE), None)
    )["decide"]
    is_concealed = bool(reading.find_concealed(findings=[finding], by=by))
    trail, title = reading.list_trail(finding=finding), finding_type_label(finding.type)
    urns = {finding.assignee, finding.decided_by}.union(*({event.assignee, event.by} for event in trail))
    people = layout.load_people_links({urn for urn in urns if urn}, AnswerViewer.from_actor(by))
    context = {
        "finding": finding,
        "sentence": CONCEALED_LABEL if is_concealed else finding.sentence,
        "repair": "" if is_concealed else finding.repair,
        "severity": _badge(finding.get_severity_display(), _SEVERITIES[finding.severity]),
        "state": _badge(finding.get_state_display(), _STATES[finding.state]),
        "about": [] if is_concealed else _build_fact_cells(finding, by),
        "access_url": _build_access_url(finding) if may_decide and not is_concealed else "",
        "assignee": people.get(finding.assignee),
        "decided_by": people.get(finding.decided_by),
        "first_seen": _report_link(finding.first_seen, finding.first_seen_at, is_linked=may_decide),
        "last_seen": _report_link(finding.last_seen, finding.last_seen_at, is_linked=may_decide),
        "newest": len(trail) if len(trail) == reading.TRAIL_LENGTH else None,
        "trail": [_event_row(event, people, is_linked=may_decide) for event in trail],
        "change_form": decision if may_decide else None,
        "breadcrumbs": SECTION.breadcrumbs(("Findings", reverse("findings")), title) if may_decide else [],
        "title": title,
    }
    return render(request, "reports/finding.html", context, status=status)


def _posted_ids(request: HttpRequest, name: str) -> set[int]:
    return {int(text) for text in request.POST.getlist(name) if text.isdecimal() and len(text) < 19}


def _build_group_rows(
    groups: Sequence[Mapping[str, Any]], findings: QuerySet[Finding], chosen_ids: Collection[int], by: Actor
) -> list[dict[str, Any]]:
    """Return rows of groups of equal findings; a finding without equals has a row as from `_build_rows`."""
    members = reading.list_members(findings, groups, limit=_MAX_GROUP_MEMBERS)
    rows = {
        row["finding"].pk: row
        for row in _build_rows(
            [finding for group_members in members.values() for finding in group_members], chosen_ids, by
        )
    }
    names = authorizer.load_names(
        urns={finding.subject for group_members in members.values() for finding in group_members if finding.subject}
    )
    return [
        _build_group_row(group, [rows[finding.pk] for finding in members[group["first"]]], names) for group in groups
    ]


def _build_group_row(
    group: Mapping[str, Any], members: list[dict[str, Any]], names: Mapping[str, str]
) -> dict[str, Any]:
    first_row = members[0]
    if group["count"] == 1:
        return first_row
    subject = first_row["finding"].subject
    filters = {name: group[name] for name in ("severity", "kind", "type", "state", "assignee") if group[name]}
    title = f"{names.get(subject, subject)}: {first_row['about']}"
    # The address of the others names the subject, which the viewer may not view.
    is_concealed = first_row["title"] == CONCEALED_LABEL
    return {
        **first_row,
        "title": CONCEALED_LABEL if is_concealed else title,
        "url": "" if is_concealed else f"{reverse('findings')}?{urlencode({**filters, 'subject': subject})}",
        "count": group["count"],
        "members": members,
        "since": layout.relative_time(group["since"]),
    }


def _build_rows(findings: Sequence[Finding], chosen_ids: Collection[int], by: Actor) -> list[dict[str, Any]]:
    concealed_ids = reading.find_concealed(findings=findings, by=by)
    people = layout.load_people_links(
        {finding.assignee for finding in findings if finding.assignee}, AnswerViewer.from_actor(by)
    )
    return [
        {
            "finding": finding,
            "url": reverse("finding", args=[finding.pk]),
            "title": CONCEALED_LABEL if finding.pk in concealed_ids else finding.sentence,
            "about": finding_type_label(finding.type),
            "severity": _badge(finding.get_severity_display(), _SEVERITIES[finding.severity]),
            "state": _badge(finding.get_state_display(), _STATES[finding.state]),
            "assignee": people.get(finding.assignee),
            "until": finding.accepted_until,
            "since": layout.relative_time(finding.first_seen_at),
            "is_chosen": finding.pk in chosen_ids,
        }
        for finding in findings
    ]


def _build_access_url(finding: Finding) -> str:
    """Return the address of all that the grantee of a finding can read, "" where it names no datasets of one."""
    if not finding.values.get("datasets") or not finding.values.get("grantee"):
        return ""
    return f"{reverse('warehouse-access')}?{urlencode({'person': finding.values['grantee']})}"


def _build_fact_cells(finding: Finding, by: Actor) -> list[dict[str, Any]]:
    """Return the values of a finding beside its sentence as labelled cells."""
    spec = KINDS.get(finding.kind)
    tables = reversed(spec.tables) if spec else ()
    # The table of findings is the first one, and its titles count.
    columns_by_name = {column.name: column for table in tables for column in table.columns}
    names = [name for name in finding.values if name not in _OWN_COLUMNS]
    columns_by_name |= {column.name: column for column in _EXTRA_COLUMNS}
    columns = [columns_by_name.get(name) or ReportColumn(name, _spell_code(name), ColumnKind.TEXT) for name in names]
    (row,) = cells.render_cells(columns, [VisibleRow(None, tuple(finding.values[name] for name in names))], by)
    return [
        {"label": column.title, "cell": cell, "template": "reports/_fact_cell.html"}
        for column, cell in zip(columns, row, strict=True)
    ]


def _badge(label: str, kind: str) -> dict[str, str]:
    return {"label": label, "kind": kind}


def _report_link(run: Report | None, at: datetime, *, is_linked: bool) -> dict[str, Any]:
    """Return the time of a run and its link, "" when it was deleted or the viewer may not see it."""
    return {"at": at, "url": reverse("report", args=[run.pk]) if run and is_linked else ""}


def _event_row(event: FindingEvent, people: Mapping[str, Any], *, is_linked: bool) -> dict[str, Any]:
    return {
        "event": event,
        "state": _badge(event.get_state_display(), _STATES[event.state]),
        "by": people.get(event.by),
        "assignee": people.get(event.assignee),
        "report_url": reverse("report", args=[event.report_id]) if event.report_id and is_linked else "",
    }


def _person_urn(word: str) -> str:
    return word if not word or word.startswith("urn:") else f"{USER_PREFIX}{word}"
