"""The viewer's own profile: names, password, groups, roles and tokens."""

from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from policies.http.guard import get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import Section, form_view, page_view, redirect_with_message
from policies.identity.pages.account_presenter import account_facts
from policies.identity.pages.edit_form import handle_edit
from policies.identity.pages.forms import OwnPasswordForm, ProfileForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import people_writer, users
from policies.models import User
from policies.writes import required_privileges

SECTION = Section("Profile", "profile")

_TOKEN_PAGE_SIZE = 20


@page_view(signed_in)
def show_profile(request: HttpRequest) -> HttpResponse:
    """Page of the viewer's profile, groups, roles and tokens."""
    urn = get_actor(request).urn
    user = users_groups_roles.get_user(urn=urn)
    context = {
        "user_shown": user,
        "facts": account_facts(user),
        "memberships": sorted(user.memberships.all(), key=lambda membership: membership.group.profile.name.casefold()),
        "assignments": sorted(user.role_assignments.all(), key=lambda assignment: assignment.role.name.casefold()),
        "through_groups": credentials.list_roles_through_groups(urn=urn),
        "tokens": list_and_form_pages.get_page(request, credentials.list_tokens(owner=urn), _TOKEN_PAGE_SIZE),
        "may": list_and_form_pages.check_permissions(request, create=required_privileges.MANAGE_OWN_TOKENS),
        "breadcrumbs": SECTION.breadcrumbs(),
    }
    return render(request, "people/profile.html", context)


@form_view(signed_in)
def edit_profile(request: HttpRequest) -> HttpResponse:
    """Page that edits the viewer's profile; only user managers can change the address."""
    urn = get_actor(request).urn
    return handle_edit(
        request,
        ProfileForm,
        section=SECTION,
        url=reverse("profile"),
        urn=urn,
        record=users_groups_roles.get_user(urn=urn),
        load_facts=people_writer.facts,
        save=users.update,
        title="Edit your profile",
        subtitle="Your address is changed by somebody who manages users.",
        crumb="Edit",
        message="Your profile is saved.",
    )


@sensitive_post_parameters()
@form_view(signed_in)
def change_password(request: HttpRequest) -> HttpResponse:
    """Page that changes the viewer's password and asks for the current one; all other sessions end."""
    page = FormPage(
        request,
        OwnPasswordForm,
        title="Change your password",
        subtitle="You stay signed in here and are signed out everywhere else. Access tokens stay.",
        label="Change password",
        section=SECTION,
        crumb="Password",
    )

    def save(*, old: str, **fields: Any) -> User:
        user = users.change_password(old_password=old, **fields)
        update_session_auth_hash(request, user)
        return user

    return page.run(save, lambda _: redirect_with_message(request, "Your password is changed.", "profile"))
