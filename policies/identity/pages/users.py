"""Settings > Users & Groups > Users: list, detail, creation and editing."""

from functools import partial

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from policies.http.guard import Guard
from policies.http.pages import list_and_form_pages
from policies.http.pages.form_drafts import is_opened
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import Section, form_view, page_view, redirect_with_message
from policies.http.pages.people_picker import PeoplePicker
from policies.identity.pages.account_presenter import account_facts, account_row, get_person
from policies.identity.pages.edit_form import handle_edit
from policies.identity.pages.forms import NewUserForm, UserFilterForm, UserForm
from policies.identity.queries import credentials, policy_mentions, users_groups_roles
from policies.identity.services import people_writer, users
from policies.models import User
from policies.writes import required_privileges

SECTION = Section("Users", "users", ("Settings", "Users & Groups"))

#: Guard of the pages that show people: any privilege to change them.
VIEW_GUARD = Guard(any_of=required_privileges.VIEW_USERS)
CREATE_GUARD = Guard.from_requirement(required_privileges.privilege_group("user.create"))
UPDATE_GUARD = Guard.from_requirement(required_privileges.privilege_group("user.update"))


@page_view(VIEW_GUARD)
def list_users(request: HttpRequest) -> HttpResponse:
    """Page with the list of people, searched, filtered and paged; htmx requests get only the list."""
    return list_and_form_pages.render_filtered_list(
        request,
        "people/users.html",
        "people/_users.html",
        form=UserFilterForm(request.GET),
        query=partial(users_groups_roles.list_users, kind=User.Kind.PERSON, address_condition=Q()),
        build_rows=lambda people: [account_row(user) for user in people],
        columns=list_and_form_pages.build_columns("Name", "State", "Groups", "Roles", "Actions"),
        may=_check_rights(request),
        breadcrumbs=SECTION.breadcrumbs(),
    )


@page_view(VIEW_GUARD)
def show_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one person: profile, groups, roles, policies and actions."""
    user = get_person(urn)
    context = {
        "user_shown": user,
        "facts": account_facts(user),
        "memberships": sorted(user.memberships.all(), key=lambda row: row.group.profile.name.casefold()),
        "assignments": sorted(user.role_assignments.all(), key=lambda row: row.role.name.casefold()),
        "through_groups": credentials.list_roles_through_groups(urn=urn),
        "policies": policy_mentions.list_mentions(actor=urn),
        "may": _check_rights(request),
        "breadcrumbs": SECTION.breadcrumbs(user.name),
    }
    return render(request, "people/user.html", context)


@form_view(CREATE_GUARD)
def create_user(request: HttpRequest) -> HttpResponse:
    """Page that creates a person, with groups and roles if the viewer may assign them."""
    rights = _check_rights(request)
    pickers = [PeoplePicker("groups", "Groups", "group")] if rights["groups"] else []
    pickers += [PeoplePicker("roles", "Roles", "role")] if rights["assign"] else []
    page = FormPage(
        request,
        NewUserForm,
        title="New user",
        label="Create user",
        section=SECTION,
        pickers=pickers,
        conflict_field="username",
    )
    message = "{} can be invited with a reset link, or signs in with the password."
    return page.run(
        users.create, lambda user: redirect_with_message(request, message.format(user.name), "user", user.urn)
    )


@form_view(UPDATE_GUARD)
def edit_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the profile of a person."""
    return handle_edit(
        request,
        UserForm,
        section=SECTION,
        url=reverse("user", args=[urn]),
        urn=urn,
        record=get_person(urn) if is_opened(request) else users_groups_roles.find_user(urn=urn),
        load_facts=people_writer.facts,
        save=users.update,
    )


def _check_rights(request: HttpRequest) -> dict[str, bool]:
    return list_and_form_pages.check_permissions(
        request,
        create=required_privileges.privilege_group("user.create"),
        update=required_privileges.privilege_group("user.update"),
        remove=required_privileges.privilege_group("user.delete"),
        credentials=required_privileges.MANAGE_CREDENTIALS,
        assign=required_privileges.MANAGE_POLICIES,
        groups=required_privileges.privilege_group("group.update"),
        tokens=required_privileges.MANAGE_OTHERS_TOKENS,
    )
