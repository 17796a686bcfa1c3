"""Settings > Permissions > Roles: list, detail with holders and policies, creation, editing, assignment, deletion."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.engine.model import SYSTEM_ACTOR
from policies.errors import Forbidden, NotFound
from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.impact_rows import impact_context
from policies.http.pages.list_and_form_pages import CHANNEL, Breadcrumb, FormPage
from policies.http.pages.people_picker import PeoplePicker
from policies.identity.pages import removal_warnings, rename_forms
from policies.identity.pages.account_presenter import account_url
from policies.identity.pages.forms import NewRoleForm, PickerForm, RoleForm, SearchFilterForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import role_impact, roles
from policies.models import Role, RoleAssignment, User
from policies.pdp import authorizer, display_names
from policies.writes import required_privileges

MANAGE_GUARD = needs("MANAGE_POLICIES")

_COLUMNS = [
    {"label": "Name"},
    {"label": "Description"},
    {"label": "Users", "is_number": True},
    {"label": "Groups", "is_number": True},
    {"label": "Policies"},
    {"label": "Actions", "is_hidden_label": True},
]
_HOLDER_COLUMNS = [{"label": "Name"}, {"label": "Kind"}, {"label": "Actions", "is_hidden_label": True}]
#: Maximum number of policies that a row names.
_MAX_POLICY_NAMES = 2


@require_GET
@never_cache
@MANAGE_GUARD
def list_roles(request: HttpRequest) -> HttpResponse:
    """Page with the list of roles, searched and paged, with holders and policies; htmx requests get only the list."""
    form = SearchFilterForm(request.GET)
    form.is_valid()
    text = form.cleaned_data.get("q", "")
    page = list_and_form_pages.get_page(request, users_groups_roles.list_roles(q=text))
    context = {
        "form": form,
        "page": page,
        "rows": _load_rows(list(page)),
        "columns": _COLUMNS,
        "is_filtered": bool(text),
        "may": _check_rights(request),
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs("Permissions", ("Roles", "")),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/roles.html", fragment_template="people/_roles.html", context=context
    )


@require_GET
@never_cache
@MANAGE_GUARD
def show_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one role: its holders, paged, and the policies that name it."""
    role = users_groups_roles.get_role(urn=urn)
    page = list_and_form_pages.get_page(request, users_groups_roles.list_holders(role=role))
    names = authorizer.load_names(urns=[role.created_by]) | {SYSTEM_ACTOR: "the system"}
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
        "rows": [_holder_row(row) for row in page],
        "columns": _HOLDER_COLUMNS,
        "policies": credentials.list_policies_naming(actor=urn),
        "may": _check_rights(request),
        "breadcrumbs": _breadcrumbs(role.name),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/role.html", fragment_template="people/_holders.html", context=context
    )


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGE_GUARD
def create_role(request: HttpRequest) -> HttpResponse:
    """Page that creates a role; policies give it privileges by naming it."""
    page = FormPage(
        title="New role",
        subtitle="A role has the privileges that policies give to it.",
        label="Create role",
        cancel_url=reverse("roles"),
        breadcrumbs=_breadcrumbs("New role"),
        form=NewRoleForm(list_and_form_pages.get_post_data(request)),
        conflict_field="identifier",
        error_field_map={"id": "identifier"},
    )
    if request.method == "POST":
        role = page.save_or_report(lambda cleaned_data: _create(cleaned_data, request))
        if role is not None:
            messages.success(request, f"{role.name} was created. Policies give it privileges by naming it.")
            return redirect("role", urn=role.urn)
    return page.render(request)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGE_GUARD
def edit_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the name and description of a role; built-in roles cannot be edited."""
    role = _get_editable_role(urn) if request.method == "GET" else users_groups_roles.find_role(urn=urn)
    current_facts = None if role is None else roles.facts(role)
    name = urn if role is None else role.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("role", args=[urn]),
        breadcrumbs=_breadcrumbs(name),
        form=RoleForm(
            list_and_form_pages.get_post_data(request), initial=list_and_form_pages.build_initial_data(current_facts)
        ),
    )
    return rename_forms.handle_form(request, page=page, urn=urn, current_facts=current_facts, save=roles.update)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGE_GUARD
def delete_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a role that no policy names."""
    role = _get_editable_role(urn)
    if request.method == "POST":
        roles.delete(urn=urn, by=get_actor(request), channel=CHANNEL)
        messages.success(request, f"{role.name} is deleted.")
        return redirect("roles")
    users, groups = users_groups_roles.count_holders(roles=[role])[urn]
    losses = [
        f"{users} user{'' if users == 1 else 's'} and {groups} group{'' if groups == 1 else 's'} no longer hold it.",
        "Grants given to it on single entities are deleted.",
    ]
    if policies := credentials.list_policies_naming(actor=urn):
        policy_names = ", ".join(policy.name for policy in policies[:5])
        losses.append(f"It cannot be deleted while policies name it: {policy_names}. Remove it from them first.")
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Delete {role.name}?",
        text="This cannot be undone.",
        losses=[*losses, *removal_warnings.list_losses(urn=urn)],
        label="Delete role",
        cancel_url=reverse("role", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGE_GUARD
def assign_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that assigns a role to users and groups in addition to their roles, with a preview of the impact."""
    role = users_groups_roles.get_role(urn=urn) if request.method == "GET" else users_groups_roles.find_role(urn=urn)
    name = urn if role is None else role.name
    picker = PeoplePicker("actors", "Users and groups", "holder", help="They keep the roles they have.")
    page = FormPage(
        title=f"Assign {name}",
        label="Assign",
        cancel_url=reverse("role", args=[urn]),
        breadcrumbs=_breadcrumbs(name),
        form=PickerForm(list_and_form_pages.get_post_data(request)),
        pickers=[picker],
        impact=lambda: impact_context(
            role_impact.measure_assignment(role=urn, actors=picker.urns) if picker.is_sound else None
        ),
    )
    if request.method == "POST":
        picker.read(request.POST)
    if request.method == "POST" and not page.is_preview(request):
        picker.require_choice()
        granted_urns = page.save_or_report(
            lambda _: roles.grant(urn=urn, actors=picker.urns, by=get_actor(request), channel=CHANNEL)
        )
        if granted_urns is not None:
            messages.success(request, f"{len(granted_urns)} more hold{'s' if len(granted_urns) == 1 else ''} {name}.")
            return redirect("role", urn=urn)
    return page.render(request)


@require_http_methods(["GET", "POST"])
@never_cache
@MANAGE_GUARD
def revoke_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the revocation of a role from one user or group."""
    actor = request.POST.get("actor") or request.GET.get("actor", "")
    name = display_names.load_names(urns=[actor]).get(actor, actor)
    if request.method == "POST":
        revoked_urns = roles.revoke(urn=urn, actors=[actor], by=get_actor(request), channel=CHANNEL)
        messages.success(request, f"{name} no longer holds it." if revoked_urns else f"{name} did not hold it.")
        return redirect("role", urn=urn)
    role = users_groups_roles.get_role(urn=urn)
    if not actor:
        raise NotFound("Choose a user or group on the page of the role.")
    policies = credentials.list_policies_naming(actor=urn)
    policy_names = ", ".join(policy.name for policy in policies[:5]) + (" and others" if len(policies) > 5 else "")
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Remove the role {role.name} from {name}?",
        text="It stops counting at once, and can be assigned again. What other roles, groups and policies give stays.",
        losses=[f"What these policies give to the role is lost: {policy_names}."] if policies else [],
        label="Remove role",
        cancel_url=reverse("role", args=[urn]),
    )


def _create(cleaned_data: dict[str, Any], request: HttpRequest) -> Role:
    identifier = cleaned_data.pop("identifier") or None
    return roles.create(**cleaned_data, identifier=identifier, by=get_actor(request), channel=CHANNEL)


def _get_editable_role(urn: str) -> Role:
    role = users_groups_roles.get_role(urn=urn)
    if not role.is_editable:
        raise Forbidden((), f"The role {role.name} is built in and cannot be changed or deleted.")
    return role


def _load_rows(role_rows: list[Role]) -> list[dict[str, Any]]:
    counts = users_groups_roles.count_holders(roles=role_rows)
    policies_by_role = credentials.load_policies_by_role(roles=role_rows)
    return [
        {
            "role": role,
            "users": counts[role.urn][0],
            "groups": counts[role.urn][1],
            "policies": [
                {"url": reverse("policy", args=[urn]), "name": name}
                for urn, name in policies_by_role[role.urn][:_MAX_POLICY_NAMES]
            ],
            "more_policies": max(0, len(policies_by_role[role.urn]) - _MAX_POLICY_NAMES),
        }
        for role in role_rows
    ]


def _holder_row(row: RoleAssignment) -> dict[str, Any]:
    if row.group is not None:
        group = row.group.profile
        return {"name": group.name, "urn": group.urn, "kind": "group", "url": reverse("group", args=[group.urn])}
    user: User = row.user  # type: ignore[assignment]  # the database keeps exactly one of the two
    return {"name": user.name, "urn": user.urn, "kind": "user", "url": account_url(user)}


def _check_rights(request: HttpRequest) -> dict[str, bool]:
    return list_and_form_pages.check_permissions(request, credentials=(required_privileges.MANAGE_CREDENTIALS, None))


def _breadcrumbs(label: str) -> list[Breadcrumb]:
    return list_and_form_pages.settings_breadcrumbs("Permissions", ("Roles", reverse("roles")), (label, ""))
