"""Ways to what was refused: each is enough, and says exactly what else it gives and takes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.changes.applying import apply_changes
from policies.changes.shapes import load_changes
from policies.engine.proofs.verdicts import Verdict
from policies.engine.requirements import privilege_requirement
from policies.guardrails.services import guardrails
from policies.identity.services import groups, roles
from policies.models import Policy
from policies.pdp import actor_resolution, authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests import chosen_ways
from policies.requests.errors import RequestInvalid
from policies.requests.items import load_item
from policies.requests.ways.asked_items import AskedAccess, AskedHolding
from policies.requests.ways.candidates import Candidate, WayKind
from policies.requests.ways.finding import AccessWay, describe_way, find_smallest_way, find_ways
from policies.requests.ways.named import find_named_ways
from tests.api.conftest import document_of
from tests.catalog.conftest import said, tell

JO, ADA = "urn:li:corpuser:jo", "urn:li:corpuser:ada"
CREW, SCIM, READER = "urn:li:corpGroup:crew", "urn:li:corpGroup:scim", "urn:li:dataHubRole:Steward"
ORDERS, ITEMS = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "items"))
TAGS = "EDIT_ENTITY_TAGS"


@pytest.fixture(autouse=True)
def jo(client_of: Callable[..., APIClient], db: None) -> APIClient:
    """A client of Jo, in a world of two people, groups, a role and two datasets."""
    client_of("ada")
    groups.create(name="Crew", identifier="crew", by=authorizer.SYSTEM, channel="test")
    groups.create(name="Scim", identifier="scim", origin="EXTERNAL", by=authorizer.SYSTEM, channel="test")
    roles.create(name="Steward", identifier="Steward", by=authorizer.SYSTEM, channel="test")
    tell(*[said(urn, "datasetProperties", {"name": urn}) for urn in (ORDERS, ITEMS)])
    return client_of("jo")


def store(name: str, actors: dict[str, Any], *urns: str, **changes: Any) -> None:
    criteria = [{"field": "URN", "condition": "EQUALS", "values": list(urns)}] if urns else []
    document = document_of(privileges=[TAGS], actors=actors, resources={"filter": {"criteria": criteria}}) | changes
    urn = f"urn:li:dataHubPolicy:{name}"
    policies.create(draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test", urn=urn)


def asked(privilege: str, urn: str | None) -> AccessRequest:
    return AccessRequest(privilege_requirement(privilege), ResourceRef(urn) if urn else None)


def item(privilege: str, urn: str | None) -> AskedAccess:
    return AskedAccess.load(actor=actor_resolution.load_actor(urn=JO), request=asked(privilege, urn))


def found(privilege: str, urn: str | None, by: str = "") -> dict[str, AccessWay]:
    reader = actor_resolution.load_actor(urn=by) if by else authorizer.SYSTEM
    ways = find_ways(item=item(privilege, urn), by=reader).ways
    assert [way.rank for way in ways] == list(range(1, len(ways) + 1))
    return {f"{way.kind}{way.source or ''}": way for way in ways}


def test_every_kind_of_way_says_what_it_gives() -> None:
    store("crew", {"groups": [CREW]}, ORDERS, ITEMS)
    store("steward", {"roles": [READER]}, ORDERS)
    store("owners", {"resourceOwners": True}, privileges=[TAGS, "EDIT_ENTITY_DOCS"])
    ways = found(TAGS, ORDERS)
    sizes = {name: (way.gains.pairs, way.gains.entities, way.gives_only_this.verdict) for name, way in ways.items()}
    assert sizes == {
        WayKind.ROLE: (1, 1, Verdict.YES),
        WayKind.POLICY: (1, 1, Verdict.YES),
        WayKind.MEMBERSHIP: (2, 2, Verdict.NO),
        WayKind.OWNER: (2, 1, Verdict.NO),
    }
    assert {way.gains.people for way in ways.values()} == {1}
    # What needs no new policy comes before what does, at the same cost; the rest by cost.
    assert ways[WayKind.POLICY].rank == 2
    assert {way.losses.size for way in ways.values()} == {0}
    assert all(way.is_exact and not way.guardrails for way in ways.values())
    example = ways[WayKind.MEMBERSHIP].gives_only_this.example
    assert example is not None
    assert (example["actor"]["urn"], example["resource"]["urn"]) == (JO, ITEMS)
    written = describe_way(ways[WayKind.POLICY])
    assert written["changes"][0]["put_policy"]["document"]["actors"] == {"users": [JO]}
    assert written["gains"] == {"pairs": 1, "people": 1, "entities": 1, "platform": 0}
    assert written["id"] == describe_way(found(TAGS, ORDERS)[WayKind.POLICY])["id"]
    assert not Policy.objects.filter(urn=written["id"]).exists()


def test_a_group_of_an_identity_source_is_a_way_that_is_not_written_here() -> None:
    store("scim", {"groups": [SCIM]}, ORDERS)
    way = found(TAGS, ORDERS)[f"{WayKind.MEMBERSHIP}identity"]
    assert (way.gains.pairs, way.gives_only_this.verdict, way.rank) == (1, Verdict.YES, 1)
    # What the group may come to own will be the actor's, too: nothing in this catalog, but something in another one.
    store("owners", {"resourceOwners": True})
    way = found(TAGS, ORDERS)[f"{WayKind.MEMBERSHIP}identity"]
    assert (way.gains.pairs, way.gives_only_this.verdict) == (1, Verdict.NO)


def test_a_way_that_was_written_allows_what_was_asked() -> None:
    way = found(TAGS, ORDERS)[WayKind.POLICY]
    apply_changes(changes=load_changes(list(way.changes)), by=authorizer.SYSTEM, channel="test")
    actor = actor_resolution.load_actor(urn=JO)
    assert authorizer.answer(actor=actor, request=asked(TAGS, ORDERS)).is_allowed
    assert not authorizer.answer(actor=actor, request=asked(TAGS, ITEMS)).is_allowed
    assert found(TAGS, ORDERS) == {}


def test_a_deny_is_passed_by_an_exception_alone() -> None:
    store("crew", {"groups": [CREW]}, ORDERS)
    store("deny", {"allUsers": True}, ORDERS, effect="DENY")
    (way,) = found(TAGS, ORDERS).values()
    assert way.kind is WayKind.EXCEPTION
    exception, own = way.changes
    assert exception == {"add_exceptions": {"policy": "urn:li:dataHubPolicy:deny", "actors": [JO]}}
    assert "urn" not in own["put_policy"]
    assert way.gains.pairs == 1
    assert way.gives_only_this.verdict is Verdict.YES
    # Whoever may not see policies is not told of the one that denies.
    actor = actor_resolution.load_actor(urn=JO)
    assert find_ways(item=item(TAGS, ORDERS), by=actor).ways == []
    assert list(find_ways(item=item(TAGS, ORDERS), by=authorizer.SYSTEM).denied_by) == ["urn:li:dataHubPolicy:deny"]


def test_groups_and_roles_are_asked_for_themselves() -> None:
    store("crew", {"groups": [CREW]}, ORDERS, ITEMS)
    for urn, kind, pairs in ((CREW, WayKind.MEMBERSHIP, 2), (READER, WayKind.ROLE, 0)):
        holding = AskedHolding(actor_resolution.load_actor(urn=JO), urn)
        (way,) = find_ways(item=holding, by=authorizer.SYSTEM).ways
        assert (way.kind, way.gains.pairs, way.further) == (kind, pairs, pairs)
        # Whoever may not see the group or role is told of no way to it.
        assert find_ways(item=holding, by=holding.actor).ways == []
    nobody = AskedHolding(actor_resolution.load_actor(urn=JO), "urn:li:corpGroup:nobody")
    assert find_ways(item=nobody, by=authorizer.SYSTEM).ways == []


def test_a_way_names_the_guardrails_that_it_breaks_and_one_that_is_enforced_forbids_it() -> None:
    store("crew", {"groups": [CREW]}, ORDERS)
    store("steward", {"roles": [READER]}, ORDERS, ITEMS)
    store("mine", {"users": [JO]}, ITEMS, privileges=["EDIT_ENTITY_DOCS"])
    store("no steward", {"roles": [READER]}, ITEMS, privileges=["EDIT_ENTITY_DOCS"], effect="DENY")

    def guard(name: str, members: str, urn: str, mode: str) -> str:
        on = {"filter": {"criteria": [{"field": "URN", "values": [urn]}]}}
        rule = {"never": {"actors": {"groups": [members]}, "privileges": [TAGS], "resources": on}}
        if not members:
            rule = {"never": {"actors": {"users": [JO]}, "privileges": [TAGS], "resources": on}}
        made = guardrails.create(name=name, rule=rule, mode=mode, by=authorizer.SYSTEM, channel="test")
        return str(made.urn)

    # Broken already by the group's policy; a way that puts somebody else into the group adds to it, the others do not.
    forbidding, warning = guard("no crew", CREW, ORDERS, "enforce"), guard("not items", "", ITEMS, "warn")
    guard("off", "", ORDERS, "off")
    ways = found(TAGS, ORDERS)
    broken = {kind: [(one.urn, one.mode) for one in way.guardrails] for kind, way in ways.items()}
    assert broken == {
        WayKind.POLICY: [],
        WayKind.ROLE: [(warning, "warn")],
        WayKind.MEMBERSHIP: [(forbidding, "enforce")],
    }
    # What is forbidden comes after what takes something away, though it gives least.
    assert [(kind, way.losses.pairs, way.is_forbidden) for kind, way in ways.items()] == [
        (WayKind.POLICY, 0, False),
        (WayKind.ROLE, 1, False),
        (WayKind.MEMBERSHIP, 0, True),
    ]
    described = [describe_way(way) for way in ways.values()]
    assert [way["kind"] for way in described if chosen_ways.is_selectable(way)] == ["policy", "role"]
    assert chosen_ways.find_way(described, ways[WayKind.ROLE].id)["kind"] == "role"
    with pytest.raises(RequestInvalid) as refusal:
        chosen_ways.find_way(described, ways[WayKind.MEMBERSHIP].id)
    assert [problem.code for problem in refusal.value.problems] == ["way.unknown"]
    # Where everything is forbidden, ways are shown, and none can be chosen.
    guard("no policy", "", ORDERS, "enforce")
    every = [describe_way(way) for way in found(TAGS, ORDERS).values()]
    assert (len(every), chosen_ways.find_best(every)) == (3, None)


def test_losses_and_the_platform_count() -> None:
    store("crew", {"groups": [CREW]}, ORDERS)
    store("mine", {"users": [JO]}, ITEMS)
    store("no crew", {"groups": [CREW]}, ITEMS, effect="DENY")
    ways = found(TAGS, ORDERS)
    assert list(ways) == [WayKind.POLICY, WayKind.MEMBERSHIP]
    assert ways[WayKind.MEMBERSHIP].losses.pairs == 1
    (platform,) = (way for way in found("MANAGE_TAGS", None).values() if way.kind is WayKind.POLICY)
    assert (platform.gains.pairs, platform.gains.platform, platform.gains.people) == (0, 1, 1)
    assert platform.gives_only_this.verdict is Verdict.YES
    smallest = find_smallest_way(item=item(TAGS, ORDERS), by=authorizer.SYSTEM)
    assert smallest is not None
    assert smallest.kind is WayKind.POLICY


def test_a_refusal_names_the_smallest_way(jo: APIClient, manager: APIClient) -> None:
    store("crew", {"groups": [CREW]}, ORDERS, ITEMS)
    question = {"privilege": TAGS, "resource": {"urn": ORDERS}, "explain": True}
    body = jo.post("/api/v1/authorize", question).json()
    assert (body["decision"], body["way"]["kind"], body["way"]["gains"]["pairs"]) == ("DENY", "policy", 1)
    assert body["way"]["gives_only_this"] == {"verdict": "yes", "example": None}
    assert "way" not in jo.post("/api/v1/authorize", question | {"explain": False}).json()
    batch = manager.post("/api/v1/authorize/batch", {"questions": [question | {"actor": JO}]}).json()
    assert "way" not in batch["decisions"][0]
    # Who may not ask about others gets no example of them; who manages policies does.
    group = manager.post("/api/v1/authorize", question | {"actor": JO, "privilege": "EDIT_ENTITY_DOCS"}).json()
    assert group["way"]["kind"] == "policy"
    store("guide", {"users": [ADA]}, ORDERS)
    assert manager.post("/api/v1/authorize", question | {"actor": ADA}).json()["way"] is None


def test_pages_of_refusals_load_the_smallest_way(client: Client) -> None:
    from policies.models import User

    client.force_login(User.objects.get(username="jo"))
    query = f"privilege={TAGS}&resource={ORDERS}"
    answer = client.get(f"/why?{query}").content.decode()
    assert 'hx-get="/why/way?' in answer
    way = client.get(f"/why/way?{query}").content.decode()
    assert "A policy of its own gives it." in way
    assert "It gives only this, whatever the catalog will hold." in way
    refused = client.get("/settings/permissions/policies")
    assert refused.status_code == 403
    assert 'hx-get="/why/way?privilege=MANAGE_POLICIES"' in refused.content.decode()
    other = client.get(f"/why/way?{query}&actor={ADA}")
    assert other.status_code == 403


def test_an_existing_policy_is_reached_only_by_what_it_does_not_except() -> None:
    store("crew", {"groups": [CREW], "roles": [READER]}, ORDERS, ITEMS)
    policy = load_item({"policy": "urn:li:dataHubPolicy:crew"})
    actor = actor_resolution.load_actor(urn=JO)

    def kinds() -> list[str]:
        ways = find_named_ways(item=policy, actor=actor, by=authorizer.SYSTEM, until=None).ways
        assert all(way.gains.pairs == 2 for way in ways)
        return sorted(way.kind.value for way in ways)

    assert kinds() == ["membership", "policy", "role"]
    apply_changes(
        changes=load_changes([{"add_exceptions": {"policy": "urn:li:dataHubPolicy:crew", "actors": [READER]}}]),
        by=authorizer.SYSTEM,
        channel="test",
    )
    assert kinds() == ["membership", "policy"]
    policies.set_state(urn="urn:li:dataHubPolicy:crew", state="INACTIVE", by=authorizer.SYSTEM, channel="test")
    assert kinds() == []


def test_an_id_is_the_same_whatever_its_reader_may_see() -> None:
    one = {"put_policy": {"family": "datahub", "document": {"displayName": "Jo", "actors": {"users": [JO]}}}}
    other = {"put_policy": {"family": "datahub", "document": {"displayName": JO, "actors": {"users": [JO]}}}}
    third = {"put_policy": {"family": "datahub", "document": {"displayName": "Jo", "actors": {"users": [ADA]}}}}
    ids = [Candidate(WayKind.POLICY, (change,)).id for change in (one, other, third)]
    assert ids[0] == ids[1] != ids[2]
