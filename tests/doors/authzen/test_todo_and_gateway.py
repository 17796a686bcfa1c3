"""The interop scenarios todo and gateway (clients.md 3.5): five people, what is theirs, and routes."""

from collections.abc import Callable
from itertools import product

import pytest

from policies.identity.services import roles
from policies.pdp import authorizer
from tests.doors.authzen.conftest import Point, allow, where
from tests.doors.conftest import DOOR

pytestmark = pytest.mark.django_db

#: Name → opaque id, address and roles.
PEOPLE = {
    "rick": ("CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", ["admin", "evil_genius"]),
    "morty": ("CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", ["editor"]),
    "summer": ("CiRmZDI2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", ["editor"]),
    "beth": ("CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", ["viewer"]),
    "jerry": ("CiRmZDQ2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs", ["viewer"]),
}
MAIL = {name: f"{name}@the-citadel.com" for name in PEOPLE}

TODO = {
    f"can_{verb}": f"CAN_{verb.upper()}"
    for verb in ("read_user", "read_todos", "create_todo", "update_todo", "delete_todo")
}
ROUTES = {method: f"ROUTE_{method}" for method in ("GET", "POST", "PUT", "DELETE")}
OWNED = ("PROPERTY.ownerID", "EQUALS", "${ACTOR.PROPERTY.email}")


def role(name):
    return f"urn:li:dataHubRole:{name}"


@pytest.fixture
def citadel(point: Callable[..., Point]) -> Point:
    """The people with their roles, and both scenarios as policies."""
    people = {PEOPLE[name][0]: {"email": MAIL[name]} for name in PEOPLE}
    found = point(TODO | ROUTES, people)
    for name in ("admin", "evil_genius", "editor", "viewer"):
        holders = [f"urn:li:corpuser:{key}" for key, held in PEOPLE.values() if name in held]
        urn = role(name)
        if name in ("admin", "editor"):
            # Such roles come with the installation under other letters.
            urn = role(f"citadel-{name}")
        roles.create(identifier=urn.rpartition(":")[2], name=name, description="", by=authorizer.SYSTEM, channel=DOOR)
        roles.grant(urn=urn, actors=holders, by=authorizer.SYSTEM, channel=DOOR)
    admin, editor, genius = role("citadel-admin"), role("citadel-editor"), role("evil_genius")
    todo, users = ("TYPE", "EQUALS", "todo"), ("TYPE", "EQUALS", "user")
    allow(["CAN_READ_USER"], where(users))
    allow(["CAN_READ_TODOS"], where(todo))
    allow(["CAN_CREATE_TODO"], where(todo), roles=[admin, editor])
    allow(["CAN_UPDATE_TODO"], where(todo), roles=[genius])
    allow(["CAN_DELETE_TODO"], where(todo), roles=[admin])
    allow(["CAN_UPDATE_TODO", "CAN_DELETE_TODO"], where(todo, OWNED), roles=[editor])
    users_route, todos_route, one_route = (
        ("URN", "EQUALS", f"urn:li:route:{path}") for path in ("/users/{userId}", "/todos", "/todos/{todoId}")
    )
    allow(["ROUTE_GET"], where(users_route))
    allow(["ROUTE_GET"], where(todos_route))
    allow(["ROUTE_POST"], where(todos_route), roles=[admin, editor])
    allow(["ROUTE_PUT"], where(one_route), roles=[genius, editor])
    allow(["ROUTE_DELETE"], where(one_route), roles=[admin, editor])
    return found


def todo_vectors():
    """Give 40 questions with the answers that the table gives."""
    for name, (key, held) in PEOPLE.items():
        subject = {"type": "user", "id": key}
        other = "summer" if name == "morty" else "morty"
        for mail in (MAIL[name], MAIL[other]):
            yield (subject, {"name": "can_read_user"}, {"type": "user", "id": mail}), True
        yield (subject, {"name": "can_read_todos"}, {"type": "todo", "id": "todo-1"}), True
        may_create = "admin" in held or "editor" in held
        yield (subject, {"name": "can_create_todo"}, {"type": "todo", "id": "todo-1"}), may_create
        for verb, wide in (("update", "evil_genius"), ("delete", "admin")):
            for owner in (name, other):
                todo = {"type": "todo", "id": "7240d0db-8ff0", "properties": {"ownerID": MAIL[owner]}}
                may = wide in held or ("editor" in held and owner == name)
                yield (subject, {"name": f"can_{verb}_todo"}, todo), may


def gateway_vectors():
    """Give 25 questions with the answers that the table gives."""
    routes = [
        ("GET", "/users/{userId}", None),
        ("GET", "/todos", None),
        ("POST", "/todos", {"admin", "editor"}),
        ("PUT", "/todos/{todoId}", {"evil_genius", "editor"}),
        ("DELETE", "/todos/{todoId}", {"admin", "editor"}),
    ]
    for (key, held), (method, path, wanted) in product(PEOPLE.values(), routes):
        subject, route = {"type": "identity", "id": key}, {"type": "route", "id": path}
        yield (subject, {"name": method}, route), wanted is None or not wanted.isdisjoint(held)


@pytest.mark.parametrize(("vectors", "count"), [(todo_vectors, 40), (gateway_vectors, 25)])
def test_every_vector(citadel, vectors, count):
    asked, expected = zip(*vectors(), strict=True)
    assert len(asked) == count
    assert not [one for one, answer in zip(asked, expected, strict=True) if citadel.decides(*one) is not answer]
    assert citadel.decides_all(asked) == list(expected)
    assert set(expected) == {True, False}


def test_the_address_is_the_one_that_is_stored_unless_the_request_says_another(citadel):
    key = PEOPLE["morty"][0]
    todo = {"type": "todo", "id": "1", "properties": {"ownerID": MAIL["rick"]}}
    update = {"name": "can_update_todo"}
    assert not citadel.decides({"type": "user", "id": key}, update, todo)
    assert citadel.decides({"type": "user", "id": key, "properties": {"email": MAIL["rick"]}}, update, todo)
    # Nothing said of either is nothing in common.
    nobody = {"type": "user", "id": key, "properties": {"email": None}}
    assert not citadel.decides(nobody, update, {"type": "todo", "id": "1", "properties": {"ownerID": None}})
    assert not citadel.decides(nobody, update, {"type": "todo", "id": "1", "properties": {"ownerID": ""}})


@pytest.mark.parametrize("name", list(PEOPLE))
def test_a_batch_about_one_todo(citadel, name):
    """The three evaluations of the scenario: one resource, several actions."""
    key, held = PEOPLE[name]
    todo = {"type": "todo", "id": "1", "properties": {"ownerID": MAIL["morty"]}}
    asked = [
        ({"type": "user", "id": key}, {"name": f"can_{verb}"}, todo)
        for verb in ("read_todos", "update_todo", "delete_todo")
    ]
    owns = name == "morty"
    assert citadel.decides_all(asked) == [True, "evil_genius" in held or owns, "admin" in held or owns]
