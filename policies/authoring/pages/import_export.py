"""Export of policies to a file, and import from one with a preview before anything is stored."""

import json
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify

from policies.authoring.pages.presenters import MANAGE_GUARD, SECTION
from policies.authoring.queries import policies
from policies.authoring.services import import_effect, import_export
from policies.authoring.services.import_export import ImportPlan
from policies.changes.pages.net_change_wording import MAX_ITEMS, describe_net_change
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Busy, Conflict, Forbidden, Invalid, NotFound, Stale
from policies.http.guard import get_actor
from policies.http.pages.filter_forms import PolicyFilterForm
from policies.http.pages.list_and_form_pages import (
    CHANNEL,
    UNPROCESSABLE_STATUS,
    form_view,
    page_view,
    read_filters,
    redirect_with_message,
)

#: Most problems, and most policies of each kind, on a page.
_MAX_PROBLEMS = 200
_MAX_LISTED_POLICIES = 100

_IMPORT_LABEL = "Import"


class ImportForm(forms.Form):
    """A file, or its pasted content; the file wins when both are given."""

    file = forms.FileField(label="File", required=False, widget=forms.FileInput(attrs={"accept": ".json"}))
    text = forms.CharField(
        label="Or paste it here",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        """Return the cleaned data; raises ValidationError without a file and a text."""
        data = super().clean() or {}
        if not data.get("file") and not (data.get("text") or "").strip() and not self.errors:
            raise forms.ValidationError("Choose a file, or paste what is in it.")
        return data

    @property
    def body(self) -> bytes:
        """The content as bytes."""
        file = self.cleaned_data.get("file")
        return bytes(file.read()) if file else self.cleaned_data["text"].encode(errors="surrogatepass")


@page_view(MANAGE_GUARD)
def export_policies(request: HttpRequest) -> HttpResponse:
    """Download of every policy that the list shows under its filters, as one file."""
    rows = policies.list_policies(**read_filters(PolicyFilterForm(request.GET)))
    return _file_response(import_export.export_policies(rows.iterator(chunk_size=500)), "policies")


@page_view(MANAGE_GUARD)
def export_policy(_request: HttpRequest, urn: str) -> HttpResponse:
    """Download of one policy as a file."""
    policy = policies.get_policy(urn=urn)
    return _file_response(import_export.export_policies([policy]), slugify(policy.name) or "policy")


@form_view(MANAGE_GUARD)
def import_policies(request: HttpRequest) -> HttpResponse:
    """Import page: the form, then a preview of the plan or every problem of the file, then (with `seen`) the import."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "GET":
        return _render_form(request, ImportForm())
    if not form.is_valid():
        return _render_form(request, form, status=UNPROCESSABLE_STATUS)
    body = form.body
    try:
        if expected_fingerprint := request.POST.get("seen"):
            plan, _ = import_export.apply_import(
                body=body,
                expected_fingerprint=expected_fingerprint,
                by=get_actor(request),
                channel=CHANNEL,
            )
            return redirect_with_message(request, f"{_plan_summary(plan)} Decisions follow it from now on.", "policies")
        plan = import_export.plan_import(body=body, by=get_actor(request))
    except Invalid as refusal:
        return _render_form(request, _refill_form(body), problems=refusal.problems, status=UNPROCESSABLE_STATUS)
    except (Conflict, Forbidden, NotFound) as refusal:
        problems = (Problem(refusal.code, "", refusal.detail),)
        return _render_form(request, _refill_form(body), problems=problems, status=refusal.status)
    except Stale as refusal:
        return _render_preview(
            request, import_export.plan_import(body=body, by=get_actor(request)), body, notice=refusal.detail
        )
    return _render_preview(request, plan, body)


def _render_form(
    request: HttpRequest, form: ImportForm, *, problems: tuple[Problem, ...] = (), status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "problems": problems[:_MAX_PROBLEMS],
        "more": max(len(problems) - _MAX_PROBLEMS, 0),
        "breadcrumbs": SECTION.breadcrumbs(_IMPORT_LABEL),
    }
    return render(request, "policies/import.html", context, status=status)


def _render_preview(request: HttpRequest, plan: ImportPlan, body: bytes, *, notice: str = "") -> HttpResponse:
    kinds = (
        ("New", plan.new_policies),
        ("Replaced", plan.replaced_policies),
        ("Stored exactly so; left alone", plan.unchanged_policies),
    )
    does_something = bool(plan.new_policies or plan.replaced_policies)
    context = {
        "notice": notice,
        "kinds": [
            {
                "label": label,
                "count": len(planned_policies),
                "shown": [
                    {
                        "name": policy.name,
                        "urn": policy.urn,
                        "url": reverse("policy", args=[policy.urn]) if policy.version else "",
                    }
                    for policy in planned_policies[:_MAX_LISTED_POLICIES]
                ],
                "more": max(len(planned_policies) - _MAX_LISTED_POLICIES, 0),
            }
            for label, planned_policies in kinds
            if planned_policies
        ],
        "does_something": does_something,
        "effect": _describe_effect(plan, by=get_actor(request)) if does_something else None,
        "text": body.decode(),
        "seen": plan.fingerprint,
        "breadcrumbs": SECTION.breadcrumbs((_IMPORT_LABEL, reverse("policies-import")), "What will be done"),
    }
    return render(request, "policies/import_preview.html", context, status=409 if notice else 200)


def _describe_effect(plan: ImportPlan, *, by: Actor) -> list[str]:
    """Return the sentences on who would gain and lose what; why there are none while another preview runs."""
    try:
        return describe_net_change(import_effect.find_import_effect(plan, by=by, limit=MAX_ITEMS))
    except Busy as refusal:
        return [refusal.detail]


def _refill_form(body: bytes) -> ImportForm:
    """Return the form with the sent content as its text, so that it can be corrected there."""
    return ImportForm(initial={"text": body.decode(errors="replace")})


def _plan_summary(plan: ImportPlan) -> str:
    counts = [(len(plan.new_policies), "created"), (len(plan.replaced_policies), "replaced")]
    phrases = [f"{number} {'policy' if number == 1 else 'policies'} {verb}" for number, verb in counts if number]
    return f"{' and '.join(phrases) or 'Nothing had to be done'}."


def _file_response(content: dict[str, Any], name: str) -> HttpResponse:
    dump_options: dict[str, Any] = {"indent": 2, "ensure_ascii": False}
    response = JsonResponse(content, json_dumps_params=dump_options, encoder=json.JSONEncoder)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response
