"""Public pages for people who cannot sign in yet: sign-up with an invitation, and password reset with a link.

The links carry their secret in the query string, so responses are not cached and other sites receive no referrer.
"""

from functools import partial
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.debug import sensitive_post_parameters

from policies.errors import NotFound, PolicyAppError
from policies.http.guard import get_actor, public
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import CHANNEL, ask_and_act, form_view, redirect_with_message
from policies.identity.pages.forms import NewPasswordForm, SignUpForm
from policies.identity.queries import users_groups_roles
from policies.identity.services import invitations, password_resets
from policies.models import InviteToken, Role


@sensitive_post_parameters()
@form_view(public)
def sign_up(request: HttpRequest) -> HttpResponse:
    """Page that creates an account from an invitation; a signed-in user accepts its role instead."""
    text = request.GET.get("invite_token", "")
    try:
        invite = invitations.find(text=text)
    except NotFound as refusal:
        return _render_dead_link(request, refusal)
    if request.user.is_authenticated:
        return _accept(request, invite, text)
    page = FormPage(request, SignUpForm, conflict_field="username")
    if request.method == "POST":
        user = page.save_or_report(partial(invitations.sign_up, text=text, channel=CHANNEL))
        if user is not None:
            login(request, user, backend=settings.PASSWORD_BACKEND)
            return redirect_with_message(request, f"Welcome, {user.name}.", "home")
    context = {
        "form": page.form,
        "role": invite.role,
        "sign_in_url": f"{reverse('sign-in')}?{urlencode({'next': request.get_full_path()}, safe='/')}",
    }
    return render(request, "people/sign_up.html", context, status=page.status)


@sensitive_post_parameters()
@form_view(public)
def reset_password(request: HttpRequest) -> HttpResponse:
    """Page that sets a new password with a reset link, which works once."""
    text = request.GET.get("reset_token", "")
    page = FormPage(request, NewPasswordForm)
    try:
        reset_token = password_resets.find(text=text)
    except NotFound as refusal:
        return _render_dead_link(request, refusal)
    if request.method == "POST":
        user = page.save_or_report(partial(password_resets.use, text=text, channel=CHANNEL))
        if user is not None:
            return redirect_with_message(request, "The new password is set. Sign in with it.", "sign-in")
    return render(request, "people/reset.html", {"form": page.form, "person": reset_token.user}, status=page.status)


def _accept(request: HttpRequest, invite: InviteToken, text: str) -> HttpResponse:
    def report_acceptance(role: Role | None) -> HttpResponse:
        message = f"You are {role.name} now." if role else "You now hold no role of your own."
        return redirect_with_message(request, message, "home")

    current_roles = users_groups_roles.get_user(urn=get_actor(request).urn).role_names
    return ask_and_act(
        request,
        partial(invitations.accept, text=text),
        report_acceptance,
        title=f"Take the role {invite.role.name}?" if invite.role else "Accept this invitation?",
        text=_acceptance_text(invite.role.name if invite.role else "", current_roles),
        label="Accept",
        kind="primary",
        cancel_url=reverse("home"),
    )


def _acceptance_text(role: str, current_roles: list[str]) -> str:
    if not current_roles:
        return "You hold no role of your own yet." if role else "It has no role, so nothing changes for you."
    role_names = ", ".join(current_roles)
    return (
        f"It replaces the roles you hold now: {role_names}."
        if role
        else f"It has no role and removes these: {role_names}."
    )


def _render_dead_link(request: HttpRequest, refusal: PolicyAppError) -> HttpResponse:
    return render(request, "people/dead_link.html", {"reason": refusal.detail}, status=refusal.status)
