"""What names and texts of users become, and what no page may hold."""

import re
from html.parser import HTMLParser

import pytest

from policies.identity.services import users
from policies.pdp import authorizer
from tests.web.conftest import DOOR

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}</textarea>"
LIST = "/settings/permissions/policies"


class Strict(HTMLParser):
    """Collects what the content security policy would refuse, and what came from HOSTILE."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        if tag == "style" or (tag == "script" and "src" not in names):
            self.found.append(f"<{tag}>")
        self.found += [name for name in names if name == "style" or name.startswith(("on", "hx-on"))]
        self.found += [value for value in names.values() if value and value.strip().lower().startswith("javascript:")]
        if names.get("src") == "x":
            self.found.append("<img> of a name")


@pytest.fixture
def addresses(world, write):
    users.create(username="hostile", display_name=HOSTILE[:200], by=authorizer.SYSTEM, channel=DOOR)
    policy = write(
        "hostile",
        displayName=HOSTILE[:200],
        description=HOSTILE * 3,
        actors={"users": ["urn:li:corpuser:hostile", f"urn:li:corpuser:{HOSTILE}"]},
        resources={"filter": {"criteria": [{"field": "TAG", "values": [f"urn:li:tag:{HOSTILE}", HOSTILE]}]}},
    )
    # As an installation may hold it since before such fields were refused.
    policy.document = {**policy.document, "kept": {HOSTILE: HOSTILE}}
    policy.save(update_fields=["document"])
    return {
        "list": (LIST, {"q": "script"}),
        "list of nothing": (
            LIST,
            {"q": HOSTILE, "privilege": HOSTILE, "actor": HOSTILE, "state": HOSTILE, "sort": HOSTILE},
        ),
        "details": (f"{LIST}/{policy.urn}", {}),
        "why": ("/why", {"privilege": "EDIT_ENTITY_TAGS", "actor": "hostile", "resource": f"urn:li:tag:{HOSTILE}"}),
        "why of nothing": (
            "/why",
            {"privilege": HOSTILE, "actor": HOSTILE, "resource": HOSTILE, "sub_resources": HOSTILE},
        ),
        "not found": (f"{LIST}/{HOSTILE}", {}),
        "back room": ("/admin/", {}),
        "table in the back room": ("/admin/policies/policy/", {"q": HOSTILE}),
        "row in the back room": (f"/admin/policies/policy/{policy.pk}/change/", {}),
    }


def check(response):
    parser = Strict()
    parser.feed(response.content.decode())
    assert parser.found == []
    sources = dict(part.split(" ", 1) for part in response.headers["Content-Security-Policy"].split("; "))
    assert sources["script-src"] == sources["style-src"] == sources["default-src"] == "'self'"
    assert sources["frame-ancestors"] == sources["object-src"] == "'none'"
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_no_page_holds_script_or_style_of_its_own_or_of_a_name(browse, addresses):
    client = browse("root")
    for name, (address, query) in addresses.items():
        response = client.get(address, query)
        assert response.status_code == (404 if name == "not found" else 200), name
        check(response)
        if "of nothing" not in name and name not in {"back room", "table in the back room"}:
            assert "&lt;script&gt;alert(1)" in response.content.decode(), name


def test_pages_for_strangers_and_the_refused_keep_to_it_too(browse, world):
    check(browse("anonymous").get("/login", {"next": f"/why?privilege={HOSTILE}"}))
    check(browse("anonymous").post("/login", {"username": HOSTILE, "password": "x", "next": HOSTILE}))
    check(browse("anonymous").get("/nothing/at/all"))
    check(browse("outsider").get(LIST))
    check(browse("outsider").get("/admin/"))


def test_what_was_typed_comes_back_as_it_was(browse, world):
    page = browse("root").get("/why", {"privilege": HOSTILE, "sub_resources": HOSTILE}).content.decode()
    assert not re.search(r"<textarea[^>]*>[^<]*<(?!/textarea)", page)
    assert browse("root").get(LIST, {"q": HOSTILE}).context["form"]["q"].value() == HOSTILE
