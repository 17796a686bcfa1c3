"""External roles: the list, one role, and the forms that describe, change and delete one.

All pages exist only while SHOW_ACCESS_MANAGEMENT is on; otherwise they are not found.
"""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from catalog import urns
from catalog.access.entity_context import load_references
from catalog.entities.pages import browse, pickers
from catalog.entities.pages.pickers import EntityPicker
from catalog.external_roles import queries as reading
from catalog.external_roles import services as service
from catalog.external_roles.entity_tab import build_rows
from catalog.external_roles.forms import ExternalRoleFilterForm, ExternalRoleForm
from catalog.models import Entity
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.http.guard import get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.pdp import actor_resolution, authorizer, display_names
from policies.pdp.authorizer import AccessRequest, ResourceRef

CHANNEL = "pages"
_EDIT_PRIVILEGES = (("EDIT_ENTITY",),)
_CREATE_PRIVILEGES = (("CREATE_ENTITY",), ("EDIT_ENTITY",))
_NO_HOLDER_MESSAGE = "There is no user or group {}."

_COLUMNS = (
    {"label": "Role"},
    {"label": "Description"},
    {"label": "Access type"},
    {"label": "Held by"},
    {"label": "Opens", "is_number": True},
)

PageView = Callable[..., HttpResponse]


def _require_access_management(view: PageView) -> PageView:
    @wraps(view)
    def check_setting(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.SHOW_ACCESS_MANAGEMENT:
            raise NotFound("External roles are not shown here (SHOW_ACCESS_MANAGEMENT is off).")
        return view(request, *args, **kwargs)

    return check_setting


@require_GET
@never_cache
@signed_in
@_require_access_management
def list_roles(request: HttpRequest) -> HttpResponse:
    """List the external roles, searched, filtered and paged; an htmx request gets only the list."""
    by = get_actor(request)
    form = ExternalRoleFilterForm(request.GET, types=reading.list_types())
    form.is_valid()
    data = form.cleaned_data
    roles = reading.list_roles(
        text=data.get("q", ""), type=data.get("type", ""), holders=by.holders if data.get("held") else ()
    )
    page = list_and_form_pages.get_page(request, roles)
    context = {
        "page": page,
        "rows": _build_rows([row.urn for row in page], by),
        "columns": _COLUMNS,
        "form": form,
        "is_filtered": any(data.values()),
        "may_create": _is_allowed(by, _CREATE_PRIVILEGES, ""),
        "breadcrumbs": [{"label": "External roles"}],
    }
    is_fragment = getattr(request, "htmx", False) and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    response = render(request, "external_roles/_list.html" if is_fragment else "external_roles/list.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


@require_GET
@never_cache
@signed_in
@_require_access_management
def show_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Show one external role: its purpose, its holders, and the entities that it opens."""
    by = get_actor(request)
    reading.get_role(urn=urn)
    (role,) = reading.load_roles(urns=[urn], by=by)
    page = list_and_form_pages.get_page(request, reading.list_opened_entities(urn=urn, by=by))
    references = load_references({*role.users, *role.groups})
    context = {
        "role": role,
        "row": build_rows([role])[0],
        "users": [references[holder_urn] for holder_urn in role.users],
        "groups": [references[holder_urn] for holder_urn in role.groups],
        "page": page,
        "rows": browse.build_rows(list(page)),
        "columns": browse.COLUMNS,
        "may_edit": _is_allowed(by, _EDIT_PRIVILEGES, urn),
        "may_delete": _is_allowed(by, service.DELETE_PRIVILEGES, urn),
        "edit_url": reverse("external-role-edit", args=[urn]),
        "delete_url": reverse("external-role-delete", args=[urn]),
        "breadcrumbs": [*_breadcrumbs(), {"label": role.name}],
    }
    return render(request, "external_roles/detail.html", context)


@require_GET
@never_cache
@signed_in
@_require_access_management
def list_holder_roles(request: HttpRequest, urn: str) -> HttpResponse:
    """List the external roles of a user or group, for a user including those of its groups; htmx gets only the list."""
    type_ = urns.entity_type(urn)
    names_by_urn = display_names.load_names(urns=[urn]) if type_ in ("corpuser", "corpGroup") else {}
    if urn not in names_by_urn:
        raise NotFound(_NO_HOLDER_MESSAGE.format(urn))
    holders = actor_resolution.load_actor(urn=urn).holders if type_ == "corpuser" else frozenset({urn})
    page = list_and_form_pages.get_page(request, reading.list_roles(holders=holders))
    context = {
        "page": page,
        "name": names_by_urn[urn],
        "rows": _build_rows([row.urn for row in page], get_actor(request)),
        "columns": _COLUMNS,
        "breadcrumbs": [*_breadcrumbs(), {"label": names_by_urn[urn]}],
    }
    is_fragment = getattr(request, "htmx", False) and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    response = render(request, "external_roles/_held.html" if is_fragment else "external_roles/held.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
@_require_access_management
def create(request: HttpRequest) -> HttpResponse:
    """Show and process the form of a new external role."""
    by = get_actor(request)
    if not _is_allowed(by, _CREATE_PRIVILEGES, ""):
        authorizer.require(by=by, any_of=_CREATE_PRIVILEGES, resource=ResourceRef("", reading.ENTITY_TYPE))
    return _render_form(request, by, urn=None)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
@_require_access_management
def update(request: HttpRequest, urn: str) -> HttpResponse:
    """Show and process the form of an existing external role."""
    by = get_actor(request)
    reading.get_role(urn=urn)
    authorizer.require(by=by, any_of=_EDIT_PRIVILEGES, resource=ResourceRef(urn, reading.ENTITY_TYPE))
    return _render_form(request, by, urn=urn)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
@_require_access_management
def delete(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask for confirmation, then delete an external role."""
    by = get_actor(request)
    reading.get_role(urn=urn)
    authorizer.require(by=by, any_of=service.DELETE_PRIVILEGES, resource=ResourceRef(urn, reading.ENTITY_TYPE))
    (role,) = reading.load_roles(urns=[urn], by=by)
    if request.method == "POST":
        service.delete(urn=urn, by=by, channel=CHANNEL)
        messages.success(request, f"{role.name} was deleted.")
        return redirect("external-roles")
    entity_count = reading.count_opened_entities(urns=[urn], by=by).get(urn, 0)
    context = {
        "title": f"Delete {role.name}?",
        "text": "The role itself stays in its source system; only its description here is deleted.",
        "losses": [
            f"It is no longer recorded who holds it: {_format_count(len(role.users), 'user', 'users')} and "
            f"{_format_count(len(role.groups), 'group', 'groups')}.",
            f"It is removed from the Access tab of {_format_count(entity_count, 'entity', 'entities')}.",
        ],
        "action": reverse("external-role-delete", args=[urn]),
        "label": "Delete external role",
        "cancel_url": reverse("external-role", args=[urn]),
        "breadcrumbs": [*_breadcrumbs(), {"label": role.name}],
    }
    return render(request, "components/modal.html" if getattr(request, "htmx", False) else "confirmation.html", context)


class _ExternalRoleEditor:
    """The form with its three pickers."""

    def __init__(self, by: Actor, urn: str | None) -> None:
        role = reading.load_roles(urns=[urn], by=by, with_datasets=True)[0] if urn else None
        self.urn = urn
        initial = {}
        if role is not None:
            initial = {name: getattr(role, name) for name in ("urn", "name", "type", "description", "request_url")}
        self.form = ExternalRoleForm(initial=initial)
        self.pickers = [
            EntityPicker(kind=kind, by=by, initial_urns=initial_urns, chosen_urns=initial_urns)
            for kind, initial_urns in (
                (pickers.USERS, role.users if role else ()),
                (pickers.GROUPS, role.groups if role else ()),
                (pickers.ACCESS_ENTITIES, role.datasets if role else ()),
            )
        ]
        self._lock_urn()

    def read(self, data: Any) -> bool:
        """Read the submitted data; return whether it is valid as far as the form can check."""
        self.form = ExternalRoleForm(data)
        self._lock_urn()
        for picker in self.pickers:
            picker.read(data)
        return self.form.is_valid() and not any(picker.errors for picker in self.pickers)

    def save(self, by: Actor) -> Entity:
        """Save the role. Raises the errors of the service."""
        data = self.form.cleaned_data
        users, groups, datasets = (picker.chosen_urns for picker in self.pickers)
        role_input = service.ExternalRoleInput(
            name=data["name"],
            type=data["type"],
            description=data["description"],
            request_url=data["request_url"] or None,
            users=users,
            groups=groups,
            datasets=datasets,
        )
        if self.urn:
            return service.update(urn=self.urn, role_input=role_input, by=by, channel=CHANNEL)
        return service.create(urn=data["urn"] or None, role_input=role_input, by=by, channel=CHANNEL)

    def add_problems(self, problems: Any) -> None:
        """Add each problem to its field, or to the form."""
        pickers_by_name = {picker.kind.name: picker for picker in self.pickers}
        for problem in problems:
            field = problem.pointer.strip("/").split("/")[0]
            if field in pickers_by_name:
                pickers_by_name[field].errors.append(problem.detail)
            else:
                self.form.add_error(field if field in self.form.fields else None, problem.detail)

    def _lock_urn(self) -> None:
        if self.urn:
            del self.form.fields["urn"]


def _render_form(request: HttpRequest, by: Actor, *, urn: str | None) -> HttpResponse:
    editor = _ExternalRoleEditor(by, urn)
    status = HTTPStatus.OK
    if request.method == "POST":
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        if editor.read(request.POST):
            try:
                entity = editor.save(by)
            except Invalid as error:
                editor.add_problems(error.problems)
            except Conflict as error:
                editor.form.add_error("urn", error.detail)
                status = HTTPStatus.CONFLICT
            except Forbidden as error:
                editor.form.add_error(None, error.detail)
                status = HTTPStatus.FORBIDDEN
            else:
                messages.success(request, f"{entity.name} saved.")
                return redirect("external-role", entity.urn)
    title = f"Edit {reading.load_roles(urns=[urn], by=by)[0].name}" if urn else "Describe an external role"
    cancel_url = reverse("external-role", args=[urn]) if urn else reverse("external-roles")
    context = {
        "title": title,
        "form": editor.form,
        "pickers": [picker.build_context() for picker in editor.pickers],
        "cancel_url": cancel_url,
        "breadcrumbs": [*_breadcrumbs(), {"label": title}],
    }
    return render(request, "external_roles/form.html", context, status=status)


def _build_rows(role_urns: list[str], by: Actor) -> list[Any]:
    return build_rows(reading.load_roles(urns=role_urns, by=by), reading.count_opened_entities(urns=role_urns, by=by))


def _format_count(number: int, singular: str, plural: str) -> str:
    return f"{number:,} {singular if number == 1 else plural}"


def _is_allowed(by: Actor, any_of: Any, urn: str) -> bool:
    access_request = AccessRequest(any_of_requirement(any_of), ResourceRef(urn, reading.ENTITY_TYPE))
    return authorizer.answer(actor=by, request=access_request).is_allowed


def _breadcrumbs() -> list[dict[str, str]]:
    return [{"label": "External roles", "url": reverse("external-roles")}]
