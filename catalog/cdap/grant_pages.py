"""/catalog/grants/<urn>: the grants on a CDAP entity with time and grantor; granting and revoking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

from catalog.access.entity_context import Reference, load_references
from catalog.access.grant_rows import instance_administrators
from catalog.access.grant_source import Grant
from catalog.cdap import grant_queries, grant_requests, grant_services, visible_grants
from catalog.cdap.entity_tabs import GRANTS, CdapPage
from catalog.cdap.grant_effect import describe_grants, describe_revocation, is_effect_request, render_effect
from catalog.cdap.grant_forms import GrantForm
from catalog.cdap.grant_queries import GrantRow
from catalog.cdap.grant_requests import GrantRequest
from catalog.entities.pages import pickers
from catalog.entities.pages.pickers import EntityPicker
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapPattern
from policies.engine.families.validity import UNLIMITED, Validity
from policies.errors import Conflict, Invalid, NotFound
from policies.http.guard import signed_in
from policies.http.pages.form_drafts import FormDraft, describe_errors, restore_errors
from policies.http.pages.list_and_form_pages import (
    CHANNEL,
    UNPROCESSABLE_STATUS,
    build_columns,
    form_view,
    get_page,
    redirect_with_message,
    render_confirmation,
)
from policies.http.pages.times import build_times_badge, describe_validity
from policies.models.fields import is_storable

GRANT_PAGE_SIZE = 25

#: Maximum number of grants through patterns that are shown.
_MAX_PATTERN_GRANTS = 100

#: Maximum number of grants that have not begun that are shown.
_MAX_SCHEDULED_GRANTS = 100

_REVOKE_COLUMN = {"label": "Revoke", "is_hidden_label": True}
_COLUMNS = [*build_columns("Who", "Privileges", "Since", "Time", "From"), _REVOKE_COLUMN]
_PATTERN_COLUMNS = [*_COLUMNS[:2], {"label": "On all of"}, *_COLUMNS[2:]]
_SCHEDULED_COLUMNS = [*build_columns("Who", "Privileges", "On", "Time", "From"), _REVOKE_COLUMN]


@dataclass(frozen=True, slots=True)
class GrantTableRow:
    """Privileges granted at one time. `grant` is None when the settings give them; those are irrevocable."""

    holder: Reference
    privileges: tuple[str, ...]
    grant: GrantRow | None
    grantor: Reference | None
    revoke_url: str
    times: Mapping[str, str] | None = None


@form_view(signed_in)
def show_grants(request: HttpRequest, urn: str) -> HttpResponse:
    """Show the grants and the form to grant more; needs ADMIN on the entity or instance administration.

    The form is also posted to show what granting would give (`is_effect_request`).
    """
    page = CdapPage.load(request, urn)
    grant_list = visible_grants.list_grants(entity=page.name.urn, principal="", by=page.by)
    draft = FormDraft(request)
    form, picker = GrantForm(draft.bound_data), build_principal_picker(page)
    if draft.is_shown:
        restore_errors(draft, form, [picker])
    if request.method != "POST":
        return _render_page(page, grant_list, form, picker, draft)
    picker.read(request.POST)
    if is_effect_request(request):
        return _render_page(page, grant_list, form, picker, draft)
    is_valid = picker.is_complete() and form.is_valid()
    if is_valid and (response := grant_to_chosen(page, page.name.urn, form, picker, "given.")):
        draft.delete()
        return response
    again = draft.answer_again(describe_errors(form, [picker]))
    return again or _render_page(page, grant_list, form, picker, draft, UNPROCESSABLE_STATUS)


def build_principal_picker(page: CdapPage) -> EntityPicker:
    """Return the picker of those who get privileges."""
    return EntityPicker(pickers.PRINCIPALS, page.by, is_required=True, requirement="Choose who gets it.")


def grant_to_chosen(
    page: CdapPage, target: str, form: GrantForm, picker: EntityPicker, ending: str
) -> HttpResponse | None:
    """Grant the privileges of a valid form to the chosen principals and return the redirect to the grants.

    Returns None with the problems added to the picker.
    """
    privileges = tuple(form.cleaned_data["privileges"])
    validity = Validity(form.cleaned_data["valid_from"], form.cleaned_data["valid_until"])
    times = None if validity == UNLIMITED else validity
    reason = form.cleaned_data["reason"]
    try:
        grant_services.grant(
            requests=[
                GrantRequest(principal, target, privileges, validity=times, reason=reason)
                for principal in picker.chosen_urns
            ],
            by=page.by,
            channel=CHANNEL,
        )
    except Invalid as error:
        picker.errors += dict.fromkeys(problem.detail for problem in error.problems)
        return None
    suffix = f" In effect {describe_validity(validity)}." if times else ""
    message = f"{', '.join(cdap.expand(privileges))} {ending}{suffix}"
    return redirect_with_message(page.request, message, page.find_url(GRANTS))


@form_view(signed_in)
def revoke(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask for confirmation, then revoke privileges from a principal.

    When no holder of ADMIN would remain, ask again and name the consequence.
    """
    page = CdapPage.load(request, urn)
    pattern = cdap_entity_ids.parse_pattern(request.GET.get("pattern", ""))
    target, principal = page.name.urn if pattern is None else pattern.urn, request.GET.get("principal", "")
    grant_list = visible_grants.list_grants(entity=target, principal=principal, by=page.by)
    held_privileges = {privilege for grant in grant_list for privilege in grant.privileges} if principal else set()
    held_privileges |= _list_scheduled_privileges(page, principal, target)
    requested_privileges = cdap.expand(request.GET.getlist("privilege") or (cdap.ALL,))
    privileges = tuple(privilege for privilege in requested_privileges if privilege in held_privileges)
    if not privileges:
        raise NotFound("Nobody of this name holds these privileges here.")
    if request.method != "POST":
        return _render_confirmation(page, principal, privileges, pattern)
    is_confirmed = "confirmed" in request.POST
    try:
        grant_request = GrantRequest(principal, target, privileges, is_confirmed=is_confirmed)
        grant_services.revoke(requests=[grant_request], by=page.by, channel=CHANNEL)
    except Conflict as error:
        if not is_confirmed and not _is_by_setting(principal, target):
            return _render_confirmation(page, principal, privileges, pattern, is_last=True)
        messages.error(request, error.detail)
    else:
        messages.success(request, f"{', '.join(privileges)} revoked.")
    return redirect(page.find_url(GRANTS))


def _render_page(
    page: CdapPage,
    grant_list: Sequence[Grant],
    form: GrantForm,
    picker: EntityPicker,
    draft: FormDraft,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    urn = page.name.urn
    effect = describe_grants(target=urn, form=form, picker=picker, by=page.by)
    if fragment := render_effect(page.request, effect):
        return fragment
    grant_page = get_page(page.request, grant_list, GRANT_PAGE_SIZE)
    grant_rows = grant_queries.list_on_entity(urn=urn, holders=[grant.principal for grant in grant_page])
    pattern_grants, is_more, grantable_urns = _load_pattern_grants(page)
    scheduled_grants, is_more_scheduled = _load_scheduled_grants(page)
    shown_grants = (*grant_rows, *pattern_grants, *scheduled_grants)
    people_urns = {urn for grant in shown_grants for urn in (grant.holder, grant.by) if urn}
    references = load_references(people_urns | {grant.principal for grant in grant_page})
    return page.render(
        GRANTS,
        "grants",
        status=status,
        page=grant_page,
        rows=[row for grant in grant_page for row in _build_rows(page, grant, grant_rows, references)],
        columns=_COLUMNS,
        wide=[
            _build_row(page, grant, references, is_revocable=grant.source in grantable_urns) for grant in pattern_grants
        ],
        wide_columns=_PATTERN_COLUMNS,
        is_more=is_more,
        scheduled=[_build_row(page, grant, references) for grant in scheduled_grants],
        scheduled_columns=_SCHEDULED_COLUMNS,
        is_more_scheduled=is_more_scheduled,
        form=form,
        form_draft=draft.build_context(),
        picker=picker.build_context(),
        effect=effect,
        action=page.find_url(GRANTS),
        pattern_url=page.find_url("patterns"),
    )


def _load_pattern_grants(page: CdapPage) -> tuple[list[GrantRow], bool, frozenset[str]]:
    """Return the grants through patterns that match the entity or entities in it, whether there are more, and the
    patterns on which the viewer may grant. Of patterns for contained entities only those are shown (CD-18).
    """
    matching, is_more = grant_queries.list_matching_patterns(urn=page.name.urn, limit=_MAX_PATTERN_GRANTS)
    contained, is_more_below = grant_queries.list_patterns_within(urn=page.name.urn, limit=_MAX_PATTERN_GRANTS)
    sources = {grant_row.source for grant_row in (*matching, *contained)}
    grantable_urns = grant_requests.filter_grantable(urns=sources, by=page.by)
    contained = [row for row in contained if row.source in grantable_urns and row not in matching]
    return [*matching, *contained], is_more or is_more_below, grantable_urns


def _load_scheduled_grants(page: CdapPage) -> tuple[list[GrantRow], bool]:
    """Return the grants on the entity and on patterns in it that have not begun, and whether there are more.

    Of patterns only those on which the viewer may grant (CD-18).
    """
    rows, is_more = grant_queries.list_scheduled(urn=page.name.urn, limit=_MAX_SCHEDULED_GRANTS)
    patterns = {row.source for row in rows} - {page.name.urn}
    visible_urns = {page.name.urn, *grant_requests.filter_grantable(urns=patterns, by=page.by)}
    return [row for row in rows if row.source in visible_urns], is_more


def _list_scheduled_privileges(page: CdapPage, principal: str, target: str) -> set[str]:
    """Return the privileges that a principal will hold on the entity or pattern."""
    if not principal or not is_storable(principal):
        return set()
    rows, _ = grant_queries.list_scheduled(urn=page.name.urn, limit=_MAX_SCHEDULED_GRANTS, holder=principal)
    return {privilege for row in rows if row.source == target for privilege in row.privileges}


def _build_rows(
    page: CdapPage, grant: Grant, grant_rows: Sequence[GrantRow], references: Mapping[str, Reference]
) -> list[GrantTableRow]:
    if _is_by_setting(grant.principal, grant.entity):
        return [GrantTableRow(references[grant.principal], grant.privileges, None, None, "")]
    return [_build_row(page, row, references) for row in grant_rows if row.holder == grant.principal]


def _build_row(
    page: CdapPage, row: GrantRow, references: Mapping[str, Reference], *, is_revocable: bool = True
) -> GrantTableRow:
    parameters = {"principal": row.holder, "privilege": row.privileges}
    parameters |= {"pattern": row.source} if cdap_entity_ids.parse_pattern(row.source) is not None else {}
    revoke_url = f"{page.find_url('revoke')}?{urlencode(parameters, doseq=True)}" if is_revocable else ""
    times = build_times_badge(row.validity, row.phase)
    return GrantTableRow(references[row.holder], row.privileges, row, references.get(row.by), revoke_url, times)


def _is_by_setting(principal: str, urn: str) -> bool:
    return urn == INSTANCE_URN and principal in instance_administrators()


def _render_confirmation(
    page: CdapPage, principal: str, privileges: Sequence[str], pattern: CdapPattern | None, *, is_last: bool = False
) -> HttpResponse:
    administrators = sorted(instance_administrators()) if is_last else []
    references = load_references({principal, *administrators})
    entity, back_url = page.entity_context.entity, page.find_url(GRANTS)
    name = entity.name or entity.urn
    target = f"{name} itself" if pattern is None else f"all of {pattern.urn}"
    text = f"It removes what was granted on {target}. Access through groups, roles or other patterns stays."
    label, losses, hidden = "Revoke", list[str](), list[dict[str, str]]()
    if is_last:
        text = f"Nobody would hold ADMIN on {name if pattern is None else 'some of what it stands for'} any more."
        names = ", ".join(references[urn].name for urn in administrators)
        losses = [f"ADMIN on it falls to who administers the instance: {names}."]
        label, hidden = "Revoke and hand over", [{"name": "confirmed", "value": "yes"}]
    return render_confirmation(
        page.request,
        title=f"Revoke {', '.join(privileges)} from {references[principal].name}?",
        text=text,
        losses=losses,
        effect=describe_revocation(
            principal=principal,
            target=page.name.urn if pattern is None else pattern.urn,
            privileges=privileges,
            by=page.by,
        ),
        label=label,
        cancel_url=back_url,
        status=HTTPStatus.CONFLICT if is_last else HTTPStatus.OK,
        hidden=hidden,
        breadcrumbs=[
            {"label": "Catalog", "url": reverse("catalog")},
            {"label": name, "url": page.entity_context.url},
            {"label": "Grants", "url": back_url},
            {"label": "Revoke"},
        ],
    )
