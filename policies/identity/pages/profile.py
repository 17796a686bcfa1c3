"""One's own page: names, password, groups, roles and tokens."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from policies.http.guard import actor_of, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import DOOR, FormPage
from policies.identity.pages import rename_forms
from policies.identity.pages.account_presenter import facts_of
from policies.identity.pages.forms import OwnPasswordForm, ProfileForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import users
from policies.pdp import display_names
from policies.writes import required_privileges as wanted

_CRUMBS = [{"label": "Profile"}]
#: How many tokens the page shows; the page of tokens has the rest.
_SHOWN = 20


@require_GET
@never_cache
@signed_in
def profile(request: HttpRequest) -> HttpResponse:
    """What one is called, and what one is given."""
    urn = actor_of(request).urn
    user = users_groups_roles.user(urn=urn)
    context = {
        "user_shown": user,
        "facts": facts_of(
            user, {user.created_by: display_names.names(urns=[user.created_by]).get(user.created_by, "the system")}
        ),
        "memberships": sorted(user.memberships.all(), key=lambda one: one.group.profile.name.casefold()),
        "roles": user.role_names,
        "through_groups": credentials.roles_through_groups(urn=urn),
        "tokens": credentials.tokens(owner=urn)[:_SHOWN],
        "may": list_and_form_pages.may(request, create=(wanted.OWN_TOKEN, None)),
        "breadcrumbs": _CRUMBS,
    }
    return render(request, "people/profile.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def profile_edit(request: HttpRequest) -> HttpResponse:
    """Change what one is called; the address belongs to who manages users."""
    urn = actor_of(request).urn
    now = users.facts(users_groups_roles.user(urn=urn))
    page = FormPage(
        title="Edit your profile",
        subtitle="Your address is changed by somebody who manages users.",
        label="Save",
        cancel_url=reverse("profile"),
        breadcrumbs=[{"label": "Profile", "url": reverse("profile")}, {"label": "Edit"}],
        form=ProfileForm(list_and_form_pages.posted(request), initial=list_and_form_pages.initial(now)),
    )
    done = "Your profile is saved."
    return rename_forms.answer(request, page=page, urn=urn, now=now, save=users.update, done=done)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def own_password(request: HttpRequest) -> HttpResponse:
    """Change one's own password, for which the present one is asked; sessions elsewhere end, this one stays."""
    page = FormPage(
        title="Change your password",
        subtitle="You stay signed in here and are signed out everywhere else. Access tokens stay.",
        label="Change password",
        cancel_url=reverse("profile"),
        breadcrumbs=[{"label": "Profile", "url": reverse("profile")}, {"label": "Password"}],
        form=OwnPasswordForm(list_and_form_pages.posted(request)),
    )
    if request.method == "POST":
        user = page.try_to(
            lambda typed: users.change_password(
                old=typed["old"], password=typed["password"], by=actor_of(request), door=DOOR
            )
        )
        if user is not None:
            update_session_auth_hash(request, user)
            messages.success(request, "Your password is changed.")
            return redirect("profile")
    return page.draw(request)
