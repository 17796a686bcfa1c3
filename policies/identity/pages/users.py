"""Settings > Users & Groups > Users: list, detail, creation and editing."""

from functools import partial

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from policies.engine.requirements import Requirement, any_of_requirement
from policies.http.guard import Guard, get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.form_drafts import is_opened
from policies.http.pages.list_and_form_pages import Section, form_view, page_view
from policies.http.pages.people_picker import PeoplePicker
from policies.http.pages.record_pages import RecordPages
from policies.identity.pages.account_presenter import account_facts, account_row, get_person, name_facts
from policies.identity.pages.edit_form import handle_edit
from policies.identity.pages.forms import NewUserForm, UserFilterForm, UserForm
from policies.identity.queries import credentials, policy_mentions, users_groups_roles
from policies.identity.services import people_writer, users
from policies.models import User
from policies.pdp import authorizer
from policies.pdp.access_requests import ResourceRef
from policies.writes import required_privileges

SECTION = Section("Users", "users", ("Settings", "Users & Groups"))
PAGES = RecordPages(
    SECTION,
    "user",
    "user",
    subtitle="People who can sign in.",
    rows_template="people/_user_rows.html",
    icon="user",
)

#: Guard of the pages that show people: any privilege to change them.
VIEW_GUARD = Guard(any_of=required_privileges.VIEW_USERS)
_VIEWING = any_of_requirement(required_privileges.VIEW_USERS)
UPDATE_GUARD = Guard.from_requirement(required_privileges.privilege_group("user.update"))
CREATE_GUARD = Guard.from_requirement(required_privileges.privilege_group("user.create"))


@page_view(VIEW_GUARD)
def list_users(request: HttpRequest) -> HttpResponse:
    """Page with the list of people, searched, filtered and paged; htmx requests get only the list."""
    may = _check_rights(request)
    return PAGES.render_list(
        request,
        form=UserFilterForm(request.GET),
        query=partial(users_groups_roles.list_users, kind=User.Kind.PERSON, address_condition=Q()),
        build_rows=lambda people: [account_row(user) for user in people],
        columns=list_and_form_pages.build_columns("Name", "State", "Groups", "Roles", "Actions"),
        has_new=may["create"],
        template="people/users.html",
        may=may,
    )


@page_view(signed_in)
def show_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one person: profile, groups, roles, policies and actions.

    To who may only change something in the profile it shows the name alone.
    """
    if not required_privileges.is_met(_VIEWING, by=get_actor(request)):
        return _show_name(request, urn)
    user = get_person(urn)
    context = {
        "user_shown": user,
        "facts": account_facts(user),
        "memberships": sorted(user.memberships.all(), key=lambda row: row.group.profile.name.casefold()),
        "assignments": sorted(user.role_assignments.all(), key=lambda row: row.role.name.casefold()),
        "through_groups": credentials.list_roles_through_groups(urn=urn),
        "policies": policy_mentions.list_mentions(actor=urn),
        "may": _check_rights(request, urn),
        "breadcrumbs": SECTION.breadcrumbs(user.name),
    }
    return render(request, "people/user.html", context)


def _show_name(request: HttpRequest, urn: str) -> HttpResponse:
    """Page of one person for who may change something in the profile, and may not see the record."""
    _require_profile_change(request, urn, or_else=VIEW_GUARD)
    user = get_person(urn)
    context = {"user_shown": user, "facts": name_facts(user), "breadcrumbs": [{"label": user.name}]}
    return render(request, "people/user_name.html", context)


@form_view(CREATE_GUARD)
def create_user(request: HttpRequest) -> HttpResponse:
    """Page that creates a person, with groups and roles if the viewer may assign them."""
    rights = _check_rights(request)
    pickers = [PeoplePicker("groups", "Groups", "group")] if rights["groups"] else []
    pickers += [PeoplePicker("roles", "Roles", "role")] if rights["assign"] else []
    return PAGES.create(
        request,
        NewUserForm,
        users.create,
        message="{} can be invited with a reset link, or signs in with the password.",
        pickers=pickers,
        conflict_field="username",
        keeps_draft=False,
    )


@form_view(signed_in)
def edit_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Page that edits the profile of a person: those parts of it that the viewer may change."""
    _require_profile_change(request, urn, or_else=UPDATE_GUARD)
    may = list_and_form_pages.check_permissions(
        request, **{column: _build_profile_question(column, urn) for column in users.PROFILE_LENGTHS}
    )
    return handle_edit(
        request,
        UserForm,
        section=SECTION,
        url=PAGES.get_url(urn),
        urn=urn,
        record=get_person(urn) if is_opened(request) else users_groups_roles.find_user(urn=urn),
        load_facts=people_writer.facts,
        save=users.update,
        editable=[column for column, is_allowed in may.items() if is_allowed],
    )


def _build_profile_question(column: str | None, urn: str) -> tuple[Requirement, ResourceRef]:
    return users.build_profile_requirement(column), ResourceRef(urn, users.ENTITY_TYPE)


def _require_profile_change(request: HttpRequest, urn: str, *, or_else: Guard) -> None:
    """Raise Forbidden unless the caller may change something in the profile of somebody else, or meets the guard.

    Everybody may change something in the own profile, which has a page of its own.
    """
    by = get_actor(request)
    if urn == by.urn:
        or_else.check_access(request)
        return
    requirement, resource = _build_profile_question(None, urn)
    either = Requirement((*any_of_requirement(or_else.any_of).any_of, *requirement.any_of))
    authorizer.require(by=by, requirement=either, resource=resource)


def _check_rights(request: HttpRequest, urn: str = "") -> dict[str, bool]:
    update = required_privileges.privilege_group("user.update")
    return list_and_form_pages.check_permissions(
        request,
        edit=_build_profile_question(None, urn) if urn else update,
        create=required_privileges.privilege_group("user.create"),
        update=update,
        remove=required_privileges.privilege_group("user.delete"),
        credentials=required_privileges.MANAGE_CREDENTIALS,
        assign=required_privileges.MANAGE_POLICIES,
        groups=required_privileges.privilege_group("group.update"),
        tokens=required_privileges.MANAGE_OTHERS_TOKENS,
    )
