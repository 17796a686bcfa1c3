"""The fixture of the AuthZEN certification (clients.md 3.3), at all its levels."""

from collections.abc import Callable

import pytest

from tests.doors.authzen.conftest import ACTION, EVALUATIONS, RESOURCE, SUBJECT, Point, allow, where

pytestmark = pytest.mark.django_db

ACTIONS = {"read": "RECORD_READ", "write": "RECORD_WRITE", "delete": "RECORD_DELETE"}
STATUS = {"record-1": "active", "record-2": "archived"}
ROLES = {"alice": "", "bob": "admin"}


def user(name, **properties):
    return {"type": "user", "id": name} | ({"properties": properties} if properties else {})


def record(key, **properties):
    return {"type": "record", "id": key} | ({"properties": properties} if properties else {})


def action(name, **properties):
    return {"name": name} | ({"properties": properties} if properties else {})


def expected(subject, named, resource) -> bool:
    """Say what the rules of the fixture say."""
    name, key = subject["id"], resource["id"]
    status = {"status": STATUS.get(key)} | resource.get("properties", {})
    role = {"role": ROLES.get(name)} | subject.get("properties", {})
    if named["name"] == "read":
        return name in ("alice", "bob") and key == "record-1"
    if named["name"] == "write":
        is_archived = status["status"] == "archived"
        return (name == "alice" and not is_archived) or (role["role"] == "admin" and is_archived)
    if named["name"] == "delete":
        return name == "alice" and key == "record-1" and named.get("properties", {}).get("soft") is True
    return False


@pytest.fixture
def pdp(point: Callable[..., Point]) -> Point:
    """The fixture: two people, two records, the rules as policies."""
    found = point(ACTIONS, {name: {"customProperties": {"role": role}} for name, role in ROLES.items()})
    found.tell("record", {key: {"status": status} for key, status in STATUS.items()}, {})
    alice, bob = "urn:li:corpuser:alice", "urn:li:corpuser:bob"
    records, first = ("TYPE", "EQUALS", "record"), ("URN", "EQUALS", "urn:li:record:record-1")
    allow(["RECORD_READ"], where(first), users=[alice, bob])
    allow(["RECORD_WRITE"], where(records, ("PROPERTY.status", "NOT_EQUALS", "archived")), users=[alice])
    archived = ("PROPERTY.status", "EQUALS", "archived")
    allow(["RECORD_WRITE"], where(records, archived, ("ACTOR.PROPERTY.role", "EQUALS", "admin")))
    allow(["RECORD_DELETE"], where(first, ("ACTION.PROPERTY.soft", "EQUALS", "true")), users=[alice])
    return found


CORE = [
    (user(name), action(verb), record(key))
    for name in ("alice", "bob", "carol")
    for verb in ("read", "write", "delete", "fly")
    for key in ("record-1", "record-2", "record-3")
]
SAID = [
    *((user("alice"), action("delete", soft=soft), record("record-1")) for soft in (True, False, "yes", None, 1)),
    *((user("bob"), action("delete", soft=True), record(key)) for key in STATUS),
    *((user("alice"), action("write"), record("record-1", status=status)) for status in ("archived", "active", "x")),
    *((user("bob"), action("write"), record("record-1", status=status)) for status in ("archived", "active")),
    (user("alice"), action("write"), record("record-2", status="active")),
    (user("alice", role="admin"), action("write"), record("record-2")),
    (user("bob", role="reader"), action("write"), record("record-2")),
    (user("bob", role=None), action("write"), record("record-2")),
    (user("carol", role="admin"), action("write"), record("record-2")),
    (user("carol", role="admin"), action("write"), record("record-9", status="archived")),
    (user("alice", soft=True), action("delete"), record("record-1", soft=True)),
]


def test_evaluation_core_and_properties(pdp):
    wrong = [asked for asked in CORE + SAID if pdp.decides(*asked) is not expected(*asked)]
    assert not wrong
    assert [expected(*asked) for asked in SAID].count(True) == 8


def test_batch_core_and_properties(pdp):
    assert pdp.decides_all(CORE + SAID) == [expected(*asked) for asked in CORE + SAID]


def test_an_item_replaces_a_default_with_its_properties(pdp):
    body = {
        "subject": user("alice"),
        "action": action("delete", soft=True),
        "resource": record("record-1"),
        "evaluations": [{}, {"action": action("delete")}, {"resource": record("record-2")}],
    }
    answer = pdp.caller.post(EVALUATIONS, body).json()
    assert [one["decision"] for one in answer["evaluations"]] == [True, False, False]


SUBJECTS = [
    (action("read"), record("record-1"), ["alice", "bob"]),
    (action("read"), record("record-2"), []),
    (action("write"), record("record-1"), ["alice"]),
    (action("write"), record("record-2"), ["bob"]),
    (action("write"), record("record-1", status="archived"), ["bob"]),
    (action("delete", soft=True), record("record-1"), ["alice"]),
    (action("delete"), record("record-1"), []),
]


def test_search_subject(pdp):
    for asked, resource, names in SUBJECTS:
        found = pdp.finds(SUBJECT, subject={"type": "user"}, action=asked, resource=resource)
        assert [one["id"] for one in found] == names, (asked, resource)


RESOURCES = [
    (user("alice"), action("read"), ["record-1"]),
    (user("alice"), action("write"), ["record-1"]),
    (user("bob"), action("write"), ["record-2"]),
    (user("bob", role="reader"), action("write"), []),
    (user("alice", role="admin"), action("write"), ["record-1", "record-2"]),
    (user("alice"), action("delete", soft=True), ["record-1"]),
    (user("alice"), action("delete", soft=False), []),
    (user("alice"), action("delete"), []),
    (user("carol"), action("read"), []),
]


def test_search_resource(pdp):
    for subject, asked, keys in RESOURCES:
        found = pdp.finds(RESOURCE, limit=1, subject=subject, action=asked, resource={"type": "record"})
        assert [one["id"] for one in found] == keys, (subject, asked)
        for key in STATUS:
            assert pdp.decides(subject, asked, record(key)) is (key in keys)


ACTIONS_FOUND = [
    (user("alice"), record("record-1"), ["read", "write"]),
    (user("bob"), record("record-1"), ["read"]),
    (user("alice"), record("record-2"), []),
    (user("bob"), record("record-2"), ["write"]),
    (user("bob"), record("record-1", status="archived"), ["read", "write"]),
    (user("bob", role="x"), record("record-2"), []),
]


def test_search_action(pdp):
    for subject, resource, names in ACTIONS_FOUND:
        found = [one["name"] for one in pdp.finds(ACTION, limit=1000, subject=subject, resource=resource)]
        assert [one for one in found if one in ACTIONS] == names, (subject, resource)


ODD = [
    {"status": {"archived": [1, 2, {}]}},
    {"status": ["archived", "active"]},
    {"status": "\x00\ud800"},
    {"status": "x" * 100_000},
    {"status": 10**400},
    {"\x00": "archived", "": "archived", " status": "archived", "x" * 300: "archived"},
    {"status": 1e308},
]


@pytest.mark.parametrize("properties", ODD)
def test_odd_properties_are_values_like_others(pdp, properties):
    """Alice may write unless `archived` is among the values; nothing of this is an error."""
    resource = record("record-1", **properties)
    assert pdp.decides(user("alice"), action("write"), resource) is (properties.get("status") != ["archived", "active"])
    assert pdp.finds(SUBJECT, subject={"type": "user"}, action=action("read"), resource=resource)
    bob = user("bob", role=properties.get("status"))
    assert pdp.finds(RESOURCE, subject=bob, action=action("write"), resource={"type": "record"}) == []


def test_a_search_costs_the_same_number_of_queries_whatever_it_finds(pdp, django_assert_max_num_queries):
    body = {"subject": user("alice"), "action": action("write"), "resource": {"type": "record"}}
    pdp.tell("record", {f"more-{number:03}": {"status": "active"} for number in range(150)}, {})
    with django_assert_max_num_queries(20):
        assert len(pdp.caller.post(RESOURCE, {**body, "page": {"limit": 1000}}).json()["results"]) == 151
