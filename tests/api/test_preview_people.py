"""The preview over resources beside the catalog: users, groups, roles and policies, as `what` has them."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from policies.authoring.services import policies, policy_drafts
from policies.identity.services import groups, roles, users
from policies.models import GroupProfile, Policy, Role, User
from policies.pdp import authorizer
from tests.api.conftest import document_of
from tests.api.test_preview import previewed
from tests.catalog.conftest import said, tell

#: Nobody has it on themselves by an implicit policy.
EDIT = "EDIT_ENTITY_TAGS"
JO, ADA = "urn:li:corpuser:jo", "urn:li:corpuser:ada"
POLICY, CREW = "urn:li:dataHubPolicy:edits", "urn:li:corpGroup:crew"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
BY_SYSTEM: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": "test"}
TABLES = {"corpuser": User, "corpGroup": GroupProfile, "dataHubRole": Role, "dataHubPolicy": Policy}
ACTIVATE = {"set_state": {"urn": POLICY, "state": "ACTIVE"}}


@pytest.fixture(autouse=True)
def _world(client_of: Callable[..., APIClient], db: None) -> None:
    client_of("jo")
    client_of("ada")
    groups.create(name="Crew", identifier="crew", **BY_SYSTEM)
    roles.create(name="Reader", identifier="Reader", **BY_SYSTEM)
    tell(
        said(ORDERS, "datasetProperties", {"name": "orders"}),
        said(JO, "globalTags", {"tags": [{"tag": "urn:li:tag:a"}]}),
    )


def store(*criteria: dict[str, Any], **actors: Any) -> None:
    """Store an inactive policy that gives EDIT on what passes these criteria, to Jo unless others are named."""
    document = document_of(
        state="INACTIVE",
        privileges=[EDIT],
        actors=actors or {"users": [JO]},
        resources={"filter": {"criteria": list(criteria)}},
    )
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), urn=POLICY, **BY_SYSTEM)


def list_resources(client: APIClient, actor: str = JO) -> list[str]:
    """Return the resources of an actor as `what` lists them."""
    answer = client.post("/api/v1/what", {"actor": actor, "privilege": EDIT, "page_size": 100})
    assert answer.status_code == 200, answer.content
    return [row["urn"] for row in answer.json()["results"]]


@pytest.mark.parametrize(
    "criteria",
    [
        [],
        *([{"field": "TYPE", "values": [type_]}] for type_ in TABLES),
        [{"field": "TYPE", "values": ["dataset", "corpGroup"]}],
        [{"field": "TYPE", "values": ["dataset"], "condition": "NOT_EQUALS"}],
        [{"field": "URN", "values": [CREW, ORDERS]}],
        [{"field": "URN", "values": ["urn:li:corp"], "condition": "STARTS_WITH"}],
        [{"field": "TAG", "values": ["urn:li:tag:a"]}],
        [{"field": "TAG", "values": ["urn:li:tag:a"], "condition": "NOT_EQUALS"}],
    ],
    ids=str,
)
def test_a_policy_gives_and_takes_what_is_listed(
    client_of: Callable[..., APIClient], criteria: list[dict[str, Any]]
) -> None:
    manager = client_of("manager", "MANAGE_POLICIES", "CHECK_ACCESS")
    store(*criteria)
    before = previewed(manager, ACTIVATE)
    policies.set_state(urn=POLICY, state="ACTIVE", **BY_SYSTEM)
    listed = list_resources(manager)
    after = previewed(manager, {"delete_policy": POLICY})
    for body, side in ((before, "gained"), (after, "lost")):
        assert body["is_exact"]
        assert (body[side]["pairs"], body[side]["people"], body[side]["entities"]) == (len(listed), 1, len(listed))
        assert set(body[side]["items"][0]["examples"]) <= set(listed)
    assert listed


@pytest.mark.parametrize(("type_", "model"), TABLES.items())
def test_every_row_of_a_type_counts(manager: APIClient, type_: str, model: type[Any]) -> None:
    store({"field": "TYPE", "values": [type_]})
    assert previewed(manager, ACTIVATE)["gained"]["entities"] == model.objects.count()


def test_who_is_removed_does_not_count(manager: APIClient) -> None:
    store({"field": "TYPE", "values": ["corpuser", "corpGroup"]})
    number = previewed(manager, ACTIVATE)["gained"]["entities"]
    users.remove(urn=ADA, **BY_SYSTEM)
    groups.remove(urn=CREW, **BY_SYSTEM)
    assert previewed(manager, ACTIVATE)["gained"]["entities"] == number - 2


def test_members_of_a_group_count_as_entities_too(manager: APIClient) -> None:
    store({"field": "GROUP_MEMBERSHIP", "values": [CREW]})
    policies.set_state(urn=POLICY, state="ACTIVE", **BY_SYSTEM)
    joined = previewed(manager, {"add_members": {"group": CREW, "members": [ADA, JO]}})
    assert [(item["actor"], item["entities"]) for item in joined["gained"]["items"]] == [(JO, 2)]
    groups.add_members(urn=CREW, members=[ADA], **BY_SYSTEM)
    left = previewed(manager, {"remove_members": {"group": CREW, "members": [ADA]}})
    assert left["lost"]["items"] == [{"actor": JO, "privilege": EDIT, "entities": 1, "examples": [ADA]}]


def test_what_people_gain_includes_people(manager: APIClient) -> None:
    store({"field": "TYPE", "values": ["corpuser"]}, groups=[CREW])
    policies.set_state(urn=POLICY, state="ACTIVE", **BY_SYSTEM)
    body = previewed(manager, {"add_members": {"group": CREW, "members": [ADA]}})
    assert [(item["actor"], item["entities"]) for item in body["gained"]["items"]] == [(ADA, User.objects.count())]
