"""Looking at pages in a browser: signing in, and what axe-core finds on a page."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

AXE = Path(__file__).parents[1] / "vendor" / "axe-core-4.14.1" / "axe.min.js"


def sign_in(page: Page, address: str, username: str, password: str) -> None:
    """Open an address, sign in where it asks for that, and end up there."""
    page.goto(address)
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(address)


def barriers(page: Page) -> list[str]:
    """Return what axe-core finds wrong with the page as it stands, of any impact."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("axe.run(document)")
    return [
        f"{violation['id']}: {node['html'][:200]}" for violation in found["violations"] for node in violation["nodes"]
    ]
