"""Every channel that the record of changes and the decision log can hold has a name on pages."""

import re
from pathlib import Path

from django.urls import ResolverMatch, get_resolver

from policies.http import guard
from policies.http.pages.channel_names import name_channel
from tests.architecture.test_urls import patterns

ROOT = Path(__file__).parents[2]


def test_every_channel_that_a_write_names_has_a_name():
    sources = [path for room in ("policies", "catalog") for path in (ROOT / room).rglob("*.py")]
    written = {
        code
        for path in sources
        for code in re.findall(r'(?:CHANNEL|channel|channel: str) ?= ?"(\w+)"', path.read_text())
    }
    assert len(written) > 5
    assert not [code for code in written if name_channel(code) == code]


def test_every_channel_of_an_address_has_a_name():
    found = {
        guard.get_channel(
            ResolverMatch(part.callback, (), {}, app_names=["admin"] if path.startswith("admin/") else [])
        )
        for path, part in patterns(get_resolver())
    }
    assert {"api", "pages", "gms", "openapi", "graphql", "authzen", "scim", "admin"} <= found
    assert not [code for code in found if name_channel(code) == code]
