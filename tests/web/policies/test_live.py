"""The line on a policy's page that says where its newest change is in force."""

import time

import pytest
from django.core.cache import cache

from policies.models import PolicyEvent, PolicyVersion
from policies.pdp import process_registry, snapshot_store
from tests.web.test_why import words

BASE = "/settings/permissions/policies"
OTHER = "web-far-1"


@pytest.fixture(autouse=True)
def _no_notes(db):
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def policy(world, write):
    """A policy that was just written, and this process answers from it."""
    made = write("fresh", displayName="Fresh")
    snapshot_store.refresh()
    return made


def note(version, since=None):
    """Leave the note of another process."""
    cache.set(process_registry._LIST_KEY, [OTHER])
    cache.set(process_registry._heartbeat_key(OTHER), [version, time.time(), since])


def test_while_a_process_is_behind_the_line_asks_again_and_then_stops(browse, policy):
    version = PolicyVersion.load_version()
    note(version - 1)
    page = browse("root").get(f"{BASE}/{policy.urn}")
    assert "The newest change is live on 1 of 2 processes." in words(page)
    address = f"{BASE}/live/{policy.urn}?tried=1"
    assert f'hx-get="{address}"' in page.content.decode()
    at = PolicyEvent.objects.filter(policy_urn=policy.urn).latest("id").at.timestamp()
    note(version, at + 0.3)
    part = browse("root").get(address, headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "hx-get" not in part.content.decode()
    assert "is live on 2 of 2 processes after 0." in words(part)
    assert "Where it is live" in words(browse("root").get(address))


def test_a_process_that_never_comes_back_is_not_waited_for(browse, policy):
    note(PolicyVersion.load_version() - 1)
    for tried in ("40", "-1", "many", "9" * 5000, ""):
        part = browse("root").get(f"{BASE}/live/{policy.urn}?tried={tried}", headers={"HX-Request": "true"})
        assert "1 of 2 processes." in words(part)
        assert "hx-get" not in part.content.decode()


def test_how_long_it_took_is_not_said_where_nobody_knows(browse, policy, write):
    version = PolicyVersion.load_version()
    note(version)
    write("later", displayName="Later")
    note(version + 1, time.time())
    snapshot_store.refresh()
    text = words(browse("root").get(f"{BASE}/{policy.urn}"))
    assert "The newest change is live on 2 of 2 processes." in text
