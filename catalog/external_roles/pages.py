"""External roles: the list, one role, and the forms that describe, change and remove one.

All of it is there while SHOW_ACCESS_MANAGEMENT is on; otherwise these addresses lead nowhere.
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
from catalog.access.entity_context import references
from catalog.entities.pages import browse, pickers
from catalog.entities.pages.pickers import Picker
from catalog.external_roles import queries as reading
from catalog.external_roles import services as service
from catalog.external_roles.entity_tab import rows
from catalog.external_roles.forms import RoleFilters, RoleForm
from catalog.models import Entity
from policies.engine.model import Actor
from policies.engine.requirements import alternatives
from policies.errors import Conflict, Forbidden, Invalid, NotFound
from policies.http.guard import actor_of, signed_in
from policies.http.pages import list_and_form_pages
from policies.pdp import actor_resolution, authorizer, display_names
from policies.pdp.authorizer import Ask, Asked

DOOR = "pages"
_WRITE = (("EDIT_ENTITY",),)
_MAKE = (("CREATE_ENTITY",), ("EDIT_ENTITY",))
_NO_USER_OR_GROUP = "There is no user or group {}."

_COLUMNS = (
    {"label": "Role"},
    {"label": "Description"},
    {"label": "Access type"},
    {"label": "Held by"},
    {"label": "Opens", "is_number": True},
)

Page = Callable[..., HttpResponse]


def _shown(view: Page) -> Page:
    @wraps(view)
    def look_first(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.SHOW_ACCESS_MANAGEMENT:
            raise NotFound("External roles are not shown here (SHOW_ACCESS_MANAGEMENT is off).")
        return view(request, *args, **kwargs)

    return look_first


@require_GET
@never_cache
@signed_in
@_shown
def role_list(request: HttpRequest) -> HttpResponse:
    """The external roles, searched, filtered and paged; an htmx request gets the list alone."""
    by = actor_of(request)
    form = RoleFilters(request.GET, types=reading.role_types())
    form.is_valid()
    data = form.cleaned_data
    found = reading.external_roles(
        text=data.get("q", ""), type=data.get("type", ""), holders=by.holders if data.get("held") else ()
    )
    page = list_and_form_pages.page_of(request, found)
    context = {
        "page": page,
        "rows": _rows([row.urn for row in page], by),
        "columns": _COLUMNS,
        "form": form,
        "is_filtered": any(data.values()),
        "may_create": _may(by, _MAKE, ""),
        "breadcrumbs": [{"label": "External roles"}],
    }
    is_fragment = getattr(request, "htmx", False) and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    response = render(request, "external_roles/_list.html" if is_fragment else "external_roles/list.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


@require_GET
@never_cache
@signed_in
@_shown
def detail(request: HttpRequest, urn: str) -> HttpResponse:
    """One external role: what it is for, who holds it, and what it opens."""
    by = actor_of(request)
    reading.external_role(urn=urn)
    (role,) = reading.described(urns=[urn], by=by)
    page = list_and_form_pages.page_of(request, reading.opened(urn=urn, by=by))
    named = references({*role.users, *role.groups})
    context = {
        "role": role,
        "row": rows([role])[0],
        "users": [named[one] for one in role.users],
        "groups": [named[one] for one in role.groups],
        "page": page,
        "rows": browse.rows(list(page)),
        "columns": browse.COLUMNS,
        "may_edit": _may(by, _WRITE, urn),
        "edit_url": reverse("external-role-edit", args=[urn]),
        "delete_url": reverse("external-role-delete", args=[urn]),
        "breadcrumbs": [*_crumbs(), {"label": role.name}],
    }
    return render(request, "external_roles/detail.html", context)


@require_GET
@never_cache
@signed_in
@_shown
def held(request: HttpRequest, urn: str) -> HttpResponse:
    """The external roles of one person or group, those of a person's groups among them; htmx gets the list alone."""
    type_ = urns.type_of(urn)
    known = display_names.names(urns=[urn]) if type_ in ("corpuser", "corpGroup") else {}
    if urn not in known:
        raise NotFound(_NO_USER_OR_GROUP.format(urn))
    holders = actor_resolution.actor(urn=urn).holders if type_ == "corpuser" else frozenset({urn})
    page = list_and_form_pages.page_of(request, reading.external_roles(holders=holders))
    context = {
        "page": page,
        "name": known[urn],
        "rows": _rows([row.urn for row in page], actor_of(request)),
        "columns": _COLUMNS,
        "breadcrumbs": [*_crumbs(), {"label": known[urn]}],
    }
    is_fragment = getattr(request, "htmx", False) and not request.htmx.history_restore_request  # type: ignore[attr-defined]
    response = render(request, "external_roles/_held.html" if is_fragment else "external_roles/held.html", context)
    patch_vary_headers(response, ["HX-Request", "HX-History-Restore-Request"])
    return response


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
@_shown
def create(request: HttpRequest) -> HttpResponse:
    """The form of a new external role."""
    by = actor_of(request)
    if not _may(by, _MAKE, ""):
        authorizer.require(by=by, any_of=_MAKE, resource=Asked("", reading.TYPE))
    return _form(request, by, urn=None)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
@_shown
def update(request: HttpRequest, urn: str) -> HttpResponse:
    """The form of an external role that is there."""
    by = actor_of(request)
    reading.external_role(urn=urn)
    authorizer.require(by=by, any_of=_WRITE, resource=Asked(urn, reading.TYPE))
    return _form(request, by, urn=urn)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
@_shown
def delete(request: HttpRequest, urn: str) -> HttpResponse:
    """The question whether to remove an external role, and the removal."""
    by = actor_of(request)
    reading.external_role(urn=urn)
    authorizer.require(by=by, any_of=_WRITE, resource=Asked(urn, reading.TYPE))
    (role,) = reading.described(urns=[urn], by=by)
    if request.method == "POST":
        service.delete(urn=urn, by=by, door=DOOR)
        messages.success(request, f"{role.name} was deleted.")
        return redirect("external-roles")
    opens = reading.counts(urns=[urn], by=by).get(urn, 0)
    context = {
        "title": f"Delete {role.name}?",
        "text": "The role itself stays in its source system; only its description here is deleted.",
        "losses": [
            f"It is no longer recorded who holds it: {_count(len(role.users), 'user', 'users')} and "
            f"{_count(len(role.groups), 'group', 'groups')}.",
            f"It is removed from the Access tab of {_count(opens, 'entity', 'entities')}.",
        ],
        "action": reverse("external-role-delete", args=[urn]),
        "label": "Delete external role",
        "cancel_url": reverse("external-role", args=[urn]),
        "breadcrumbs": [*_crumbs(), {"label": role.name}],
    }
    return render(request, "components/modal.html" if getattr(request, "htmx", False) else "confirmation.html", context)


class _Editing:
    """The form with its three pickers."""

    def __init__(self, by: Actor, urn: str | None) -> None:
        role = reading.described(urns=[urn], by=by, with_datasets=True)[0] if urn else None
        self.urn = urn
        initial = {}
        if role is not None:
            initial = {name: getattr(role, name) for name in ("urn", "name", "type", "description", "request_url")}
        self.form = RoleForm(initial=initial)
        self.pickers = [
            Picker(kind=kind, by=by, before=before, chosen=before)
            for kind, before in (
                (pickers.USERS, role.users if role else ()),
                (pickers.GROUPS, role.groups if role else ()),
                (pickers.REACHED, role.datasets if role else ()),
            )
        ]
        self._lock()

    def read(self, data: Any) -> bool:
        """Take in what was sent; whether it will do as far as the form knows."""
        self.form = RoleForm(data)
        self._lock()
        for picker in self.pickers:
            picker.read(data)
        return self.form.is_valid() and not any(picker.errors for picker in self.pickers)

    def save(self, by: Actor) -> Entity:
        """Write it. Raises what the service raises."""
        data = self.form.cleaned_data
        users, groups, datasets = (picker.chosen for picker in self.pickers)
        draft = service.Draft(
            name=data["name"],
            type=data["type"],
            description=data["description"],
            request_url=data["request_url"] or None,
            users=users,
            groups=groups,
            datasets=datasets,
        )
        if self.urn:
            return service.update(urn=self.urn, draft=draft, by=by, door=DOOR)
        return service.create(urn=data["urn"] or None, draft=draft, by=by, door=DOOR)

    def refuse(self, problems: Any) -> None:
        """Put each problem beside its field, or above the form."""
        beside = {picker.kind.name: picker for picker in self.pickers}
        for problem in problems:
            field = problem.pointer.strip("/").split("/")[0]
            if field in beside:
                beside[field].errors.append(problem.detail)
            else:
                self.form.add_error(field if field in self.form.fields else None, problem.detail)

    def _lock(self) -> None:
        if self.urn:
            del self.form.fields["urn"]


def _form(request: HttpRequest, by: Actor, *, urn: str | None) -> HttpResponse:
    editing = _Editing(by, urn)
    status = HTTPStatus.OK
    if request.method == "POST":
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        if editing.read(request.POST):
            try:
                saved = editing.save(by)
            except Invalid as error:
                editing.refuse(error.problems)
            except Conflict as error:
                editing.form.add_error("urn", error.detail)
                status = HTTPStatus.CONFLICT
            except Forbidden as error:
                editing.form.add_error(None, error.detail)
                status = HTTPStatus.FORBIDDEN
            else:
                messages.success(request, f"{saved.name} saved.")
                return redirect("external-role", saved.urn)
    title = f"Edit {reading.described(urns=[urn], by=by)[0].name}" if urn else "Describe an external role"
    cancel = reverse("external-role", args=[urn]) if urn else reverse("external-roles")
    context = {
        "title": title,
        "form": editing.form,
        "pickers": [picker.context() for picker in editing.pickers],
        "cancel_url": cancel,
        "breadcrumbs": [*_crumbs(), {"label": title}],
    }
    return render(request, "external_roles/form.html", context, status=status)


def _rows(found: list[str], by: Actor) -> list[Any]:
    return rows(reading.described(urns=found, by=by), reading.counts(urns=found, by=by))


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _may(by: Actor, any_of: Any, urn: str) -> bool:
    ask = Ask(alternatives(any_of), Asked(urn, reading.TYPE))
    return authorizer.answer(actor=by, ask=ask).is_allowed


def _crumbs() -> list[dict[str, str]]:
    return [{"label": "External roles", "url": reverse("external-roles")}]
