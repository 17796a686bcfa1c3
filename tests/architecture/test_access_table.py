"""Every URL of the site, and what anonymous, an outsider, an owner, a steward and root get there.

The tables of the pages stand beside the tests of the pages, that of the doors in doors.py. A URL that is in none of
them fails here, and so does an answer that changed.
"""

import re

import pytest
from django.test import Client
from django.urls import get_resolver

from policies.identity.services import access_tokens
from policies.pdp import authorizer
from tests.architecture.doors import DOORS, NAMES
from tests.architecture.test_urls import patterns
from tests.web.catalog.test_pages import TABLE as CATALOG
from tests.web.conftest import DOOR
from tests.web.test_ladder import TABLE as PAGES
from tests.web.test_markup import check

PEOPLE = {"anonymous": "", "outsider": "otto", "owner": "olga", "steward": "stella", "root": "datahub"}

ROWS = [[cell.strip() for cell in line.split(" | ")] for line in DOORS.strip().splitlines()]

#: The API's own description as a page: browsers come with a session.
SESSION = {"api-docs"}


def named(text):
    return re.sub("[A-Z_]{3,}", lambda word: NAMES.get(word[0], word[0]), text)


def test_every_url_has_its_line():
    named = {part.name or path.strip("/") for path, part in patterns(get_resolver()) if not path.startswith("admin/")}
    assert named == {row[0] for row in ROWS} | PAGES.keys() | CATALOG.keys() | SESSION


# What asks the broker leaves files of its queue for the collector to close.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize(("place", "name"), list(enumerate(PEOPLE)))
def test_everybody_gets_what_the_table_of_doors_says(shelves, place, name):
    headers = {}
    if PEOPLE[name]:
        issued = access_tokens.create(
            owner=f"urn:li:corpuser:{PEOPLE[name]}", name="table", by=authorizer.SYSTEM, channel=DOOR
        )
        headers["authorization"] = f"Bearer {issued.text}"
    expected, found = {}, {}
    for _, call, statuses, *body in ROWS:
        verb, address = call.split(" ")
        data = "" if verb == "GET" else named("".join(body) or "{}")
        answer = Client().generic(verb, named(address), data, content_type="application/json", headers=headers)
        found[call] = answer.status_code
        expected[call] = int(statuses.split()[place])
    assert found == expected


def test_whoever_owns_data_is_an_outsider_to_settings(shelves):
    """The tables of the settings know no owner: to them an owner is somebody without privileges."""
    client = shelves("owner")
    for addresses in PAGES.values():
        for address, (_, outsider, *_others) in addresses.items():
            response = client.get(address)
            status = response.headers["Location"] if response.status_code == 302 else response.status_code
            assert status == outsider, address


def test_every_page_keeps_to_the_content_security_policy(shelves):
    client = shelves("root")
    for addresses in (PAGES | CATALOG).values():
        for address in addresses:
            response = client.get(address)
            if response.headers.get("Content-Type", "").startswith("text/html") and response.content:
                check(response)


def test_the_description_of_the_api_is_for_who_is_signed_in(shelves):
    assert [shelves(name).get("/api/v1/docs").status_code for name in PEOPLE] == [302, 200, 200, 200, 200]
