"""What giving or taking roles means stands beside the button: whom and what they reach now, and would reach."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity
from policies.authoring.services import policies
from policies.identity.queries import users_groups_roles
from policies.identity.services import roles
from policies.pdp import actor_resolution
from tests.web.conftest import DOOR
from tests.web.people.conftest import SYSTEM
from tests.web.people.table import GROUPS, ROLES, USERS

OTTO, STELLA, ADA = (f"urn:li:corpuser:{name}" for name in ("otto", "stella", "ada"))
PART = {"HX-Request": "true"}


@pytest.fixture
def carried(crew, write):
    """Let two roles carry something: editors three datasets and one platform privilege, lookers one dashboard."""
    names = {"urn:li:dataset:a": "Apples", "urn:li:dataset:b": "Beans", "urn:li:dataset:c": "Corn"}
    told = [Proposal(urn, "datasetProperties", json.dumps({"name": name})) for urn, name in names.items()]
    told.append(Proposal("urn:li:dashboard:(looker,d)", "dashboardInfo", json.dumps({"title": "Dials"})))
    apply.apply(proposals=told, by=SYSTEM, channel=DOOR)
    found = {
        name: roles.create(identifier=name, name=name, by=SYSTEM, channel=DOOR).urn for name in ("editor", "looker")
    }
    for name, kind in (("editor", "dataset"), ("looker", "dashboard")):
        block = {"filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": [kind]}]}}
        write(name, displayName=name, actors={"roles": [found[name]]}, resources=block)
    platform = {"type": "PLATFORM", "privileges": ["MANAGE_TAGS"], "actors": {"roles": [found["editor"]]}}
    write("platform", displayName="platform", **platform)
    return found


def meant(response):
    """Return what the panel says: people now and then, entities now and then."""
    means = response.context["means"]
    rows = [*means["impact"], *([means["impact_entities"]] if means["impact_entities"] else [])]
    return [(row["now"], row["then"]) for row in rows]


def test_giving_a_role_tells_whom_and_what_it_would_reach(browse, crew, carried):
    client, address = browse("root"), f"{ROLES}/assign/{carried['editor']}"
    assert meant(client.get(address)) == [("0", "0")]
    chosen = {"actors": [crew["group"].urn, ADA], "go": "look"}
    asked = client.post(address, chosen)
    assert asked.status_code == 200
    assert meant(asked) == [("0", "3"), ("0", "3")]
    people, entities = asked.context["means"]["impact"][0], asked.context["means"]["impact_entities"]
    assert sorted(people["gained"]) == ["Ada Admin", "Otto Outsider", "Stella Steward"]
    assert entities["gained"] == ["Apples", "Beans", "Corn"]
    assert asked.context["pickers"][0]["chosen"][0]["urn"] == crew["group"].urn, "what was chosen stays"
    assert users_groups_roles.count_holders(roles=[users_groups_roles.get_role(urn=carried["editor"])])[
        carried["editor"]
    ] == (0, 0)
    part = client.post(address, chosen, headers=PART)
    assert "<html" not in part.content.decode()
    assert "Apples" in part.content.decode()
    assert client.post(address, {"actors": [ADA]}).status_code == 302
    assert meant(client.post(address, {"actors": [OTTO], "go": "look"})) == [("1", "2"), ("3", "3")]


@pytest.mark.parametrize(
    ("changes", "entities"),
    [
        ({}, ("0", "0")),
        ({"excludedUsers": [ADA]}, ("0", "3")),
        ({"privilegeConstraints": {"criteria": []}}, ("0", "3")),
    ],
    ids=["of all", "with an exception", "of a sub-resource"],
)
def test_a_deny_counts_where_it_denies_every_holder(browse, crew, carried, write, changes, entities):
    constraints = {name: changes[name] for name in changes if name == "privilegeConstraints"}
    actors = {"roles": [carried["editor"]]} | {name: changes[name] for name in changes if name not in constraints}
    block = {"filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": ["dataset"]}]}, **constraints}
    write("deny", displayName="deny", effect="DENY", actors=actors, resources=block)
    asked = browse("root").post(f"{ROLES}/assign/{carried['editor']}", {"actors": [OTTO], "go": "look"})
    assert meant(asked) == [("0", "1"), entities]


def test_a_policy_that_excludes_the_role_gives_it_nothing(browse, crew, carried, write):
    block = {"filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": ["dataset"]}]}}
    role = roles.create(identifier="left-out", name="left-out", by=SYSTEM, channel=DOOR).urn
    write("left-out", displayName="left out", actors={"roles": [role], "excludedRoles": [role]}, resources=block)
    asked = browse("root").post(f"{ROLES}/assign/{role}", {"actors": [OTTO], "go": "look"})
    assert meant(asked)[0] == ("0", "1")
    assert asked.context["means"]["impact_entities"] is None


@pytest.mark.parametrize("kind", ["user", "group"])
def test_choosing_roles_tells_what_they_would_reach(browse, crew, carried, kind):
    urn = STELLA if kind == "user" else crew["group"].urn
    count = "1" if kind == "user" else "2"
    roles.set_roles(actor=urn, roles=[carried["editor"]], by=SYSTEM, channel=DOOR)
    client, address = browse("root"), f"{USERS if kind == 'user' else GROUPS}/roles/{urn}"
    assert meant(client.get(address)) == [(count, count), ("3", "3")]
    both = client.post(address, {"roles": [carried["editor"], carried["looker"]], "go": "look"})
    assert (meant(both), both.context["means"]["impact_entities"]["gained"]) == (
        [(count, count), ("3", "4")],
        ["Dials"],
    )
    other = client.post(address, {"roles": [carried["looker"]], "go": "look"}, headers=PART)
    assert meant(other) == [(count, count), ("3", "1")]
    assert meant(client.post(address, {"go": "look"})) == [(count, "0"), ("3", "0")]
    assert client.post(address, {"roles": [carried["looker"]]}).status_code == 302
    assert actor_resolution.load_actor(urn=STELLA).roles >= {carried["looker"]}


def test_a_deny_counts_when_it_takes_all_that_is_given(browse, crew, carried):
    reader = roles.create(identifier="reader", name="reader", by=SYSTEM, channel=DOOR).urn
    Entity.objects.filter(urn="urn:li:dataset:a").update(object_id="507f1f77bcf86cd799439011")

    def say(name, effect, actions):
        statements = [{"resource": "dataset:*", "actions": actions, "effect": effect}]
        document = {"name": name, "statements": statements, "roles": [reader]}
        policies.create(draft=policies.PolicyInput("datazone", document), by=SYSTEM, channel=DOOR)
        asked = browse("root").post(f"{ROLES}/assign/{reader}", {"actors": [ADA], "go": "look"})
        return meant(asked)

    assert say("may read", "allow", ["dataset:read"]) == [("0", "1"), ("0", "1")]
    assert say("may not delete", "deny", ["dataset:delete"]) == [("0", "1"), ("0", "1")]
    assert say("may not read", "deny", ["dataset:read"]) == [("0", "1"), ("0", "0")]


@pytest.mark.parametrize("pasted", ["urn:li:corpuser:nobody", "urn:li:tag:x", "x" * 5000, "<script>\n" * 5000])
def test_a_bad_choice_is_asked_about_without_harm(browse, crew, carried, pasted):
    address = f"{ROLES}/assign/{carried['editor']}"
    asked = browse("root").post(address, {"actors_pasted": pasted, "go": "look"})
    assert asked.status_code == 200
    assert "<script>\n" not in asked.content.decode()
    if not pasted.startswith("urn:li:corpuser"):
        assert "Shown when every field is valid." in asked.content.decode()


def test_without_scripts_a_button_asks(browse, crew, carried):
    text = browse("root").get(f"{ROLES}/assign/{carried['editor']}").content.decode()
    assert '<button type="submit" class="btn" name="go" value="look">' in text
    assert 'value="look"' not in browse("root").get(f"{ROLES}/new").content.decode()


def test_asking_costs_the_same_whatever_is_chosen(browse, crew, carried, person):
    client, address = browse("root"), f"{ROLES}/assign/{carried['editor']}"
    chosen = [person(f"many{number}").urn for number in range(30)]

    def count(actors):
        client.post(address, {"actors": actors, "go": "look"}, headers=PART)
        with CaptureQueriesContext(connection) as made:
            client.post(address, {"actors": actors, "go": "look"}, headers=PART)
        return len(made)

    assert count(chosen[:1]) == count(chosen)
