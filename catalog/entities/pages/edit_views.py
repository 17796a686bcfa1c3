"""/catalog/edit/<key>/<urn>: one form for each editable part of an entity.

No input is lost: a rejected form is shown again as submitted, with errors next to its fields. After a concurrent edit
the form names the conflict and shows the stored values.
"""

from collections.abc import Sequence
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
from policies.http.pages.form_drafts import FormDraft
from policies.http.pages.list_and_form_pages import (
    UNPROCESSABLE_STATUS,
    form_view,
    is_fragment_request,
    redirect_with_message,
)
from policies.http.pages.request_links import build_missing_url

_STALE_MESSAGE = (
    "Somebody else changed this in the meantime. The stored values are shown below; saving again replaces them."
)


@form_view(signed_in)
def edit(request: HttpRequest, key: str, urn: str) -> HttpResponse:
    """Show the form, show what saving it would give and take (`go` is "look"), and save submitted data."""
    entity_context = EntityContext.load(request, urn)
    if not edit_controls.is_possible(key, entity_context.entity.type):
        raise NotFound("This cannot be edited on this type of entity.")
    if refusal := edit_controls.find_refusal(entity_context, key):
        raise refusal
    draft, editor = FormDraft(request), build_editor(key, entity_context)
    if request.method != "POST":
        return _show_form(draft, key, editor)
    fingerprint = request.POST.get("seen", "")
    editor.read(request.POST)
    refuse = partial(_show_refused, draft, key, editor, fingerprint)
    if request.POST.get("go") == "look":
        return _render_page(draft, key, editor, fingerprint=fingerprint)
    if not editor.is_valid:
        return refuse(UNPROCESSABLE_STATUS)
    try:
        editor.save(fingerprint)
    except Stale:
        return refuse(HTTPStatus.CONFLICT)
    except (Forbidden, Invalid) as error:
        status = error.status if isinstance(error, Forbidden) else UNPROCESSABLE_STATUS
        return refuse(status, _word_refusal(error), _find_request_url(error))
    draft.delete()
    message = f"{edit_controls.CONTROLS[key].title} saved."
    return redirect_with_message(
        request, message, f"{entity_context.url}?show=access" if key == "access" else entity_context.url
    )


def _show_form(draft: FormDraft, key: str, editor: AspectEditor) -> HttpResponse:
    """Show the form with what is stored, or its draft with why that was refused."""
    fingerprint = _current_fingerprint(editor.entity_context, key)
    if not draft.is_shown:
        return _render_page(draft, key, editor, fingerprint=fingerprint)
    editor.read(draft.data)
    if draft.data.get("seen", "") != fingerprint:
        return _render_stale(draft, key, editor, editor.entity_context, HTTPStatus.OK)
    outcome = {name: draft.outcome.get(name, "") for name in ("refusals", "request_url")}
    return _render_page(draft, key, editor, fingerprint=fingerprint, **outcome)


def _show_refused(
    draft: FormDraft,
    key: str,
    editor: AspectEditor,
    fingerprint: str,
    status: int,
    refusals: Sequence[str] = (),
    request_url: str = "",
) -> HttpResponse:
    """Redirect to the draft of a refused form, or show the form itself where no draft is kept."""
    outcome = {"refusals": list(refusals), "request_url": request_url}
    if (again := draft.answer_again(outcome)) is not None:
        return again
    if status == HTTPStatus.CONFLICT:
        current_context = EntityContext.load(draft.request, editor.entity_context.entity.urn)
        return _render_stale(draft, key, editor, current_context, status)
    return _render_page(draft, key, editor, fingerprint=fingerprint, status=status, **outcome)


def _render_stale(
    draft: FormDraft, key: str, editor: AspectEditor, current_context: EntityContext, status: int
) -> HttpResponse:
    """Render the form with what somebody else stored; the next attempt is compared with that."""
    return _render_page(
        draft,
        key,
        editor,
        fingerprint=_current_fingerprint(current_context, key),
        status=status,
        refusals=[_STALE_MESSAGE],
        stored=build_editor(key, current_context).render_stored_lines(),
    )


def _render_page(
    draft: FormDraft,
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
        "form_draft": draft.build_context(),
        "cancel_url": url,
        "breadcrumbs": [
            {"label": "Catalog", "url": reverse("catalog")},
            {"label": name, "url": url},
            {"label": title},
        ],
    }
    template = "components/form_effect.html" if is_fragment_request(draft.request) else "catalog/edit.html"
    return render(draft.request, template, context, status=status)


def _current_fingerprint(entity_context: EntityContext, key: str) -> str:
    return compute_fingerprint(
        entity_context.documents.get(edit_controls.CONTROLS[key].resolve_aspect(entity_context.entity.type))
    )


def _word_refusal(refusal: Forbidden | Invalid) -> list[str]:
    """Return the problems, or the missing privileges, as sentences.

    A constraint on tags refuses a change that its privilege allows.
    """
    if isinstance(refusal, Invalid):
        return [problem.detail for problem in refusal.problems]
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


def _find_request_url(refusal: Forbidden | Invalid) -> str:
    """Return the form that asks for the privileges that are missing; '' where none are."""
    if isinstance(refusal, Invalid) or not refusal.missing_any:
        return ""
    return build_missing_url(refusal.missing_any[0])
