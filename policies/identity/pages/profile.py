"""The viewer's own profile: names, password, groups, roles and tokens."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from policies.http.guard import get_actor, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL, FormPage
from policies.identity.pages import rename_forms
from policies.identity.pages.account_presenter import account_facts
from policies.identity.pages.forms import OwnPasswordForm, ProfileForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import users
from policies.pdp import display_names
from policies.writes import required_privileges

_BREADCRUMBS = [{"label": "Profile"}]
#: Maximum number of tokens on the page; the page of access tokens lists the rest.
_MAX_TOKENS = 20


@require_GET
@never_cache
@signed_in
def show_profile(request: HttpRequest) -> HttpResponse:
    """Page of the viewer's profile, groups, roles and tokens."""
    urn = get_actor(request).urn
    user = users_groups_roles.get_user(urn=urn)
    context = {
        "user_shown": user,
        "facts": account_facts(
            user, {user.created_by: display_names.load_names(urns=[user.created_by]).get(user.created_by, "the system")}
        ),
        "memberships": sorted(user.memberships.all(), key=lambda membership: membership.group.profile.name.casefold()),
        "roles": user.role_names,
        "through_groups": credentials.list_roles_through_groups(urn=urn),
        "tokens": credentials.list_tokens(owner=urn)[:_MAX_TOKENS],
        "may": list_and_form_pages.check_permissions(request, create=(required_privileges.MANAGE_OWN_TOKENS, None)),
        "breadcrumbs": _BREADCRUMBS,
    }
    return render(request, "people/profile.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def edit_profile(request: HttpRequest) -> HttpResponse:
    """Page that edits the viewer's profile; only user managers can change the address."""
    urn = get_actor(request).urn
    current_facts = users.facts(users_groups_roles.get_user(urn=urn))
    page = FormPage(
        title="Edit your profile",
        subtitle="Your address is changed by somebody who manages users.",
        label="Save",
        cancel_url=reverse("profile"),
        breadcrumbs=[{"label": "Profile", "url": reverse("profile")}, {"label": "Edit"}],
        form=ProfileForm(
            list_and_form_pages.get_post_data(request), initial=list_and_form_pages.build_initial_data(current_facts)
        ),
    )
    success_message = "Your profile is saved."
    return rename_forms.handle_form(
        request, page=page, urn=urn, current_facts=current_facts, save=users.update, success_message=success_message
    )


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def change_password(request: HttpRequest) -> HttpResponse:
    """Page that changes the viewer's password and asks for the current one; all other sessions end."""
    page = FormPage(
        title="Change your password",
        subtitle="You stay signed in here and are signed out everywhere else. Access tokens stay.",
        label="Change password",
        cancel_url=reverse("profile"),
        breadcrumbs=[{"label": "Profile", "url": reverse("profile")}, {"label": "Password"}],
        form=OwnPasswordForm(list_and_form_pages.get_post_data(request)),
    )
    if request.method == "POST":
        user = page.save_or_report(
            lambda cleaned_data: users.change_password(
                old_password=cleaned_data["old"],
                password=cleaned_data["password"],
                by=get_actor(request),
                channel=CHANNEL,
            )
        )
        if user is not None:
            update_session_auth_hash(request, user)
            messages.success(request, "Your password is changed.")
            return redirect("profile")
    return page.render(request)
