"""The interop scenarios search and idp (clients.md 3.5): six of staff, twenty records, who may do what."""

from collections.abc import Callable

import pytest

from tests.doors.authzen.conftest import ACTION, RESOURCE, SUBJECT, Point, allow, where

pytestmark = pytest.mark.django_db

#: Name → role and department.
STAFF = {
    "alice": ("manager", "Sales"),
    "bob": ("employee", "Sales"),
    "carol": ("manager", "Legal"),
    "dan": ("employee", "Legal"),
    "erin": ("manager", "Finance"),
    "felix": ("employee", "Finance"),
}
DEPARTMENTS = ("Sales", "Legal", "Finance", "Accounting")
#: Id → department and owner.
RECORDS = {
    str(101 + place): (DEPARTMENTS[place % len(DEPARTMENTS)], list(STAFF)[place * 5 % len(STAFF)])
    for place in range(20)
}
ACTIONS = {"view": "RECORD_VIEW", "edit": "RECORD_EDIT", "delete": "RECORD_DELETE"}
SAME = ("PROPERTY.department", "EQUALS", "${ACTOR.PROPERTY.department}")
MANAGER = ("ACTOR.PROPERTY.role", "EQUALS", "manager")


def may(name, action, key):
    """Say what the table says."""
    (role, department), (belongs, owner) = STAFF[name], RECORDS[key]
    is_same = department == belongs
    answers = {
        "view": owner == name or is_same or role == "manager",
        "edit": owner == name or (is_same and role == "manager"),
        "delete": owner == name,
    }
    return answers[action]


@pytest.fixture
def office(point: Callable[..., Point]) -> Point:
    """The staff, the records and the rules as policies."""
    people = {
        name: {"customProperties": {"role": role, "department": department}}
        for name, (role, department) in STAFF.items()
    }
    found = point(ACTIONS, people)
    departments = {key: {"department": department} for key, (department, _) in RECORDS.items()}
    found.tell("record", departments, {key: owner for key, (_, owner) in RECORDS.items()})
    records = ("TYPE", "EQUALS", "record")
    allow(ACTIONS.values(), where(records), resourceOwners=True)
    allow(["RECORD_VIEW"], where(records, SAME))
    allow(["RECORD_VIEW"], where(records, MANAGER))
    allow(["RECORD_EDIT"], where(records, SAME, MANAGER))
    return found


def subject(name):
    return {"type": "user", "id": name}


def record(key):
    return {"type": "record", "id": key}


def test_subjects(office):
    """60 vectors."""
    for key in RECORDS:
        for action in ACTIONS:
            found = office.finds(SUBJECT, subject={"type": "user"}, action={"name": action}, resource=record(key))
            expected = [name for name in STAFF if may(name, action, key)]
            assert [one["id"] for one in found] == expected, (action, key)


def test_resources(office):
    """18 vectors, and the 6 of idp among them."""
    for name in STAFF:
        for action in ACTIONS:
            asked = {"subject": subject(name), "action": {"name": action}, "resource": {"type": "record"}}
            expected = [record(key) for key in RECORDS if may(name, action, key)]
            assert office.finds(RESOURCE, **asked) == expected, (name, action)
            total = office.caller.post(RESOURCE, asked).json()["page"]["total"]
            assert total == len(expected)


def test_actions(office):
    """120 vectors."""
    for name in STAFF:
        for key in RECORDS:
            found = office.finds(ACTION, limit=1000, subject=subject(name), resource=record(key))
            expected = [action for action in sorted(ACTIONS) if may(name, action, key)]
            assert [one["name"] for one in found if one["name"] in ACTIONS] == expected, (name, key)


def test_evaluations_say_the_same(office):
    asked = [(name, action, key) for name in STAFF for action in ACTIONS for key in RECORDS]
    questions = [(subject(name), {"name": action}, record(key)) for name, action, key in asked]
    assert office.decides_all(questions) == [may(*one) for one in asked]
