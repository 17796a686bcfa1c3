"""External roles: the list, one role, and the forms that describe, change and delete one.

All pages exist only while SHOW_ACCESS_MANAGEMENT is on; otherwise they are not found.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from catalog import urns
from catalog.access.entity_context import load_references
from catalog.entities.pages import browse, pickers
from catalog.entities.pages.pickers import EntityPicker
from catalog.external_roles import queries as reading
from catalog.external_roles import services as service
from catalog.external_roles.entity_tab import build_rows
from catalog.external_roles.forms import ExternalRoleFilterForm, ExternalRoleForm, NewExternalRoleForm
from catalog.external_roles.queries import ExternalRole
from catalog.models import Entity
from policies.engine.requirements import any_of_requirement
from policies.engine.wording import word_count
from policies.errors import NotFound
from policies.http.guard import get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import PageView, Section, ask_and_act, redirect_with_message
from policies.pdp import actor_resolution, authorizer, display_names
from policies.pdp.access_requests import ResourceRef

SECTION = Section("External roles", "external-roles")

_EDIT_REQUIREMENT = any_of_requirement([["EDIT_ENTITY"]])
_CREATE_REQUIREMENT = any_of_requirement([["CREATE_ENTITY"], ["EDIT_ENTITY"]])

_COLUMNS = list_and_form_pages.build_columns(
    "Role", "Description", "Access type", "Held by", "Gives access to", numbers=["Gives access to"]
)


def _decorate_with(decorate: Callable[[PageView], PageView]) -> Callable[[PageView], PageView]:
    """Return a decorator of views that exist only while external roles are shown."""

    def decorate_view(view: PageView) -> PageView:
        @wraps(view)
        def check_setting(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not settings.SHOW_ACCESS_MANAGEMENT:
                raise NotFound("External roles are not shown here (SHOW_ACCESS_MANAGEMENT is off).")
            return view(request, *args, **kwargs)

        return decorate(check_setting)

    return decorate_view


page_view = _decorate_with(list_and_form_pages.page_view(signed_in))
form_view = _decorate_with(list_and_form_pages.form_view(signed_in))


@page_view
def list_roles(request: HttpRequest) -> HttpResponse:
    """List the external roles, searched, filtered and paged; an htmx request gets only the list."""
    holders = get_actor(request).holders

    def list_matching(**filters: Any) -> Any:
        is_own = filters.pop("held", False)
        return reading.list_roles(
            text=filters.get("q", ""), type=filters.get("type", ""), holders=holders if is_own else ()
        )

    return list_and_form_pages.render_filtered_list(
        request,
        "external_roles/list.html",
        "external_roles/_list.html",
        form=ExternalRoleFilterForm(request.GET, types=reading.list_types()),
        query=list_matching,
        build_rows=partial(_build_rows, request),
        columns=_COLUMNS,
        breadcrumbs=SECTION.breadcrumbs(),
        **list_and_form_pages.check_permissions(request, may_create=(_CREATE_REQUIREMENT, _resource(""))),
    )


@page_view
def show_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Show one external role: its purpose, its holders, and the entities that it opens."""
    role = _load_role(request, urn)
    page = list_and_form_pages.get_page(request, reading.list_opened_entities(urn=urn, by=get_actor(request)))
    references = load_references({*role.users, *role.groups})
    context = {
        "role": role,
        "row": build_rows([role])[0],
        "users": [references[holder_urn] for holder_urn in role.users],
        "groups": [references[holder_urn] for holder_urn in role.groups],
        "page": page,
        "rows": browse.build_rows(list(page)),
        "columns": browse.COLUMNS,
        "edit_url": reverse("external-role-edit", args=[urn]),
        "delete_url": reverse("external-role-delete", args=[urn]),
        "breadcrumbs": SECTION.breadcrumbs(role.name),
        **list_and_form_pages.check_permissions(
            request,
            may_edit=(_EDIT_REQUIREMENT, _resource(urn)),
            may_delete=(service.DELETE_REQUIREMENT, _resource(urn)),
        ),
    }
    return render(request, "external_roles/detail.html", context)


@page_view
def list_holder_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """List the external roles of a user or group, for a user including those of its groups; htmx gets only the list."""
    type_ = urns.entity_type(urn)
    names_by_urn = display_names.load_names(urns=[urn]) if type_ in ("corpuser", "corpGroup") else {}
    if urn not in names_by_urn:
        raise NotFound(f"There is no user or group {urn}.")
    holders = actor_resolution.load_actor(urn=urn).holders if type_ == "corpuser" else frozenset({urn})
    page = list_and_form_pages.get_page(request, reading.list_roles(holders=holders))
    context = {
        "page": page,
        "name": names_by_urn[urn],
        "rows": _build_rows(request, list(page)),
        "columns": _COLUMNS,
        "breadcrumbs": SECTION.breadcrumbs(names_by_urn[urn]),
    }
    return list_and_form_pages.render_list(
        request,
        page_template="external_roles/held.html",
        fragment_template="external_roles/_held.html",
        context=context,
    )


@form_view
def create(request: HttpRequest) -> HttpResponse:
    """Show and process the form of a new external role."""
    authorizer.require(by=get_actor(request), requirement=_CREATE_REQUIREMENT, resource=_resource(""))

    def save(*, urn: str | None, by: Any, channel: str, **fields: Any) -> Entity:
        return service.create(urn=urn, role_input=service.ExternalRoleInput(**fields), by=by, channel=channel)

    return _build_form_page(request, None).run(save, partial(_report_saved, request))


@form_view
def update(request: HttpRequest, urn: str) -> HttpResponse:
    """Show and process the form of an existing external role."""
    role = _load_role(request, urn, with_datasets=True)
    authorizer.require(by=get_actor(request), requirement=_EDIT_REQUIREMENT, resource=_resource(urn))

    def save(*, by: Any, channel: str, **fields: Any) -> Entity:
        return service.update(urn=urn, role_input=service.ExternalRoleInput(**fields), by=by, channel=channel)

    return _build_form_page(request, role).run(save, partial(_report_saved, request))


@form_view
def delete(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask for confirmation, then delete an external role."""
    by = get_actor(request)
    role = _load_role(request, urn)
    authorizer.require(by=by, requirement=service.DELETE_REQUIREMENT, resource=_resource(urn))
    entity_count = reading.count_opened_entities(urns=[urn], by=by).get(urn, 0)
    return ask_and_act(
        request,
        partial(service.delete, urn=urn),
        lambda _: redirect_with_message(request, f"{role.name} was deleted.", "external-roles"),
        title=f"Delete {role.name}?",
        text="The role itself stays in its source system; only its description here is deleted.",
        losses=lambda: [
            f"It is no longer recorded who holds it: {word_count(len(role.users), 'user', 'users')} and "
            f"{word_count(len(role.groups), 'group', 'groups')}.",
            f"It is removed from the Access tab of {word_count(entity_count, 'entity', 'entities')}.",
        ],
        label="Delete external role",
        cancel_url=reverse("external-role", args=[urn]),
    )


def _build_form_page(request: HttpRequest, role: ExternalRole | None) -> FormPage:
    title = f"Edit {role.name}" if role else "Describe an external role"
    urns_by_kind = {
        pickers.USERS: role.users if role else (),
        pickers.GROUPS: role.groups if role else (),
        pickers.ACCESS_ENTITIES: role.datasets if role else (),
    }
    return FormPage(
        request,
        ExternalRoleForm if role else NewExternalRoleForm,
        title=title,
        label="Save",
        section=SECTION,
        cancel_url=reverse("external-role", args=[role.urn]) if role else "",
        initial={name: getattr(role, name) for name in ExternalRoleForm.base_fields} if role else {},
        pickers=[
            EntityPicker(kind, get_actor(request), initial_urns=chosen_urns, chosen_urns=chosen_urns)
            for kind, chosen_urns in urns_by_kind.items()
        ],
        conflict_field="urn",
        template="external_roles/form.html",
        shows_forbidden=True,
        keeps_draft=True,
    )


def _report_saved(request: HttpRequest, entity: Entity) -> HttpResponse:
    return redirect_with_message(request, f"{entity.name} saved.", "external-role", entity.urn)


def _load_role(request: HttpRequest, urn: str, *, with_datasets: bool = False) -> ExternalRole:
    reading.get_role(urn=urn)
    return reading.load_roles(urns=[urn], by=get_actor(request), with_datasets=with_datasets)[0]


def _build_rows(request: HttpRequest, entities: list[Entity]) -> list[Any]:
    by, role_urns = get_actor(request), [entity.urn for entity in entities]
    return build_rows(reading.load_roles(urns=role_urns, by=by), reading.count_opened_entities(urns=role_urns, by=by))


def _resource(urn: str) -> ResourceRef:
    return ResourceRef(urn, reading.ENTITY_TYPE)
