"""/catalog/patterns/<urn>: granting on all entities of a kind with a common name prefix (rules/cdap.md CD-5)."""

from collections.abc import Sequence
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse

from catalog.cdap import visible_grants
from catalog.cdap.entity_tabs import GRANTS, CdapPage
from catalog.cdap.grant_effect import describe_grants, is_effect_request, render_effect
from catalog.cdap.grant_forms import PatternForm
from catalog.cdap.grant_pages import build_principal_picker, grant_to_chosen
from catalog.cdap.visible_grants import PatternExtent
from catalog.entities.pages import type_labels
from catalog.entities.pages.pickers import EntityPicker
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapName, CdapPattern
from policies.errors import Forbidden
from policies.http.guard import signed_in
from policies.http.pages.form_drafts import FormDraft, describe_errors, restore_errors
from policies.http.pages.list_and_form_pages import UNPROCESSABLE_STATUS, form_view

_INVALID_START_MESSAGE = (
    "This cannot be the beginning of such a name: names contain no blank, bracket, comma, colon, * or further dot."
)


@form_view(signed_in)
def grant_on_pattern(request: HttpRequest, urn: str) -> HttpResponse:
    """Show the form, preview a pattern's extent and its effect, and grant; needs ADMIN by a pattern at least as wide.

    Every viewer who may see the grants of the entity gets the form (CD-18); the response is 403 for a pattern that
    matches more than the viewer may grant on.
    """
    page = CdapPage.load(request, urn)
    visible_grants.list_grants(entity=page.name.urn, principal="", by=page.by)
    kinds, picker, draft = _kind_choices(page.name), build_principal_picker(page), FormDraft(request)
    if draft.bound_data is None:
        initial_start = "" if page.name.kind in cdap_entity_ids.CONTAINER_KINDS else _short_name(page.name)
        form = PatternForm(kinds, initial={"kind": kinds[0][0], "start": initial_start})
        return _render_page(page, form, picker, draft)
    form, is_effect = PatternForm(kinds, draft.bound_data), is_effect_request(request)
    is_preview = is_effect or "preview" in draft.bound_data
    picker.is_required = form.fields["privileges"].required = not is_preview
    if draft.is_shown:
        return _show_draft(page, form, picker, draft, is_preview=is_preview)
    is_complete = picker.read(request.POST).is_complete() or is_preview
    pattern = _parse_pattern(form, _pattern_container(page.name))
    if pattern is None or not form.is_valid() or not is_complete:
        return _refuse(page, form, picker, draft)
    if is_effect:
        return _render_page(page, form, picker, draft, pattern=pattern)
    if is_preview:
        return draft.answer_again({}) or _render_extent(page, form, picker, draft, pattern)
    try:
        response = grant_to_chosen(page, pattern.urn, form, picker, f"granted on all of {pattern.urn}.")
    except Forbidden:
        form.add_error(None, _word_narrow(pattern))
        return _refuse(page, form, picker, draft, HTTPStatus.FORBIDDEN)
    if response is None:
        return _refuse(page, form, picker, draft)
    draft.delete()
    return response


def _refuse(
    page: CdapPage, form: PatternForm, picker: EntityPicker, draft: FormDraft, status: int = UNPROCESSABLE_STATUS
) -> HttpResponse:
    again = draft.answer_again(describe_errors(form, [picker]))
    return again or _render_page(page, form, picker, draft, status=status)


def _show_draft(
    page: CdapPage, form: PatternForm, picker: EntityPicker, draft: FormDraft, *, is_preview: bool
) -> HttpResponse:
    """Show a draft with why it was refused, or with what its pattern stands for where that was asked."""
    pattern = _parse_pattern(form, _pattern_container(page.name)) if is_preview else None
    is_sound = pattern is not None and form.is_valid() and not draft.outcome
    restore_errors(draft, form, [picker])
    if pattern is None or not is_sound:
        return _render_page(page, form, picker, draft)
    return _render_extent(page, form, picker, draft, pattern)


def _render_extent(
    page: CdapPage, form: PatternForm, picker: EntityPicker, draft: FormDraft, pattern: CdapPattern
) -> HttpResponse:
    """Render the form with what the pattern stands for; 403 for one that matches more than the viewer may grant on."""
    # What follows is the form for granting.
    form.fields["privileges"].required = True
    try:
        extent = visible_grants.measure_extent(pattern=pattern, by=page.by)
    except Forbidden:
        form.add_error(None, _word_narrow(pattern))
        return _render_page(page, form, picker, draft, status=HTTPStatus.FORBIDDEN)
    return _render_page(page, form, picker, draft, pattern=pattern, reach=extent)


def _word_narrow(pattern: CdapPattern) -> str:
    return f"You need ADMIN through a pattern at least as wide as {pattern.urn}."


def _render_page(
    page: CdapPage,
    form: PatternForm,
    picker: EntityPicker,
    draft: FormDraft,
    *,
    pattern: CdapPattern | None = None,
    reach: PatternExtent | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    effect = [] if pattern is None else describe_grants(target=pattern.urn, form=form, picker=picker, by=page.by)
    if fragment := render_effect(page.request, effect):
        return fragment
    return page.render(
        GRANTS,
        "pattern",
        status=status,
        reach=reach,
        effect=effect,
        form=form,
        form_draft=draft.build_context(),
        picker=picker.build_context(),
        lead=_name_prefix(_pattern_container(page.name)),
        action=page.find_url("patterns"),
        back=page.find_url(GRANTS),
    )


def _parse_pattern(form: PatternForm, container: CdapName) -> CdapPattern | None:
    """Return the requested pattern, None with a form error when it is invalid."""
    form.is_valid()
    if "kind" not in form.cleaned_data or "start" not in form.cleaned_data:
        return None
    pattern = cdap_entity_ids.parse_pattern(
        f"{form.cleaned_data['kind']}:{_name_prefix(container)}{form.cleaned_data['start']}*"
    )
    if pattern is None:
        form.add_error("start", _INVALID_START_MESSAGE)
    return pattern


def _pattern_container(name: CdapName) -> CdapName:
    """Return the container whose content the pattern matches: the entity itself, or its parent."""
    if name.kind in cdap_entity_ids.CONTAINER_KINDS:
        return name
    return cdap_entity_ids.parse(name.ancestors[0]) or name


def _name_prefix(container: CdapName) -> str:
    """Return the common name prefix of everything in a container; empty for the instance."""
    return "" if container.urn == INSTANCE_URN else f"{container.urn.split(':', 3)[3]}."


def _short_name(name: CdapName) -> str:
    return name.urn.split(":", 3)[3].removeprefix("(urn:li:dataPlatform:cdap,").split(",")[0].rpartition(".")[2]


def _kind_choices(name: CdapName) -> Sequence[tuple[str, str]]:
    """Return the (kind, label) pairs a pattern may have: the entity's own kind, or every listed kind inside it."""
    if name.kind == cdap_entity_ids.APPLICATION:
        kinds: Sequence[str] = (cdap_entity_ids.PROGRAM,)
    elif name.kind == cdap_entity_ids.INSTANCE:
        kinds = cdap.list_kinds()
    elif name.kind == cdap_entity_ids.NAMESPACE:
        kinds = [kind for kind in cdap.list_kinds() if kind != cdap_entity_ids.NAMESPACE]
    else:
        kinds = (name.kind,)
    return [(kind, type_labels.plural_label(kind)) for kind in kinds]
