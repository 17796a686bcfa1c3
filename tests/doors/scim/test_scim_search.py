"""Presence of every attribute, and every order, are those of the resources that are shown."""

from typing import Any

import pytest

from policies.identity.scim import stored_attributes
from policies.identity.services import groups
from policies.models import User
from policies.pdp import authorizer
from tests.doors.scim.conftest import ENTERPRISE, Connector

pytestmark = pytest.mark.django_db

#: A body for each user; together they have every attribute that can be stored.
PEOPLE: dict[str, dict[str, Any]] = {
    "cy": {},
    "ada": {
        "name": {"formatted": "Ada L", "givenName": "Ada", "familyName": "Lovelace", "middleName": "K"},
        "displayName": "ada",
        "title": "Countess",
        "emails": [{"value": "ada@x.example", "type": "home", "primary": True, "display": "Ada"}],
        "externalId": "1",
    },
    "Bob": {
        "nickName": "bobby",
        "profileUrl": "https://x.example/bob",
        "userType": "Temp",
        "preferredLanguage": "de",
        "locale": "de-DE",
        "timezone": "Europe/Berlin",
        "active": False,
        "displayName": "Zed",
        "name": {"honorificPrefix": "Dr", "honorificSuffix": "Jr"},
        "phoneNumbers": [{"value": "+49 1", "type": "work", "display": "desk", "primary": True}],
        "addresses": [
            {
                "formatted": "x",
                "streetAddress": "1 Way",
                "locality": "Ulm",
                "region": "BW",
                "postalCode": "1",
                "country": "DE",
                "type": "work",
                "primary": True,
            }
        ],
    },
    "dee": {
        ENTERPRISE: {
            "employeeNumber": "7",
            "costCenter": "c",
            "organization": "o",
            "division": "d",
            "department": "Sales",
            "manager": {"value": "9", "displayName": "Max"},
        },
        "displayName": "",
        "name": {"givenName": ""},
        "phoneNumbers": [],
    },
}


OF_ENTERPRISE = {"employeenumber", "costcenter", "organization", "division", "department", "manager"}


@pytest.fixture
def people(connector: Connector) -> dict[str, str]:
    ids = {name: connector.make(name, **body) for name, body in PEOPLE.items()}
    connector.make_group("With", ids["ada"])
    connector.make_group("without")
    groups.create(name="By hand", identifier="by-hand", by=authorizer.SYSTEM, channel="test")
    return ids


def find_values(resource: Any, path: str) -> list[Any]:
    """Return the values of a path in lower case in a resource."""
    values: list[Any] = [{**resource, **resource.get(ENTERPRISE, {})}]
    for part in path.split("."):
        values = [one for value in values for one in (value if isinstance(value, list) else [value])]
        values = [{key.lower(): item for key, item in value.items()}.get(part) for value in values]
        values = [value for value in values if value is not None]
    return [value for value in values if value not in ("", [], {})]


@pytest.mark.parametrize("kind", ["User", "Group"])
def test_presence_is_what_resources_show(connector: Connector, people: dict[str, str], kind: str) -> None:
    path, key = ("/Users", "userName") if kind == "User" else ("/Groups", "displayName")
    resources = connector.told("GET", path)["Resources"]
    wrong = {}
    for name in sorted(stored_attributes._PRESENCE[kind]):
        has_it = sorted(one[key] for one in resources if find_values(one, name))
        is_extension = kind == "User" and name.partition(".")[0] in OF_ENTERPRISE
        found = sorted(connector.names(path, key, filter=f"{f'{ENTERPRISE}:' if is_extension else ''}{name} pr"))
        # A provider that leaves `active` out finds it all the same, as it always did.
        if found != has_it and name != "active":
            wrong[name] = (found, has_it)
    assert wrong == {}
    assert sum(1 for name in stored_attributes._PRESENCE[kind] if "." not in name) > (20 if kind == "User" else 5)


def test_presence_with_its_schema_and_in_brackets(connector: Connector, people: dict[str, str]) -> None:
    assert connector.names(filter=f"{ENTERPRISE}:department pr") == ["dee"]
    assert connector.names(filter="emails[value pr]") == ["ada"]
    assert connector.names(filter="not (title pr) and nickName pr") == ["Bob"]
    assert connector.refused("GET", "/Users", filter="password pr") == (400, "invalidFilter")


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("userName", ["ada", "Bob", "cy", "dee"]),
        ("displayName", ["ada", "Bob", "cy", "dee"]),
        ("name.familyName", ["ada", "cy", "Bob", "dee"]),
        ("nickName", ["Bob", "cy", "ada", "dee"]),
        ("emails", ["ada", "cy", "Bob", "dee"]),
        ("phoneNumbers.value", ["Bob", "cy", "ada", "dee"]),
        (f"{ENTERPRISE}:department", ["dee", "cy", "ada", "Bob"]),
        ("meta.created", ["cy", "ada", "Bob", "dee"]),
        ("meta.lastModified", ["cy", "ada", "Bob", "dee"]),
        ("externalId", ["ada", "cy", "Bob", "dee"]),
    ],
)
def test_order(connector: Connector, people: dict[str, str], path: str, names: list[str]) -> None:
    assert connector.names(sortBy=path) == names
    # A page of it, and the other way round: those without a value come first then.
    assert connector.names(sortBy=path, startIndex=2, count=2) == names[1:3]
    lacking = {
        name
        for name in PEOPLE
        if not find_values(connector.told("GET", f"/Users/{people[name]}"), path.rpartition(":")[2].lower())
    }
    descending = connector.names(sortBy=path, sortOrder="descending")
    assert set(descending[: len(lacking)]) == lacking
    assert descending[len(lacking) :] == [name for name in reversed(names) if name not in lacking]


def test_order_of_groups_and_of_ids(connector: Connector, people: dict[str, str]) -> None:
    assert connector.names("/Groups", "displayName", sortBy="displayName") == ["By hand", "With", "without"]
    ids = [one["id"] for one in connector.told("GET", "/Users", sortBy="id")["Resources"]]
    assert ids == sorted(map(str, User.objects.filter(username__in=PEOPLE).values_list("scim_id", flat=True)))
