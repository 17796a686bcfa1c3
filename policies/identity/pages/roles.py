"""Settings > Permissions > Roles: the list, one role with who holds it and what it carries, and what is done to it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Forbidden, NotFound
from policies.http.guard import actor_of, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.impact_rows import meaning
from policies.http.pages.list_and_form_pages import DOOR, Crumb, FormPage
from policies.http.pages.people_picker import Picker
from policies.identity.pages import removal_warnings, rename_forms
from policies.identity.pages.account_presenter import account_url
from policies.identity.pages.forms import ChoiceForm, NewRoleForm, RoleForm, SearchFilters
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import role_impact, roles
from policies.models import Role, RoleAssignment, User
from policies.pdp import authorizer, display_names
from policies.writes import required_privileges as wanted

MANAGES = needs("MANAGE_POLICIES")

_COLUMNS = [
    {"label": "Name"},
    {"label": "Description"},
    {"label": "Users", "is_number": True},
    {"label": "Groups", "is_number": True},
    {"label": "Policies"},
    {"label": "Actions", "is_hidden_label": True},
]
_HOLDER_COLUMNS = [{"label": "Name"}, {"label": "Kind"}, {"label": "Actions", "is_hidden_label": True}]
#: How many policies a row names.
_SHOWN = 2


@require_GET
@never_cache
@MANAGES
def role_list(request: HttpRequest) -> HttpResponse:
    """The roles, searched and paged, with who holds them and what they carry; htmx gets the list alone."""
    form = SearchFilters(request.GET)
    form.is_valid()
    text = form.cleaned_data.get("q", "")
    page = list_and_form_pages.page_of(request, users_groups_roles.roles(q=text))
    context = {
        "form": form,
        "page": page,
        "rows": _rows(list(page)),
        "columns": _COLUMNS,
        "is_filtered": bool(text),
        "may": _rights(request),
        "breadcrumbs": list_and_form_pages.crumbs("Permissions", ("Roles", "")),
    }
    return list_and_form_pages.listed(request, whole="people/roles.html", part="people/_roles.html", context=context)


@require_GET
@never_cache
@MANAGES
def role_detail(request: HttpRequest, urn: str) -> HttpResponse:
    """One role: who holds it, page by page, and the policies that name it."""
    role = users_groups_roles.role(urn=urn)
    page = list_and_form_pages.page_of(request, users_groups_roles.holders(role=role))
    names = authorizer.names(urns=[role.created_by]) | {SYSTEM_ACTOR: "the system"}
    context = {
        "role": role,
        "facts": [
            {"label": "Can be changed", "value": "Yes" if role.is_editable else "No: it is built in"},
            {"label": "URN", "template": "policies/_urn.html", "urn": role.urn},
            {
                "label": "Created",
                "template": "policies/_when.html",
                "at": role.created_at,
                "by": names.get(role.created_by, role.created_by),
            },
        ],
        "page": page,
        "rows": [_holder(row) for row in page],
        "columns": _HOLDER_COLUMNS,
        "policies": credentials.named_policies(actor=urn),
        "may": _rights(request),
        "breadcrumbs": _crumbs(role.name),
    }
    return list_and_form_pages.listed(request, whole="people/role.html", part="people/_holders.html", context=context)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGES
def role_new(request: HttpRequest) -> HttpResponse:
    """Make a role; policies give it power by naming it."""
    page = FormPage(
        title="New role",
        subtitle="A role has the privileges that policies give to it.",
        label="Create role",
        cancel_url=reverse("roles"),
        breadcrumbs=_crumbs("New role"),
        form=NewRoleForm(list_and_form_pages.posted(request)),
        conflict="identifier",
        shows={"id": "identifier"},
    )
    if request.method == "POST":
        made = page.try_to(lambda typed: _create(typed, request))
        if made is not None:
            messages.success(request, f"{made.name} was created. Policies give it privileges by naming it.")
            return redirect("role", urn=made.urn)
    return page.draw(request)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGES
def role_edit(request: HttpRequest, urn: str) -> HttpResponse:
    """Change what a role is called; those that come with the product stay as they are."""
    role = _changeable(urn) if request.method == "GET" else users_groups_roles.stored_role(urn=urn)
    now = None if role is None else roles.facts(role)
    name = urn if role is None else role.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("role", args=[urn]),
        breadcrumbs=_crumbs(name),
        form=RoleForm(list_and_form_pages.posted(request), initial=list_and_form_pages.initial(now)),
    )
    return rename_forms.answer(request, page=page, urn=urn, now=now, save=roles.update)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGES
def role_remove(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, saying what will be lost, then delete a role that no policy names."""
    role = _changeable(urn)
    if request.method == "POST":
        roles.delete(urn=urn, by=actor_of(request), door=DOOR)
        messages.success(request, f"{role.name} is deleted.")
        return redirect("roles")
    users, groups = users_groups_roles.holder_counts(roles=[role])[urn]
    losses = [
        f"{users} user{'' if users == 1 else 's'} and {groups} group{'' if groups == 1 else 's'} no longer hold it.",
        "Grants given to it on single entities are deleted.",
    ]
    if naming := credentials.named_policies(actor=urn):
        named = ", ".join(policy.name for policy in naming[:5])
        losses.append(f"It cannot be deleted while policies name it: {named}. Remove it from them first.")
    return list_and_form_pages.ask(
        request,
        title=f"Delete {role.name}?",
        text="This cannot be undone.",
        losses=[*losses, *removal_warnings.losses(urn=urn)],
        label="Delete role",
        cancel_url=reverse("role", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGES
def role_assign(request: HttpRequest, urn: str) -> HttpResponse:
    """Choose users and groups, and give them the role beside what they hold."""
    role = users_groups_roles.role(urn=urn) if request.method == "GET" else users_groups_roles.stored_role(urn=urn)
    name = urn if role is None else role.name
    picker = Picker("actors", "Users and groups", "holder", help="They keep the roles they have.")
    page = FormPage(
        title=f"Assign {name}",
        label="Assign",
        cancel_url=reverse("role", args=[urn]),
        breadcrumbs=_crumbs(name),
        form=ChoiceForm(list_and_form_pages.posted(request)),
        pickers=[picker],
        means=lambda: meaning(role_impact.given(role=urn, actors=picker.urns) if picker.is_sound else None),
    )
    if request.method == "POST":
        picker.read(request.POST)
    if request.method == "POST" and not page.is_look(request):
        picker.require_choice()
        given = page.try_to(lambda _: roles.give(urn=urn, actors=picker.urns, by=actor_of(request), door=DOOR))
        if given is not None:
            messages.success(request, f"{len(given)} more hold{'s' if len(given) == 1 else ''} {name}.")
            return redirect("role", urn=urn)
    return page.draw(request)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGES
def role_take(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, saying what is lost, then take the role from one user or group."""
    actor = request.POST.get("actor") or request.GET.get("actor", "")
    name = display_names.names(urns=[actor]).get(actor, actor)
    if request.method == "POST":
        taken = roles.take(urn=urn, actors=[actor], by=actor_of(request), door=DOOR)
        messages.success(request, f"{name} no longer holds it." if taken else f"{name} did not hold it.")
        return redirect("role", urn=urn)
    role = users_groups_roles.role(urn=urn)
    if not actor:
        raise NotFound("Choose a user or group on the page of the role.")
    naming = credentials.named_policies(actor=urn)
    listed = ", ".join(policy.name for policy in naming[:5]) + (" and others" if len(naming) > 5 else "")
    return list_and_form_pages.ask(
        request,
        title=f"Remove the role {role.name} from {name}?",
        text="It stops counting at once, and can be assigned again. What other roles, groups and policies give stays.",
        losses=[f"What these policies give to the role is lost: {listed}."] if naming else [],
        label="Remove role",
        cancel_url=reverse("role", args=[urn]),
    )


def _create(typed: dict[str, Any], request: HttpRequest) -> Role:
    identifier = typed.pop("identifier") or None
    return roles.create(**typed, identifier=identifier, by=actor_of(request), door=DOOR)


def _changeable(urn: str) -> Role:
    role = users_groups_roles.role(urn=urn)
    if not role.is_editable:
        raise Forbidden((), f"The role {role.name} is built in and cannot be changed or deleted.")
    return role


def _rows(found: list[Role]) -> list[dict[str, Any]]:
    counts = users_groups_roles.holder_counts(roles=found)
    carried = credentials.policies_of_roles(roles=found)
    return [
        {
            "role": role,
            "users": counts[role.urn][0],
            "groups": counts[role.urn][1],
            "policies": [
                {"url": reverse("policy", args=[urn]), "name": name} for urn, name in carried[role.urn][:_SHOWN]
            ],
            "more_policies": max(0, len(carried[role.urn]) - _SHOWN),
        }
        for role in found
    ]


def _holder(row: RoleAssignment) -> dict[str, Any]:
    if row.group is not None:
        group = row.group.profile
        return {"name": group.name, "urn": group.urn, "kind": "group", "url": reverse("group", args=[group.urn])}
    user: User = row.user  # type: ignore[assignment]  # the database keeps exactly one of the two
    return {"name": user.name, "urn": user.urn, "kind": "user", "url": account_url(user)}


def _rights(request: HttpRequest) -> dict[str, bool]:
    return list_and_form_pages.may(request, credentials=(wanted.MANAGE_CREDENTIALS, None))


def _crumbs(label: str) -> list[Crumb]:
    return list_and_form_pages.crumbs("Permissions", ("Roles", reverse("roles")), (label, ""))
