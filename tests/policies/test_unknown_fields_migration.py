"""What an upgrade does to policies that an earlier release stored with fields it ignored."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.models import Policy, PolicyEvent, PolicyVersion
from policies.pdp import authorizer, snapshot_store

pytestmark = pytest.mark.django_db

migration = import_module("policies.migrations.0009_policies_with_unknown_fields")


def stored(suffix, **changes):
    """Store a policy for all users, and change its row behind the services as an earlier release left it."""
    document = {
        "displayName": suffix,
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["VIEW_ANALYTICS"],
        "actors": {"allUsers": True},
    }
    urn = f"urn:li:dataHubPolicy:{suffix}"
    policies.create(draft=PolicyInput("datahub", document), urn=urn, by=authorizer.SYSTEM, channel="test")
    Policy.objects.filter(urn=urn).update(document=document | changes, state=changes.get("state", "ACTIVE"))
    return urn


def test_those_in_force_become_inactive_and_their_history_says_so(monkeypatch):
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    denying, sound = stored("denying", effect="DENY"), stored("sound", lastUpdatedTimestamp=1)
    inactive = stored("inactive", state="INACTIVE", validUntil=1)
    before = PolicyVersion.load_version()
    for _ in range(2):
        migration.deactivate(apps, SimpleNamespace(connection=connection))
    assert PolicyVersion.load_version() == before + 1
    row = Policy.objects.get(urn=denying)
    assert (row.state, row.version, row.document["state"], row.document["effect"]) == (
        "INACTIVE",
        2,
        "INACTIVE",
        "DENY",
    )
    assert list(Policy.objects.filter(urn__in=[sound, inactive]).values_list("version", flat=True)) == [1, 1]
    event = PolicyEvent.objects.get(door="migration")
    assert (event.policy_urn, event.verb, event.policy_version) == (denying, "DEACTIVATED", before + 1)
    assert (event.before["state"], event.after["document"]) == ("ACTIVE", row.document)
    assert {one.origin.policy for one in snapshot_store.get_current().statements} >= {sound}
    assert denying not in {one.origin.policy for one in snapshot_store.get_current().statements}


def test_those_who_hold_a_role_by_a_document_with_such_a_field_are_named(caplog):
    noting = import_module("policies.migrations.0011_memberships_with_unknown_fields")
    roles: dict[str, list[str]] = {"roles": []}
    changes = [
        AspectChange("urn:li:corpuser:jo", "corpuser", "roleMembership", {**roles, "validTo": 1}, keeps_unknown=True),
        AspectChange("urn:li:corpGroup:g", "corpGroup", "roleMembership", {**roles, "until": 1}, keeps_unknown=True),
        AspectChange("urn:li:corpuser:al", "corpuser", "roleMembership", {**roles}),
    ]
    aspect_services.apply(changes=changes, by=authorizer.SYSTEM, channel="test")
    caplog.clear()
    noting.name_holders(apps, SimpleNamespace(connection=connection))
    found = [(record.urn, record.aspect, record.fields) for record in caplog.records]
    assert found == [
        ("urn:li:corpuser:jo", "roleMembership", ["validTo"]),
        ("urn:li:corpGroup:g", "roleMembership", ["until"]),
    ]
