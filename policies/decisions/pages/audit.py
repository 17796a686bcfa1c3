"""Settings > Audit: what was asked and answered, and who changed what."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies.authoring.pages.datahub_presenter import pretty
from policies.decisions import audit_search
from policies.decisions.pages.explore_common import Asker
from policies.engine.model import SYSTEM_ACTOR, Code
from policies.http.guard import actor_of, needs
from policies.http.pages import channel_names, list_and_form_pages
from policies.models import LoggedDecision, PolicyEvent, Verb
from policies.models.people import USER_PREFIX
from policies.pdp import authorizer, decision_log_queries, display_names, explanations
from policies.pdp.decision_log_queries import Place
from policies.writes import change_log_queries

#: As at /api/v1/audit/.
SEES = needs("MANAGE_POLICIES")

_LENGTH = 512
_TABS = (("audit", "Decisions"), ("audit-policies", "Changes to policies"), ("audit-people", "Other changes"))

_COLUMNS = [{"label": "Time (UTC)"}, {"label": "Who"}, {"label": "Question"}, {"label": "Answer"}]
_CHANGE_COLUMNS = [{"label": "Time (UTC)"}, {"label": "Who"}, {"label": "What"}, {"label": "Before and after"}]


def _word(label: str, placeholder: str = "") -> forms.CharField:
    attributes = {"autocomplete": "off", "placeholder": placeholder}
    return forms.CharField(label=label, required=False, max_length=_LENGTH, widget=forms.TextInput(attrs=attributes))


def _moment(label: str) -> forms.DateTimeField:
    # What a browser's own field for a time sends, in UTC.
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    return forms.DateTimeField(label=label, required=False, widget=widget)


class DecisionFilters(forms.Form):
    """What narrows the decision log; what makes no sense narrows nothing and says so."""

    actor = _word("User", "URN or user name")
    privilege = _word("Privilege")
    resource = _word("Resource", "URN")
    decision = forms.ChoiceField(
        label="Answer", required=False, choices=[("", "Any"), ("ALLOW", "Allowed"), ("DENY", "Refused")]
    )
    door = forms.ChoiceField(
        label="Channel", required=False, choices=[("", "Any"), *channel_names.QUESTION_CHANNELS.items()]
    )
    since = _moment("From (UTC)")
    until = _moment("Until (UTC)")


class ChangeFilters(forms.Form):
    """What narrows the record of changes."""

    object = _word("Changed", "URN")
    by = _word("By", "URN or user name")
    verb = forms.ChoiceField(label="What", required=False, choices=[("", "Anything"), *Verb.choices])


@require_GET
@never_cache
@SEES
def decisions(request: HttpRequest) -> HttpResponse:
    """The decision log, read on from a place: page numbers would count every row."""
    form = DecisionFilters(request.GET)
    form.is_valid()
    wanted = form.cleaned_data
    rows = audit_search.list_decisions(
        actor=_user(wanted.get("actor")),
        privilege=wanted.get("privilege") or "",
        resource=wanted.get("resource") or "",
        is_allowed={"ALLOW": True, "DENY": False}.get(wanted.get("decision") or ""),
        door=wanted.get("door") or "",
        since=wanted.get("since"),
        until=wanted.get("until"),
    )
    size = {str(offered): offered for offered in list_and_form_pages.SIZES}.get(
        request.GET.get("size", ""), list_and_form_pages.PAGE_SIZE
    )
    found = decision_log_queries.decisions_at(rows, size=size, **_place(request))
    context = {
        **_frame("audit", "decisions"),
        "form": form,
        "columns": _COLUMNS,
        "rows": _shown(found.rows, Asker.of(actor_of(request))),
        "newer": str(Place.of(found.rows[0])) if found.rows and found.has_newer else "",
        "older": str(Place.of(found.rows[-1])) if found.rows and found.has_older else "",
        "is_moved": bool(_place(request)),
        "days": settings.DECISION_LOG_DAYS,
        "percent": f"{settings.DECISION_LOG_SAMPLE * 100:g}",
    }
    return list_and_form_pages.listed(
        request, whole="audit/decisions.html", part="audit/_decisions.html", context=context
    )


@require_GET
@never_cache
@SEES
def policy_changes(request: HttpRequest) -> HttpResponse:
    """Every write to a policy; before and after stand on the page of the version."""
    form, wanted = _narrowing(request)
    page = list_and_form_pages.page_of(request, change_log_queries.policy_events(**wanted))
    events: Sequence[PolicyEvent] = list(page)
    who = _Named({event.by for event in events}, Asker.of(actor_of(request)))
    rows = [
        {
            "event": event,
            "channel": channel_names.name_channel(event.door),
            "by": who(event.by),
            "url": _version_url(event),
        }
        for event in events
    ]
    return _changes(request, "audit-policies", form, page, rows)


def _version_url(event: PolicyEvent) -> str:
    """Return the page of a version; there is none while policies are switched off."""
    if not settings.AUTH_POLICIES_ENABLED:
        return ""
    return reverse("policy-version", args=[event.version, event.policy_urn])


@require_GET
@never_cache
@SEES
def people_changes(request: HttpRequest) -> HttpResponse:
    """Every write to users, groups, roles, tokens, grants and the catalog, with the object before and after."""
    form, wanted = _narrowing(request)
    page = list_and_form_pages.page_of(request, audit_search.list_changes(**wanted))
    events = list(page)
    named = {event.pk: change_log_queries.urns_in(event) for event in events}
    hidden = authorizer.directory().hidden(urns=frozenset().union(*named.values()))
    who = _Named({event.by for event in events}, Asker.of(actor_of(request)))
    rows = [
        {
            "event": event,
            "channel": channel_names.name_channel(event.door),
            "by": who(event.by),
            "is_concealed": not hidden.isdisjoint(named[event.pk]),
            "before": "" if event.before is None else pretty(event.before),
            "after": "" if event.after is None else pretty(event.after),
        }
        for event in events
    ]
    return _changes(request, "audit-people", form, page, rows)


class _Named:
    """Users as pages show them: the name, the URN, and the page for who may open it; one query for all."""

    def __init__(self, urns: Collection[str], asker: Asker) -> None:
        self._names = {SYSTEM_ACTOR: "The system", **display_names.names(urns=urns)}
        self._asker = asker

    def __call__(self, urn: str) -> Mapping[str, str]:
        is_known = urn in self._names and urn != SYSTEM_ACTOR
        return {"urn": urn, "name": self._names.get(urn, urn), "url": self._asker.holder_url(urn) if is_known else ""}


def _shown(rows: Sequence[LoggedDecision], asker: Asker) -> list[dict[str, Any]]:
    """Return rows as they are drawn; what the reader may not view has neither name nor URN."""
    resources = {row.resource for row in rows} - {""}
    hidden = authorizer.directory().hidden(urns=resources)
    names = authorizer.names(urns=sorted(resources - hidden))
    who = _Named(_people(rows), asker)
    return [
        {
            "row": row,
            "channel": channel_names.name_channel(row.door),
            "outcome": _word_outcome(row.code),
            "actor": who(row.actor),
            "by": "" if row.by == row.actor else who(row.by)["name"],
            "name": names.get(row.resource, ""),
            "is_concealed": row.resource in hidden,
            "statements": [{**one, "url": asker.policy_url(one["policy"])} for one in row.statements],
        }
        for row in rows
    ]


def _word_outcome(code: str) -> str:
    """Return a decision's code as a sentence; a code that this release does not know stays as it is."""
    return explanations.SENTENCES[Code(code)] if code in set(Code) else code


def _people(rows: Iterable[LoggedDecision]) -> set[str]:
    return {urn for row in rows for urn in (row.actor, row.by) if urn}


def _place(request: HttpRequest) -> dict[str, Place]:
    """Return the place from which to read on; a text that names none is the beginning."""
    for name in ("before", "after"):
        try:
            return {name: Place.read(request.GET[name])}
        except (KeyError, ValueError):
            continue
    return {}


def _narrowing(request: HttpRequest) -> tuple[ChangeFilters, dict[str, str]]:
    form = ChangeFilters(request.GET)
    form.is_valid()
    wanted = form.cleaned_data
    return form, {
        "urn": wanted.get("object") or "",
        "by": _user(wanted.get("by")),
        "verb": wanted.get("verb") or "",
    }


def _user(word: str | None) -> str:
    if not word or word.startswith("urn:"):
        return word or ""
    return f"{USER_PREFIX}{word}"


def _changes(
    request: HttpRequest, route: str, form: ChangeFilters, page: Any, rows: Sequence[Mapping[str, Any]]
) -> HttpResponse:
    context = {
        **_frame(route, "changes"),
        "form": form,
        "columns": _CHANGE_COLUMNS,
        "page": page,
        "rows": rows,
    }
    return list_and_form_pages.listed(request, whole="audit/changes.html", part="audit/_changes.html", context=context)


def _frame(route: str, target: str) -> dict[str, Any]:
    return {
        "tabs": [{"label": label, "url": reverse(name), "is_current": name == route} for name, label in _TABS],
        "route": reverse(route),
        "target": target,
        "breadcrumbs": list_and_form_pages.crumbs("Installation", ("Audit", "")),
    }
