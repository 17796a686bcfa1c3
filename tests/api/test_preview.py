"""The preview of changes over the API: net effect, problems with their places, and nothing stored."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.identity.services import groups, roles, users
from policies.models import Membership, Policy, PolicyVersion
from policies.pdp import authorizer
from tests.api.conftest import document_of, pointers_of, problem_of
from tests.catalog.conftest import said, tell

PREVIEW = "/api/v1/preview"
JO, ADA = "urn:li:corpuser:jo", "urn:li:corpuser:ada"
NEW, OLD, OTHER = (f"urn:li:dataHubPolicy:{name}" for name in ("new", "old", "other"))
CREW, READER = "urn:li:corpGroup:crew", "urn:li:dataHubRole:Reader"
ORDERS, ITEMS = (f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)" for name in ("orders", "items"))
TALLY_OF_NONE = {"pairs": 0, "people": 0, "entities": 0, "by_privilege": {}, "items": []}


@pytest.fixture(autouse=True)
def _world(client_of: Callable[..., APIClient], db: None) -> None:
    client_of("jo")
    client_of("ada")
    groups.create(name="Crew", identifier="crew", by=authorizer.SYSTEM, channel="test")
    roles.create(name="Reader", identifier="Reader", by=authorizer.SYSTEM, channel="test")
    tell(*[said(urn, "datasetProperties", {"name": urn}) for urn in (ORDERS, ITEMS)])


def granting(*users: str, **changes: Any) -> dict[str, Any]:
    resources = {"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"]}]}}
    return document_of(privileges=["EDIT_ENTITY_TAGS"], actors={"users": list(users)}, resources=resources) | changes


def store(urn: str, document: dict[str, Any]) -> None:
    policies.create(draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test", urn=urn)


def put(document: dict[str, Any], urn: str = NEW) -> dict[str, Any]:
    return {"put_policy": {"urn": urn, "family": "datahub", "document": document}}


def previewed(client: APIClient, *changes: dict[str, Any], **options: Any) -> dict[str, Any]:
    answer = client.post(PREVIEW, {"changes": list(changes), **options})
    assert answer.status_code == 200, answer.content
    body: dict[str, Any] = answer.json()
    return body


def test_a_new_policy_gives_what_nobody_had(manager: APIClient) -> None:
    version = PolicyVersion.objects.get().version
    body = previewed(manager, put(granting(JO)))
    numbers = {"pairs": 2, "people": 1, "entities": 2}
    assert body == {
        "policy_version": version,
        "is_exact": True,
        "is_concealed": False,
        "gained": {
            **numbers,
            "by_privilege": {"EDIT_ENTITY_TAGS": numbers},
            "items": [
                {
                    "actor": JO,
                    "privilege": "EDIT_ENTITY_TAGS",
                    "entities": 2,
                    "examples": body["gained"]["items"][0]["examples"],
                }
            ],
        },
        "lost": TALLY_OF_NONE,
        "kept": [],
        "platform": {"gained": [], "lost": []},
        "guardrails": [],
    }
    assert set(body["gained"]["items"][0]["examples"]) == {ORDERS, ITEMS}
    assert not Policy.objects.filter(urn=NEW).exists()
    assert PolicyVersion.objects.get().version == version


def test_who_keeps_access_by_another_policy_loses_nothing(manager: APIClient) -> None:
    store(OLD, granting(JO, ADA))
    store(OTHER, granting(ADA))
    body = previewed(manager, {"delete_policy": OLD})
    assert [(item["actor"], item["entities"]) for item in body["lost"]["items"]] == [(JO, 2)]
    assert body["kept"] == [{"actor": ADA, "privilege": "EDIT_ENTITY_TAGS", "entities": 2, "through": [OTHER]}]
    assert body["gained"] == TALLY_OF_NONE
    off = previewed(manager, {"set_state": {"urn": OLD, "state": "INACTIVE"}})
    assert off == body


def test_several_changes_are_one(manager: APIClient) -> None:
    store(OLD, granting(JO))
    moved = previewed(manager, {"delete_policy": OLD}, put(granting(JO)))
    assert (moved["gained"], moved["lost"]) == (TALLY_OF_NONE, TALLY_OF_NONE)
    assert moved["kept"][0]["through"] == [NEW]
    switched = previewed(manager, put(granting(JO, ADA)), {"set_state": {"urn": NEW, "state": "INACTIVE"}})
    assert switched["gained"] == TALLY_OF_NONE


def test_a_deny_takes_and_its_exception_keeps(manager: APIClient) -> None:
    store(OLD, granting(JO, ADA))
    deny = granting(effect="DENY", actors={"allUsers": True, "excludedUsers": [ADA]})
    body = previewed(manager, put(deny))
    assert [(item["actor"], item["entities"]) for item in body["lost"]["items"]] == [(JO, 2)]


def test_platform_privileges_make_no_pairs(manager: APIClient) -> None:
    document = document_of(type="PLATFORM", privileges=["MANAGE_TAGS"], actors={"users": [JO]})
    body = previewed(manager, put(document))
    assert body["platform"] == {"gained": [{"actor": JO, "privilege": "MANAGE_TAGS"}], "lost": []}
    assert body["gained"] == TALLY_OF_NONE


def test_a_policy_outside_of_its_time_gives_nothing(manager: APIClient) -> None:
    body = previewed(manager, put(granting(JO, validUntil="2020-01-01T00:00:00Z")))
    assert body["gained"] == TALLY_OF_NONE
    body = previewed(manager, put(granting(JO, validFrom="2126-01-01T00:00:00Z")))
    assert body["gained"] == TALLY_OF_NONE
    body = previewed(manager, put(granting(JO, validFrom="2020-01-01T00:00:00Z")))
    assert body["gained"]["pairs"] == 2


def test_owners_gain_what_they_own(manager: APIClient) -> None:
    tell(said(ORDERS, "ownership", {"owners": [{"owner": JO}]}))
    body = previewed(manager, put(granting(actors={"resourceOwners": True})))
    assert [(item["actor"], item["examples"]) for item in body["gained"]["items"]] == [(JO, [ORDERS])]


def test_members_gain_and_lose_what_their_groups_and_roles_have(manager: APIClient) -> None:
    store(OLD, granting(actors={"groups": [CREW], "roles": [READER]}))
    gained = previewed(manager, {"add_members": {"group": CREW, "members": [JO, ADA]}})
    assert [(item["actor"], item["entities"]) for item in gained["gained"]["items"]] == [(ADA, 2), (JO, 2)]
    groups.add_members(urn=CREW, members=[JO], by=authorizer.SYSTEM, channel="test")
    removed = {"remove_members": {"group": CREW, "members": [JO]}}
    assert [item["actor"] for item in previewed(manager, removed)["lost"]["items"]] == [JO]
    both = previewed(manager, removed, {"assign_roles": {"role": READER, "actors": [JO]}})
    assert (both["gained"], both["lost"]) == (TALLY_OF_NONE, TALLY_OF_NONE)
    store(OTHER, granting(JO))
    kept = previewed(manager, removed)
    assert kept["lost"] == TALLY_OF_NONE
    assert kept["kept"] == [{"actor": JO, "privilege": "EDIT_ENTITY_TAGS", "entities": 2, "through": [OTHER]}]
    assert Membership.objects.filter(user__urn=JO).exists()


def test_a_role_of_a_group_reaches_its_members(manager: APIClient) -> None:
    store(OLD, granting(actors={"roles": [READER]}))
    groups.add_members(urn=CREW, members=[JO], by=authorizer.SYSTEM, channel="test")
    body = previewed(manager, {"assign_roles": {"role": READER, "actors": [CREW, ADA]}})
    assert {item["actor"] for item in body["gained"]["items"]} == {JO, ADA}
    roles.grant(urn=READER, actors=[CREW, JO], by=authorizer.SYSTEM, channel="test")
    once = previewed(manager, {"unassign_roles": {"role": READER, "actors": [CREW]}})
    assert once["lost"] == TALLY_OF_NONE
    twice = previewed(manager, {"unassign_roles": {"role": READER, "actors": [CREW, JO]}})
    assert [item["actor"] for item in twice["lost"]["items"]] == [JO]


def test_leaving_a_group_that_is_denied_gives_access(manager: APIClient) -> None:
    groups.add_members(urn=CREW, members=[JO], by=authorizer.SYSTEM, channel="test")
    store(OLD, granting(JO))
    store(OTHER, granting(actors={"groups": [CREW]}, effect="DENY"))
    body = previewed(manager, {"remove_members": {"group": CREW, "members": [JO]}})
    assert [(item["actor"], item["entities"]) for item in body["gained"]["items"]] == [(JO, 2)]


def test_groups_own_for_their_members(manager: APIClient) -> None:
    tell(said(ORDERS, "ownership", {"owners": [{"owner": CREW}]}))
    store(OLD, granting(actors={"resourceOwners": True}))
    body = previewed(manager, {"add_members": {"group": CREW, "members": [JO]}})
    assert [(item["actor"], item["examples"]) for item in body["gained"]["items"]] == [(JO, [ORDERS])]


def test_suspended_people_lose_everything_and_get_it_back(manager: APIClient) -> None:
    store(OLD, granting(JO))
    lost = previewed(manager, {"suspend": JO}, privileges=["EDIT_ENTITY_TAGS"])
    assert [(item["actor"], item["entities"]) for item in lost["lost"]["items"]] == [(JO, 2)]
    same = previewed(manager, {"suspend": JO}, {"activate": JO})
    assert same["lost"] == TALLY_OF_NONE
    users.suspend(urn=JO, by=authorizer.SYSTEM, channel="test")
    back = previewed(manager, {"activate": JO}, privileges=["EDIT_ENTITY_TAGS"])
    assert [(item["actor"], item["entities"]) for item in back["gained"]["items"]] == [(JO, 2)]


def test_changes_of_people_need_what_they_need(client_of: Callable[..., APIClient], manager: APIClient) -> None:
    somebody = client_of("somebody", "MANAGE_USERS_AND_GROUPS")
    change = {"add_members": {"group": CREW, "members": [JO]}}
    assert previewed(somebody, change)["gained"] == TALLY_OF_NONE
    problem_of(client_of("nobody").post(PREVIEW, {"changes": [change]}), 403)
    problem_of(somebody.post(PREVIEW, {"changes": [{"assign_roles": {"role": READER, "actors": [JO]}}]}), 403)
    answer = manager.post(
        PREVIEW,
        {
            "changes": [
                {"add_members": {"group": CREW, "members": [JO, "urn:li:corpuser:none"]}},
                {"add_members": {"group": "urn:li:corpGroup:none", "members": []}},
                {"assign_roles": {"role": READER, "actors": ["urn:li:corpuser:none"]}},
                {"suspend": "urn:li:corpuser:none"},
            ]
        },
    )
    assert {pointer for _, pointer in pointers_of(answer)} == {
        "/changes/0/add_members/members/1",
        "/changes/1/add_members/group",
        "/changes/2/assign_roles/actors/0",
        "/changes/3/suspend",
    }


def test_the_answer_has_the_privileges_and_as_many_items_as_asked(manager: APIClient) -> None:
    document = granting(JO, ADA, privileges=["EDIT_ENTITY_TAGS", "EDIT_ENTITY_DOCS"])
    body = previewed(manager, put(document), privileges=["EDIT_ENTITY_DOCS"], limit=1)
    assert body["gained"]["pairs"] == 4
    assert list(body["gained"]["by_privilege"]) == ["EDIT_ENTITY_DOCS"]
    assert len(body["gained"]["items"]) == 1


def test_a_change_is_proved_where_it_is_asked_for(manager: APIClient) -> None:
    store(OLD, granting(JO))
    proof = previewed(manager, {"delete_policy": OLD}, proof=True)["proof"]
    assert proof["allows_more"] == {"verdict": "no", "example": None}
    assert proof["allows_less"]["verdict"] == "yes"
    assert proof["allows_less"]["example"]["actor"]["urn"] == JO
    moved = previewed(manager, {"delete_policy": OLD}, put(granting(JO)), proof=True)["proof"]
    assert {one["verdict"] for one in moved.values()} == {"no"}
    people = previewed(manager, {"suspend": JO}, proof=True)["proof"]
    assert {one["verdict"] for one in people.values()} == {"unknown"}
    assert "proof" not in previewed(manager, {"delete_policy": OLD})


def test_it_needs_what_the_changes_need(client_of: Callable[..., APIClient]) -> None:
    problem_of(client_of("somebody").post(PREVIEW, {"changes": [{"delete_policy": OLD}]}), 403)


def test_every_problem_has_the_place_of_its_change(manager: APIClient) -> None:
    answer = manager.post(
        PREVIEW,
        {
            "changes": [
                put(granting(JO, privileges=["NO_SUCH"])),
                {"delete_policy": OLD},
                {"set_state": {"urn": OLD, "state": "ACTIVE"}},
                {"put_policy": {"family": "none", "document": {}}},
            ]
        },
    )
    pointers = {pointer for _, pointer in pointers_of(answer)}
    assert pointers == {
        "/changes/0/put_policy/document/privileges/0",
        "/changes/1/delete_policy",
        "/changes/2/set_state/urn",
        "/changes/3/put_policy/family",
    }


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/changes"),
        ({"changes": []}, "/changes"),
        ({"changes": [{}]}, "/changes/0"),
        ({"changes": [{"delete_policy": OLD, "set_state": {"urn": OLD, "state": "ACTIVE"}}]}, "/changes/0"),
        ({"changes": [{"delete_policy": JO}]}, "/changes/0/delete_policy"),
        ({"changes": [{"delete_policy": OLD}] * 101}, "/changes"),
        ({"changes": [{"delete_policy": OLD}], "limit": 1001}, "/limit"),
        ({"changes": [{"paint": OLD}]}, "/changes/0/paint"),
    ],
)
def test_what_is_no_change_is_refused_with_its_place(manager: APIClient, body: dict[str, Any], pointer: str) -> None:
    assert pointer in {place for _, place in pointers_of(manager.post(PREVIEW, body))}
