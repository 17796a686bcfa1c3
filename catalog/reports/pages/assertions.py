"""/reports/assertions: what should hold of access, its earlier versions, and all that is wrong with a new one."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from catalog.models import AssertionText
from catalog.reports.assertions.parser import LENGTH
from catalog.reports.pages import layout
from catalog.reports.pages.layout import SEES
from catalog.reports.queries import assertions as queries
from catalog.reports.services import assertions as service
from policies.engine.errors import Problem
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Conflict, Invalid, NotFound, Stale
from policies.http.guard import actor_of
from policies.pdp import authorizer

#: How many problems, and how many earlier versions, the page names.
_PROBLEMS, _VERSIONS = 200, 50


class AssertionsForm(forms.Form):
    """The text, and the version that it was made from."""

    text = forms.CharField(
        label="Assertions",
        required=False,
        strip=False,
        max_length=LENGTH,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "font-monospace"}),
    )
    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


@require_http_methods(["GET", "POST"])
@never_cache
@SEES
def edit(request: HttpRequest) -> HttpResponse:
    """The assertions in force, to read and to change; whatever is wrong, what was typed stays."""
    if request.method == "GET":
        return _page(request, _stored())
    form = AssertionsForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        saved = service.save(text=form.cleaned_data["text"], seen=form.cleaned_data["seen"], by=actor_of(request))
    except Invalid as refusal:
        return _page(request, form, problems=refusal.problems, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    except (Conflict, Stale) as refusal:
        notice = f"{refusal.detail} What you typed is still here; the text in force is below."
        return _page(request, form, notice=notice, status=HTTPStatus.CONFLICT)
    messages.success(request, f"Saved as version {saved.number}. The next access check asks it.")
    return redirect("assertions")


@require_GET
@never_cache
@SEES
def version(request: HttpRequest, number: int) -> HttpResponse:
    """One earlier version."""
    found = queries.versions().filter(number=number).first()
    if found is None:
        raise NotFound(f"There is no version {number} of the assertions.")
    context = {
        "version": found,
        "by": _names([found])[found.by],
        "breadcrumbs": layout.crumbs(("Assertions", reverse("assertions")), (f"Version {number}", "")),
    }
    return render(request, "reports/assertions_version.html", context)


def _stored() -> AssertionsForm:
    latest = queries.latest()
    initial = {"text": latest.text if latest else "", "seen": latest.number if latest else 0}
    return AssertionsForm(initial=initial)


def _page(
    request: HttpRequest,
    form: AssertionsForm,
    *,
    problems: Sequence[Problem] = (),
    notice: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    versions = list(queries.versions().defer("text")[:_VERSIONS])
    names = _names(versions)
    file, unreadable = "", ""
    if settings.ASSERTIONS_FILE:
        try:
            file = queries.text()
        except (OSError, UnicodeDecodeError) as error:
            unreadable = f"{settings.ASSERTIONS_FILE} cannot be read: {error}"
    context: dict[str, Any] = {
        "form": form,
        "problems": problems[:_PROBLEMS],
        "more": max(len(problems) - _PROBLEMS, 0),
        "notice": notice or unreadable,
        "is_file": bool(settings.ASSERTIONS_FILE),
        "file": file,
        "in_force": queries.text() if notice and not settings.ASSERTIONS_FILE else "",
        "versions": [{"version": one, "by": names[one.by]} for one in versions],
        "tabs": layout.tabs("assertions"),
        "breadcrumbs": layout.crumbs(("Assertions", "")),
        "start_url": reverse("report-new", args=["dataset_access_check"]),
    }
    return render(request, "reports/assertions.html", context, status=status)


def _names(versions: Sequence[AssertionText]) -> dict[str, str]:
    urns = {one.by for one in versions}
    return {urn: urn for urn in urns} | authorizer.names(urns=urns) | {SYSTEM_ACTOR: "the system"}
