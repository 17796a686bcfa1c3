"""/catalog/edit/<key>/<urn>: one form for each editable part of an entity.

No input is lost: a rejected form is shown again as submitted, with errors next to its fields. After a concurrent edit
the form names the conflict and shows the stored values.
"""

from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.access.entity_context import EntityContext
from catalog.entities.annotations import compute_fingerprint
from catalog.entities.pages import edit_controls
from catalog.entities.pages.aspect_forms import AspectEditor, build_editor
from policies.engine.families import vocabulary
from policies.errors import Forbidden, Invalid, NotFound, Stale
from policies.http.guard import signed_in


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def edit(request: HttpRequest, key: str, urn: str) -> HttpResponse:
    """Show the form, and save submitted data."""
    entity_context = EntityContext.load(request, urn)
    if not edit_controls.is_possible(key, entity_context.entity.type):
        raise NotFound("This cannot be edited on this type of entity.")
    if refusal := edit_controls.find_refusal(entity_context, key):
        raise refusal
    editor = build_editor(key, entity_context)
    if request.method != "POST":
        return _render_page(
            request, entity_context, key, editor, expected_fingerprint=_current_fingerprint(entity_context, key)
        )
    expected_fingerprint = request.POST.get("seen", "")
    editor.read(request.POST)
    if not editor.is_valid:
        return _render_page(
            request,
            entity_context,
            key,
            editor,
            expected_fingerprint=expected_fingerprint,
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
        )
    try:
        editor.save(expected_fingerprint)
    except Stale:
        sentence = (
            "Somebody else changed this in the meantime. What is stored now is shown below; saving again replaces it."
        )
        return _render_refusal(request, entity_context, key, editor, [sentence], HTTPStatus.CONFLICT)
    except Forbidden as error:
        return _render_refusal(
            request, entity_context, key, editor, _word_missing_privileges(error), HTTPStatus.FORBIDDEN
        )
    except Invalid as error:
        sentences = [problem.detail for problem in error.problems]
        return _render_refusal(request, entity_context, key, editor, sentences, HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{edit_controls.CONTROLS[key].title} saved.")
    return redirect(f"{entity_context.url}?show=access" if key == "access" else entity_context.url)


def _render_refusal(
    request: HttpRequest,
    entity_context: EntityContext,
    key: str,
    editor: AspectEditor,
    sentences: list[str],
    status: HTTPStatus,
) -> HttpResponse:
    """Show the form as submitted; after a conflict the next attempt is compared with the current document."""
    current_context = EntityContext.load(request, entity_context.entity.urn)
    is_stale = status == HTTPStatus.CONFLICT
    stored_lines = build_editor(key, current_context).render_stored_lines() if is_stale else None
    expected_fingerprint = _current_fingerprint(current_context, key) if is_stale else request.POST.get("seen", "")
    return _render_page(
        request,
        current_context,
        key,
        editor,
        expected_fingerprint=expected_fingerprint,
        status=status,
        refusals=sentences,
        stored_lines=stored_lines,
    )


def _render_page(
    request: HttpRequest,
    entity_context: EntityContext,
    key: str,
    editor: AspectEditor,
    *,
    expected_fingerprint: str,
    status: HTTPStatus = HTTPStatus.OK,
    refusals: list[str] | None = None,
    stored_lines: list[str] | None = None,
) -> HttpResponse:
    title, name = edit_controls.CONTROLS[key].title, entity_context.entity.name or entity_context.entity.urn
    context: dict[str, Any] = {
        "entity": entity_context.entity,
        "title": title,
        "name": name,
        "editor": editor,
        "template": editor.template,
        "seen": expected_fingerprint,
        "refusals": refusals or [],
        "stored": stored_lines,
        "cancel_url": entity_context.url,
        "breadcrumbs": [
            {"label": "Catalog", "url": reverse("catalog")},
            {"label": name, "url": entity_context.url},
            {"label": title},
        ],
    }
    return render(request, "catalog/edit.html", context, status=status)


def _current_fingerprint(entity_context: EntityContext, key: str) -> str:
    return compute_fingerprint(
        entity_context.documents.get(edit_controls.CONTROLS[key].resolve_aspect(entity_context.entity.type))
    )


def _word_missing_privileges(refusal: Forbidden) -> list[str]:
    """Return the missing privileges as sentences; a constraint on tags refuses a change that its privilege allows."""
    privileges_by_name = vocabulary.load_datahub()
    lists = [
        ", ".join(
            info.display
            if (info := privileges_by_name.get(missing_privilege.privilege))
            else missing_privilege.privilege
            for missing_privilege in missing_privileges
        )
        for missing_privileges in refusal.missing_any
    ]
    if not lists:
        return [refusal.detail]
    return [f"Your privileges do not cover this change. Missing: {', or '.join(dict.fromkeys(lists))}."]
