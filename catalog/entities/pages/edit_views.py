"""/catalog/edit/<what>/<urn>: one form for each thing that can be edited on an entity.

Nothing typed is lost: a refused form comes back as it was sent, with what is wrong beside its fields. Who edits what
somebody else changed meanwhile is told so and shown what is stored now.
"""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.access.entity_context import Subject
from catalog.entities.annotations import mark_of
from catalog.entities.pages import edit_controls
from catalog.entities.pages.aspect_forms import Editor, editor_of
from policies.engine.families import vocabulary
from policies.errors import Forbidden, Invalid, NotFound, Stale
from policies.http.guard import signed_in


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def edit(request: HttpRequest, what: str, urn: str) -> HttpResponse:
    """The form, and what becomes of it."""
    subject = Subject.of(request, urn)
    if not edit_controls.is_possible(what, subject.entity.type):
        raise NotFound("This cannot be edited on this type of entity.")
    if refusal := edit_controls.find_refusal(subject, what):
        raise refusal
    editor = editor_of(what, subject)
    if request.method != "POST":
        return _page(request, subject, what, editor, seen=_mark(subject, what))
    seen = request.POST.get("seen", "")
    editor.read(request.POST)
    if not editor.is_valid:
        return _page(request, subject, what, editor, seen=seen, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        editor.save(seen)
    except Stale:
        sentence = (
            "Somebody else changed this in the meantime. What is stored now is shown below; saving again replaces it."
        )
        return _refused(request, subject, what, editor, [sentence], HTTPStatus.CONFLICT)
    except Forbidden as error:
        return _refused(request, subject, what, editor, _lacking(error), HTTPStatus.FORBIDDEN)
    except Invalid as error:
        sentences = [problem.detail for problem in error.problems]
        return _refused(request, subject, what, editor, sentences, HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{edit_controls.CONTROLS[what].title} saved.")
    return redirect(f"{subject.url}?show=access" if what == "access" else subject.url)


def _refused(
    request: HttpRequest, subject: Subject, what: str, editor: Editor, sentences: list[str], status: HTTPStatus
) -> HttpResponse:
    """Show the form again as it was sent; the next attempt is measured against what is stored now."""
    fresh = Subject.of(request, subject.entity.urn)
    is_stale = status == HTTPStatus.CONFLICT
    stored = editor_of(what, fresh).lines() if is_stale else None
    seen = _mark(fresh, what) if is_stale else request.POST.get("seen", "")
    return _page(request, fresh, what, editor, seen=seen, status=status, refusals=sentences, stored=stored)


def _page(
    request: HttpRequest,
    subject: Subject,
    what: str,
    editor: Editor,
    *,
    seen: str,
    status: HTTPStatus = HTTPStatus.OK,
    refusals: list[str] | None = None,
    stored: list[str] | None = None,
) -> HttpResponse:
    title, name = edit_controls.CONTROLS[what].title, subject.entity.name or subject.entity.urn
    context: dict[str, Any] = {
        "entity": subject.entity,
        "title": title,
        "name": name,
        "editor": editor,
        "template": editor.template,
        "seen": seen,
        "refusals": refusals or [],
        "stored": stored,
        "cancel_url": subject.url,
        "breadcrumbs": [
            {"label": "Catalog", "url": reverse("catalog")},
            {"label": name, "url": subject.url},
            {"label": title},
        ],
    }
    return render(request, "catalog/edit.html", context, status=status)


def _mark(subject: Subject, what: str) -> str:
    return mark_of(subject.stored.get(edit_controls.CONTROLS[what].aspect_of(subject.entity.type)))


def _lacking(refusal: Forbidden) -> list[str]:
    """Return what is missing in sentences; a constraint on tags refuses a change that its privilege allows."""
    known = vocabulary.datahub()
    lists = [
        ", ".join(info.display if (info := known.get(need.privilege)) else need.privilege for need in lacking)
        for lacking in refusal.missing_any
    ]
    if not lists:
        return [refusal.detail]
    return [f"Your privileges do not cover this change. Missing: {', or '.join(dict.fromkeys(lists))}."]
