"""Looking at pages in a browser: signing in, and what axe-core finds on a page."""

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

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
    """Type into a search of a page that may still be loading: nothing answers before its scripts run."""
    field = page.get_by_label(f"Search {label}")
    field.wait_for()
    page.wait_for_load_state()
    field.press_sequentially(text)


def barriers(page: Page) -> list[str]:
    """Return what axe-core finds wrong with the page as it stands, of any impact."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8"))
    # What passed is not asked for: naming every element that did takes longer than the checks.
    found: list[dict[str, Any]] = page.evaluate(
        "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)"
    )
    return [f"{violation['id']}: {node['html'][:200]}" for violation in found for node in violation["nodes"]]


def problems(page: Page) -> list[str]:
    """Return what is wrong with the page in each of the looks, with everything that opens open: barriers, and width.

    The page is loaded once; it is left in the last look.
    """
    page.evaluate("document.querySelectorAll('main details').forEach(element => { element.open = true })")
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 900})
        found += [f"{scheme}, {width} wide: {line}" for line in barriers(page)]
        wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wider > 0:
            found.append(f"{scheme}, {width} wide: The page is {wider} pixels wider than the window.")
    return found
