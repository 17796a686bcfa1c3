"""Settings of sign-in through an OpenID Connect provider, from environment variables.

They are validated together: an incomplete configuration stops the start with a sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from authzsite import env

#: Hosts for which an issuer may use plain HTTP: those of this machine.
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_DEPENDENT_VARIABLES = (
    "OIDC_CLIENT_ID",
    "OIDC_CLIENT_SECRET",
    "OIDC_SCOPES",
    "OIDC_LABEL",
    "OIDC_USERNAME_CLAIM",
    "OIDC_GROUPS_CLAIM",
    "OIDC_ROLES_CLAIM",
    "OIDC_ROLES",
    "OIDC_PLATFORM_GROUPS",
    "OIDC_ALLOWED_DOMAINS",
    "OIDC_ALLOWED_GROUPS",
    "OIDC_SIGN_UP",
    "OIDC_LINK_ACCOUNTS",
)


@dataclass(frozen=True, slots=True)
class OidcProvider:
    """One provider: its issuer, the client registered there, and the meaning of its claims here.

    `roles` is value of the roles claim → id of the role. `platform_groups` are groups through which sign-in may give
    people platform privileges they do not hold otherwise. An empty claim name disables the claim, an empty issuer the
    provider.
    """

    issuer: str = ""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    label: str = "single sign-on"
    username_claim: str = "preferred_username"
    groups_claim: str = ""
    roles_claim: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    platform_groups: frozenset[str] = frozenset()
    allowed_domains: frozenset[str] = frozenset()
    allowed_groups: frozenset[str] = frozenset()
    is_sign_up_open: bool = True
    links_accounts: bool = False

    @property
    def is_configured(self) -> bool:
        """Whether there is a provider."""
        return bool(self.issuer)


def load_provider() -> OidcProvider:
    """Return the provider from the environment; raises ImproperlyConfigured for invalid or incomplete values."""
    issuer = env.address("OIDC_ISSUER", schemes=("https", "http"))
    if not issuer:
        if orphaned_names := [name for name in _DEPENDENT_VARIABLES if env.is_set(name)]:
            raise ImproperlyConfigured(
                f"{orphaned_names[0]} is set, but OIDC_ISSUER does not say which provider it is about."
            )
        return OidcProvider()
    _check_issuer(issuer)
    for name in ("OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"):
        if not env.is_set(name):
            raise ImproperlyConfigured(f"OIDC_ISSUER is set, so {name} has to be set as well.")
    provider = OidcProvider(
        issuer=issuer,
        client_id=env.text("OIDC_CLIENT_ID"),
        client_secret=env.text("OIDC_CLIENT_SECRET"),
        scopes=tuple(env.names("OIDC_SCOPES", default=("openid", "profile", "email"))),
        label=env.text("OIDC_LABEL", "single sign-on"),
        username_claim=env.text("OIDC_USERNAME_CLAIM", "preferred_username"),
        groups_claim=env.text("OIDC_GROUPS_CLAIM"),
        roles_claim=env.text("OIDC_ROLES_CLAIM"),
        roles=env.pairs("OIDC_ROLES", default={}),
        platform_groups=frozenset(env.names("OIDC_PLATFORM_GROUPS")),
        allowed_domains=frozenset(name.casefold() for name in env.names("OIDC_ALLOWED_DOMAINS")),
        allowed_groups=frozenset(env.names("OIDC_ALLOWED_GROUPS")),
        is_sign_up_open=env.flag("OIDC_SIGN_UP", default=True),
        links_accounts=env.flag("OIDC_LINK_ACCOUNTS", default=False),
    )
    _check_provider(provider)
    return provider


def _check_issuer(issuer: str) -> None:
    parts = urlsplit(issuer)
    if not parts.hostname or parts.query or parts.fragment or parts.username:
        raise ImproperlyConfigured(
            "OIDC_ISSUER is spelt like https://login.example/realm, as the provider names itself."
        )
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK_HOSTS:
        raise ImproperlyConfigured("OIDC_ISSUER has to start with https:// unless the provider is on this machine.")


def _check_provider(provider: OidcProvider) -> None:
    if "openid" not in provider.scopes:
        raise ImproperlyConfigured("OIDC_SCOPES has to name openid among the scopes.")
    if bool(provider.roles_claim) != bool(provider.roles):
        raise ImproperlyConfigured(
            "OIDC_ROLES_CLAIM and OIDC_ROLES go together: which claim, and what its values mean."
        )
    if provider.allowed_groups and not provider.groups_claim:
        raise ImproperlyConfigured("OIDC_ALLOWED_GROUPS needs OIDC_GROUPS_CLAIM, which says where groups are named.")
    if provider.platform_groups and not provider.groups_claim:
        raise ImproperlyConfigured("OIDC_PLATFORM_GROUPS needs OIDC_GROUPS_CLAIM, which says where groups are named.")
    if invalid_domains := sorted(name for name in provider.allowed_domains if "@" in name or "." not in name):
        raise ImproperlyConfigured(
            f"OIDC_ALLOWED_DOMAINS names {invalid_domains[0]!r}, but a domain is spelt like example.com."
        )
