"""Ways to what Datazone's statements give: a role of its own with one statement, to its end."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from catalog.models import Entity
from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.changes.applying import AppliedChanges, apply_changes
from policies.changes.shapes import load_changes
from policies.engine.proofs.verdicts import Verdict
from policies.engine.requirements import any_of_requirement
from policies.identity.services import roles
from policies.models import Role
from policies.pdp import actor_resolution, authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.requests.ways.asked_items import AskedAccess
from policies.requests.ways.candidates import WayKind
from policies.requests.ways.finding import AccessWay, find_ways
from policies.requests.written_ways import set_end

JO, READER = "urn:li:corpuser:jo", "urn:li:dataHubRole:Reader"
IDS = {name: digit * 24 for name, digit in (("orders", "a"), ("items", "b"))}
ORDERS, ITEMS, PLAIN = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "items", "raw"))
READ, MANAGE = "dataset:read", "dataset:manage"


@pytest.fixture(autouse=True)
def company(client_of: Callable[..., APIClient], db: None) -> None:
    """Jo and Ada, a role, and three datasets of which one has no object id."""
    for name in ("jo", "ada"):
        client_of(name)
    roles.create(name="Reader", identifier="Reader", by=authorizer.SYSTEM, channel="test")
    for urn, name in ((ORDERS, "orders"), (ITEMS, "items")):
        Entity.objects.create(urn=urn, type="dataset", object_id=IDS[name], name=name.title())
    Entity.objects.create(urn=PLAIN, type="dataset")


def put(name: str, *statements: dict[str, Any], role: str = READER) -> None:
    draft = PolicyInput("datazone", {"name": name, "statements": list(statements), "roles": [role]})
    policies.create(draft=draft, by=authorizer.SYSTEM, channel="test", urn=f"urn:li:dataHubPolicy:{name}")


def say(resource: str, *actions: str, effect: str = "allow", **more: Any) -> dict[str, Any]:
    return {"resource": resource, "actions": list(actions), "effect": effect, **more}


def ask(*actions: str, urn: str = ORDERS, **more: Any) -> AskedAccess:
    request = AccessRequest(any_of_requirement([actions]), ResourceRef(urn, **more))
    return AskedAccess.load(actor=actor_resolution.load_actor(urn=JO), request=request)


def find(item: AskedAccess, by: str = "", until: datetime | None = None) -> dict[WayKind, AccessWay]:
    reader = actor_resolution.load_actor(urn=by) if by else authorizer.SYSTEM
    return {way.kind: way for way in find_ways(item=item, by=reader, until=until).ways}


def write(changes: Any) -> AppliedChanges:
    return apply_changes(changes=load_changes(list(changes)), by=authorizer.SYSTEM, channel="test")


def test_a_statement_gives_one_object_to_a_role_of_its_own() -> None:
    put("readers", say("dataset:*", READ))
    # Jo may read part of another dataset, so that reading is restricted: only this is still only this.
    put("part", say(f"dataset:{IDS['items']}", READ, extra_constraints={"column_level_restrictions": ["a"]}))
    end = timezone.now() + timedelta(days=1)
    ways = find(ask(READ), until=end)
    assert {kind: (way.gains.pairs, way.gains.entities, way.rank) for kind, way in ways.items()} == {
        WayKind.STATEMENT: (1, 1, 1),
        WayKind.ROLE: (2, 2, 2),
    }
    way = ways[WayKind.STATEMENT]
    assert (way.gives_only_this.verdict, way.is_only_this, way.gains.people) == (Verdict.YES, True, 1)
    role_change, policy_change, assignment = (value for change in way.changes for value in change.values())
    role, name = role_change["urn"], "Read dataset on Orders for jo"
    assert role_change["name"] == name
    statement = say(f"dataset:{IDS['orders']}", READ)
    assert policy_change["document"] == {"name": name, "statements": [statement], "roles": [role]}
    assert policy_change["valid_until"] == assignment["valid_until"] == end.isoformat()
    # The id is that of the preview without an end; it is said to Jo, who sees neither roles nor policies, too.
    assert find(ask(READ))[WayKind.STATEMENT].id == way.id == find(ask(READ), by=JO)[WayKind.STATEMENT].id
    assert not Role.objects.filter(urn=role).exists()

    applied = write(way.changes)
    actor = actor_resolution.load_actor(urn=JO)
    allowed = [authorizer.answer(actor=actor, request=ask(READ, urn=urn).request).is_allowed for urn in (ORDERS, ITEMS)]
    assert allowed == [True, False]
    assert dict(actor.ends)[role] == end
    assert find(ask(READ)) == {}
    assert applied.inverses is not None
    assert [change.kind for change in applied.inverses] == ["unassign_roles", "delete_policy", "delete_role"]
    apply_changes(changes=applied.inverses, by=authorizer.SYSTEM, channel="test")
    assert find(ask(READ))[WayKind.STATEMENT].changes[0]["put_role"]["urn"] == role


def test_what_an_action_implies_is_no_more_than_it() -> None:
    way = find(ask(MANAGE))[WayKind.STATEMENT]
    assert (way.gains.pairs, way.further, way.gives_only_this.verdict) == (6, 0, Verdict.YES)
    both = find(ask(READ, "EDIT_ENTITY_TAGS"))[WayKind.POLICY]
    assert (both.gains.pairs, both.further, both.gives_only_this.verdict) == (2, 0, Verdict.YES)
    branch = find(ask(READ, branch="dev"))[WayKind.STATEMENT]
    assert branch.changes[1]["put_policy"]["document"]["statements"][0]["branch"] == "dev"
    # Previews count the main branch alone.
    assert (branch.gains.size, branch.gives_only_this.verdict) == (0, Verdict.YES)
    user = find(ask("user:read", urn="urn:li:corpuser:ada"))[WayKind.STATEMENT]
    assert (user.gains.pairs, user.gives_only_this.verdict) == (1, Verdict.YES)


def test_there_is_none_where_no_statement_can_say_it() -> None:
    put("readers", say(f"dataset:{IDS['orders']}", READ, effect="deny"))
    roles.grant(urn=READER, actors=[JO], by=authorizer.SYSTEM, channel="test")
    assert find(ask(READ)) == {}
    # Without an object id wildcards alone would cover it.
    assert find(ask(READ, urn=PLAIN)) == {}
    assert find(ask("view:read", urn=ORDERS)) == {}


def test_a_role_that_is_there_is_left_alone_and_ends_are_moved() -> None:
    first = find(ask(READ))[WayKind.STATEMENT]
    write(first.changes[:1])
    roles.grant(
        urn=first.changes[0]["put_role"]["urn"], actors=["urn:li:corpuser:ada"], by=authorizer.SYSTEM, channel="t"
    )
    second = find(ask(READ))[WayKind.STATEMENT]
    role = second.changes[0]["put_role"]["urn"]
    assert role == f"{first.changes[0]['put_role']['urn']}-2"
    assert (second.gains.people, second.gives_only_this.verdict) == (1, Verdict.YES)
    end = timezone.now() + timedelta(days=1)
    put_role, put_policy, assign = set_end(second.changes, end)
    assert "valid_until" not in put_role["put_role"]
    assert put_policy["put_policy"]["valid_until"] == assign["assign_roles"]["valid_until"] == end.isoformat()
    assert set_end([put_role, put_policy, assign], None) == [dict(change) for change in second.changes]
