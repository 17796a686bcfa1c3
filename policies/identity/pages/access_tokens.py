"""Settings > Access tokens: the viewer's own tokens and, with MANAGE_ACCESS_TOKENS, those of all users."""

import uuid
from functools import partial

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from policies.engine.wording import word_time
from policies.errors import NotFound
from policies.http.guard import get_actor, needs, signed_in
from policies.http.pages import list_and_form_pages
from policies.http.pages.filter_forms import user_urn
from policies.http.pages.form_page import FormPage
from policies.http.pages.list_and_form_pages import Section, ask_and_act, form_view, page_view, redirect_with_message
from policies.identity.pages.account_presenter import account_url
from policies.identity.pages.forms import TokenFilterForm, TokenForm
from policies.identity.queries import credentials, users_groups_roles
from policies.identity.services import access_tokens
from policies.models import AccessToken, User
from policies.pdp import authorizer
from policies.writes import required_privileges

SECTION = Section("Access tokens", "tokens", ("Settings",))


@page_view(needs("GENERATE_PERSONAL_ACCESS_TOKENS", "MANAGE_ACCESS_TOKENS"))
def list_tokens(request: HttpRequest) -> HttpResponse:
    """Page with the list of the viewer's tokens, or of other users' tokens with MANAGE_ACCESS_TOKENS."""
    actor = get_actor(request)
    rights = list_and_form_pages.check_permissions(
        request, create=required_privileges.MANAGE_OWN_TOKENS, all=required_privileges.MANAGE_OTHERS_TOKENS
    )
    form = TokenFilterForm(request.GET)
    filters = list_and_form_pages.read_filters(form)
    owner = user_urn(filters.get("owner", ""))
    if filters.get("whose") == "ALL" or owner:
        authorizer.require(by=actor, requirement=required_privileges.MANAGE_OTHERS_TOKENS)
    else:
        owner = actor.urn
    is_of_all = owner != actor.urn
    page = list_and_form_pages.get_page(request, credentials.list_tokens(owner=owner or None))
    context = {
        "form": form if rights["all"] else None,
        "page": page,
        "rows": [{"token": token, "url": account_url(token.user)} for token in page],
        "columns": list_and_form_pages.build_columns(
            "Name", *(["Of"] if is_of_all else []), "Begins", "Created", "Ends", "Last used", "Actions"
        ),
        "is_of_all": is_of_all,
        "may": rights,
        "breadcrumbs": SECTION.breadcrumbs(),
    }
    return list_and_form_pages.render_list(
        request, page_template="people/tokens.html", fragment_template="people/_tokens.html", context=context
    )


@form_view(signed_in)
def create_token(request: HttpRequest) -> HttpResponse:
    """Page that creates a token, for the viewer unless `?owner=` names another user, and shows it once."""
    actor = get_actor(request)
    urn = request.GET.get("owner") or actor.urn
    owner = users_groups_roles.find_user(urn=urn)
    authorizer.require(by=actor, requirement=access_tokens.creation_requirement(owner=urn, user=owner, by=actor))
    if owner is None or owner.is_removed:
        raise NotFound(f"There is no user {urn!r}.")
    back_url = reverse("tokens") if urn == actor.urn else account_url(owner)
    page = FormPage(
        request,
        TokenForm,
        title="New access token" if urn == actor.urn else f"New access token of {owner.name}",
        subtitle="Anyone who has the token can do what its account can do.",
        label="Create token",
        section=SECTION,
        crumb="New token",
        cancel_url=back_url,
    )
    return page.run(
        partial(access_tokens.create, owner=urn),
        lambda issued_token: list_and_form_pages.render_secret(
            request,
            title=f"Token {issued_token.token.name}",
            text=f"Programs send it as Authorization: Bearer … and act as {owner.name}.",
            secret=issued_token.text,
            label="Access token",
            expires_at=issued_token.token.expires_at,
            back_url=back_url,
            breadcrumbs=SECTION.breadcrumbs("New token"),
        ),
    )


@form_view(signed_in)
def revoke_token(request: HttpRequest, token_id: uuid.UUID) -> HttpResponse:
    """Confirmation page and revocation of a token: the viewer's own or, with the privilege, any other."""
    token = _get_visible_token(request, token_id)
    if token.user.kind == User.Kind.SERVICE:
        back_url = account_url(token.user)
    else:
        back_url = reverse("profile" if request.GET.get("back") == "profile" else "tokens")
    last_use = f"last used on {word_time(token.last_used)}" if token.last_used else "never used"
    return ask_and_act(
        request,
        partial(access_tokens.revoke, token_id=token_id),
        lambda _: redirect_with_message(request, f"{token.name} is revoked.", back_url),
        title=f"Revoke {token.name}?",
        text="Programs that use it are refused from now on. A revoked token cannot be restored.",
        losses=lambda: [f"It acts as {token.user.name}.", f"It was {last_use}."],
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
