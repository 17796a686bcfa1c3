"""A real provider of identities on loopback, and a site that is told to trust it."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
import requests
import servers
from django.test import Client

from authzsite.oidc_settings import OidcProvider
from policies import bootstrap
from policies.pdp import snapshot_store

PATIENCE_SECONDS = 60
CLIENT_ID = "authzsite"


@dataclass(frozen=True)
class Place:
    """A running provider."""

    issuer: str
    process: "subprocess.Popen[bytes]"

    def knows(self, subject: str, **claims: Any) -> None:
        """Let it say this of somebody from now on."""
        done = requests.put(f"{self.issuer}/users/{quote(subject, safe='')}", json=claims, timeout=10)
        assert done.status_code == 204, done.text

    def goes_wrong(self, how: str) -> None:
        """Let it do something wrong (provider_process.SPOILT) until told otherwise."""
        requests.put(f"{self.issuer}/spoil", data=how, timeout=10).raise_for_status()


@pytest.fixture(scope="session")
def place() -> Iterator[Place]:
    """Start the provider and wait until it answers."""
    port = servers.free_port()
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("provider_process.py")), str(port)]
    with subprocess.Popen(command, env={**os.environ, "AUTHLIB_INSECURE_TRANSPORT": "1"}) as process:
        try:
            issuer = f"http://127.0.0.1:{port}"
            url = f"{issuer}/.well-known/openid-configuration"
            servers.wait_until(
                lambda: _is_answering(url),
                server=process,
                explain=lambda: f"The provider does not answer at {url}.",
                seconds=PATIENCE_SECONDS,
            )
            yield Place(issuer, process)
        finally:
            process.terminate()


def _is_answering(url: str) -> bool:
    try:
        requests.get(url, timeout=10).raise_for_status()
    except requests.ConnectionError:
        return False
    return True


@pytest.fixture
def provider(place, db, settings) -> Iterator[Place]:
    """The provider in order, and a fresh site that trusts it."""
    place.goes_wrong("")
    settings.OIDC = OidcProvider(
        issuer=place.issuer, client_id=CLIENT_ID, client_secret="s3cret", label="Acme ID", groups_claim="groups"
    )
    snapshot_store.reset()
    yield place
    snapshot_store.reset()


@pytest.fixture
def installed(provider: Place) -> Place:
    """The same with the root user, roles and policies of a new installation."""
    bootstrap.run(is_restricted=True)
    return provider


@pytest.fixture
def configured(settings) -> Callable[..., None]:
    """Change how the provider is configured: `configured(links_accounts=True)`."""

    def change(**changes: Any) -> None:
        settings.OIDC = replace(settings.OIDC, **changes)

    return change


def leave(client: Client, *, next_url: str = "") -> str:
    """Follow the link of the sign-in page; the address at the provider."""
    response = client.get("/login/oidc", {"next": next_url} if next_url else {})
    assert response.status_code == 302, response.content
    return response.headers["Location"]


def consent(address: str, subject: str) -> str:
    """Be somebody at the provider and agree; the path and query that it sends the browser back to."""
    done = requests.post(address, data={"sub": subject}, allow_redirects=False, timeout=10)
    assert done.status_code == 302, done.text
    return path_of(done.headers["Location"])


def path_of(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"


def query_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def sign_in(client: Client, subject: str, *, next_url: str = ""):
    """Go the whole way; the answer to coming back."""
    return client.get(consent(leave(client, next_url=next_url), subject))
