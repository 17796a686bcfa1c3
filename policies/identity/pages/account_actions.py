"""Actions on the account of a person: suspension, activation, removal, and password reset links."""

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.http.guard import Guard, get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.change_effect import describe_effect
from policies.http.pages.list_and_form_pages import ask_and_act, form_view, redirect_with_message
from policies.identity.pages import removal_warnings
from policies.identity.pages.account_presenter import get_person, list_account_losses
from policies.identity.pages.users import SECTION, UPDATE_GUARD
from policies.identity.services import password_resets, users
from policies.writes import required_privileges

REMOVE_GUARD = Guard.from_requirement(required_privileges.privilege_group("user.delete"))
CREDENTIALS_GUARD = needs("MANAGE_USER_CREDENTIALS")


@form_view(UPDATE_GUARD)
def suspend_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and suspension of a person."""
    user = get_person(urn)
    own_loss = ["This is your own account: you will be signed out."] if urn == get_actor(request).urn else []
    return ask_and_act(
        request,
        partial(users.suspend, urn=urn),
        lambda _: redirect_with_message(request, f"{user.name} is suspended.", "user", urn),
        title=f"Suspend {user.name}?",
        text="A suspended user cannot sign in. Groups and roles are kept, and activating restores everything.",
        losses=lambda: [
            "Every session ends at once.",
            "Tokens are refused until the account is activated.",
            *own_loss,
            *removal_warnings.list_losses(urn=urn),
        ],
        effect=lambda: describe_effect({"suspend": urn}, by=get_actor(request)),
        label="Suspend user",
        cancel_url=reverse("user", args=[urn]),
    )


@form_view(UPDATE_GUARD)
def activate_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and activation of a suspended person."""
    user = get_person(urn)
    return ask_and_act(
        request,
        partial(users.activate, urn=urn),
        lambda _: redirect_with_message(request, f"{user.name} is active.", "user", urn),
        title=f"Activate {user.name}?",
        text="The user can sign in again, and tokens work again. Groups and roles are in effect again.",
        effect=lambda: describe_effect({"activate": urn}, by=get_actor(request)),
        label="Activate user",
        kind="primary",
        cancel_url=reverse("user", args=[urn]),
    )


@form_view(REMOVE_GUARD)
def delete_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a person."""
    user = get_person(urn)
    return ask_and_act(
        request,
        partial(users.remove, urn=urn),
        lambda _: redirect_with_message(request, f"{user.name} is removed.", "users"),
        title=f"Remove {user.name}?",
        text="This cannot be undone. Suspending would keep the account and everything it has.",
        losses=lambda: [*list_account_losses(user), *removal_warnings.list_losses(urn=urn)],
        effect=lambda: describe_effect({"delete_user": urn}, by=get_actor(request)),
        label="Remove user",
        cancel_url=reverse("user", args=[urn]),
    )


@form_view(CREDENTIALS_GUARD)
def create_reset_link(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and creation of a password reset link, which is shown once."""
    user = get_person(urn)
    back_url = reverse("user", args=[urn])

    def show_link(reset_link: password_resets.IssuedResetLink) -> HttpResponse:
        return list_and_form_pages.render_secret(
            request,
            title=f"Reset link of {user.name}",
            text="Send it to that person in a way you trust: the person who opens it sets the password. It works once.",
            secret=list_and_form_pages.build_absolute_link(request, "reset", reset_token=reset_link.text),
            label="Reset link",
            expires_at=reset_link.reset.expires_at,
            back_url=back_url,
            breadcrumbs=SECTION.breadcrumbs("Reset link"),
        )

    return ask_and_act(
        request,
        partial(password_resets.create, urn=urn),
        show_link,
        title=f"Create a reset link for {user.name}?",
        text="That person sets a new password with the link. It works once, for 24 hours; earlier links stop working.",
        label="Create the link",
        kind="primary",
        cancel_url=back_url,
    )
