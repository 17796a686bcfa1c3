"""Settings > Permissions > Roles: list, detail with holders and policies, creation, editing, assignment, deletion."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.errors import Forbidden
from policies.http.guard import needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.form_drafts import is_opened
from policies.http.pages.list_and_form_pages import Section, build_columns, form_view, page_view
from policies.http.pages.record_pages import RecordPages
from policies.identity.pages import removal_warnings
from policies.identity.pages.account_presenter import created_fact
from policies.identity.pages.edit_form import handle_edit
from policies.identity.pages.forms import NewNamedForm, RoleForm, SearchFilterForm
from policies.identity.pages.holder_rows import build_holder_rows
from policies.identity.queries import policy_mentions, users_groups_roles
from policies.identity.services import roles
from policies.models import Role
from policies.writes import managed_rows, required_privileges

SECTION = Section("Roles", "roles", ("Settings", "Permissions"))
PAGES = RecordPages(
    SECTION,
    "role",
    "role",
    subtitle="Policies give access to roles; users and groups are assigned to them. Several roles add up.",
    rows_template="people/_role_rows.html",
    icon="role",
)

MANAGE_GUARD = needs("MANAGE_POLICIES")

#: Maximum number of policies that a row names, and that a warning names.
_MAX_POLICY_NAMES = 2
_MAX_WARNED_POLICIES = 5


@page_view(MANAGE_GUARD)
def list_roles(request: HttpRequest) -> HttpResponse:
    """Page with the list of roles, searched and paged, with holders and policies; htmx requests get only the list."""
    return PAGES.render_list(
        request,
        form=SearchFilterForm(request.GET),
        query=users_groups_roles.list_roles,
        build_rows=_load_rows,
        columns=build_columns(
            "Name", "Description", "Users", "Groups", "Policies", "Actions", numbers=["Users", "Groups"]
        ),
        may=_check_rights(request),
    )


@page_view(MANAGE_GUARD)
def show_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one role: its holders, paged, and the policies that name it."""
    role = users_groups_roles.get_role(urn=urn)
    page = list_and_form_pages.get_page(request, users_groups_roles.list_holder_times(role=role))
    context = {
        "role": role,
        "facts": [
            managed_rows.build_editing_fact(
                role, label="Can be changed", is_editable=role.is_editable, fixed="No: it is built in"
            ),
            {"label": "URN", "template": "policies/_urn.html", "urn": role.urn},
            created_fact(role),
        ],
        "page": page,
        "rows": build_holder_rows(list(page)),
        "columns": build_columns("Name", "Kind", "Time", "Actions"),
        "policies": policy_mentions.list_mentions(actor=urn),
        "may": _check_rights(request),
        "breadcrumbs": SECTION.breadcrumbs(role.name),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/role.html", fragment_template="people/_holders.html", context=context
    )


@form_view(MANAGE_GUARD)
def create_role(request: HttpRequest) -> HttpResponse:
    """Page that creates a role; policies give it privileges by naming it."""
    return PAGES.create(
        request,
        NewNamedForm,
        roles.create,
        message="{} was created. Policies give it privileges by naming it.",
        subtitle="A role has the privileges that policies give to it.",
        conflict_field="identifier",
        error_field_map={"id": "identifier"},
    )


@form_view(MANAGE_GUARD)
def edit_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the name and description of a role; built-in roles cannot be edited."""
    return handle_edit(
        request,
        RoleForm,
        section=SECTION,
        url=PAGES.get_url(urn),
        urn=urn,
        record=_get_editable_role(urn) if is_opened(request) else users_groups_roles.find_role(urn=urn),
        load_facts=roles.facts,
        save=roles.update,
    )


@form_view(MANAGE_GUARD)
def delete_role(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a role that no policy names."""
    role = _get_editable_role(urn)
    return PAGES.delete(
        request,
        role,
        roles.delete,
        text="This cannot be undone.",
        losses=lambda: _list_losses(role),
        change="delete_role",
    )


def _get_editable_role(urn: str) -> Role:
    role = users_groups_roles.get_role(urn=urn)
    if not role.is_editable:
        raise Forbidden((), f"The role {role.name} is built in and cannot be changed or deleted.")
    managed_rows.refuse_managed(role)
    return role


def _list_losses(role: Role) -> list[str]:
    users, groups = users_groups_roles.count_holders(roles=[role])[role.urn]
    losses = [
        f"{users} user{'' if users == 1 else 's'} and {groups} group{'' if groups == 1 else 's'} no longer hold it.",
        "Grants given to it on single entities are deleted.",
    ]
    if policies := policy_mentions.list_mentions(actor=role.urn):
        policy_names = ", ".join(policy.name for policy in policies[:_MAX_WARNED_POLICIES])
        losses.append(f"It cannot be deleted while policies name it: {policy_names}. Remove it from them first.")
    return [*losses, *removal_warnings.list_losses(urn=role.urn)]


def _load_rows(role_rows: list[Role]) -> list[dict[str, Any]]:
    counts = users_groups_roles.count_holders(roles=role_rows)
    mentions_by_role = policy_mentions.load_mentions(actors=[role.urn for role in role_rows])
    return [
        {
            "role": role,
            "users": counts[role.urn][0],
            "groups": counts[role.urn][1],
            "policies": [
                {"url": reverse("policy", args=[mention.urn]), "mention": mention}
                for mention in mentions_by_role[role.urn][:_MAX_POLICY_NAMES]
            ],
            "more_policies": max(0, len(mentions_by_role[role.urn]) - _MAX_POLICY_NAMES),
        }
        for role in role_rows
    ]


def _check_rights(request: HttpRequest) -> dict[str, bool]:
    return list_and_form_pages.check_permissions(request, credentials=required_privileges.MANAGE_CREDENTIALS)
