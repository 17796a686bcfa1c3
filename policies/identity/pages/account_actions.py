"""What is done to the account of a person: suspending, activating, removing, and the link that resets a password."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from policies.http.guard import actor_of, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import DOOR
from policies.identity.pages import removal_warnings
from policies.identity.pages.account_presenter import losses_of, person
from policies.identity.pages.users import UPDATES
from policies.identity.services import password_resets, users

REMOVES = needs("MANAGE_USERS_AND_GROUPS", "UPDATE_USERS")
CREDENTIALS = needs("MANAGE_USER_CREDENTIALS")


@require_http_methods(["GET", "POST"])
@never_cache
@UPDATES
def user_suspend(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, then let a person do nothing any more."""
    if request.method == "POST":
        user = users.suspend(urn=urn, by=actor_of(request), door=DOOR)
        messages.success(request, f"{user.name} is suspended.")
        return redirect("user", urn=urn)
    user = person(urn)
    is_own = urn == actor_of(request).urn
    return list_and_form_pages.ask(
        request,
        title=f"Suspend {user.name}?",
        text="A suspended user cannot sign in. Groups and roles are kept, and activating restores everything.",
        losses=["Every session ends at once.", "Tokens are refused until the account is activated."]
        + (["This is your own account: you will be signed out."] if is_own else [])
        + removal_warnings.losses(urn=urn),
        label="Suspend user",
        cancel_url=reverse("user", args=[urn]),
    )


@require_POST
@UPDATES
def user_activate(request: HttpRequest, urn: str) -> HttpResponse:
    """Let a suspended person act again."""
    user = users.activate(urn=urn, by=actor_of(request), door=DOOR)
    messages.success(request, f"{user.name} is active.")
    return redirect("user", urn=urn)


@require_http_methods(["GET", "POST"])
@never_cache
@REMOVES
def user_remove(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, saying what will be lost, then delete a person."""
    user = person(urn)
    if request.method == "POST":
        users.remove(urn=urn, by=actor_of(request), door=DOOR)
        messages.success(request, f"{user.name} is removed.")
        return redirect("users")
    return list_and_form_pages.ask(
        request,
        title=f"Remove {user.name}?",
        text="This cannot be undone. Suspending would keep the account and everything it has.",
        losses=[*losses_of(user), *removal_warnings.losses(urn=urn)],
        label="Remove user",
        cancel_url=reverse("user", args=[urn]),
    )


@require_http_methods(["GET", "POST"])
@never_cache
@CREDENTIALS
def user_reset(request: HttpRequest, urn: str) -> HttpResponse:
    """Ask, then make a link with which a person sets a new password, and show it this once."""
    user = person(urn)
    if request.method == "POST":
        made = password_resets.create(urn=urn, by=actor_of(request), door=DOOR)
        context = {
            "title": f"Reset link of {user.name}",
            "text": "Send it to that person in a way you trust: whoever opens it sets the password. It works once.",
            "secret": list_and_form_pages.link_to(request, "reset", reset_token=made.text),
            "secret_label": "Reset link",
            "expires_at": made.reset.expires_at,
            "back_url": reverse("user", args=[urn]),
            "breadcrumbs": list_and_form_pages.crumbs(
                "Users & Groups", ("Users", reverse("users")), ("Reset link", "")
            ),
        }
        return render(request, "people/secret.html", context)
    return list_and_form_pages.ask(
        request,
        title=f"Create a reset link for {user.name}?",
        text="That person sets a new password with the link. It works once, for 24 hours; earlier links stop working.",
        label="Create the link",
        kind="primary",
        cancel_url=reverse("user", args=[urn]),
    )
