"""What giving or taking roles, memberships and accounts would change stands above the button, before it is pressed."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.changes.pages.net_change_wording import NOBODY
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles
from policies.pdp import actor_resolution
from tests.web.conftest import DOOR
from tests.web.people.conftest import SYSTEM
from tests.web.people.table import GROUPS, ROLES, SERVICES, USERS

OTTO, STELLA, ADA = (f"urn:li:corpuser:{name}" for name in ("otto", "stella", "ada"))
PART = {"HX-Request": "true"}
EDITS = "gains Edit Tags on 3 entities, Apples, Beans, Corn."


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


def said(response):
    """Return what the page says of the change."""
    return response.context["effect"]


def test_giving_a_role_says_who_gains_what_and_who_has_it_already(browse, crew, carried, write):
    block = {"filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": ["dataset"]}]}}
    write("own", displayName="Otto tags", actors={"users": [OTTO]}, resources=block)
    client, address = browse("root"), f"{ROLES}/assign/{carried['editor']}"
    assert said(client.get(address)) == [NOBODY]
    chosen = {"actors": [crew["group"].urn], "go": "look"}
    asked = client.post(address, chosen)
    assert asked.status_code == 200
    assert said(asked) == [
        "1 person gains access to 3 entities.",
        f"Stella Steward {EDITS}",
        "Otto Outsider and Stella Steward gain the platform privilege Manage Tags.",
    ]
    assert asked.context["pickers"][0]["chosen"][0]["urn"] == crew["group"].urn, "what was chosen stays"
    assert users_groups_roles.count_holders(roles=[users_groups_roles.get_role(urn=carried["editor"])])[
        carried["editor"]
    ] == (0, 0)
    part = client.post(address, chosen, headers=PART)
    assert "<html" not in part.content.decode()
    assert "Apples" in part.content.decode()
    assert client.post(address, {"actors": [crew["group"].urn]}).status_code == 302
    assert said(client.post(address, chosen)) == [NOBODY], "they have it now"


def test_taking_a_role_says_who_loses_what_and_who_keeps_it(browse, crew, carried, write):
    block = {"filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": ["dashboard"]}]}}
    write("own", displayName="Otto tags", actors={"users": [OTTO]}, resources=block)
    roles.grant(urn=carried["looker"], actors=[OTTO, crew["group"].urn], by=SYSTEM, channel=DOOR)
    client, address = browse("root"), f"{ROLES}/take/{carried['looker']}"
    assert said(client.get(address, {"actor": OTTO})) == [NOBODY], "the group holds it, too"
    question = client.get(address, {"actor": crew["group"].urn}, headers=PART)
    assert said(question) == [
        "1 person loses access to 1 entity.",
        "Stella Steward loses Edit Tags on 1 entity, Dials.",
    ]
    assert "Stella Steward loses Edit Tags" in question.content.decode()


@pytest.mark.parametrize("kind", ["user", "group"])
def test_choosing_roles_says_what_they_give_and_take(browse, crew, carried, kind):
    urn = STELLA if kind == "user" else crew["group"].urn
    roles.set_roles(actor=urn, roles=[carried["editor"]], by=SYSTEM, channel=DOOR)
    client, address = browse("root"), f"{USERS if kind == 'user' else GROUPS}/roles/{urn}"
    who = ("Stella Steward gains", "Stella Steward loses")
    if kind == "group":
        who = ("Otto Outsider and Stella Steward gain", "Otto Outsider and Stella Steward lose")
    assert said(client.get(address)) == [NOBODY]
    both = client.post(address, {"roles": [carried["editor"], carried["looker"]], "go": "look"})
    assert f"{who[0]} Edit Tags on 1 entity, Dials." in said(both)
    other = client.post(address, {"roles": [carried["looker"]], "go": "look"}, headers=PART)
    for sentence in (
        f"{who[1]} Edit Tags on 3 entities, Apples, Beans, Corn.",
        f"{who[1]} the platform privilege Manage Tags.",
        f"{who[0]} Edit Tags on 1 entity, Dials.",
    ):
        assert sentence in said(other)
    assert client.post(address, {"roles": [carried["looker"]]}).status_code == 302
    assert actor_resolution.load_actor(urn=STELLA).roles >= {carried["looker"]}


def test_membership_says_what_the_group_gives(browse, crew, carried):
    team = groups.create(identifier="team", name="Team", by=SYSTEM, channel=DOOR).urn
    roles.grant(urn=carried["looker"], actors=[team], by=SYSTEM, channel=DOOR)
    client, gained = browse("root"), "Ada Admin gains Edit Tags on 1 entity, Dials."
    roles.revoke(urn="urn:li:dataHubRole:Admin", actors=[ADA], by=SYSTEM, channel=DOOR)
    for address, chosen in (
        (f"{GROUPS}/add/{team}", {"members": [ADA]}),
        (f"{USERS}/groups/{ADA}", {"groups": [team]}),
    ):
        assert said(client.get(address)) == [NOBODY]
        assert gained in said(client.post(address, chosen | {"go": "look"}))
    groups.add_members(urn=team, members=[ADA], by=SYSTEM, channel=DOOR)
    assert gained.replace("gains", "loses") in said(client.get(f"{GROUPS}/take/{team}", {"member": ADA}))


def test_suspending_and_activating_say_what_is_lost_and_comes_back(browse, crew, carried):
    service = crew["service"].urn
    roles.grant(urn=carried["looker"], actors=[STELLA, service], by=SYSTEM, channel=DOOR)
    client = browse("root")
    for urn, name, asked in ((STELLA, "Stella Steward", USERS), (service, "Nightly load", SERVICES)):
        suspend = f"{asked}/{'suspend' if asked == USERS else 'state'}/{urn}"
        activate = f"{asked}/{'activate' if asked == USERS else 'state'}/{urn}"
        assert f"{name} loses Edit Tags on 1 entity, Dials." in said(client.get(suspend))
        assert users_groups_roles.get_user(urn=urn).is_active, "asking changes nothing"
        assert client.post(suspend).status_code == 302
        assert not users_groups_roles.get_user(urn=urn).is_active
        assert f"{name} gains Edit Tags on 1 entity, Dials." in said(client.get(activate))
        assert client.post(activate).status_code == 302
        assert users_groups_roles.get_user(urn=urn).is_active


def test_what_would_be_refused_says_why(browse, crew, carried):
    client = browse("root")
    question = client.get(f"{USERS}/suspend/urn:li:corpuser:datahub")
    assert said(question) == ["The root user cannot be suspended or removed."]
    asked = client.post(f"{GROUPS}/add/{crew['external'].urn}", {"members": [ADA], "go": "look"})
    assert "come from its identity source" in said(asked)[0]


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
