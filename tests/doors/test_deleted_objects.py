"""An object that a Datazone deny names by its id is deleted at no door, nor the project that its pattern names."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from catalog.models import Entity
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import roles, users
from policies.models import Role, Tombstone, User
from policies.pdp import authorizer
from tests.doors.conftest import DATASET, DOOR, ROOT, Caller

pytestmark = pytest.mark.django_db

POLICY, READING = "urn:li:dataHubPolicy:narrowing", "urn:li:dataHubPolicy:reading"
READERS, HELPER = "urn:li:dataHubRole:readers", "urn:li:dataHubRole:helper"
JO, LEAVER = "urn:li:corpuser:jo", "urn:li:corpuser:leaver"
DATASET_ID, PROJECT_ID, OTHER_ID = "a" * 24, "b" * 24, "c" * 24
PROJECT = f"urn:li:project:{PROJECT_ID}"

Door = Callable[[Caller, str], Any]


def ask_by_graphql(field: str) -> Door:
    query = f"mutation ($urn: String!) {{ {field}(urn: $urn) }}"
    return lambda root, urn: root.post("/api/graphql", {"query": query, "variables": {"urn": urn}})


def delete_by_api(room: str) -> Door:
    return lambda root, urn: root.client.delete(f"/api/v1/{room}/{quote(urn, safe='')}/")


def delete_by_openapi(root: Caller, urn: str) -> Any:
    return root.client.delete(f"/openapi/v3/entity/{urn.split(':')[2].lower()}/{quote(urn, safe='')}")


def delete_by_rest(root: Caller, urn: str) -> Any:
    return root.post("/entities?action=delete", {"urn": urn})


def delete_on_page(room: str) -> Door:
    def delete(_: Caller, urn: str) -> Any:
        client = Client()
        client.force_login(User.objects.get(urn=ROOT))
        return client.post(f"/settings/{room}/{quote(urn, safe='')}", follow=True)

    return delete


DOORS: dict[str, tuple[str, dict[str, Door]]] = {
    "dataset": (
        DATASET,
        {"API": delete_by_api("entities"), "REST": delete_by_rest, "OpenAPI": delete_by_openapi},
    ),
    "project": (PROJECT, {"API": delete_by_api("entities")}),
    "user": (
        LEAVER,
        {
            "API": delete_by_api("users"),
            "REST": delete_by_rest,
            "OpenAPI": delete_by_openapi,
            "GraphQL": ask_by_graphql("removeUser"),
            "page": delete_on_page("identities/users/remove"),
        },
    ),
    "role": (
        HELPER,
        {
            "API": delete_by_api("roles"),
            "REST": delete_by_rest,
            "OpenAPI": delete_by_openapi,
            "GraphQL": ask_by_graphql("deleteRole"),
            "page": delete_on_page("permissions/roles/delete"),
        },
    ),
}
#: Patterns of a deny that name the object of each kind, in either case of letters.
NAMING = {
    "dataset": ("dataset:{id}", "project:" + OTHER_ID + ":dataset:{id}"),
    "project": ("project:{id}", "project:{id}:*", "project:{id}:dataset:*", "project:{id}:dataset:" + OTHER_ID),
    "user": ("user:{id}",),
    "role": ("role:{id}",),
}


def store(urn: str, effect: str, *resources: str, branch: str | None = None) -> None:
    statements = [
        {"resource": resource, "actions": ["*:*"], "effect": effect} | ({"branch": branch} if branch else {})
        for resource in resources
    ]
    document = {"name": urn, "statements": statements, "roles": [READERS]}
    draft = policy_drafts.PolicyInput("datazone", document)
    policies.put_many(drafts={urn: draft}, by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def office(root: Caller) -> Caller:
    """A dataset in a project, somebody who leaves, a role, and a reader who may do anything with all of them."""
    by: dict[str, Any] = {"by": authorizer.SYSTEM, "channel": DOOR}
    for identifier in ("readers", "helper"):
        roles.create(name=identifier, identifier=identifier, **by)
    for username in ("jo", "leaver"):
        users.create(username=username, **by)
    roles.grant(urn=READERS, actors=[JO], **by)
    Entity.objects.create(urn=PROJECT, type="project", object_id=PROJECT_ID)
    Entity.objects.create(urn=DATASET, type="dataset", object_id=DATASET_ID, project=PROJECT_ID)
    store(READING, "allow", "*")
    return root


def object_id_of(kind: str) -> str:
    ids = {"dataset": DATASET_ID, "project": PROJECT_ID}
    if kind == "user":
        return User.objects.get(urn=LEAVER).object_id
    return Role.objects.get(urn=HELPER).object_id if kind == "role" else ids[kind]


def is_refused(answer: Any) -> bool:
    text = answer.content.decode()
    return POLICY in text and (answer.status_code in (200, 409))


@pytest.mark.parametrize("kind", DOORS)
def test_what_a_deny_names_by_its_object_id_is_deleted_at_no_door(office: Caller, kind: str) -> None:
    urn, doors = DOORS[kind]
    for number, pattern in enumerate(NAMING[kind]):
        identifier = object_id_of(kind)
        store(POLICY, "deny", pattern.format(id=identifier.upper() if number % 2 else identifier))
        for name, delete in doors.items():
            answer = delete(office, urn)
            assert is_refused(answer), (name, pattern, answer.content[:400])
    assert not Tombstone.objects.exists()
    assert object_id_of(kind)
    # What names none of them stops nobody.
    store(POLICY, "deny", "*", "dataset", "dataset:*", f"dataset:{OTHER_ID}", f"view:{object_id_of(kind)}", "user:*")
    answer = doors["API"](office, urn)
    assert answer.status_code == 204, answer.content


def test_a_deny_stays_in_force_because_its_object_stays(office: Caller) -> None:
    def ask() -> str:
        body = {"actor": JO, "privilege": "dataset:read", "resource": {"urn": DATASET}}
        return str(office.post("/api/v1/authorize", body).json()["decision"])

    assert ask() == "ALLOW"
    for pattern, urn in ((f"dataset:{DATASET_ID}", DATASET), (f"project:{PROJECT_ID}:*", PROJECT)):
        store(POLICY, "deny", pattern)
        assert ask() == "DENY"
        assert delete_by_api("entities")(office, urn).status_code == 409
        assert ask() == "DENY"


def test_a_branch_names_the_object_too(office: Caller) -> None:
    store(POLICY, "deny", f"dataset:{DATASET_ID}", branch="draft")
    assert is_refused(delete_by_api("entities")(office, DATASET))


def test_what_names_an_object_in_an_allow_does_not_keep_it(office: Caller) -> None:
    store(POLICY, "allow", f"dataset:{DATASET_ID}", f"project:{PROJECT_ID}:*")
    for urn in (DATASET, PROJECT):
        assert delete_by_api("entities")(office, urn).status_code == 204
