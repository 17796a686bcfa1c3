"""What CDAP lists is what may be viewed: one by one and as a WHERE, for every way to hold something (CD-12, CD-22)."""

import pytest

from catalog.access import view_permissions
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity
from policies.identity.services import groups, roles, users
from policies.pdp import actor_resolution, authorizer
from tests.cdap.conftest import DOOR, INSTANCE, ROOT, give, register, urn

NAMES = (
    "namespace:ns1",
    "artifact:ns1.etl",
    "application:ns1.orders",
    "program:ns1.orders.load",
    "stream:ns1.clicks",
    "stream:ns1.views",
    "secure_key:ns1.token",
    "dataset:ns1.sales",
)
VERSION = "urn:li:artifact:ns1.etl.1.0.0-SNAPSHOT"
TAG = "urn:li:tag:ns1.pii"


@pytest.fixture
def there(instance, settings):
    """Entities of every kind, one spelled with a version, and a tag that only looks like one."""
    register(*NAMES)
    apply.apply(
        proposals=[
            Proposal(VERSION, "status", '{"removed": false}'),
            Proposal(TAG, "tagProperties", '{"name": "pii"}'),
        ],
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="team", name="Team", members=[urn("jo")], by=authorizer.SYSTEM, channel=DOOR)
    roles.create(identifier="keeper", name="Keeper", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn=urn("role:keeper"), actors=[urn("jo")], by=authorizer.SYSTEM, channel=DOOR)
    settings.VIEW_AUTHORIZATION_ENABLED = True


def seen(who):
    """Return what somebody may view, and hold both ways to ask equal."""
    by = actor_resolution.load_actor(urn=who)
    urns = set(Entity.objects.values_list("urn", flat=True))
    rows = set(view_permissions.filter_viewable(Entity.objects.all(), by=by).values_list("urn", flat=True))
    assert rows == urns - view_permissions.find_hidden(urns=urns, by=by)
    return rows - {TAG, INSTANCE, urn("namespace:ns1")}


@pytest.mark.parametrize(
    ("grants", "wanted"),
    [
        ((), set()),
        ((("jo", "stream:ns1.clicks", "READ"),), {urn("stream:ns1.clicks")}),
        ((("group:team", "stream:ns1.clicks", "WRITE"),), {urn("stream:ns1.clicks")}),
        ((("role:keeper", "secure_key:ns1.token", "ADMIN"),), {urn("secure_key:ns1.token")}),
        ((("jo", "program:ns1.orders.load", "EXECUTE"),), set()),
        ((("jo", "stream:ns1.*", "READ"),), {urn("stream:ns1.clicks"), urn("stream:ns1.views")}),
        ((("role:keeper", "stream:ns1.v*", "READ"),), {urn("stream:ns1.views")}),
        ((("jo", "artifact:ns1.etl", "READ"),), {urn("artifact:ns1.etl"), VERSION}),
        ((("group:team", "artifact:ns1.e*", "READ"),), {urn("artifact:ns1.etl"), VERSION}),
        ((("jo", "dataset:ns1.sales", "ADMIN"), ("jo", "namespace:ns1", "ADMIN")), set()),
    ],
)
def test_who_could_list_an_entity_views_it_cd_12_cd_20(there, grants, wanted):
    for grant in grants:
        give(*grant)
    assert seen(urn("jo")) == wanted
    users.suspend(urn=urn("jo"), by=authorizer.SYSTEM, channel=DOOR)
    assert seen(urn("jo")) == set()


@pytest.mark.parametrize("grant", [("jo", "namespace:ns1", "READ"), ("group:team", "namespace:n*", "WRITE")])
def test_what_is_inherited_is_viewed_cd_5(there, settings, grant):
    settings.INHERIT_PRIVILEGES = True
    give(*grant)
    whole = {urn(name) for name in NAMES} | {VERSION}
    assert seen(urn("jo")) == whole - {urn("namespace:ns1"), urn("dataset:ns1.sales")}


def test_who_grants_anywhere_views_everything_but_datasets_cd_18(there):
    whole = {urn(name) for name in NAMES} | {VERSION}
    assert seen(ROOT) == whole - {urn("namespace:ns1"), urn("dataset:ns1.sales")}
    assert seen(authorizer.SYSTEM.urn) == whole - {urn("namespace:ns1")}


def test_with_policies_off_everything_is_viewed(there, settings):
    settings.AUTH_POLICIES_ENABLED = False
    assert seen(urn("jo")) == ({urn(name) for name in NAMES} | {VERSION}) - {urn("namespace:ns1")}
