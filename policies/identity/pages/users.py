"""Settings > Users & Groups > Users: list, detail, creation and editing."""

from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.engine.model import SYSTEM_ACTOR
from policies.http.guard import Guard, get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL, FormPage
from policies.http.pages.people_picker import PeoplePicker
from policies.identity.pages import rename_forms
from policies.identity.pages.account_presenter import account_facts, account_row, get_person
from policies.identity.pages.forms import NewUserForm, UserFilterForm, UserForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import users
from policies.models import User
from policies.pdp import authorizer
from policies.writes import required_privileges

#: Guard of the pages that show people: any privilege to change them.
VIEW_GUARD = Guard(any_of=required_privileges.VIEW_USERS)
CREATE_GUARD = needs("MANAGE_USERS_AND_GROUPS", "CREATE_USERS", "CREATE_USERS_AND_GROUPS", "UPDATE_USERS")
UPDATE_GUARD = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS", "UPDATE_USERS_AND_GROUPS")

_COLUMNS = [
    {"label": "Name"},
    {"label": "State"},
    {"label": "Groups"},
    {"label": "Roles"},
    {"label": "Actions", "is_hidden_label": True},
]


@require_GET
@never_cache
@VIEW_GUARD
def list_users(request: HttpRequest) -> HttpResponse:
    """Page with the list of people, searched, filtered and paged; htmx requests get only the list."""
    form = UserFilterForm(request.GET)
    form.is_valid()
    filters = {name: value for name, value in form.cleaned_data.items() if value}
    rows = users_groups_roles.list_users(kind=User.Kind.PERSON, address_condition=Q(), **filters)
    page = list_and_form_pages.get_page(request, rows)
    context = {
        "form": form,
        "page": page,
        "rows": [account_row(user) for user in page],
        "columns": _COLUMNS,
        "is_filtered": bool(filters),
        "may": _check_rights(request),
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs("Users & Groups", ("Users", "")),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/users.html", fragment_template="people/_users.html", context=context
    )


@require_GET
@never_cache
@VIEW_GUARD
def show_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one person: profile, groups, roles, policies and actions."""
    user = get_person(urn)
    group_roles = credentials.list_roles_through_groups(urn=urn)
    names = authorizer.load_names(urns=[user.created_by]) | {SYSTEM_ACTOR: "the system"}
    context = {
        "user_shown": user,
        "facts": account_facts(user, names),
        "memberships": sorted(user.memberships.all(), key=lambda row: row.group.profile.name.casefold()),
        "roles": sorted((row.role for row in user.role_assignments.all()), key=lambda role: role.name.casefold()),
        "through_groups": group_roles,
        "policies": credentials.list_policies_naming(actor=urn),
        "may": _check_rights(request),
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs(
            "Users & Groups", ("Users", reverse("users")), (user.name, "")
        ),
    }
    return render(request, "people/user.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@CREATE_GUARD
def create_user(request: HttpRequest) -> HttpResponse:
    """Page that creates a person, with groups and roles if the viewer may assign them."""
    rights = _check_rights(request)
    pickers = [PeoplePicker("groups", "Groups", "group")] if rights["join"] else []
    pickers += [PeoplePicker("roles", "Roles", "role")] if rights["assign"] else []
    page = FormPage(
        title="New user",
        label="Create user",
        cancel_url=reverse("users"),
        breadcrumbs=list_and_form_pages.settings_breadcrumbs(
            "Users & Groups", ("Users", reverse("users")), ("New user", "")
        ),
        form=NewUserForm(list_and_form_pages.get_post_data(request)),
        pickers=pickers,
        conflict_field="username",
    )
    if request.method == "POST":
        urns_by_picker = {picker.name: picker.read(request.POST).urns for picker in pickers}
        user = page.save_or_report(lambda cleaned_data: _create(cleaned_data, urns_by_picker, request))
        if user is not None:
            messages.success(request, f"{user.name} can be invited with a reset link, or signs in with the password.")
            return redirect("user", urn=user.urn)
    return page.render(request)


@require_http_methods(["GET", "POST"])
@never_cache
@UPDATE_GUARD
def edit_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the profile of a person."""
    user = get_person(urn) if request.method == "GET" else users_groups_roles.find_user(urn=urn)
    current_facts = None if user is None else users.facts(user)
    name = urn if user is None else user.name
    page = FormPage(
        title=f"Edit {name}",
        label="Save",
        cancel_url=reverse("user", args=[urn]),
        breadcrumbs=list_and_form_pages.settings_breadcrumbs("Users & Groups", ("Users", reverse("users")), (name, "")),
        form=UserForm(
            list_and_form_pages.get_post_data(request), initial=list_and_form_pages.build_initial_data(current_facts)
        ),
    )
    return rename_forms.handle_form(request, page=page, urn=urn, current_facts=current_facts, save=users.update)


def _create(cleaned_data: dict[str, Any], urns_by_picker: dict[str, tuple[str, ...]], request: HttpRequest) -> User:
    password = cleaned_data.pop("password") or None
    lists: dict[str, Any] = {"groups": urns_by_picker.get("groups", ()), "roles": urns_by_picker.get("roles", ())}
    return users.create(**cleaned_data, **lists, password=password, by=get_actor(request), channel=CHANNEL)


def _check_rights(request: HttpRequest) -> dict[str, bool]:
    return list_and_form_pages.check_permissions(
        request,
        create=(required_privileges.privilege_group("user.create"), None),
        update=(required_privileges.privilege_group("user.update"), None),
        remove=(required_privileges.privilege_group("user.delete"), None),
        credentials=(required_privileges.MANAGE_CREDENTIALS, None),
        assign=(required_privileges.MANAGE_POLICIES, None),
        join=(required_privileges.privilege_group("group.update"), None),
        groups=(required_privileges.privilege_group("group.update"), None),
        tokens=(required_privileges.MANAGE_OTHERS_TOKENS, None),
    )
