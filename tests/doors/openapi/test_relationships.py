"""Relationships through DataHub's OpenAPI (clients.md 1.6)."""

from urllib.parse import quote

import pytest

from catalog.protocols.datahub_openapi import relationships
from policies.identity.services import users
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, proposal
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db

ROLE = "urn:li:role:reader"
TAG = "urn:li:tag:t0"


def related(caller, urn, direction, *types, **more):
    query = "".join(f"&relationshipTypes={one}" for one in types) + "".join(f"&{k}={v}" for k, v in more.items())
    answer = caller.get(f"/openapi/relationships/v1/?urn={quote(urn)}&direction={direction}{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def pairs(found):
    return [(one["relationshipType"], one["urn"]) for one in found["entities"]]


def test_relationships_of_people(root):
    jo = users.create(username="jo", by=authorizer.SYSTEM, channel=DOOR).urn
    admin, eng, ops = "urn:li:dataHubRole:Admin", "urn:li:corpGroup:eng", "urn:li:corpGroup:ops"
    root.write(
        proposal(jo, "groupMembership", {"groups": [eng]}),
        proposal(jo, "nativeGroupMembership", {"nativeGroups": [ops]}),
        proposal(jo, "roleMembership", {"roles": [admin]}),
        proposal(ops, "roleMembership", {"roles": [admin]}),
        proposal(ROLE, "actors", {"users": [{"user": jo}], "groups": [{"group": ops}]}),
        proposal(DATASET, "ownership", {"owners": [{"owner": jo, "type": "X"}, {"owner": jo, "type": "Y"}]}),
    )
    assert pairs(related(root, jo, "OUTGOING")) == [
        ("IsMemberOfGroup", eng),
        ("IsMemberOfNativeGroup", ops),
        ("IsMemberOfRole", admin),
    ]
    assert pairs(related(root, jo, "INCOMING", "Has", "OwnedBy")) == [("Has", ROLE), ("OwnedBy", DATASET)]
    assert pairs(related(root, eng, "incoming", "IsMemberOfGroup,IsMemberOfNativeGroup")) == [("IsMemberOfGroup", jo)]
    holders = pairs(related(root, admin, "INCOMING", "IsMemberOfRole"))
    assert {("IsMemberOfRole", ops), ("IsMemberOfRole", jo)} <= set(holders)
    policies = pairs(related(root, admin, "INCOMING", "IsAssociatedWithRole"))
    assert policies
    name, policy = policies[0]
    assert (name, admin) in pairs(related(root, policy, "OUTGOING"))
    assert pairs(related(root, ROLE, "OUTGOING")) == [("Has", ops), ("Has", jo)]


def test_relationships_of_entities(root):
    domain, outer = "urn:li:domain:sales", "urn:li:domain:all"
    root.write(
        proposal(DATASET, "domains", {"domains": [domain]}),
        proposal(DATASET, "globalTags", {"tags": [{"tag": TAG}]}),
        proposal(DATASET, "container", {"container": "urn:li:container:c"}),
        proposal(DATASET, "access", {"roles": [{"urn": ROLE}]}),
        proposal(domain, "domainProperties", {"name": "Sales", "parentDomain": outer}),
    )
    assert pairs(related(root, DATASET, "OUTGOING")) == [
        ("AssociatedWith", domain),
        ("AssociatedWith", ROLE),
        ("IsPartOf", "urn:li:container:c"),
        ("TaggedWith", TAG),
    ]
    assert pairs(related(root, outer, "INCOMING")) == [("IsPartOf", domain)]
    assert pairs(related(root, domain, "OUTGOING")) == [("IsPartOf", outer)]
    assert pairs(related(root, TAG, "INCOMING", "TaggedWith", "OwnedBy")) == [("TaggedWith", DATASET)]


def test_a_page_of_relationships_past_the_end_is_empty(root, monkeypatch):
    urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{n},PROD)" for n in range(5)]
    root.write(*[proposal(urn, "globalTags", {"tags": [{"tag": TAG}]}) for urn in urns])
    page = related(root, TAG, "INCOMING", "TaggedWith", start=3, count=10)
    assert (page["start"], page["count"], page["total"]) == (3, 2, 5)
    assert [one["urn"] for one in page["entities"]] == urns[3:]
    for start in (5, 6, 2**31 - 1):
        assert related(root, TAG, "INCOMING", start=start) == {
            "start": start,
            "count": 0,
            "total": 5,
            "entities": [],
        }
    monkeypatch.setattr(relationships, "MAX_PAGE_SIZE", 2)
    assert related(root, TAG, "INCOMING", count=100)["count"] == 2
    assert related(root, TAG, "INCOMING", "NeverHeardOf") == {"start": 0, "count": 0, "total": 0, "entities": []}


@pytest.mark.parametrize(
    "query",
    [
        "",
        "urn=x&direction=INCOMING",
        f"urn={ROLE}",
        f"urn={ROLE}&direction=UP",
        f"urn={ROLE}&direction=INCOMING&start=-1",
        f"urn={ROLE}&direction=INCOMING&count=x",
        "urn=urn:li:tag:%00&direction=INCOMING",
    ],
)
def test_relationships_of_nothing(root, query):
    assert root.get(f"/openapi/relationships/v1?{query}").status_code == 400


def test_relationships_name_and_count_only_what_may_be_viewed(root, person, settings):
    root.write(
        proposal(DATASET, "ownership", {"owners": [{"owner": ROOT}]}),
        proposal(ROLE, "actors", {"users": [{"user": ROOT}]}),
        proposal(ROLE, "ownership", {"owners": [{"owner": ROOT}]}),
    )
    close_the_reading_policies(root)
    settings.VIEW_AUTHORIZATION_ENABLED = True
    jo = person("jo", "VIEW_ENTITY_PAGE", resources={"filter": {"criteria": [{"field": "TYPE", "values": ["role"]}]}})
    assert jo.get(f"/openapi/relationships/v1/?urn={ROOT}&direction=INCOMING").status_code == 403
    found = related(jo, ROLE, "OUTGOING")
    assert (found["count"], found["total"], found["entities"]) == (0, 0, [])
    assert pairs(related(root, ROOT, "INCOMING", "OwnedBy")) == [("OwnedBy", DATASET), ("OwnedBy", ROLE)]
