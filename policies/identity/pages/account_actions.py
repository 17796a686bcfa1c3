"""Actions on the account of a person: suspension, activation, removal, and password reset links."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from policies.http.guard import get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import CHANNEL
from policies.identity.pages import removal_warnings
from policies.identity.pages.account_presenter import get_person, list_account_losses
from policies.identity.pages.users import UPDATE_GUARD
from policies.identity.services import password_resets, users

REMOVE_GUARD = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS")
CREDENTIALS_GUARD = needs("MANAGE_USER_CREDENTIALS")


@require_http_methods(["GET", "POST"])
@never_cache
@UPDATE_GUARD
def suspend_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and suspension of a person."""
    if request.method == "POST":
        user = users.suspend(urn=urn, by=get_actor(request), channel=CHANNEL)
        messages.success(request, f"{user.name} is suspended.")
        return redirect("user", urn=urn)
    user = get_person(urn)
    is_own = urn == get_actor(request).urn
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Suspend {user.name}?",
        text="A suspended user cannot sign in. Groups and roles are kept, and activating restores everything.",
        losses=["Every session ends at once.", "Tokens are refused until the account is activated."]
        + (["This is your own account: you will be signed out."] if is_own else [])
        + removal_warnings.list_losses(urn=urn),
        label="Suspend user",
        cancel_url=reverse("user", args=[urn]),
    )


@require_POST
@UPDATE_GUARD
def activate_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Activate a suspended person."""
    user = users.activate(urn=urn, by=get_actor(request), channel=CHANNEL)
    messages.success(request, f"{user.name} is active.")
    return redirect("user", urn=urn)


@require_http_methods(["GET", "POST"])
@never_cache
@REMOVE_GUARD
def delete_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a person."""
    user = get_person(urn)
    if request.method == "POST":
        users.remove(urn=urn, by=get_actor(request), channel=CHANNEL)
        messages.success(request, f"{user.name} is removed.")
        return redirect("users")
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Remove {user.name}?",
        text="This cannot be undone. Suspending would keep the account and everything it has.",
        losses=[*list_account_losses(user), *removal_warnings.list_losses(urn=urn)],
        label="Remove user",
        cancel_url=reverse("user", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@CREDENTIALS_GUARD
def create_reset_link(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and creation of a password reset link, which is shown once."""
    user = get_person(urn)
    if request.method == "POST":
        reset_link = password_resets.create(urn=urn, by=get_actor(request), channel=CHANNEL)
        context = {
            "title": f"Reset link of {user.name}",
            "text": "Send it to that person in a way you trust: whoever opens it sets the password. It works once.",
            "secret": list_and_form_pages.build_absolute_link(request, "reset", reset_token=reset_link.text),
            "secret_label": "Reset link",
            "expires_at": reset_link.reset.expires_at,
            "back_url": reverse("user", args=[urn]),
            "breadcrumbs": list_and_form_pages.settings_breadcrumbs(
                "Users & Groups", ("Users", reverse("users")), ("Reset link", "")
            ),
        }
        return render(request, "people/secret.html", context)
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Create a reset link for {user.name}?",
        text="That person sets a new password with the link. It works once, for 24 hours; earlier links stop working.",
        label="Create the link",
        kind="primary",
        cancel_url=reverse("user", args=[urn]),
    )
