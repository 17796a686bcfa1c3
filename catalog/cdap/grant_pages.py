"""/catalog/grants/<urn>: who holds what on a CDAP entity, since when and from whom; giving and taking it away."""

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

from catalog.access.entity_context import Reference, Subject, references
from catalog.access.grant_coverage_sql import instance_administrators
from catalog.access.grant_source import Grant
from catalog.cdap import entity_tabs, grant_queries, grant_services
from catalog.cdap.grant_forms import GrantForm
from catalog.cdap.grant_queries import Given
from catalog.cdap.grant_services import Sent
from catalog.entities.pages import entity, pickers
from catalog.entities.pages.pickers import Picker
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.cdap_entity_ids import INSTANCE_URN, Pattern
from policies.errors import Conflict, Invalid, NotFound
from policies.http.guard import signed_in

DOOR = "pages"
PAGE_SIZE = 25

#: How many privileges given through patterns are shown.
_SHOWN = 100

_COLUMNS = (
    {"label": "Who"},
    {"label": "Privileges"},
    {"label": "Since"},
    {"label": "From"},
    {"label": "Revoke", "is_hidden_label": True},
)
_WIDE_COLUMNS = (*_COLUMNS[:2], {"label": "On all of"}, *_COLUMNS[2:])


@dataclass(frozen=True, slots=True)
class Row:
    """What a principal was given at one time. `given` is None for what the settings give, which cannot be revoked."""

    who: Reference
    privileges: tuple[str, ...]
    given: Given | None
    giver: Reference | None
    revoke_url: str


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def grants(request: HttpRequest, urn: str) -> HttpResponse:
    """The grants with the form to give more; needs ADMIN on the entity, or to administer the instance."""
    subject = Subject.of(request, urn)
    name = entity_tabs.name_of(subject)
    listed = grant_services.listed(entity=name.urn, principal="", by=subject.by)
    form, picker = GrantForm(), Picker(pickers.PRINCIPALS, subject.by)
    if request.method != "POST":
        return _page(request, subject, listed, form, picker)
    form = GrantForm(request.POST)
    picker.read(request.POST)
    if not picker.chosen and not picker.errors:
        picker.errors.append("Choose who gets it.")
    if not form.is_valid() or picker.errors:
        return _page(request, subject, listed, form, picker, HTTPStatus.UNPROCESSABLE_ENTITY)
    privileges = tuple(form.cleaned_data["privileges"])
    try:
        grant_services.give(sent=[Sent(one, name.urn, privileges) for one in picker.chosen], by=subject.by, door=DOOR)
    except Invalid as error:
        picker.errors += dict.fromkeys(problem.detail for problem in error.problems)
        return _page(request, subject, listed, form, picker, HTTPStatus.UNPROCESSABLE_ENTITY)
    messages.success(request, f"{', '.join(cdap.expand(privileges))} given.")
    return redirect(entity_tabs.address(entity_tabs.GRANTS, subject))


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def revoke(request: HttpRequest, urn: str) -> HttpResponse:
    """The question whether to take privileges from a principal, and the taking.

    When nobody would keep ADMIN the question is put again, with what confirming it does.
    """
    subject = Subject.of(request, urn)
    pattern = cdap_entity_ids.pattern(request.GET.get("pattern", ""))
    target = entity_tabs.name_of(subject).urn if pattern is None else pattern.urn
    principal = request.GET.get("principal", "")
    held = [one.privileges for one in grant_services.listed(entity=target, principal=principal, by=subject.by)]
    asked = cdap.expand(request.GET.getlist("privilege") or (cdap.ALL,))
    losing = tuple(one for one in asked if principal and any(one in privileges for privileges in held))
    if not losing:
        raise NotFound("Nobody of this name holds these privileges here.")
    if request.method != "POST":
        return _question(request, subject, principal, losing, pattern)
    is_confirmed = "confirmed" in request.POST
    try:
        sent = Sent(principal, target, losing, is_confirmed=is_confirmed)
        grant_services.take(sent=[sent], by=subject.by, door=DOOR)
    except Conflict as error:
        if is_confirmed or _is_by_setting(principal, target):
            messages.error(request, error.detail)
        else:
            return _question(request, subject, principal, losing, pattern, is_last=True)
    else:
        messages.success(request, f"{', '.join(losing)} revoked.")
    return redirect(entity_tabs.address(entity_tabs.GRANTS, subject))


def _page(
    request: HttpRequest,
    subject: Subject,
    listed: Sequence[Grant],
    form: GrantForm,
    picker: Picker,
    status: HTTPStatus = HTTPStatus.OK,
) -> HttpResponse:
    urn = entity_tabs.name_of(subject).urn
    page = Paginator(listed, PAGE_SIZE).get_page(request.GET.get("page"))
    found = grant_queries.on(urn=urn, holders=[one.principal for one in page])
    wide, is_more, grantable = _by_pattern(urn, subject)
    people = {urn for one in (*found, *wide) for urn in (one.holder, one.by) if urn}
    named = references(people | {one.principal for one in page})
    return entity.draw(
        request,
        subject,
        tab=entity_tabs.GRANTS,
        template="catalog/grants/grants.html",
        status=status,
        page=page,
        rows=[row for one in page for row in _rows(one, found, named, subject)],
        columns=_COLUMNS,
        wide=[_row(one, named, _revoke_url(one, subject) if one.source in grantable else "") for one in wide],
        wide_columns=_WIDE_COLUMNS,
        is_more=is_more,
        form=form,
        picker=picker.context(),
        action=entity_tabs.address(entity_tabs.GRANTS, subject),
        pattern_url=entity_tabs.pattern_address(subject),
    )


def _by_pattern(urn: str, subject: Subject) -> tuple[list[Given], bool, frozenset[str]]:
    """Return what patterns give that stand for the entity or for what lies in it, whether there is more, and on which
    of the patterns the reader may grant. Of those for what lies in it, others are not shown (CD-18).
    """
    wide, is_more = grant_queries.by_pattern(urn=urn, limit=_SHOWN)
    below, is_more_below = grant_queries.by_pattern_in(urn=urn, limit=_SHOWN)
    grantable = grant_services.grantable(urns={one.source for one in (*wide, *below)}, by=subject.by)
    below = [one for one in below if one.source in grantable and one not in wide]
    return [*wide, *below], is_more or is_more_below, grantable


def _rows(held: Grant, found: Sequence[Given], named: Mapping[str, Reference], subject: Subject) -> list[Row]:
    own = [one for one in found if one.holder == held.principal]
    if _is_by_setting(held.principal, held.entity):
        return [Row(named[held.principal], held.privileges, None, None, "")]
    return [_row(one, named, _revoke_url(one, subject)) for one in own]


def _row(one: Given, named: Mapping[str, Reference], revoke_url: str) -> Row:
    return Row(named[one.holder], one.privileges, one, named.get(one.by), revoke_url)


def _revoke_url(one: Given, subject: Subject) -> str:
    asked = {"principal": one.holder, "privilege": one.privileges}
    asked |= {"pattern": one.source} if cdap_entity_ids.pattern(one.source) is not None else {}
    query = urlencode(asked, doseq=True)
    return f"{reverse('entity-revoke', args=[subject.entity.urn])}?{query}"


def _is_by_setting(principal: str, urn: str) -> bool:
    return urn == INSTANCE_URN and principal in instance_administrators()


def _question(
    request: HttpRequest,
    subject: Subject,
    principal: str,
    losing: Sequence[str],
    pattern: Pattern | None,
    *,
    is_last: bool = False,
) -> HttpResponse:
    heirs = sorted(instance_administrators()) if is_last else []
    named = references({principal, *heirs})
    name, back = subject.entity.name or subject.entity.urn, entity_tabs.address(entity_tabs.GRANTS, subject)
    on = f"{name} itself" if pattern is None else f"all of {pattern.urn}"
    context: dict[str, Any] = {
        "title": f"Revoke {', '.join(losing)} from {named[principal].name}?",
        "text": f"It removes what was granted on {on}. Access through groups, roles or other patterns stays.",
        "losses": [],
        "action": request.get_full_path(),
        "label": "Revoke",
        "cancel_url": back,
        "breadcrumbs": [
            {"label": "Catalog", "url": reverse("catalog")},
            {"label": name, "url": subject.url},
            {"label": "Grants", "url": back},
            {"label": "Revoke"},
        ],
    }
    if is_last:
        context |= {
            "text": f"Nobody would hold ADMIN on {name if pattern is None else 'some of what it stands for'} any more.",
            "losses": [f"ADMIN on it falls to who administers the instance: {_names(heirs, named)}."],
            "label": "Revoke and hand over",
            "hidden": [{"name": "confirmed", "value": "yes"}],
        }
    status = HTTPStatus.CONFLICT if is_last else HTTPStatus.OK
    template = "components/modal.html" if getattr(request, "htmx", False) else "confirmation.html"
    return render(request, template, context, status=status)


def _names(urns: Sequence[str], named: Mapping[str, Reference]) -> str:
    return ", ".join(named[urn].name for urn in urns)
