"""Sign-in and sign-out with the OpenID Connect provider that the settings name.

Sign-in begins with a link, not a form: browsers apply `form-action` to every redirect that follows a form, also to
redirects between the provider's own servers, whose names are unknown here. Following the link changes nothing here; the
provider asks the user.
"""

from typing import Any, NoReturn

import structlog
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from requests import RequestException

from policies.errors import PolicyAppError
from policies.http.guard import public
from policies.http.pages.list_and_form_pages import page_view
from policies.identity.pages import oidc_adapter
from policies.identity.pages.oidc_adapter import ClaimedLogin, ConfiguredOidcProvider, OidcAdapter
from policies.identity.pages.sign_in import SIGN_OUT_URL_KEY
from policies.identity.services import external_sign_in, oidc_claims

log = structlog.get_logger(__name__)


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth publishes no types
    """django-allauth's hooks: the list of providers, the outcome of a sign-in, and the page for a failure."""

    def list_apps(self, request: HttpRequest | None, *_: Any, **__: Any) -> list[SocialApp]:
        """Return the provider of the settings; the table of providers is not used."""
        return [oidc_adapter.build_provider(request).app] if settings.OIDC.is_configured else []

    def get_provider(self, request: HttpRequest, *_: Any, **__: Any) -> ConfiguredOidcProvider:
        """Return the provider of the settings."""
        return oidc_adapter.build_provider(request)

    def pre_social_login(self, request: HttpRequest, sociallogin: ClaimedLogin) -> NoReturn:
        """Sign the user in or render a refusal, by ImmediateHttpResponse; allauth's own accounts are never used."""
        raise ImmediateHttpResponse(_sign_in(request, sociallogin))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: ConfiguredOidcProvider,  # noqa: ARG002  # allauth passes it by position
        error: str | None = None,
        exception: Exception | None = None,
        extra_context: dict[str, Any] | None = None,
    ) -> NoReturn:
        """Render the error page of a sign-in that failed at or before the provider, by ImmediateHttpResponse."""
        if error == AuthError.CANCELLED:
            page = _render_refusal(
                request, "Signing in was cancelled, or the provider does not let you use this site.", 403
            )
        elif exception is not None:
            page = _render_failure(request, exception)
        elif "state" not in (extra_context or {}):
            detail = "This sign-in has ended, was used already or was begun in another browser. Begin again."
            page = _render_refusal(request, detail, 400)
        else:
            error_params = {name: request.GET.get(name, "")[:500] for name in ("error", "error_description")}
            log.warning("oidc_refused_by_provider", **error_params)
            page = _render_refusal(request, "The provider could not sign you in. Try again later.", 503)
        raise ImmediateHttpResponse(page)


@page_view(public)
def begin(request: HttpRequest) -> HttpResponse:
    """Redirect to the provider, or a signed-in user to the requested page."""
    if not settings.OIDC.is_configured:
        raise Http404
    next_url = _safe_url(request, request.GET.get("next", ""))
    if request.user.is_authenticated:
        return redirect(next_url or "home")
    try:
        return oidc_adapter.build_provider(request).begin(request, next_url=next_url)
    except (OAuth2Error, RequestException) as error:
        return _render_failure(request, error)


@page_view(public)
def finish(request: HttpRequest) -> HttpResponse:
    """Complete a sign-in when the provider redirects back."""
    if not settings.OIDC.is_configured:
        raise Http404
    try:
        response: HttpResponse = OAuth2CallbackView.adapter_view(OidcAdapter(request, external_sign_in.PROVIDER))(
            request
        )
    except (OAuth2Error, RequestException) as error:
        # allauth catches these in the token exchange, but not while it loads the URL of the token endpoint.
        return _render_failure(request, error)
    return response


def _sign_in(request: HttpRequest, sociallogin: ClaimedLogin) -> HttpResponse:
    try:
        user = external_sign_in.sign_in(
            identity=oidc_claims.parse_identity(sociallogin.claims),
            may_sign_up=settings.OIDC.is_sign_up_open,
            may_link=settings.OIDC.links_accounts,
        )
    except PolicyAppError as refusal:
        log.warning("oidc_refused", subject=ascii(sociallogin.claims.get("sub"))[:300], reason=refusal.detail)
        return _render_refusal(request, refusal.detail, refusal.status)
    login(request, user, backend=settings.PASSWORD_BACKEND)
    request.session[SIGN_OUT_URL_KEY] = sociallogin.sign_out_url
    return redirect(sociallogin.state.get("next") or reverse("home"))


def _safe_url(request: HttpRequest, url: str) -> str:
    is_ours = url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())
    return url if is_ours else ""


def _render_failure(request: HttpRequest, error: Exception) -> HttpResponse:
    log.error("oidc_failed", reason=str(error)[:500])
    label = settings.OIDC.label
    detail = f"Signing in with {label} does not work at the moment: the provider did not answer as it should."
    return _render_refusal(request, f"{detail} Try again later, or sign in with a password.", 503)


def _render_refusal(request: HttpRequest, reason: str, status: int) -> HttpResponse:
    return render(request, "registration/refused.html", {"reason": reason}, status=status)
