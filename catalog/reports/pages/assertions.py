"""/reports/assertions: the assertions in force, their earlier versions, and the problems of a new text."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from catalog.assertions.parser import MAX_TEXT_LENGTH
from catalog.models import AssertionText
from catalog.reports.pages import layout
from catalog.reports.pages.layout import SECTION, VIEW_GUARD
from catalog.reports.queries import assertions as queries
from catalog.reports.services import assertions as service
from policies.engine.errors import Problem
from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Conflict, Invalid, NotFound, Stale
from policies.http.guard import get_actor
from policies.http.pages.form_drafts import FormDraft
from policies.http.pages.list_and_form_pages import form_view, page_view
from policies.pdp import authorizer

#: Problems and earlier versions on the page at most.
_MAX_PROBLEMS, _MAX_VERSIONS = 200, 50


class AssertionsForm(forms.Form):
    """The text, and the version that it was edited from."""

    text = forms.CharField(
        label="Assertions",
        required=False,
        strip=False,
        max_length=MAX_TEXT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false", "class": "font-monospace"}),
    )
    seen = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


@form_view(VIEW_GUARD)
def edit_assertions(request: HttpRequest) -> HttpResponse:
    """Page to read and edit the assertions in force; a rejected text stays in the form."""
    draft = FormDraft(request)
    if request.method == "GET":
        return _show_form(draft)
    form = AssertionsForm(request.POST)
    if not form.is_valid():
        return _show_refused(draft, form, HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        version = service.save(
            text=form.cleaned_data["text"], expected_version=form.cleaned_data["seen"], by=get_actor(request)
        )
    except Invalid as refusal:
        return _show_refused(draft, form, HTTPStatus.UNPROCESSABLE_ENTITY, problems=refusal.problems)
    except (Conflict, Stale) as refusal:
        notice = f"{refusal.detail} What you typed is still here; the text in force is below."
        return _show_refused(draft, form, HTTPStatus.CONFLICT, notice=notice)
    draft.delete()
    messages.success(request, f"Saved as version {version.number}. The next access check asks it.")
    return redirect("assertions")


@page_view(VIEW_GUARD)
def show_version(request: HttpRequest, number: int) -> HttpResponse:
    """Page of an earlier version of the assertions."""
    version = queries.list_versions().filter(number=number).first()
    if version is None:
        raise NotFound(f"There is no version {number} of the assertions.")
    context = {
        "version": version,
        "by": _load_names([version])[version.by],
        "breadcrumbs": SECTION.breadcrumbs(("Assertions", reverse("assertions")), f"Version {number}"),
    }
    return render(request, "reports/assertions_version.html", context)


def _show_form(draft: FormDraft) -> HttpResponse:
    """Show the text in force, or a draft with why it was refused."""
    if not draft.is_shown:
        return _render_page(draft, _build_initial_form())
    data, outcome = draft.data.copy(), draft.outcome
    notice, newest = outcome.get("notice", ""), str(_build_initial_form().initial["seen"])
    if not notice and data.get("seen") != newest:
        notice = (
            f"Version {newest} was saved after this draft was begun. The text in force is below; saving replaces it."
        )
    # Who has seen the text in force may replace it.
    data["seen"] = newest
    problems = [Problem(*problem) for problem in outcome.get("problems", ())]
    return _render_page(draft, AssertionsForm(data), problems=problems, notice=notice)


def _show_refused(
    draft: FormDraft, form: AssertionsForm, status: int, *, problems: Sequence[Problem] = (), notice: str = ""
) -> HttpResponse:
    """Redirect to the draft of a refused text, or show the text itself where no draft is kept."""
    kept_problems = [(problem.code, problem.pointer, problem.detail) for problem in problems]
    again = draft.answer_again({"problems": kept_problems, "notice": notice})
    return again or _render_page(draft, form, problems=problems, notice=notice, status=status)


def _build_initial_form() -> AssertionsForm:
    latest = queries.find_latest()
    initial = {"text": latest.text if latest else "", "seen": latest.number if latest else 0}
    return AssertionsForm(initial=initial)


def _render_page(
    draft: FormDraft,
    form: AssertionsForm,
    *,
    problems: Sequence[Problem] = (),
    notice: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    versions = list(queries.list_versions().defer("text")[: _MAX_VERSIONS + 1])
    names = _load_names(versions)
    file, unreadable = "", ""
    if settings.ASSERTIONS_FILE:
        try:
            file = queries.load_text()
        except (OSError, UnicodeDecodeError) as error:
            unreadable = f"{settings.ASSERTIONS_FILE} cannot be read: {error}"
    context: dict[str, Any] = {
        "form": form,
        "form_draft": draft.build_context(),
        "problems": problems[:_MAX_PROBLEMS],
        "more": max(len(problems) - _MAX_PROBLEMS, 0),
        "notice": notice or unreadable,
        "is_file": bool(settings.ASSERTIONS_FILE),
        "managed": queries.list_managed(),
        "file": file,
        "in_force": queries.load_text() if notice and not settings.ASSERTIONS_FILE else "",
        "versions": [{"version": version, "by": names[version.by]} for version in versions[:_MAX_VERSIONS]],
        "newest": _MAX_VERSIONS if len(versions) > _MAX_VERSIONS else None,
        "tabs": layout.tabs("assertions"),
        "breadcrumbs": SECTION.breadcrumbs("Assertions"),
        "start_url": reverse("report-new", args=["dataset_access_check"]),
    }
    return render(draft.request, "reports/assertions.html", context, status=status)


def _load_names(versions: Sequence[AssertionText]) -> dict[str, str]:
    urns = {version.by for version in versions}
    return {urn: urn for urn in urns} | authorizer.load_names(urns=urns) | {SYSTEM_ACTOR: "the system"}
