"""Policies out to a file and in from one; nothing is stored before somebody has seen what will be."""

import json
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.authoring.pages.policy_list import crumbs, narrowing
from policies.authoring.queries import policies
from policies.authoring.services import import_export
from policies.authoring.services.import_export import Plan
from policies.engine.errors import Problem
from policies.errors import Conflict, Forbidden, Invalid, NotFound, Stale
from policies.http.guard import actor_of, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import PolicyFilters

#: How many problems, and how many policies of each kind, a page names.
_PROBLEMS = 200
_NAMED = 100

_CRUMBS = "Import"


class ImportForm(forms.Form):
    """A file, or its content pasted; the file wins when both are given."""

    file = forms.FileField(label="File", required=False, widget=forms.FileInput(attrs={"accept": ".json"}))
    text = forms.CharField(
        label="Or paste it here",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        """Refuse a form without either."""
        data = super().clean() or {}
        if not data.get("file") and not (data.get("text") or "").strip() and not self.errors:
            raise forms.ValidationError("Choose a file, or paste what is in it.")
        return data

    @property
    def body(self) -> bytes:
        """The content, as bytes."""
        file = self.cleaned_data.get("file")
        return bytes(file.read()) if file else self.cleaned_data["text"].encode(errors="surrogatepass")


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def export_many(request: HttpRequest) -> HttpResponse:
    """Every policy that the list shows under its filters, as one file."""
    rows = policies.policies(**narrowing(PolicyFilters(request.GET)))
    return _file(import_export.exported(rows.iterator(chunk_size=500)), "policies")


@require_GET
@never_cache
@needs("MANAGE_POLICIES")
def export_one(_request: HttpRequest, urn: str) -> HttpResponse:
    """One policy as a file."""
    policy = policies.policy(urn=urn)
    return _file(import_export.exported([policy]), slugify(policy.name) or "policy")


@never_cache
@require_http_methods(["GET", "POST"])
@needs("MANAGE_POLICIES")
def import_policies(request: HttpRequest) -> HttpResponse:
    """The form; after it what the file would do, or everything that is wrong with it; after that the work itself."""
    form = ImportForm(request.POST or None, request.FILES or None)
    if request.method == "GET":
        return _form(request, ImportForm())
    if not form.is_valid():
        return _form(request, form, status=list_and_form_pages.UNPROCESSABLE)
    body = form.body
    try:
        if seen := request.POST.get("seen"):
            plan, _ = import_export.store(body=body, seen=seen, by=actor_of(request), door=list_and_form_pages.DOOR)
            messages.success(request, f"{_summary(plan)} Decisions follow it from now on.")
            return redirect("policies")
        plan = import_export.planned(body=body, by=actor_of(request))
    except Invalid as refusal:
        return _form(request, _again(body), problems=refusal.problems, status=list_and_form_pages.UNPROCESSABLE)
    except (Conflict, Forbidden, NotFound) as refusal:
        problems = (Problem(refusal.code, "", refusal.detail),)
        return _form(request, _again(body), problems=problems, status=refusal.status)
    except Stale as refusal:
        return _preview(request, import_export.planned(body=body, by=actor_of(request)), body, notice=refusal.detail)
    return _preview(request, plan, body)


def _form(
    request: HttpRequest, form: ImportForm, *, problems: tuple[Problem, ...] = (), status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "problems": problems[:_PROBLEMS],
        "more": max(len(problems) - _PROBLEMS, 0),
        "breadcrumbs": crumbs(_CRUMBS),
    }
    return render(request, "policies/import.html", context, status=status)


def _preview(request: HttpRequest, plan: Plan, body: bytes, *, notice: str = "") -> HttpResponse:
    kinds = (("New", plan.created), ("Replaced", plan.replaced), ("Stored exactly so; left alone", plan.unchanged))
    context = {
        "notice": notice,
        "kinds": [
            {
                "label": label,
                "count": len(listed),
                "shown": [
                    {"name": one.name, "urn": one.urn, "url": reverse("policy", args=[one.urn]) if one.version else ""}
                    for one in listed[:_NAMED]
                ],
                "more": max(len(listed) - _NAMED, 0),
            }
            for label, listed in kinds
            if listed
        ],
        "does_something": bool(plan.created or plan.replaced),
        "text": body.decode(),
        "seen": plan.fingerprint,
        "breadcrumbs": crumbs((_CRUMBS, reverse("policies-import")), "What will be done"),
    }
    return render(request, "policies/import_preview.html", context, status=409 if notice else 200)


def _again(body: bytes) -> ImportForm:
    """Return the form with what was sent, so that it can be mended there."""
    return ImportForm(initial={"text": body.decode(errors="replace")})


def _summary(plan: Plan) -> str:
    done = [(len(plan.created), "created"), (len(plan.replaced), "replaced")]
    counted = [f"{number} {'policy' if number == 1 else 'policies'} {verb}" for number, verb in done if number]
    return f"{' and '.join(counted) or 'Nothing had to be done'}."


def _file(content: dict[str, Any], name: str) -> HttpResponse:
    indented: dict[str, Any] = {"indent": 2, "ensure_ascii": False}
    response = JsonResponse(content, json_dumps_params=indented, encoder=json.JSONEncoder)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.json"'
    return response
