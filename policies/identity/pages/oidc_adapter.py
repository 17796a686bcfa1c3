"""OpenID Connect as this site speaks it: django-allauth's flow, with a nonce and with every ID token checked.

The provider is the one of the settings; allauth's own table of providers is never read. What allauth leaves open is
closed here: requests take nothing from the address they were begun with, the signature of an ID token is always
checked, and whatever a provider answers instead of what the protocol says ends as `OAuth2Error`.
"""

from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialAccount, SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.base import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.crypto import get_random_string, salted_hmac
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from requests import RequestException, Session

from policies.identity.services.external_sign_in import PROVIDER

#: What an ID token may be signed with: all that needs the provider's private key, never what its public key could do.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
#: How far the clocks of both sides may be apart, in seconds.
_CLOCK_LEEWAY_SECONDS = 60
#: How long one answer of the provider may take, in seconds.
_TIMEOUT_SECONDS = 5
_STATE_LENGTH = 32


class ClaimedLogin(SocialLogin):  # type: ignore[misc]  # allauth publishes no types
    """A sign-in in progress with what the provider said; whose account that is, our own service finds out."""

    def __init__(self, provider: "ConfiguredOidcProvider", claims: Mapping[str, Any]) -> None:
        super().__init__(provider=provider, account=SocialAccount(provider=PROVIDER))
        self.claims = claims

    def lookup(self) -> None:
        """Look up nothing."""


class ConfiguredOidcProvider(OpenIDConnectProvider):  # type: ignore[misc]  # allauth publishes no types
    """The one provider of the settings."""

    @property
    def server_url(self) -> str:
        """Where it describes itself."""
        return f"{settings.OIDC.issuer.rstrip('/')}/.well-known/openid-configuration"

    def begin(self, request: HttpRequest, *, next_url: str) -> HttpResponse:
        """Send the browser to the provider with a state, a nonce and PKCE, none of which the address can choose.

        Raises OAuth2Error and RequestException.
        """
        state = get_random_string(_STATE_LENGTH)
        response: HttpResponse = self.redirect(
            request,
            process=AuthProcess.LOGIN,
            next_url=next_url,
            state_id=state,
            auth_params={"nonce": _derive_nonce(state)},
        )
        return response

    def get_oauth2_adapter(self, request: HttpRequest) -> "OidcAdapter":
        """Return what talks to it."""
        return OidcAdapter(request, PROVIDER)


def build_provider(request: HttpRequest | None) -> ConfiguredOidcProvider:
    """Return the provider of the settings as allauth knows providers; raises SocialApp.DoesNotExist without one."""
    if not settings.OIDC.is_configured:
        raise SocialApp.DoesNotExist
    app = SocialApp(
        provider=PROVIDER,
        provider_id=PROVIDER,
        name=settings.OIDC.label,
        client_id=settings.OIDC.client_id,
        secret=settings.OIDC.client_secret,
        settings={
            "server_url": settings.OIDC.issuer,
            "oauth_pkce_enabled": True,
            "scope": list(settings.OIDC.scopes),
        },
    )
    return ConfiguredOidcProvider(request, app=app)


class OidcAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]  # allauth publishes no types
    """The endpoints of the provider, and what is made of their answers."""

    @property
    def openid_config(self) -> Mapping[str, Any]:
        """What the provider says about itself, which has to be about the issuer that the settings name."""
        if not hasattr(self, "_openid_config"):
            config = _fetch_json(self.get_provider().server_url)
            issuer = config.get("issuer")
            if not isinstance(issuer, str) or issuer.rstrip("/") != settings.OIDC.issuer.rstrip("/"):
                raise OAuth2Error(f"The provider calls itself {issuer!r}, not {settings.OIDC.issuer!r}.")
            self._openid_config = config
        return self._openid_config

    @property
    def basic_auth(self) -> bool:
        """Whether the secret travels in a header, which is what a provider wants that says nothing about it."""
        methods = self.openid_config.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return "client_secret_post" not in methods

    @property
    def access_token_url(self) -> str:
        """Where a code is exchanged."""
        return self.get_endpoint_url("token_endpoint")

    @property
    def authorize_url(self) -> str:
        """Where the browser goes."""
        return self.get_endpoint_url("authorization_endpoint")

    @property
    def profile_url(self) -> str:
        """Where more claims are, if anywhere."""
        return self.get_endpoint_url("userinfo_endpoint")

    def get_endpoint_url(self, name: str) -> str:
        """Return one endpoint; TLS everywhere, unless the issuer itself is on this machine."""
        url = self.openid_config.get(name)
        schemes = ("https://",) if settings.OIDC.issuer.startswith("https://") else ("https://", "http://")
        if not isinstance(url, str) or not url.startswith(schemes):
            raise OAuth2Error(f"The provider says no address as its {name}.")
        return url

    def get_provider(self) -> ConfiguredOidcProvider:
        """Return the provider of the settings."""
        return build_provider(self.request)

    def get_callback_url(self, request: HttpRequest, *_: Any) -> str:
        """Return the address to come back to, below PUBLIC_URL where that is set."""
        path = reverse("sign-in-oidc-back")
        return f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Exchange the code; raises OAuth2Error for every answer that is none."""
        try:
            token_data = super().get_access_token_data(*args, **kwargs)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise OAuth2Error("The provider answered the code with nothing that can be read.") from error
        if not isinstance(token_data, dict):
            raise OAuth2Error("The provider answered the code with no object.")
        return token_data

    def parse_token(self, data: Mapping[str, Any]) -> SocialToken:
        """Return the access token, which is used once and never stored."""
        return SocialToken(token=data["access_token"])

    def complete_login(self, request: HttpRequest, _: SocialApp, token: SocialToken, **kwargs: Any) -> ClaimedLogin:
        """Return who signs in by the ID token, with what more the provider tells for the access token."""
        claims = self._verify_id_token(kwargs["response"].get("id_token"), _derive_nonce(request.GET["state"]))
        if "userinfo_endpoint" in self.openid_config:
            userinfo = _fetch_json(self.profile_url, {"Authorization": f"Bearer {token.token}"})
            if userinfo.get("sub") != claims["sub"]:
                raise OAuth2Error("The provider tells about somebody else than its ID token.")
            claims = {**userinfo, **claims}
        return ClaimedLogin(self.get_provider(), claims)

    def _verify_id_token(self, id_token: Any, nonce: str) -> dict[str, Any]:
        keys = _fetch_json(self.get_endpoint_url("jwks_uri"))
        try:
            claims = jwt.decode(id_token, KeySet.import_key_set(_signing_keys(keys)), algorithms=_ALGORITHMS).claims
            jwt.JWTClaimsRegistry(
                leeway=_CLOCK_LEEWAY_SECONDS,
                iss={"essential": True, "value": self.openid_config["issuer"]},
                aud={"essential": True, "value": settings.OIDC.client_id},
                exp={"essential": True},
                sub={"essential": True},
                nonce={"essential": True, "value": nonce},
            ).validate(claims)
        except (AttributeError, JoseError, KeyError, TypeError, ValueError) as error:
            raise OAuth2Error(f"The ID token does not hold: {error}") from error
        if claims.get("azp", settings.OIDC.client_id) != settings.OIDC.client_id:
            raise OAuth2Error("The ID token was made for another client.")
        return claims


def _derive_nonce(state: str) -> str:
    """Return what the ID token has to repeat: bound to the state, which one session knows and which works once."""
    return salted_hmac("policies.identity.pages.oidc_adapter", state, algorithm="sha256").hexdigest()


def _signing_keys(keys: Mapping[str, Any]) -> Any:
    """Return the keys of a set that may have signed something."""
    return {"keys": [key for key in keys["keys"] if key.get("use", "sig") == "sig" and key.get("kty") != "oct"]}


def _fetch_json(url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the object at an address; raises OAuth2Error for anything else, RequestException where nobody answers."""
    with Session() as session:
        response = session.get(url, headers=headers, timeout=_TIMEOUT_SECONDS)
        response.raise_for_status()
        try:
            document = response.json()
        except (RequestException, ValueError) as error:
            raise OAuth2Error(f"There is no JSON at {url}.") from error
    if not isinstance(document, dict):
        raise OAuth2Error(f"There is no object at {url}.")
    return document
