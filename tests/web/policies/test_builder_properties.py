"""Conditions on properties in the builder: named, compared, kept, and said in words."""

import json

import pytest
from django.urls import reverse

from policies.authoring.pages import datahub_wording
from policies.authoring.queries import policies
from policies.models import Policy
from tests.web.policies.writing import BASE, Builder

CRITERIA = [
    {"field": "TYPE", "condition": "EQUALS", "values": ["dataset"]},
    {"field": "PROPERTY.department", "condition": "EQUALS", "values": ["${ACTOR.PROPERTY.department}", "all"]},
    {"field": "PROPERTY.status", "condition": "NOT_EQUALS", "values": ["archived"]},
    {"field": "ACTOR.PROPERTY.role", "condition": "STARTS_WITH", "values": ["manag"]},
    {"field": "ACTION.PROPERTY.soft", "condition": "EQUALS", "values": ["true", " padded ", ""]},
]


def test_a_condition_on_a_property_is_written_without_scripts(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press("next", name="Own department")
    builder.press("refresh", scope="some")
    builder.press("add:c", c_new="PROPERTY.")
    assert 'name="c0_name"' in builder.text
    builder.press("next", c0_values_pasted="x")
    assert builder.is_refused
    assert "A property has a name" in builder.text
    builder.press("add:c", c_new="ACTOR.PROPERTY.", c0_name=" department ", c0_values_pasted="${ACTOR.PROPERTY.dept}")
    builder.press("next", c1_name="role", c1_values_pasted="${ACTOR.PROPERTY.x}", privileges=["EDIT_ENTITY_TAGS"])
    assert "another one of the same party" in builder.text
    builder.press("next", c1_values_pasted="manager\r\nboss")
    assert builder.response.context["work"].step == 3
    builder.press("save", allUsers="on")
    criteria = Policy.objects.get(name="Own department").document["resources"]["filter"]["criteria"]
    assert criteria == [
        {"field": "PROPERTY.department", "condition": "EQUALS", "values": ["${ACTOR.PROPERTY.dept}"]},
        {"field": "ACTOR.PROPERTY.role", "condition": "EQUALS", "values": ["manager", "boss"]},
    ]


def test_the_steps_and_saving_change_nothing(browse, world, write):
    policy = write("props", resources={"filter": {"criteria": CRITERIA}})
    before = json.dumps(policy.document)
    builder = Builder(browse("root"), f"{BASE}/edit/{policy.urn}")
    for go in ("2", "3", "2", "1"):
        builder.press(go)
        assert builder.response.status_code == 200
    assert builder.response.context["is_dirty"] is False
    builder.press("save")
    assert json.dumps(policies.get_policy(urn=policy.urn).document) == before


def test_tags_have_no_conditions_on_properties(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new?template=")
    builder.press("next", name="Tags")
    builder.press("refresh", scope="some")
    builder.press("refresh", s_scope="some")
    builder.press("add:s", s_new="PROPERTY.")
    assert "s0_at" not in builder.text


@pytest.mark.parametrize("field", ["PROPERTY", "PROPERTY.x", "ACTOR.", "XPROPERTY."])
def test_what_is_no_choice_adds_nothing(browse, world, field):
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press("next", name="Odd")
    builder.press("refresh", scope="some")
    builder.press("add:c", c_new=field)
    assert builder.response.status_code == 200
    assert "c0_at" not in builder.text


def test_a_policy_says_what_it_compares(browse, world, write):
    policy = write("props", actors={"allUsers": True}, resources={"filter": {"criteria": CRITERIA}})
    said = datahub_wording.describe_policy(policy.document)
    assert "whose department is the user's department or all" in said
    assert "whose status is not archived" in said
    assert "if the user's role begins with manag" in said
    assert "if the action's soft is true" in said
    page = browse("root").get(f"{BASE}/{policy.urn}").content.decode()
    assert "Property of the user who asks: role" in page
    assert "the user&#x27;s department" in page


def test_privileges_of_the_installation_are_offered_and_kept(browse, world, settings):
    settings.CUSTOM_PRIVILEGES = ["TODO_READ", "EDIT_ENTITY"]
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press("next", name="Todos")
    assert builder.text.count('value="EDIT_ENTITY"') == 1
    builder.press("refresh", find="todo")
    assert "Of this installation" in builder.text
    builder.press("next", privileges=["TODO_READ"])
    builder.press("save", allUsers="on")
    policy = Policy.objects.get(name="Todos")
    assert policy.document["privileges"] == ["TODO_READ"]
    assert "Of this installation" in browse("root").get(f"{BASE}/{policy.urn}").content.decode()


def test_who_says_that_conditions_are_left_out(browse, world, write):
    someone = {"filter": {"criteria": [{"field": "ACTOR.PROPERTY.role", "values": ["manager"]}]}}
    actors = {"allUsers": True}
    write("props", privileges=["EDIT_ENTITY_TAGS"], actors=actors, resources=someone)
    platform = {"type": "PLATFORM", "privileges": ["MANAGE_GUARDRAILS"]}
    write("readers", **platform, actors={"roles": ["urn:li:dataHubRole:Reader"]})
    write("members", **platform, actors={"allGroups": True}, effect="DENY")
    for privilege, resource, is_said in (
        ("EDIT_ENTITY_TAGS", "urn:li:corpuser:otto", False),
        ("MANAGE_GUARDRAILS", "", True),
        ("MANAGE_DOMAINS", "", False),
    ):
        asked = {"privilege": privilege, "resource": resource}
        text = browse("root").get(reverse("why-who"), asked).content.decode()
        assert ("Ask about one user to learn whether they fit" in text) is is_said
