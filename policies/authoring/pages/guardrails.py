"""Settings > Permissions > Guardrails: list with status, detail with what breaks one, creation, editing, deletion."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.authoring.queries import guardrails
from policies.authoring.services import guardrails as service
from policies.engine.errors import Problem
from policies.engine.guardrails.rules import RuleKind
from policies.engine.guardrails.sentences import describe_example, describe_rule, list_rule_urns
from policies.errors import Invalid
from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import (
    Section,
    ask_and_act,
    build_columns,
    form_view,
    page_view,
    redirect_with_message,
)
from policies.models import Guardrail
from policies.models.people import MAX_NAME_LENGTH
from policies.pdp import authorizer
from policies.writes import managed_rows, strict_json
from policies.writes.validation import MAX_TEXT_LENGTH

SECTION = Section("Guardrails", "guardrails", ("Settings", "Permissions"))

MANAGE_GUARD = needs("MANAGE_GUARDRAILS")

_MODE_LABELS = {
    Guardrail.Mode.ENFORCE.value: "Enforced: what breaks it is refused",
    Guardrail.Mode.WARN.value: "Warning: what breaks it is stored and reported",
    Guardrail.Mode.OFF.value: "Off",
}
#: Most levels of objects and lists in a rule.
_MAX_DEPTH = 16

#: Status → label and kind of its badge.
_STATUSES = {
    Guardrail.Status.HOLDS.value: ("Holds", "success"),
    Guardrail.Status.BROKEN.value: ("Broken", "danger"),
    Guardrail.Status.UNKNOWN.value: ("Not known", "warning"),
}
_PII = {"filter": {"criteria": [{"field": "TAG", "condition": "EQUALS", "values": ["urn:li:tag:PII"]}]}}

#: An example of each kind of rule, from which a new guardrail begins.
_TEMPLATES: Mapping[str, Mapping[str, Any]] = {
    RuleKind.NEVER: {
        "actors": {"everybody_except": {"users": ["urn:li:corpuser:datahub"], "groups": []}},
        "privileges": ["DELETE_ENTITY"],
        "resources": _PII,
    },
    RuleKind.ALWAYS: {
        "actors": {"users": ["urn:li:corpuser:datahub"]},
        "privileges": ["VIEW_ENTITY_PAGE"],
        "resources": _PII,
    },
    RuleKind.AT_LEAST: {"number": 2, "privileges": ["MANAGE_POLICIES"]},
    RuleKind.NOT_BOTH: {
        "first": {"privileges": ["MANAGE_POLICIES"]},
        "second": {"privileges": ["MANAGE_SECRETS"]},
        "except": {"users": ["urn:li:corpuser:datahub"]},
    },
    RuleKind.NO_POLICY: {"actors": {"allUsers": True}, "privileges": ["EDIT_ENTITY"], "resources": _PII},
}
_KIND_LABELS = {
    RuleKind.NEVER: "Nobody may ever",
    RuleKind.ALWAYS: "Somebody must always be able to",
    RuleKind.AT_LEAST: "So many must hold",
    RuleKind.NOT_BOTH: "No one person may both",
    RuleKind.NO_POLICY: "No policy may speak to",
}


class GuardrailForm(forms.Form):
    """A guardrail as its keepers write it; the rule is that of the API."""

    name = forms.CharField(label="Name", max_length=MAX_NAME_LENGTH, widget=forms.TextInput({"autocomplete": "off"}))
    description = forms.CharField(
        label="Description", required=False, max_length=MAX_TEXT_LENGTH, widget=forms.Textarea(attrs={"rows": 2})
    )
    mode = forms.ChoiceField(label="Mode", choices=list(_MODE_LABELS.items()))
    rule = forms.CharField(
        label="Rule",
        widget=forms.Textarea(attrs={"rows": 16, "class": "font-monospace", "spellcheck": "false"}),
        help_text="Actors, privileges and resources are written as in the document of a DataHub policy.",
    )


@page_view(MANAGE_GUARD)
def list_guardrails(request: HttpRequest) -> HttpResponse:
    """Page with the list of guardrails, each as a sentence with its status."""
    page = list_and_form_pages.get_page(request, guardrails.list_guardrails())
    context = {
        "page": page,
        "rows": [_build_row(guardrail) for guardrail in page],
        "columns": build_columns("Name", "Rule", "Mode", "Status"),
        "kinds": [
            {"label": label, "url": f"{reverse('guardrail-new')}?kind={kind}"} for kind, label in _KIND_LABELS.items()
        ],
        "breadcrumbs": SECTION.breadcrumbs(),
    }
    return list_and_form_pages.render_list(
        request,
        page_template="policies/guardrails.html",
        fragment_template="policies/_guardrails.html",
        context=context,
    )


@page_view(MANAGE_GUARD)
def show_guardrail(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one guardrail, judged now: its sentence, its status, and what breaks it with examples in words."""
    guardrail = service.refresh_status(guardrails.get_guardrail(urn=urn))
    row = _build_row(guardrail)
    context = {
        **row,
        "facts": [
            managed_rows.build_editing_fact(
                guardrail,
                label="Can be changed",
                is_editable=not guardrail.is_built_in,
                fixed="No: it is built in",
            ),
            {"label": "Mode", "value": _MODE_LABELS[guardrail.mode]},
            {"label": "Version", "value": guardrail.version},
            {"label": "URN", "template": "policies/_urn.html", "urn": guardrail.urn},
        ],
        "rows": _build_breach_rows(guardrail),
        "columns": build_columns("Through", "Who", "Example"),
        "breadcrumbs": SECTION.breadcrumbs(guardrail.name),
    }
    return list_and_form_pages.render_list(
        request, page_template="policies/guardrail.html", fragment_template="policies/_breaches.html", context=context
    )


@form_view(MANAGE_GUARD)
def create_guardrail(request: HttpRequest) -> HttpResponse:
    """Page that creates a guardrail, beginning from an example of the kind that was chosen."""
    kind = request.GET.get("kind", RuleKind.NEVER)
    rule = {kind: _TEMPLATES[kind]} if kind in _TEMPLATES else {RuleKind.NEVER.value: _TEMPLATES[RuleKind.NEVER]}
    page = FormPage(
        request,
        GuardrailForm,
        title="New guardrail",
        subtitle="A rule that no policy, role or membership may break.",
        label="Create guardrail",
        section=SECTION,
        initial={"mode": Guardrail.Mode.ENFORCE.value, "rule": json.dumps(rule, indent=2)},
    )
    return page.run(
        partial(_save, service.create),
        lambda guardrail: redirect_with_message(request, f"{guardrail.name} is in force.", "guardrail", guardrail.urn),
    )


@form_view(MANAGE_GUARD)
def edit_guardrail(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits a guardrail."""
    guardrail = guardrails.get_guardrail(urn=urn)
    managed_rows.refuse_managed(guardrail)
    page = FormPage(
        request,
        GuardrailForm,
        title=f"Edit {guardrail.name}",
        label="Save",
        section=SECTION,
        cancel_url=reverse("guardrail", args=[urn]),
        shows_forbidden=True,
        initial={
            "name": guardrail.name,
            "description": guardrail.description,
            "mode": guardrail.mode,
            "rule": json.dumps(guardrail.rule, indent=2, ensure_ascii=False),
        },
    )
    return page.run(
        partial(_save, partial(service.update, urn=urn)),
        lambda saved: redirect_with_message(request, f"{saved.name} is saved.", "guardrail", urn),
    )


@form_view(MANAGE_GUARD)
def delete_guardrail(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page, and the deletion of a guardrail."""
    guardrail = guardrails.get_guardrail(urn=urn)
    managed_rows.refuse_managed(guardrail)
    return ask_and_act(
        request,
        partial(service.delete, urn=urn),
        lambda _: redirect_with_message(request, f"{guardrail.name} is deleted.", "guardrails"),
        title=f"Delete {guardrail.name}?",
        text="From then on no change is refused because of it.",
        losses=lambda: [_describe(guardrail)],
        label="Delete guardrail",
        cancel_url=reverse("guardrail", args=[urn]),
    )


def _save(save: Any, *, rule: str, **values: Any) -> Guardrail:
    """Store what the form says; problems of the rule name their place in it."""
    try:
        document = strict_json.loads(rule.encode(), max_depth=_MAX_DEPTH, label="The rule")
        guardrail: Guardrail = save(rule=document, **values)
    except Invalid as error:
        raise Invalid([_prefix_pointer(problem) for problem in error.problems]) from None
    return guardrail


def _prefix_pointer(problem: Problem) -> Problem:
    pointer = problem.pointer.removeprefix("/rule")
    if pointer == problem.pointer:
        return Problem(problem.code, problem.pointer or "/rule", problem.detail)
    return Problem(problem.code, problem.pointer, f"{pointer}: {problem.detail}" if pointer else problem.detail)


def _describe(guardrail: Guardrail) -> str:
    return describe_rule(guardrail.rule, authorizer.load_names(urns=list_rule_urns(guardrail.rule)))


def _build_row(guardrail: Guardrail) -> dict[str, Any]:
    label, kind = _STATUSES[guardrail.status] if guardrail.mode != Guardrail.Mode.OFF else ("Off", "neutral")
    return {
        "guardrail": guardrail,
        "sentence": _describe(guardrail),
        "mode": guardrail.get_mode_display(),
        "status_label": label,
        "status_kind": kind,
    }


def _build_breach_rows(guardrail: Guardrail) -> list[dict[str, Any]]:
    names = authorizer.load_names(urns=list_rule_urns(guardrail.breaches))
    return [
        {
            "policy": breach["policy"],
            "policy_name": names.get(breach["policy"], breach["policy"]),
            "people": [names.get(urn, urn) for urn in breach["people"]],
            "more_people": breach["people_count"] - len(breach["people"]),
            "missing": breach["missing"],
            "examples": [
                describe_example(example, names) for example in (breach["example"], breach["other"]) if example
            ],
        }
        for breach in guardrail.breaches
    ]
