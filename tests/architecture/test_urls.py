"""Every door says to whom it is open: no URL leads to a view without a guard."""

from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

from policies.http.guard import get_guard

# A new public door is added here, so that opening one is seen by whoever reads the change.
PUBLIC = {
    ".well-known/authzen-configuration",
    "health",
    "health/live",
    "health/ready",
    "metrics",
    "config",
    "login",
    "login/oidc",
    "login/oidc/callback",
    "logout",
    "drafts",
    "signup",
    "reset",
    "admin",
    "api/v1/openapi.json",
    "logIn",
    "logIn/",
    "signUp",
    "signUp/",
    "auth/signUp",
    "auth/signUp/",
}


def patterns(branch: URLResolver, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every path of the site with its pattern."""
    for part in branch.url_patterns:
        path = f"{prefix}{part.pattern}"
        if isinstance(part, URLResolver):
            yield from patterns(part, path)
        else:
            yield path, part


def test_every_url_is_guarded_or_public():
    bare = [path for path, part in patterns(get_resolver()) if get_guard(part.callback) is None]
    assert bare == []


def test_the_public_doors_are_these():
    guards = {path: get_guard(part.callback) for path, part in patterns(get_resolver())}
    assert {path for path, guard in guards.items() if guard and guard.is_public} == PUBLIC
