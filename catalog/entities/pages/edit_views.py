"""/catalog/edit/<key>/<urn>: one form for each editable part of an entity.

No input is lost: a rejected form is shown again as submitted, with errors next to its fields. After a concurrent edit
the form names the conflict and shows the stored values.
"""

from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from catalog.access.entity_context import EntityContext
from catalog.entities.annotations import compute_fingerprint
from catalog.entities.pages import edit_controls
from catalog.entities.pages.aspect_forms import AspectEditor, build_editor
from policies.engine.families import vocabulary
from policies.errors import Forbidden, Invalid, NotFound, Stale
from policies.http.guard import signed_in
from policies.http.pages.list_and_form_pages import (
    UNPROCESSABLE_STATUS,
    form_view,
    is_fragment_request,
    redirect_with_message,
)

_STALE_MESSAGE = (
    "Somebody else changed this in the meantime. What is stored now is shown below; saving again replaces it."
)


@form_view(signed_in)
def edit(request: HttpRequest, key: str, urn: str) -> HttpResponse:
    """Show the form, show what saving it would give and take (`go` is "look"), and save submitted data."""
    entity_context = EntityContext.load(request, urn)
    if not edit_controls.is_possible(key, entity_context.entity.type):
        raise NotFound("This cannot be edited on this type of entity.")
    if refusal := edit_controls.find_refusal(entity_context, key):
        raise refusal
    editor = build_editor(key, entity_context)
    if request.method != "POST":
        return _render_page(request, key, editor, fingerprint=_current_fingerprint(entity_context, key))
    fingerprint = request.POST.get("seen", "")
    editor.read(request.POST)
    render_again = partial(_render_page, request, key, editor, fingerprint=fingerprint)
    is_preview = request.POST.get("go") == "look"
    if is_preview or not editor.is_valid:
        return render_again(status=HTTPStatus.OK if is_preview else UNPROCESSABLE_STATUS)
    try:
        editor.save(fingerprint)
    except Stale:
        # The next attempt is compared with the current document.
        current_context = EntityContext.load(request, urn)
        return _render_page(
            request,
            key,
            editor,
            fingerprint=_current_fingerprint(current_context, key),
            status=HTTPStatus.CONFLICT,
            refusals=[_STALE_MESSAGE],
            stored=build_editor(key, current_context).render_stored_lines(),
        )
    except Forbidden as error:
        refusals = _word_missing_privileges(error)
        return _render_page(
            request, key, editor, fingerprint=fingerprint, status=HTTPStatus.FORBIDDEN, refusals=refusals
        )
    except Invalid as error:
        refusals = [problem.detail for problem in error.problems]
        return _render_page(
            request, key, editor, fingerprint=fingerprint, status=UNPROCESSABLE_STATUS, refusals=refusals
        )
    message = f"{edit_controls.CONTROLS[key].title} saved."
    return redirect_with_message(
        request, message, f"{entity_context.url}?show=access" if key == "access" else entity_context.url
    )


def _render_page(
    request: HttpRequest,
    key: str,
    editor: AspectEditor,
    *,
    fingerprint: str,
    status: int = HTTPStatus.OK,
    **context: Any,
) -> HttpResponse:
    """Render the form as submitted; `context` holds the refusals and the lines stored now."""
    entity, url = editor.entity_context.entity, editor.entity_context.url
    title, name = edit_controls.CONTROLS[key].title, entity.name or entity.urn
    context |= {
        "title": title,
        "name": name,
        "editor": editor,
        "seen": fingerprint,
        "effect": editor.describe_effect(),
        "cancel_url": url,
        "breadcrumbs": [
            {"label": "Catalog", "url": reverse("catalog")},
            {"label": name, "url": url},
            {"label": title},
        ],
    }
    template = "components/form_effect.html" if is_fragment_request(request) else "catalog/edit.html"
    return render(request, template, context, status=status)


def _current_fingerprint(entity_context: EntityContext, key: str) -> str:
    return compute_fingerprint(
        entity_context.documents.get(edit_controls.CONTROLS[key].resolve_aspect(entity_context.entity.type))
    )


def _word_missing_privileges(refusal: Forbidden) -> list[str]:
    """Return the missing privileges as sentences; a constraint on tags refuses a change that its privilege allows."""
    privileges_by_name = vocabulary.load_datahub()
    lists = [
        ", ".join(
            info.display if (info := privileges_by_name.get(missing.privilege)) else missing.privilege
            for missing in missing_privileges
        )
        for missing_privileges in refusal.missing_any
    ]
    if not lists:
        return [refusal.detail]
    return [f"Your privileges do not cover this change. Missing: {', or '.join(dict.fromkeys(lists))}."]
