"""/catalog/grants/<urn>: the grants on a CDAP entity with time and grantor; granting and revoking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from catalog.access.entity_context import EntityContext, Reference, load_references
from catalog.access.grant_rows import instance_administrators
from catalog.access.grant_source import Grant
from catalog.cdap import entity_tabs, grant_queries, grant_services
from catalog.cdap.grant_forms import GrantForm
from catalog.cdap.grant_queries import GrantRow
from catalog.cdap.grant_services import GrantRequest
from catalog.entities.pages import entity, pickers
from catalog.entities.pages.pickers import EntityPicker
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, CdapPattern
from policies.errors import Conflict, Invalid, NotFound
from policies.http.guard import signed_in

CHANNEL = "pages"
GRANT_PAGE_SIZE = 25

#: Maximum number of grants through patterns that are shown.
_MAX_PATTERN_GRANTS = 100

_COLUMNS = (
    {"label": "Who"},
    {"label": "Privileges"},
    {"label": "Since"},
    {"label": "From"},
    {"label": "Revoke", "is_hidden_label": True},
)
_PATTERN_COLUMNS = (*_COLUMNS[:2], {"label": "On all of"}, *_COLUMNS[2:])


@dataclass(frozen=True, slots=True)
class GrantTableRow:
    """Privileges granted at one time. `grant` is None when the settings give them; those are irrevocable."""

    holder: Reference
    privileges: tuple[str, ...]
    grant: GrantRow | None
    grantor: Reference | None
    revoke_url: str


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def show_grants(request: HttpRequest, urn: str) -> HttpResponse:
    """Show the grants and the form to grant more; needs ADMIN on the entity or instance administration."""
    entity_context = EntityContext.load(request, urn)
    name = entity_tabs.require_cdap_name(entity_context)
    grant_list = grant_services.list_grants(entity=name.urn, principal="", by=entity_context.by)
    form, picker = GrantForm(), EntityPicker(pickers.PRINCIPALS, entity_context.by)
    if request.method != "POST":
        return _render_page(request, entity_context, grant_list, form, picker)
    form = GrantForm(request.POST)
    picker.read(request.POST)
    if not picker.chosen_urns and not picker.errors:
        picker.errors.append("Choose who gets it.")
    if not form.is_valid() or picker.errors:
        return _render_page(request, entity_context, grant_list, form, picker, HTTPStatus.UNPROCESSABLE_ENTITY)
    privileges = tuple(form.cleaned_data["privileges"])
    try:
        grant_services.grant(
            requests=[GrantRequest(principal_urn, name.urn, privileges) for principal_urn in picker.chosen_urns],
            by=entity_context.by,
            channel=CHANNEL,
        )
    except Invalid as error:
        picker.errors += dict.fromkeys(problem.detail for problem in error.problems)
        return _render_page(request, entity_context, grant_list, form, picker, HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{', '.join(cdap.expand(privileges))} given.")
    return redirect(entity_tabs.tab_url(entity_tabs.GRANTS, entity_context))


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def revoke(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask for confirmation, then revoke privileges from a principal.

    When no holder of ADMIN would remain, ask again and name the consequence.
    """
    entity_context = EntityContext.load(request, urn)
    pattern = cdap_entity_ids.parse_pattern(request.GET.get("pattern", ""))
    target = entity_tabs.require_cdap_name(entity_context).urn if pattern is None else pattern.urn
    principal = request.GET.get("principal", "")
    privilege_lists = [
        privilege.privileges
        for privilege in grant_services.list_grants(entity=target, principal=principal, by=entity_context.by)
    ]
    requested_privileges = cdap.expand(request.GET.getlist("privilege") or (cdap.ALL,))
    revoked_privileges = tuple(
        privilege
        for privilege in requested_privileges
        if principal and any(privilege in privileges for privileges in privilege_lists)
    )
    if not revoked_privileges:
        raise NotFound("Nobody of this name holds these privileges here.")
    if request.method != "POST":
        return _render_confirmation(request, entity_context, principal, revoked_privileges, pattern)
    is_confirmed = "confirmed" in request.POST
    try:
        grant_request = GrantRequest(principal, target, revoked_privileges, is_confirmed=is_confirmed)
        grant_services.revoke(requests=[grant_request], by=entity_context.by, channel=CHANNEL)
    except Conflict as error:
        if is_confirmed or _is_by_setting(principal, target):
            messages.error(request, error.detail)
        else:
            return _render_confirmation(request, entity_context, principal, revoked_privileges, pattern, is_last=True)
    else:
        messages.success(request, f"{', '.join(revoked_privileges)} revoked.")
    return redirect(entity_tabs.tab_url(entity_tabs.GRANTS, entity_context))


def _render_page(
    request: HttpRequest,
    entity_context: EntityContext,
    grant_list: Sequence[Grant],
    form: GrantForm,
    picker: EntityPicker,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    urn = entity_tabs.require_cdap_name(entity_context).urn
    page = Paginator(grant_list, GRANT_PAGE_SIZE).get_page(request.GET.get("page"))
    grant_rows = grant_queries.list_on_entity(urn=urn, holders=[grant.principal for grant in page])
    pattern_grants, is_more, grantable_urns = _load_pattern_grants(urn, entity_context)
    people_urns = {urn for grant in (*grant_rows, *pattern_grants) for urn in (grant.holder, grant.by) if urn}
    references = load_references(people_urns | {grant.principal for grant in page})
    return entity.render_page(
        request,
        entity_context,
        tab=entity_tabs.GRANTS,
        template="catalog/grants/grants.html",
        status=status,
        page=page,
        rows=[row for grant in page for row in _build_rows(grant, grant_rows, references, entity_context)],
        columns=_COLUMNS,
        wide=[
            _build_row(grant, references, _revoke_url(grant, entity_context) if grant.source in grantable_urns else "")
            for grant in pattern_grants
        ],
        wide_columns=_PATTERN_COLUMNS,
        is_more=is_more,
        form=form,
        picker=picker.build_context(),
        action=entity_tabs.tab_url(entity_tabs.GRANTS, entity_context),
        pattern_url=entity_tabs.pattern_url(entity_context),
    )


def _load_pattern_grants(urn: str, entity_context: EntityContext) -> tuple[list[GrantRow], bool, frozenset[str]]:
    """Return the grants through patterns that match the entity or entities in it, whether there are more, and the
    patterns on which the viewer may grant. Of patterns for contained entities only those are shown (CD-18).
    """
    matching_grants, is_more = grant_queries.list_matching_patterns(urn=urn, limit=_MAX_PATTERN_GRANTS)
    contained_grants, is_more_below = grant_queries.list_patterns_within(urn=urn, limit=_MAX_PATTERN_GRANTS)
    grantable_urns = grant_services.filter_grantable(
        urns={grant_row.source for grant_row in (*matching_grants, *contained_grants)}, by=entity_context.by
    )
    contained_grants = [
        grant_row
        for grant_row in contained_grants
        if grant_row.source in grantable_urns and grant_row not in matching_grants
    ]
    return [*matching_grants, *contained_grants], is_more or is_more_below, grantable_urns


def _build_rows(
    grant: Grant, grant_rows: Sequence[GrantRow], references: Mapping[str, Reference], entity_context: EntityContext
) -> list[GrantTableRow]:
    own_rows = [grant_row for grant_row in grant_rows if grant_row.holder == grant.principal]
    if _is_by_setting(grant.principal, grant.entity):
        return [GrantTableRow(references[grant.principal], grant.privileges, None, None, "")]
    return [_build_row(grant_row, references, _revoke_url(grant_row, entity_context)) for grant_row in own_rows]


def _build_row(grant_row: GrantRow, references: Mapping[str, Reference], revoke_url: str) -> GrantTableRow:
    return GrantTableRow(
        references[grant_row.holder], grant_row.privileges, grant_row, references.get(grant_row.by), revoke_url
    )


def _revoke_url(grant_row: GrantRow, entity_context: EntityContext) -> str:
    parameters = {"principal": grant_row.holder, "privilege": grant_row.privileges}
    parameters |= {"pattern": grant_row.source} if cdap_entity_ids.parse_pattern(grant_row.source) is not None else {}
    query = urlencode(parameters, doseq=True)
    return f"{reverse('entity-revoke', args=[entity_context.entity.urn])}?{query}"


def _is_by_setting(principal: str, urn: str) -> bool:
    return urn == INSTANCE_URN and principal in instance_administrators()


def _render_confirmation(
    request: HttpRequest,
    entity_context: EntityContext,
    principal: str,
    privileges: Sequence[str],
    pattern: CdapPattern | None,
    *,
    is_last: bool = False,
) -> HttpResponse:
    administrators = sorted(instance_administrators()) if is_last else []
    references = load_references({principal, *administrators})
    name, back_url = (
        entity_context.entity.name or entity_context.entity.urn,
        entity_tabs.tab_url(entity_tabs.GRANTS, entity_context),
    )
    target = f"{name} itself" if pattern is None else f"all of {pattern.urn}"
    context: dict[str, Any] = {
        "title": f"Revoke {', '.join(privileges)} from {references[principal].name}?",
        "text": f"It removes what was granted on {target}. Access through groups, roles or other patterns stays.",
        "losses": [],
        "action": request.get_full_path(),
        "label": "Revoke",
        "cancel_url": back_url,
        "breadcrumbs": [
            {"label": "Catalog", "url": reverse("catalog")},
            {"label": name, "url": entity_context.url},
            {"label": "Grants", "url": back_url},
            {"label": "Revoke"},
        ],
    }
    if is_last:
        context |= {
            "text": f"Nobody would hold ADMIN on {name if pattern is None else 'some of what it stands for'} any more.",
            "losses": [
                f"ADMIN on it falls to who administers the instance: {_join_names(administrators, references)}."
            ],
            "label": "Revoke and hand over",
            "hidden": [{"name": "confirmed", "value": "yes"}],
        }
    status = HTTPStatus.CONFLICT if is_last else HTTPStatus.OK
    template = "components/modal.html" if getattr(request, "htmx", False) else "confirmation.html"
    return render(request, template, context, status=status)


def _join_names(urns: Sequence[str], references: Mapping[str, Reference]) -> str:
    return ", ".join(references[urn].name for urn in urns)
