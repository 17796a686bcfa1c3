"""Looking at pages in a browser: signing in, and what axe-core finds on a page."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.depth import IS_WHOLE

#: How every page is looked at: the colour scheme, and how wide the window is.
LOOKS: tuple[tuple[Literal["light", "dark"], int], ...] = (("light", 1280), ("dark", 390))

AXE = Path(__file__).parents[1] / "vendor" / "axe-core-4.14.1" / "axe.min.js"


def sign_in(page: Page, address: str, username: str, password: str) -> None:
    """Open an address, sign in where it asks for that, and end up there."""
    page.goto(address)
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(address)


def search(page: Page, label: str, text: str) -> None:
    """Type into a search of a page that may still be loading: nothing answers before its scripts run.

    What is found for the whole text stands there afterwards. Whoever types slowly is answered in between, too, and an
    answer takes the place of what was found before, and with it the focus.
    """
    field = page.get_by_label(f"Search {label}")
    field.wait_for()
    page.wait_for_load_state()
    with page.expect_response(lambda answer: parse_qs(urlsplit(answer.url).query).get("q") == [text]):
        field.press_sequentially(text)
    wait_for_answers(page)


def find_privileges(page: Page, text: str) -> None:
    """Leave only the privileges that have this in their names, and those that are ticked."""
    with (
        refreshing(page),
        page.expect_response(lambda answer: answer.request.headers.get("hx-target", "").endswith("privileges")),
    ):
        page.get_by_label("Find privileges").fill(text)


@contextmanager
def refreshing(page: Page) -> Iterator[None]:
    """Return once the aside of a builder says what was typed inside."""
    with page.expect_response(lambda answer: answer.request.headers.get("hx-target") == "builder-aside"):
        yield
    wait_for_answers(page)


def wait_for_answers(page: Page) -> None:
    """Return once every answer that a script of the page waits for stands in the page, and notices what is done."""
    expect(page.locator(".htmx-request, .htmx-swapping, .htmx-added, .htmx-settling")).to_have_count(0)


def barriers(page: Page) -> list[str]:
    """Return what axe-core finds wrong with the page as it stands, of any impact."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8"))
    # What passed is not asked for: naming every element that did takes longer than the checks.
    found: list[dict[str, Any]] = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)"
    )
    return [f"{violation['id']}: {node['html'][:200]}" for violation in found for node in violation["nodes"]]


class Drawing:
    """In which of the looks axe-core looks at a page: one, drawn by the seed of the run; all in `make test-all`."""

    seed = ""

    def list_looks(self, page: Page) -> tuple[tuple[str, int], ...]:
        """Return the looks; an address always has the same ones, whichever tests run before."""
        if IS_WHOLE:
            return LOOKS
        return (Random(f"{self.seed} {urlsplit(page.url).path}").choice(LOOKS),)


drawing = Drawing()


def problems(page: Page) -> list[str]:
    """Return what is wrong with the page, with everything that opens open: barriers, and its width in each look.

    The page is loaded once; it is left in the last look.
    """
    page.evaluate("document.querySelectorAll('main details').forEach(element => { element.open = true })")
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        if (scheme, width) in drawing.list_looks(page):
            found += [f"{scheme}, {width} wide: {line}" for line in barriers(page)]
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wider > 0:
            found.append(f"{scheme}, {width} wide: The page is {wider} pixels wider than the window.")
    return found
