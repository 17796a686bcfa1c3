"""Settings > Access tokens: the viewer's own tokens and, with MANAGE_ACCESS_TOKENS, those of all users."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.errors import NotFound
from policies.http.guard import get_actor, needs, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import user_urn
from policies.http.pages.list_and_form_pages import CHANNEL, FormPage
from policies.identity.pages.account_presenter import account_url
from policies.identity.pages.forms import TokenFilterForm, TokenForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import access_tokens
from policies.models import AccessToken, User
from policies.pdp import authorizer
from policies.writes import required_privileges

_COLUMNS = [
    {"label": "Name"},
    {"label": "Begins"},
    {"label": "Created"},
    {"label": "Ends"},
    {"label": "Last used"},
    {"label": "Actions", "is_hidden_label": True},
]
_COLUMNS_WITH_OWNER = [_COLUMNS[0], {"label": "Of"}, *_COLUMNS[1:]]


@require_GET
@never_cache
@needs("GENERATE_PERSONAL_ACCESS_TOKENS", "MANAGE_ACCESS_TOKENS")
def list_tokens(request: HttpRequest) -> HttpResponse:
    """Page with the list of the viewer's tokens, or of other users' tokens with MANAGE_ACCESS_TOKENS."""
    rights = _check_rights(request)
    form = TokenFilterForm(request.GET)
    form.is_valid()
    is_all = form.cleaned_data.get("whose") == "ALL"
    owner = user_urn(form.cleaned_data.get("owner", ""))
    if is_all or owner:
        authorizer.require(by=get_actor(request), requirement=required_privileges.MANAGE_OTHERS_TOKENS)
    else:
        owner = get_actor(request).urn
    page = list_and_form_pages.get_page(request, credentials.list_tokens(owner=owner or None))
    context = {
        "form": form if rights["all"] else None,
        "page": page,
        "rows": [{"token": token, "url": account_url(token.user)} for token in page],
        "columns": _COLUMNS_WITH_OWNER if is_all or owner != get_actor(request).urn else _COLUMNS,
        "is_of_all": is_all or owner != get_actor(request).urn,
        "may": rights,
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs("", ("Access tokens", "")),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/tokens.html", fragment_template="people/_tokens.html", context=context
    )


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def create_token(request: HttpRequest) -> HttpResponse:
    """Page that creates a token, for the viewer unless `?owner=` names another user, and shows it once."""
    actor = get_actor(request)
    urn = request.GET.get("owner") or actor.urn
    owner = users_groups_roles.find_user(urn=urn)
    authorizer.require(by=actor, requirement=access_tokens.creation_requirement(owner=urn, user=owner, by=actor))
    if owner is None:
        raise NotFound(f"There is no user {urn!r}.")
    back_url = reverse("tokens") if urn == actor.urn else account_url(owner)
    page = FormPage(
        title="New access token" if urn == actor.urn else f"New access token of {owner.name}",
        subtitle="Anyone who has the token can do what its account can do.",
        label="Create token",
        cancel_url=back_url,
        breadcrumbs=list_and_form_pages.settings_breadcrumbs(
            "", ("Access tokens", reverse("tokens")), ("New token", "")
        ),
        form=TokenForm(list_and_form_pages.get_post_data(request)),
    )
    if request.method == "POST":
        issued_token = page.save_or_report(
            lambda cleaned_data: access_tokens.create(owner=urn, **cleaned_data, by=actor, channel=CHANNEL)
        )
        if issued_token is not None:
            return render(request, "people/secret.html", _secret_context(issued_token, owner, back_url))
    return page.render(request)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def revoke_token(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Confirmation page and revocation of a token: the viewer's own or, with the privilege, any other."""
    token = _get_visible_token(request, token_id)
    is_service = token.user.kind == User.Kind.SERVICE
    back_url = reverse("service-account", args=[token.user.urn]) if is_service else request.GET.get("back", "")
    back_url = back_url if is_service else reverse("profile" if back_url == "profile" else "tokens")
    if request.method == "POST":
        access_tokens.revoke(token_id=token_id, by=get_actor(request), channel=CHANNEL)
        messages.success(request, f"{token.name} is revoked.")
        return redirect(back_url)
    return list_and_form_pages.render_confirmation(
        request,
        title=f"Revoke {token.name}?",
        text="Programs that use it are refused from now on. A revoked token cannot be restored.",
        losses=[f"It acts as {token.user.name}.", _last_use_text(token)],
        label="Revoke token",
        cancel_url=back_url,
    )


def _get_visible_token(request: HttpRequest, token_id: uuid.UUID) -> AccessToken:
    actor = get_actor(request)
    token = credentials.list_tokens().filter(pk=token_id).first()
    if token is None or token.user.urn != actor.urn:
        is_service = token is not None and token.user.kind == User.Kind.SERVICE
        requirement = (
            required_privileges.MANAGE_SERVICE_TOKENS if is_service else required_privileges.MANAGE_OTHERS_TOKENS
        )
        authorizer.require(by=actor, requirement=requirement)
    if token is None:
        raise NotFound("There is no such token: it was revoked or has expired.")
    return token


def _last_use_text(token: AccessToken) -> str:
    return f"It was last used on {token.last_used:%Y-%m-%d at %H:%M} UTC." if token.last_used else "It was never used."


def _secret_context(issued_token: access_tokens.IssuedToken, owner: User, back_url: str) -> dict[str, Any]:
    return {
        "title": f"Token {issued_token.token.name}",
        "text": f"Programs send it as Authorization: Bearer … and act as {owner.name}.",
        "secret": issued_token.text,
        "secret_label": "Access token",
        "expires_at": issued_token.token.expires_at,
        "back_url": back_url,
        "breadcrumbs": list_and_form_pages.settings_breadcrumbs(
            "", ("Access tokens", reverse("tokens")), ("New token", "")
        ),
    }


def _check_rights(request: HttpRequest) -> dict[str, bool]:
    return list_and_form_pages.check_permissions(
        request,
        create=(required_privileges.MANAGE_OWN_TOKENS, None),
        all=(required_privileges.MANAGE_OTHERS_TOKENS, None),
    )
