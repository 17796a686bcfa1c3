"""Actions on the account of a person: suspension, activation, removal, and password reset links."""

from functools import partial

from django.http import HttpRequest, HttpResponse

from policies.http.guard import Guard, get_actor, needs
from policies.http.pages import list_and_form_pages
from policies.http.pages.list_and_form_pages import ask_and_act, form_view
from policies.identity.pages import removal_warnings
from policies.identity.pages.account_presenter import get_person, list_account_losses
from policies.identity.pages.users import PAGES, SECTION, UPDATE_GUARD
from policies.identity.services import password_resets, users
from policies.writes import required_privileges

REMOVE_GUARD = Guard.from_requirement(required_privileges.privilege_group("user.delete"))
CREDENTIALS_GUARD = needs("MANAGE_USER_CREDENTIALS")


@form_view(UPDATE_GUARD)
def suspend_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and suspension of a person."""
    user = get_person(urn)
    own_loss = ["This is your own account: you will be signed out."] if urn == get_actor(request).urn else []
    return PAGES.ask(
        request,
        user,
        users.suspend,
        verb="Suspend",
        done="suspended",
        change="suspend",
        text="A suspended user cannot sign in. Groups and roles are kept, and activating restores everything.",
        losses=lambda: [
            "Every session ends at once.",
            "Tokens are refused until the account is activated.",
            *own_loss,
            *removal_warnings.list_losses(urn=urn),
        ],
    )


@form_view(UPDATE_GUARD)
def activate_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and activation of a suspended person."""
    user = get_person(urn)
    return PAGES.ask(
        request,
        user,
        users.activate,
        verb="Activate",
        done="active",
        change="activate",
        text="The user can sign in again, and tokens work again. Groups and roles are in effect again.",
        kind="primary",
    )


@form_view(REMOVE_GUARD)
def delete_user(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page that lists the losses, and the deletion of a person."""
    user = get_person(urn)
    return PAGES.ask(
        request,
        user,
        users.remove,
        verb="Remove",
        done="removed",
        change="delete_user",
        text="This cannot be undone. Suspending would keep the account and everything it has.",
        losses=lambda: [*list_account_losses(user), *removal_warnings.list_losses(urn=urn)],
        is_last=True,
    )


@form_view(CREDENTIALS_GUARD)
def create_reset_link(request: HttpRequest, urn: str) -> HttpResponse:
    """Confirmation page and creation of a password reset link, which is shown once."""
    user = get_person(urn)
    back_url = PAGES.get_url(urn)

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
