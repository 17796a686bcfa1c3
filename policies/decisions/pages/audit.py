"""Settings > Audit: the decision log and the change log."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.authoring.pages.datahub_presenter import format_json
from policies.decisions import audit_search
from policies.decisions.pages import change_wording
from policies.decisions.pages.explore_common import AnswerViewer
from policies.engine.model import SYSTEM_ACTOR, DecisionCode
from policies.http.guard import get_actor, needs
from policies.http.pages import channel_names, list_and_form_pages
from policies.http.pages.filter_forms import user_urn
from policies.http.pages.list_and_form_pages import Section, page_view
from policies.models import LoggedDecision, PolicyEvent, Verb
from policies.models.event import Event
from policies.pdp import authorizer, display_names, explanations
from policies.pdp.log import decision_log_queries
from policies.pdp.log.decision_log_queries import LogPosition
from policies.writes import change_log_queries

#: The same privilege as at /api/v1/audit/.
VIEW_GUARD = needs("MANAGE_POLICIES")

SECTION = Section("Audit", "audit", ("Settings", "Installation"))

_MAX_TEXT_LENGTH = 512
_TABS = (("audit", "Decisions"), ("audit-policies", "Changes to policies"), ("audit-people", "Other changes"))

_DECISION_COLUMNS = list_and_form_pages.build_columns("Time (UTC)", "Who", "Question", "Answer")
_CHANGE_COLUMNS = list_and_form_pages.build_columns("Time (UTC)", "Who", "What", "Before and after")


def _text_field(label: str, placeholder: str = "") -> forms.CharField:
    attributes = {"autocomplete": "off", "placeholder": placeholder}
    return forms.CharField(
        label=label, required=False, max_length=_MAX_TEXT_LENGTH, widget=forms.TextInput(attrs=attributes)
    )


def _time_field(label: str) -> forms.DateTimeField:
    # The format of a browser's datetime-local input; the time is in UTC.
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, required=False, widget=widget)


class DecisionFilterForm(forms.Form):
    """Filters of the decision log; an invalid value filters nothing and shows an error."""

    actor = _text_field("User", "URN or user name")
    privilege = _text_field("Privilege")
    resource = _text_field("Resource", "URN")
    decision = forms.ChoiceField(
        label="Answer",
        required=False,
        choices=[
            ("", "Any"),
            *zip(decision_log_queries.OUTCOMES, ("Allowed", "Refused", "No such privilege"), strict=True),
        ],
    )
    door = forms.ChoiceField(
        label="Channel", required=False, choices=[("", "Any"), *channel_names.QUESTION_CHANNELS.items()]
    )
    since = _time_field("From (UTC)")
    until = _time_field("Until (UTC)")


class ChangeFilterForm(forms.Form):
    """Filters of the change log."""

    object = _text_field("Changed", "URN")
    by = _text_field("By", "URN or user name")
    verb = forms.ChoiceField(label="What", required=False, choices=[("", "Anything"), *Verb.choices])


@page_view(VIEW_GUARD)
def list_decisions(request: HttpRequest) -> HttpResponse:
    """Page of the decision log, paged by position: page numbers would need a count of all rows."""
    form = DecisionFilterForm(request.GET)
    form.is_valid()
    filters = form.cleaned_data
    rows = audit_search.list_decisions(
        actor=user_urn(filters.get("actor") or ""),
        privilege=filters.get("privilege") or "",
        resource=filters.get("resource") or "",
        outcome=filters.get("decision") or "",
        door=filters.get("door") or "",
        since=filters.get("since"),
        until=filters.get("until"),
    )
    log_page = decision_log_queries.load_decision_page(
        rows, size=list_and_form_pages.get_page_size(request), **_parse_position(request)
    )
    context = {
        **_page_context("audit", "decisions"),
        "form": form,
        "columns": _DECISION_COLUMNS,
        "rows": _build_decision_rows(log_page.rows, AnswerViewer.from_actor(get_actor(request))),
        "newer": str(LogPosition.from_row(log_page.rows[0])) if log_page.rows and log_page.has_newer else "",
        "older": str(LogPosition.from_row(log_page.rows[-1])) if log_page.rows and log_page.has_older else "",
        "is_moved": bool(_parse_position(request)),
        "days": settings.DECISION_LOG_DAYS,
        "percent": f"{settings.DECISION_LOG_SAMPLE * 100:g}",
    }
    return list_and_form_pages.render_list(
        request, page_template="audit/decisions.html", fragment_template="audit/_decisions.html", context=context
    )


@page_view(VIEW_GUARD)
def list_policy_changes(request: HttpRequest) -> HttpResponse:
    """Page of every write to a policy; the states before and after are on the page of the version."""
    form, filters = _parse_filters(request)
    page = list_and_form_pages.get_page(request, change_log_queries.list_policy_events(**filters))
    events: Sequence[PolicyEvent] = list(page)
    user_links = _UserLinks({event.by for event in events}, AnswerViewer.from_actor(get_actor(request)))
    rows = [
        {
            "event": event,
            "channel": channel_names.name_channel(event.door),
            "by": user_links(event.by),
            "url": _version_url(event),
            **_describe_change(event),
        }
        for event in events
    ]
    return _render_changes(request, "audit-policies", form, page, rows)


def _version_url(event: PolicyEvent) -> str:
    """Return the URL of the page of a version, '' while policies are switched off."""
    if not settings.AUTH_POLICIES_ENABLED:
        return ""
    return reverse("policy-version", args=[event.version, event.policy_urn])


@page_view(VIEW_GUARD)
def list_people_changes(request: HttpRequest) -> HttpResponse:
    """Page of every write to users, groups, roles, tokens, grants and the catalog, with the object before and after."""
    form, filters = _parse_filters(request)
    page = list_and_form_pages.get_page(request, audit_search.list_changes(**filters))
    events = list(page)
    urns_by_event = {event.pk: change_log_queries.event_urns(event) for event in events}
    hidden_urns = authorizer.directory().find_hidden_urns(urns=frozenset().union(*urns_by_event.values()))
    user_links = _UserLinks({event.by for event in events}, AnswerViewer.from_actor(get_actor(request)))
    rows = [
        {
            "event": event,
            "channel": channel_names.name_channel(event.door),
            "by": user_links(event.by),
            "is_concealed": not hidden_urns.isdisjoint(urns_by_event[event.pk]),
            **_describe_change(event),
        }
        for event in events
    ]
    return _render_changes(request, "audit-people", form, page, rows)


def _describe_change(event: Event) -> dict[str, Any]:
    return {
        "sentences": change_wording.word_change(event.verb),
        "before": "" if event.before is None else format_json(event.before),
        "after": "" if event.after is None else format_json(event.after),
    }


class _UserLinks:
    """Lookup of a user's URN, name and page (if the viewer may open it) by URN; one query for all URNs."""

    def __init__(self, urns: Collection[str], viewer: AnswerViewer) -> None:
        self._names_by_urn = {SYSTEM_ACTOR: "The system", **display_names.load_names(urns=urns)}
        self._viewer = viewer

    def __call__(self, urn: str) -> Mapping[str, str]:
        is_known = urn in self._names_by_urn and urn != SYSTEM_ACTOR
        return {
            "urn": urn,
            "name": self._names_by_urn.get(urn, urn),
            "url": self._viewer.account_url(urn) if is_known else "",
        }


def _build_decision_rows(rows: Sequence[LoggedDecision], viewer: AnswerViewer) -> list[dict[str, Any]]:
    """Return logged decisions as template rows; a resource that the viewer may not view has neither name nor URN."""
    resource_urns = {row.resource for row in rows} - {""}
    hidden_urns = authorizer.directory().find_hidden_urns(urns=resource_urns)
    names = authorizer.load_names(urns=sorted(resource_urns - hidden_urns))
    user_links = _UserLinks(_user_urns(rows), viewer)
    return [
        {
            "row": row,
            "channel": channel_names.name_channel(row.door),
            "is_unknown": decision_log_queries.find_outcome(row) == decision_log_queries.UNKNOWN,
            "outcome": _word_outcome(row.code),
            "actor": user_links(row.actor),
            "by": "" if row.by == row.actor else user_links(row.by)["name"],
            "name": names.get(row.resource, ""),
            "is_concealed": row.resource in hidden_urns,
            "statements": [
                {**statement, "url": viewer.policy_url(statement["policy"])} for statement in row.statements
            ],
        }
        for row in rows
    ]


def _word_outcome(code: str) -> str:
    """Return the sentence of a decision code; a code unknown to this release is returned unchanged."""
    return explanations.SENTENCES[DecisionCode(code)] if code in set(DecisionCode) else code


def _user_urns(rows: Iterable[LoggedDecision]) -> set[str]:
    return {urn for row in rows for urn in (row.actor, row.by) if urn}


def _parse_position(request: HttpRequest) -> dict[str, LogPosition]:
    """Return the position to read on from, as {"before" or "after": position}; empty (the newest) without one."""
    for name in ("before", "after"):
        try:
            return {name: LogPosition.parse(request.GET[name])}
        except (KeyError, ValueError):
            continue
    return {}


def _parse_filters(request: HttpRequest) -> tuple[ChangeFilterForm, dict[str, str]]:
    form = ChangeFilterForm(request.GET)
    form.is_valid()
    cleaned_data = form.cleaned_data
    return form, {
        "urn": cleaned_data.get("object") or "",
        "by": user_urn(cleaned_data.get("by") or ""),
        "verb": cleaned_data.get("verb") or "",
    }


def _render_changes(
    request: HttpRequest, route: str, form: ChangeFilterForm, page: Any, rows: Sequence[Mapping[str, Any]]
) -> HttpResponse:
    context = {
        **_page_context(route, "changes"),
        "form": form,
        "columns": _CHANGE_COLUMNS,
        "page": page,
        "rows": rows,
    }
    return list_and_form_pages.render_list(
        request, page_template="audit/changes.html", fragment_template="audit/_changes.html", context=context
    )


def _page_context(route: str, fragment_id: str) -> dict[str, Any]:
    return {
        "tabs": [{"label": label, "url": reverse(name), "is_current": name == route} for name, label in _TABS],
        "route": reverse(route),
        "target": fragment_id,
        "breadcrumbs": SECTION.breadcrumbs(),
    }
