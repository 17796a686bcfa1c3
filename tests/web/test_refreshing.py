"""Settings > Status > Refresh now: who may, what it does, and what it says."""

import time

import pytest
from django.contrib.messages import get_messages
from django.core.cache import cache
from django.db.models import F

from policies.models import PolicyVersion
from policies.pdp import process_registry, snapshot_store

REFRESH = "/settings/status/refresh"


@pytest.fixture(autouse=True)
def _no_notes(db):
    cache.clear()
    yield
    cache.clear()


def said(answer):
    return [str(one) for one in get_messages(answer.wsgi_request)]


def test_the_policies_are_loaded_anew(browse, world):
    before = snapshot_store.get_current()
    answer = browse("root").post(REFRESH)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/settings/status")
    version = PolicyVersion.load_version()
    assert said(answer) == [f"Policy version {version} was loaded anew. 1 of 1 web processes answer from it."]
    assert snapshot_store.get_current() is not before
    assert snapshot_store.get_current().version == version


def test_processes_that_have_not_looked_yet_are_told_apart(browse, world):
    version = PolicyVersion.load_version()
    for name, theirs in (("far:1:2", version), ("far:2:2", version - 1)):
        cache.set(process_registry._heartbeat_key(name), (theirs, time.time(), None))
    cache.set(process_registry._LIST_KEY, ("far:1:2", "far:2:2"))
    (text,) = said(browse("root").post(REFRESH))
    assert text.endswith("2 of 3 web processes answer from it; the others look within a second.")


def test_this_process_looks_again(browse, world, monkeypatch):
    snapshot_store.get_current()
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 3600.0)
    PolicyVersion.objects.update(version=F("version") + 1)
    moved = PolicyVersion.load_version()
    (text,) = said(browse("root").post(REFRESH))
    assert text.startswith(f"Policy version {moved} ")
    assert snapshot_store.get_current().version == moved


@pytest.mark.parametrize(("name", "status"), [("anonymous", 302), ("outsider", 403), ("root", 302)])
def test_it_takes_manage_policies(browse, world, name, status):
    client, before = browse(name), snapshot_store.get_current()
    answer = client.post(REFRESH)
    assert answer.status_code == status
    assert (snapshot_store.get_current() is before) is (name != "root")


def test_the_button_is_a_form_on_the_page(browse, world):
    assert f'action="{REFRESH}"' in browse("root").get("/settings/status").content.decode()
