"""Public pages for people who cannot sign in yet: sign-up with an invitation, and password reset with a link.

The links carry their secret in the query string, so responses are not cached and other sites receive no referrer.
"""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from policies.errors import NotFound, PolicyAppError
from policies.http.guard import get_actor, public
from policies.http.pages.list_and_form_pages import CHANNEL, FormPage
from policies.identity.pages.forms import NewPasswordForm, SignUpForm
from policies.identity.queries import users_groups_roles
from policies.identity.services import invitations, password_resets
from policies.models import InviteToken


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@never_cache
@public
def sign_up(request: HttpRequest) -> HttpResponse:
    """Page that creates an account from an invitation; a signed-in user accepts its role instead."""
    text = request.GET.get("invite_token", "")
    try:
        invite = invitations.find(text=text)
    except NotFound as refusal:
        return _render_dead_link(request, refusal)
    if request.user.is_authenticated:
        return _accept(request, invite, text)
    page = _build_form_page(SignUpForm(request.POST if request.method == "POST" else None), conflict="username")
    if request.method == "POST":
        user = page.save_or_report(lambda cleaned_data: _create_account(cleaned_data, text))
        if user is not None:
            login(request, user, backend=settings.PASSWORD_BACKEND)
            messages.success(request, f"Welcome, {user.name}.")
            return redirect("home")
    context = {
        "form": page.form,
        "role": invite.role,
        "sign_in_url": f"{reverse('sign-in')}?next={reverse('sign-up')}%3Finvite_token%3D{text}",
    }
    return render(request, "people/sign_up.html", context, status=page.status)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@never_cache
@public
def reset_password(request: HttpRequest) -> HttpResponse:
    """Page that sets a new password with a reset link, which works once."""
    text = request.GET.get("reset_token", "")
    try:
        reset_token = password_resets.find(text=text)
        page = _build_form_page(NewPasswordForm(request.POST if request.method == "POST" else None))
        if request.method == "POST":
            user = page.save_or_report(
                lambda cleaned_data: password_resets.use(text=text, password=cleaned_data["password"], channel=CHANNEL)
            )
            if user is not None:
                messages.success(request, "The new password is set. Sign in with it.")
                return redirect("sign-in")
    except NotFound as refusal:
        return _render_dead_link(request, refusal)
    return render(request, "people/reset.html", {"form": page.form, "person": reset_token.user}, status=page.status)


def _accept(request: HttpRequest, invite: InviteToken, text: str) -> HttpResponse:
    if request.method == "POST":
        role = invitations.accept(text=text, by=get_actor(request), channel=CHANNEL)
        messages.success(request, f"You are {role.name} now." if role else "You now hold no role of your own.")
        return redirect("home")
    current_roles = users_groups_roles.get_user(urn=get_actor(request).urn).role_names
    context = {
        "title": f"Take the role {invite.role.name}?" if invite.role else "Accept this invitation?",
        "text": _acceptance_text(invite.role.name if invite.role else "", current_roles),
        "action": request.get_full_path(),
        "label": "Accept",
        "kind": "primary",
        "cancel_url": reverse("home"),
    }
    return render(request, "confirmation.html", context)


def _acceptance_text(role: str, current_roles: list[str]) -> str:
    if not current_roles:
        return "You hold no role of your own yet." if role else "It has no role, so nothing changes for you."
    role_names = ", ".join(current_roles)
    return (
        f"It replaces the roles you hold now: {role_names}."
        if role
        else f"It has no role and removes these: {role_names}."
    )


def _create_account(cleaned_data: dict[str, Any], text: str) -> Any:
    cleaned_data.pop("again")
    return invitations.sign_up(text=text, **cleaned_data, channel=CHANNEL)


def _build_form_page(form: Any, conflict: str = "") -> FormPage:
    return FormPage(title="", label="", cancel_url="", breadcrumbs=[], form=form, conflict_field=conflict)


def _render_dead_link(request: HttpRequest, refusal: PolicyAppError) -> HttpResponse:
    return render(request, "people/dead_link.html", {"reason": refusal.detail}, status=refusal.status)
