"""OpenID Connect with django-allauth's flow, extended by a nonce and by the verification of every ID token.

The provider comes from the settings; allauth's table of providers is never read. The query string cannot change what is
sent to the provider, the signature of every ID token is verified, and malformed answers of the provider raise
`OAuth2Error`.
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
from django.utils.http import urlencode
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from requests import RequestException, Session

from policies.identity.services.external_sign_in import PROVIDER

#: Accepted signature algorithms of ID tokens: asymmetric only, since HMAC could be computed with a public key.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
#: Tolerated difference between the clocks of both sides.
_CLOCK_LEEWAY_SECONDS = 60
#: Timeout of one request to the provider.
_TIMEOUT_SECONDS = 5
_STATE_LENGTH = 32


class ClaimedLogin(SocialLogin):  # type: ignore[misc]  # allauth publishes no types
    """A sign-in in progress with the claims of the provider; our own service finds the account.

    `sign_out_url` is the page of the provider that ends its session, '' where it names none.
    """

    def __init__(self, provider: "ConfiguredOidcProvider", claims: Mapping[str, Any], sign_out_url: str) -> None:
        super().__init__(provider=provider, account=SocialAccount(provider=PROVIDER))
        self.claims = claims
        self.sign_out_url = sign_out_url

    def lookup(self) -> None:
        """Do nothing: allauth shall not look up accounts."""


class ConfiguredOidcProvider(OpenIDConnectProvider):  # type: ignore[misc]  # allauth publishes no types
    """The provider that the settings name."""

    @property
    def server_url(self) -> str:
        """URL of the provider's discovery document."""
        return f"{settings.OIDC.issuer.rstrip('/')}/.well-known/openid-configuration"

    def begin(self, request: HttpRequest, *, next_url: str) -> HttpResponse:
        """Redirect to the provider with a state, a nonce and PKCE, none of which request parameters can choose.

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
        """Return the adapter for the provider's endpoints."""
        return OidcAdapter(request, PROVIDER)


def build_provider(request: HttpRequest | None) -> ConfiguredOidcProvider:
    """Return the provider of the settings as an allauth provider; raises SocialApp.DoesNotExist if there is none."""
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
    """The endpoints of the provider, and the verification of their answers."""

    @property
    def openid_config(self) -> Mapping[str, Any]:
        """The provider's discovery document, whose issuer must be that of the settings; raises OAuth2Error."""
        if not hasattr(self, "_openid_config"):
            config = _fetch_json(self.get_provider().server_url)
            issuer = config.get("issuer")
            if not isinstance(issuer, str) or issuer.rstrip("/") != settings.OIDC.issuer.rstrip("/"):
                raise OAuth2Error(f"The provider calls itself {issuer!r}, not {settings.OIDC.issuer!r}.")
            self._openid_config = config
        return self._openid_config

    @property
    def basic_auth(self) -> bool:
        """Whether the client secret is sent in a header, which is the default of a provider that names no method."""
        methods = self.openid_config.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        return "client_secret_post" not in methods

    @property
    def access_token_url(self) -> str:
        """URL of the token endpoint."""
        return self.get_endpoint_url("token_endpoint")

    @property
    def authorize_url(self) -> str:
        """URL of the authorization endpoint."""
        return self.get_endpoint_url("authorization_endpoint")

    @property
    def profile_url(self) -> str:
        """URL of the userinfo endpoint; raises OAuth2Error if there is none."""
        return self.get_endpoint_url("userinfo_endpoint")

    def get_endpoint_url(self, name: str) -> str:
        """Return the URL of an endpoint; raises OAuth2Error unless it uses TLS (or the issuer itself does not)."""
        url = self.openid_config.get(name)
        schemes = ("https://",) if settings.OIDC.issuer.startswith("https://") else ("https://", "http://")
        if not isinstance(url, str) or not url.startswith(schemes):
            raise OAuth2Error(f"The provider says no address as its {name}.")
        return url

    def get_provider(self) -> ConfiguredOidcProvider:
        """Return the provider of the settings."""
        return build_provider(self.request)

    def get_callback_url(self, request: HttpRequest, *_: Any) -> str:
        """Return the callback URL, below PUBLIC_URL if that is set."""
        path = reverse("sign-in-oidc-back")
        return f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Exchange the code for tokens; raises OAuth2Error for a malformed answer."""
        try:
            token_data = super().get_access_token_data(*args, **kwargs)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise OAuth2Error("The provider answered the code with nothing that can be read.") from error
        if not isinstance(token_data, dict):
            raise OAuth2Error("The provider answered the code with no object.")
        return token_data

    def parse_token(self, data: Mapping[str, Any]) -> SocialToken:
        """Return the access token, which is used once and not stored."""
        return SocialToken(token=data["access_token"])

    def complete_login(self, request: HttpRequest, _: SocialApp, token: SocialToken, **kwargs: Any) -> ClaimedLogin:
        """Return the login with the claims of the verified ID token, then those of userinfo; raises OAuth2Error."""
        claims = self._verify_id_token(kwargs["response"].get("id_token"), _derive_nonce(request.GET["state"]))
        if "userinfo_endpoint" in self.openid_config:
            userinfo = _fetch_json(self.profile_url, {"Authorization": f"Bearer {token.token}"})
            if userinfo.get("sub") != claims["sub"]:
                raise OAuth2Error("The provider tells about somebody else than its ID token.")
            claims = {**userinfo, **claims}
        return ClaimedLogin(self.get_provider(), claims, self._find_sign_out_url())

    def _find_sign_out_url(self) -> str:
        try:
            url = self.get_endpoint_url("end_session_endpoint")
        except OAuth2Error:
            return ""
        return f"{url}{'&' if '?' in url else '?'}{urlencode({'client_id': settings.OIDC.client_id})}"

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
    """Return the nonce of a state, which the ID token must repeat; a state belongs to one session and works once."""
    return salted_hmac("policies.identity.pages.oidc_adapter", state, algorithm="sha256").hexdigest()


def _signing_keys(keys: Mapping[str, Any]) -> Any:
    """Return the key set without symmetric keys and keys that are not for signatures."""
    return {"keys": [key for key in keys["keys"] if key.get("use", "sig") == "sig" and key.get("kty") != "oct"]}


def _fetch_json(url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the JSON object at a URL; raises OAuth2Error for other content, RequestException for a failed request."""
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
