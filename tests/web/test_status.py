"""Settings > Status: processes, and the checklist with what it finds."""

import pytest
from django.contrib.auth.models import Group
from django.core.cache import cache

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.identity.services import groups, roles
from policies.models import GroupProfile, Membership, PolicyVersion, User
from policies.pdp import authorizer, process_registry, self_checks, snapshot_listener, snapshot_store
from tests.web.conftest import DOOR
from tests.web.test_why import words

OTTO = "urn:li:corpuser:otto"


@pytest.fixture(autouse=True)
def _no_notes(db):
    cache.clear()
    yield
    cache.clear()


def found(name: str) -> self_checks.Check:
    snapshot_store.reset()
    cache.delete(self_checks.GROUP_OVERLAP_CACHE_KEY)
    return next(check for check in self_checks.run() if check.name == name)


def where(field: str, *values: str, type_: str = "") -> dict:
    criteria = [{"field": field, "values": list(values)}]
    if type_:
        criteria.append({"field": "TYPE", "values": [type_]})
    return {"filter": {"criteria": criteria}}


def test_a_fresh_installation_is_fine(browse, world):
    assert [check.name for check in self_checks.run() if not check.is_fine] == []
    page = browse("root").get("/settings/status")
    assert page.context["facts"][0]["value"] == PolicyVersion.load_version()
    assert "Check this" not in words(page)
    assert 'hx-get="/settings/status/workers"' in page.content.decode()


def test_view_policies_by_domain_and_container_are_found_and_linked(browse, world, write):
    viewing = {"privileges": ["VIEW_ENTITY_PAGE"], "actors": {"users": [OTTO]}}
    write("by-domain", displayName="Sales <see>", resources=where("DOMAIN", "urn:li:domain:sales"), **viewing)
    write("domains", displayName="D", resources=where("DOMAIN", "urn:li:domain:sales", type_="domain"), **viewing)
    write("by-container", displayName="Schema", resources=where("CONTAINER", "urn:li:container:a"), **viewing)
    write("edits", displayName="Edits", resources=where("DOMAIN", "urn:li:domain:sales"), actors={"users": [OTTO]})
    assert [one.name for one in found("view_by_domain").findings] == ["Sales <see>"]
    assert [one.name for one in found("view_by_container").findings] == ["Schema"]
    body = browse("root").get("/settings/status").content.decode()
    assert 'href="/settings/permissions/policies/urn:li:dataHubPolicy:by-domain">Sales &lt;see&gt;<' in body


def test_a_deep_tree_of_domains_is_found(world):
    above = ""
    for number in range(5):
        document = f'{{"name": "Level {number}"{above}}}'
        urn = f"urn:li:domain:d{number}"
        apply.apply(proposals=[Proposal(urn, "domainProperties", document)], by=authorizer.SYSTEM, channel=DOOR)
        above = f', "parentDomain": "{urn}"'
    check = found("domain_depth")
    assert (check.is_fine, check.count) == (False, 5)
    assert [(one.name, one.detail) for one in check.findings] == [("Level 4", "level 5"), ("Level 3", "level 4")]


def test_users_in_many_groups_are_found(world):
    for number in range(11):
        urn = groups.create(identifier=f"g{number}", name=f"G{number}", by=authorizer.SYSTEM, channel=DOOR).urn
        Membership.objects.create(user=world["outsider"], group=Group.objects.get(name=urn), is_native=True)
    check = found("overlapping_groups")
    assert [(one.urn, one.detail) for one in check.findings] == [(OTTO, "11 groups")]
    GroupProfile.objects.filter(identifier="g3").update(is_removed=True)
    assert found("overlapping_groups").is_fine
    GroupProfile.objects.filter(identifier="g3").update(is_removed=False)
    User.objects.filter(urn=OTTO).update(state=User.State.SUSPENDED)
    assert found("overlapping_groups").is_fine
    User.objects.filter(urn=OTTO).update(state=User.State.ACTIVE)
    Membership.objects.filter(user=world["outsider"], group__name="urn:li:corpGroup:g3").delete()
    assert found("overlapping_groups").is_fine


def test_editor_beside_view_authorization_is_found(world, settings):
    roles.grant(urn="urn:li:dataHubRole:Editor", actors=[OTTO], by=authorizer.SYSTEM, channel=DOOR)
    assert found("viewing_roles").is_fine
    settings.VIEW_AUTHORIZATION_ENABLED = True
    assert [one.urn for one in found("viewing_roles").findings] == ["urn:li:dataHubRole:Editor"]
    User.objects.filter(urn=OTTO).update(state=User.State.SUSPENDED)
    assert found("viewing_roles").is_fine
    group = groups.create(identifier="readers", name="Readers", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn="urn:li:dataHubRole:Reader", actors=[group.urn], by=authorizer.SYSTEM, channel=DOOR)
    assert [(one.urn, one.detail) for one in found("viewing_roles").findings] == [
        ("urn:li:dataHubRole:Reader", "1 holders")
    ]
    GroupProfile.objects.filter(urn=group.urn).update(is_removed=True)
    assert found("viewing_roles").is_fine


def test_many_policies_for_one_user_or_for_urns_are_found(world, write):
    for number in range(11):
        write(f"u{number}", displayName=f"U{number}", actors={"users": [OTTO]})
    check = found("one_user")
    assert (check.is_fine, check.count, len(check.findings)) == (False, 12, 10)
    groups_ = [f"urn:li:corpGroup:g{number}" for number in range(11)]
    write("crowd", displayName="Crowd", actors={"groups": groups_})
    assert [one.name for one in found("many_groups_listed").findings] == ["Crowd"]


def test_other_processes_show_what_they_told_and_the_dead_are_forgotten(browse, world, monkeypatch):
    snapshot_store.get_current()
    monkeypatch.setattr(process_registry, "_process_name", lambda: "web-other-1")
    process_registry.send_heartbeat()
    monkeypatch.setattr(process_registry, "_process_name", lambda: "web-here-2")
    process_registry.send_heartbeat()
    assert [one.name for one in process_registry.list_web_processes()] == ["web-here-2", "web-other-1"]
    assert {one.version for one in process_registry.list_web_processes()} == {PolicyVersion.load_version()}
    assert "web-other-1" in words(browse("root").get("/settings/status"))
    cache.delete("policies:followed:web-other-1")
    assert [one.name for one in process_registry.list_web_processes()] == ["web-here-2"]


def test_status_is_there_while_the_cache_is_away(browse, world, settings):
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1/0",
            "OPTIONS": settings.REDIS_PATIENCE,
        }
    }
    page = browse("root").get("/settings/status")
    assert page.status_code == 200
    assert len(page.context["rows"]) == 1


@pytest.mark.parametrize("note", ["", [1], [1, "now", None], {"version": 1}, [1, 2.0, 3.0, 4.0]])
def test_an_entry_of_another_release_is_left_out(world, note):
    cache.set("policies:followed", ["web-other-1"])
    cache.set("policies:followed:web-other-1", note)
    assert len(process_registry.list_web_processes()) == 1


def test_a_process_tells_when_its_version_changes_and_not_at_every_look(world, write, monkeypatch):
    told = []
    monkeypatch.setattr(process_registry, "send_heartbeat", lambda: told.append(snapshot_store.get_current().version))
    follower = snapshot_listener.SnapshotListener()
    follower.poll()
    follower.poll()
    version = PolicyVersion.load_version()
    write("another", displayName="Another")
    snapshot_store.mark_stale()
    follower.poll()
    assert told == [version, version + 1]


def test_without_workers_that_is_said(browse, world):
    page = browse("root").get("/settings/status/workers")
    assert "No worker answers." in words(page)
    part = browse("root").get("/settings/status/workers", headers={"HX-Request": "true"})
    assert "<html" not in part.content.decode()
    assert "No worker answers." in words(part)


def test_status_is_for_who_manages_policies(browse, world):
    for path in ("/settings/status", "/settings/status/workers"):
        assert browse("outsider").get(path).status_code == 403
    api = browse("root").get("/api/v1/status/").json()
    assert {check["name"] for check in api["checks"]} >= {"domain_depth", "overlapping_groups"}
    assert api["active_policies"] == api["checks"][0]["count"]
    told = browse("outsider").get("/api/v1/status/").json()
    assert [name for name, value in told.items() if value is not None] == ["policy_version"]


def test_with_policies_off_status_is_open_and_permissions_are_gone(browse, world, settings):
    settings.AUTH_POLICIES_ENABLED = False
    page = browse("outsider").get("/settings/status")
    assert page.status_code == 200
    labels = {item["label"] for group in page.context["settings_menu"] for item in group["items"]}
    assert {"Users", "Groups", "Service accounts", "Access tokens", "Status"} <= labels
    assert labels.isdisjoint({"Policies", "Roles"})
