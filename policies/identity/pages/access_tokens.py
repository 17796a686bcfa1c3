"""Settings > Access tokens: one's own and, for who manages them, everybody's."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from policies.errors import NotFound
from policies.http.guard import actor_of, needs, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import user_urn
from policies.http.pages.list_and_form_pages import DOOR, FormPage
from policies.identity.pages.account_presenter import account_url
from policies.identity.pages.forms import TokenFilters, TokenForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import access_tokens
from policies.models import AccessToken, User
from policies.pdp import authorizer
from policies.writes import required_privileges as wanted

_COLUMNS = [
    {"label": "Name"},
    {"label": "Begins"},
    {"label": "Created"},
    {"label": "Ends"},
    {"label": "Last used"},
    {"label": "Actions", "is_hidden_label": True},
]
_COLUMNS_OF_ALL = [_COLUMNS[0], {"label": "Of"}, *_COLUMNS[1:]]


@require_GET
@never_cache
@needs("GENERATE_PERSONAL_ACCESS_TOKENS", "MANAGE_ACCESS_TOKENS")
def token_list(request: HttpRequest) -> HttpResponse:
    """One's own tokens; who manages tokens may look at everybody's."""
    may = _rights(request)
    form = TokenFilters(request.GET)
    form.is_valid()
    is_all = form.cleaned_data.get("whose") == "ALL"
    owner = user_urn(form.cleaned_data.get("owner", ""))
    if is_all or owner:
        authorizer.require(by=actor_of(request), requirement=wanted.TOKENS_OF_OTHERS)
    else:
        owner = actor_of(request).urn
    page = list_and_form_pages.page_of(request, credentials.tokens(owner=owner or None))
    context = {
        "form": form if may["all"] else None,
        "page": page,
        "rows": [{"token": token, "url": account_url(token.user)} for token in page],
        "columns": _COLUMNS_OF_ALL if is_all or owner != actor_of(request).urn else _COLUMNS,
        "is_of_all": is_all or owner != actor_of(request).urn,
        "may": may,
        "breadcrumbs": list_and_form_pages.crumbs("", ("Access tokens", "")),
    }
    return list_and_form_pages.listed(request, whole="people/tokens.html", part="people/_tokens.html", context=context)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def token_new(request: HttpRequest) -> HttpResponse:
    """Make a token, for oneself unless `?owner=` names somebody else, and show it this once."""
    actor = actor_of(request)
    urn = request.GET.get("owner") or actor.urn
    owner = users_groups_roles.stored_user(urn=urn)
    authorizer.require(by=actor, requirement=access_tokens.requirement_for(owner=urn, user=owner, by=actor))
    if owner is None:
        raise NotFound(f"There is no user {urn!r}.")
    back = reverse("tokens") if urn == actor.urn else account_url(owner)
    page = FormPage(
        title="New access token" if urn == actor.urn else f"New access token of {owner.name}",
        subtitle="Anyone who has the token can do what its account can do.",
        label="Create token",
        cancel_url=back,
        breadcrumbs=list_and_form_pages.crumbs("", ("Access tokens", reverse("tokens")), ("New token", "")),
        form=TokenForm(list_and_form_pages.posted(request)),
    )
    if request.method == "POST":
        made = page.try_to(lambda typed: access_tokens.create(owner=urn, **typed, by=actor, door=DOOR))
        if made is not None:
            return render(request, "people/secret.html", _shown(made, owner, back))
    return page.draw(request)


@require_http_methods(["GET", "POST"])
@never_cache
@signed_in
def token_revoke(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Ask, then end a token; one's own or, for who manages them, anybody's."""
    token = _visible(request, token_id)
    is_service = token.user.kind == User.Kind.SERVICE
    back = reverse("service-account", args=[token.user.urn]) if is_service else request.GET.get("back", "")
    back = back if is_service else reverse("profile" if back == "profile" else "tokens")
    if request.method == "POST":
        access_tokens.revoke(token_id=token_id, by=actor_of(request), door=DOOR)
        messages.success(request, f"{token.name} is revoked.")
        return redirect(back)
    return list_and_form_pages.ask(
        request,
        title=f"Revoke {token.name}?",
        text="Programs that use it are refused from now on. A revoked token cannot be restored.",
        losses=[f"It acts as {token.user.name}.", _last_use(token)],
        label="Revoke token",
        cancel_url=back,
    )


def _visible(request: HttpRequest, token_id: uuid.UUID) -> AccessToken:
    actor = actor_of(request)
    token = credentials.tokens().filter(pk=token_id).first()
    if token is None or token.user.urn != actor.urn:
        is_service = token is not None and token.user.kind == User.Kind.SERVICE
        requirement = wanted.TOKENS_OF_SERVICES if is_service else wanted.TOKENS_OF_OTHERS
        authorizer.require(by=actor, requirement=requirement)
    if token is None:
        raise NotFound("There is no such token: it was revoked or has expired.")
    return token


def _last_use(token: AccessToken) -> str:
    return f"It was last used on {token.last_used:%Y-%m-%d at %H:%M} UTC." if token.last_used else "It was never used."


def _shown(made: access_tokens.Issued, owner: User, back: str) -> dict[str, Any]:
    return {
        "title": f"Token {made.token.name}",
        "text": f"Programs send it as Authorization: Bearer … and act as {owner.name}.",
        "secret": made.text,
        "secret_label": "Access token",
        "expires_at": made.token.expires_at,
        "back_url": back,
        "breadcrumbs": list_and_form_pages.crumbs("", ("Access tokens", reverse("tokens")), ("New token", "")),
    }


def _rights(request: HttpRequest) -> dict[str, bool]:
    return list_and_form_pages.may(request, create=(wanted.OWN_TOKEN, None), all=(wanted.TOKENS_OF_OTHERS, None))
