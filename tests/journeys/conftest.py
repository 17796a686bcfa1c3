"""Windows of a real browser that let nothing pass unnoticed."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, expect
from pytest_django.live_server_helper import LiveServer

from policies import bootstrap
from policies.pdp import snapshot_store
from tests.journeys.browsing import drawing

#: How long a page may take to show what is expected of it: a bound against waiting for ever, not a measurement.
PATIENCE_MS = 30_000

#: What a browser calls an error although it is meant: pages that answer 403, 412 or 422, and a request of htmx that a
#: newer one replaced.
MEANT = ("Failed to load resource", "htmx:afterRequest", "htmx:sendAbort")


@pytest.fixture(scope="session", autouse=True)
def _patience() -> None:
    expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session", autouse=True)
def _looks(pytestconfig: pytest.Config) -> None:
    drawing.seed = pytestconfig.option.hypothesis_seed


@pytest.fixture
def plain_http(settings: LazySettings) -> None:
    """The live server speaks plain HTTP, over which a browser keeps no cookie that is for TLS alone."""
    settings.PLAIN_HTTP = True
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False


@pytest.fixture
def installation(transactional_db: None, live_server: LiveServer, plain_http: None) -> Iterator[str]:
    """Serve a new installation, with root and what comes with it; give its address."""
    snapshot_store.reset()
    bootstrap.run(is_restricted=True)
    yield live_server.url
    snapshot_store.reset()


@pytest.fixture
def complaints() -> Iterator[list[str]]:
    """Collect what scripts and the content policy complain about; there must be nothing."""
    found: list[str] = []
    yield found
    assert found == []


@pytest.fixture
def opened(browser: Browser, complaints: list[str]) -> Iterator[Callable[..., Page]]:
    """Open a window: `opened(color_scheme="dark")` takes what a browser context takes."""
    contexts: list[BrowserContext] = []

    def open_(**options: Any) -> Page:
        context = browser.new_context(**options)
        context.set_default_timeout(PATIENCE_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda message: _note(message, complaints))
        page.on("response", lambda answer: _note_file(answer, complaints))
        return page

    yield open_
    for context in contexts:
        context.close()


def _note(message: ConsoleMessage, complaints: list[str]) -> None:
    if message.type == "error" and not message.text.startswith(MEANT):
        complaints.append(message.text)


def _note_file(answer: Response, complaints: list[str]) -> None:
    if answer.status >= 400 and "/static/" in answer.url:
        complaints.append(f"{answer.url}: {answer.status}")
