"""Policies that deny, and those that except somebody: the builder, the sentences, the list and the page."""

import json
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from policies.authoring.pages import datahub_wording
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import import_export, lints, policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.errors import Conflict
from policies.identity.services import groups, roles
from policies.models import Policy, PolicyFacet
from policies.pdp import active_policies, authorizer
from tests.web.conftest import DOOR, document_of
from tests.web.policies.writing import BASE, Builder

INTERNS, READER = "urn:li:corpGroup:interns", "urn:li:dataHubRole:Reader"
OTTO, STELLA = "urn:li:corpuser:otto", "urn:li:corpuser:stella"
OWNER_TYPE = "urn:li:ownershipType:__system__technical_owner"

#: Every exclusion, some of them as only clients write them.
EXCEPTIONS: dict[str, Any] = {
    "excludedResourceOwnersTypes": [OWNER_TYPE],
    "allUsers": True,
    "excludedUsers": [STELLA, OTTO, STELLA],
    "users": [],
    "excludedGroups": None,
    "excludedRoles": [],
}


def find_notes(**changes):
    draft = PolicyInput("datahub", document_of(**changes))
    return {(note.code, note.pointer): note.detail for note in lints.find_lints(draft=draft)}


@pytest.mark.parametrize(
    "changes",
    [
        {"effect": "DENY", "actors": EXCEPTIONS},
        {"effect": "ALLOW", "actors": EXCEPTIONS},
        {"effect": None, "actors": {"groups": [INTERNS], "excludedUsers": ["urn:li:corpuser:two\nlines"]}},
        {"actors": {"roles": [READER], "excludedRoles": [f"{READER}{number}" for number in range(60)]}},
    ],
)
def test_the_steps_and_saving_change_nothing(browse, world, write, changes):
    policy = write("kept", **changes)
    before = json.dumps(policy.document)
    for path in (f"edit/{policy.urn}", f"new?like={policy.urn}"):
        builder = Builder(browse("root"), f"{BASE}/{path}")
        for go in ("2", "3", "previous", "next", "1"):
            builder.press(go)
            assert builder.response.status_code == 200
        assert builder.press("save", name="A policy", state="ACTIVE").status_code == 302
    copies = Policy.objects.filter(name="A policy")
    assert [json.dumps(copy.document) for copy in copies] == [before, before]


def test_a_deny_with_exceptions_is_written_without_scripts(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new")
    assert [value for value, *_, is_ticked in builder.response.context["effects"] if is_ticked] == ["ALLOW"]
    builder.press("next", name="No interns", effect="DENY")
    builder.press("next", privileges=["DELETE_ENTITY"])
    assert "Who is denied this" in builder.text
    builder.press("refresh", groups_pasted=INTERNS, excludedUsers_pasted=STELLA, excludedRoles_pasted=READER)
    builder.press("save", excludedResourceOwnersTypes_pasted=OWNER_TYPE)
    document = Policy.objects.get(name="No interns").document
    assert document["effect"] == "DENY"
    assert {key: value for key, value in document["actors"].items() if value} == {
        "groups": [INTERNS],
        "excludedUsers": [STELLA],
        "excludedRoles": [READER],
        "excludedResourceOwnersTypes": [OWNER_TYPE],
    }


def test_an_exception_is_taken_back_and_the_effect_too(browse, world, write):
    policy = write("back", effect="DENY", actors={"allUsers": True, "excludedUsers": [STELLA, OTTO]})
    builder = Builder(browse("root"), f"{BASE}/edit/{policy.urn}")
    builder.press("3", effect="ALLOW")
    builder.press("save", without=[("excludedUsers", STELLA)])
    document = policy_queries.get_policy(urn=policy.urn).document
    assert (document["effect"], document["actors"]["excludedUsers"]) == ("ALLOW", [OTTO])


@pytest.mark.parametrize(
    ("changes", "step", "find_errors"),
    [
        ({"effect": "MAYBE"}, 1, lambda context: context["notes"]["effect"]["errors"]),
        *(
            (
                {f"{key}_pasted": "urn:li:tag:wrong"},
                3,
                lambda context, key=key: context["pickers"][key]["notes"]["errors"],
            )
            for key in ("excludedUsers", "excludedGroups", "excludedRoles", "excludedResourceOwnersTypes")
        ),
    ],
)
def test_problems_are_shown_at_their_field(browse, world, changes, step, find_errors):
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press(str(step), name="Wrong")
    builder.press("save", **changes)
    assert builder.is_refused
    assert builder.response.context["work"].step == step
    assert find_errors(builder.response.context)


def test_what_is_probably_not_meant_is_noted(world):
    everybody = {"allUsers": True}
    notes = find_notes(effect="DENY", actors=everybody, privileges=["VIEW_ENTITY"])
    assert "to all users without exception" in notes["actors.everybody_denied", "/actors/allUsers"]
    assert "Holders of VIEW_ENTITY_PAGE keep it" in notes["privilege.wider_left", "/privileges/0"]
    notes = find_notes(effect="DENY", actors=everybody, privileges=["VIEW_ENTITY", "VIEW_ENTITY_PAGE"])
    assert ("privilege.wider_left", "/privileges/0") not in notes
    notes = find_notes(effect="DENY", actors={**everybody, "excludedRoles": [READER]})
    assert ("actors.everybody_denied", "/actors/allUsers") not in notes
    codes = {code for code, _ in find_notes(actors=everybody, privileges=["VIEW_ENTITY"])}
    assert codes.isdisjoint({"actors.everybody_denied", "privilege.wider_left"})


def test_an_exception_that_names_nobody_or_somebody_named_is_noted(world):
    notes = find_notes(
        type="PLATFORM",
        actors={
            "users": [OTTO],
            "excludedUsers": [OTTO, "urn:li:corpuser:oto"],
            "excludedResourceOwnersTypes": [OWNER_TYPE],
        },
    )
    assert "the exception wins" in notes["actor.excepted", "/actors/excludedUsers/0"]
    assert ("actor.unknown", "/actors/excludedUsers/1") in notes
    assert ("actors.owners", "/actors/excludedResourceOwnersTypes") in notes


def test_the_builder_shows_these_notes(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press("2", name="Nobody", effect="DENY")
    builder.press("refresh", privileges=["VIEW_ENTITY"])
    assert "Holders of VIEW_ENTITY_PAGE keep it" in str(builder.response.context["notes"]["privileges"])
    builder.press("3")
    builder.press("refresh", allUsers="on")
    assert "to all users without exception" in str(builder.response.context["notes"]["allUsers"])
    builder.press("refresh", excludedUsers_pasted=STELLA)
    assert "to all users without exception" not in builder.text


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"actors": {"allUsers": True, "excludedUsers": [OTTO], "excludedGroups": [INTERNS]}},
            "Everybody except Otto Outsider and the members of urn:li:corpGroup:interns may Edit Tags on everything.",
        ),
        (
            {"actors": {"users": [STELLA], "roles": [READER], "excludedUsers": [OTTO]}},
            "Stella Steward and holders of the role Reader, except Otto Outsider, may Edit Tags on everything.",
        ),
        (
            {"effect": "DENY", "actors": {"groups": [INTERNS]}, "privileges": ["EDIT_ENTITY_TAGS", "DELETE_ENTITY"]},
            "Nobody in urn:li:corpGroup:interns may Edit Tags or Delete on anything, "
            "even where other policies allow it.",
        ),
        (
            {"effect": "DENY", "actors": {"allUsers": True, "excludedRoles": [READER]}},
            "Nobody may Edit Tags on anything, even where other policies allow it. "
            "It leaves out holders of the role Reader.",
        ),
        (
            {"effect": "DENY", "actors": {"roles": [READER]}},
            "No holder of the role Reader may Edit Tags on anything, even where other policies allow it.",
        ),
        (
            {"effect": "DENY", "actors": {"allGroups": True}, "state": "INACTIVE"},
            "Nobody in a group may Edit Tags on anything, even where other policies allow it. "
            "It is not active, so it denies nothing.",
        ),
        (
            {"effect": "DENY", "actors": {"users": [STELLA], "resourceOwners": True}},
            "Stella Steward and its owners may not Edit Tags on anything, even where other policies allow it.",
        ),
        ({"effect": "DENY", "privileges": []}, "Not finished: choose people and privileges."),
        (
            {"effect": "DENY", "actors": {"users": [OTTO]}, "privileges": []},
            "Not finished: choose privileges.",
        ),
        (
            {
                "effect": "DENY",
                "actors": {"users": [OTTO]},
                "resources": {"privilegeConstraints": {"criteria": [{"field": "URN", "values": ["urn:li:tag:pii"]}]}},
            },
            "Otto Outsider may not Edit Tags on anything, if any tag added or removed is one that are "
            "urn:li:tag:pii, even where other policies allow it.",
        ),
    ],
)
def test_a_policy_is_one_sentence(world, changes, sentence):
    assert datahub_wording.describe_policy(document_of(**changes)) == sentence


def test_the_page_and_the_history_say_it(browse, world, write):
    actors = {"allUsers": True, "excludedUsers": [OTTO], "excludedResourceOwnersTypes": [OWNER_TYPE]}
    policy = write("said", effect="DENY", actors=actors)
    page = browse("root").get(f"{BASE}/{policy.urn}")
    facts = {fact["label"]: fact for fact in (*page.context["facts"], *page.context["actors"])}
    assert facts["Effect"]["badges"] == [{"label": "Deny", "kind": "danger"}]
    assert [actor["name"] for actor in facts["Except users"]["first"]] == ["Otto Outsider"]
    assert facts["Except owners of these types"]["lines"]
    assert "May not do what" in page.content.decode()
    builder = Builder(browse("root"), f"{BASE}/edit/{policy.urn}")
    builder.press("3", effect="ALLOW")
    builder.press("save", excludedUsers=None, excludedGroups_pasted=INTERNS)
    history = browse("root").get(f"{BASE}/history/{policy.urn}")
    changes = {row["label"]: row["change"] for row in history.context["rows"][0]["changes"]}
    assert (changes["Effect"].old_value, changes["Effect"].new_value) == ("Deny", "Allow")
    assert changes["Except users"].lost_values == (OTTO,)
    assert changes["Except groups"].gained_values == (INTERNS,)


def test_the_list_marks_denies_and_names_exceptions(browse, world, write):
    write("first", displayName="Kept out", effect="DENY", actors={"allUsers": True, "excludedUsers": [OTTO]})
    write("second", displayName="Let in", actors={"users": [OTTO]})
    rows = browse("root").get(f"{BASE}", {"q": "t"}).context["rows"]
    rows_by_name = {row["policy"].name: row for row in rows}
    assert rows_by_name["Kept out"]["effect"]["label"] == "Deny"
    assert [one["name"] for one in rows_by_name["Kept out"]["actors"]["exceptions"]["actors"]] == ["Otto Outsider"]
    assert rows_by_name["Let in"]["effect"] is None
    assert rows_by_name["Let in"]["actors"]["exceptions"]["actors"] == []


def test_the_effect_of_a_deny_names_whom_it_takes_it_from(browse, world, write):
    platform = {"type": "PLATFORM", "privileges": ["MANAGE_TAGS"]}
    write("give", actors={"users": [OTTO, STELLA]}, **platform)
    policy = write("some", effect="DENY", actors={"allUsers": True, "excludedUsers": [OTTO]}, **platform)
    builder = Builder(browse("root"), f"{BASE}/edit/{policy.urn}")
    builder.press("3")
    builder.press("refresh", excludedUsers=[STELLA])
    assert builder.response.context["net_change"] == [
        "Otto Outsider loses the platform privilege Manage Tags.",
        "Stella Steward gains the platform privilege Manage Tags.",
    ]


def test_the_list_is_filtered_by_effect_and_by_whom_policies_except(browse, world, write):
    write("first", displayName="Kept out", effect="DENY", actors={"allUsers": True, "excludedUsers": [OTTO]})
    write("second", displayName="Let in", actors={"users": [STELLA], "excludedGroups": [INTERNS]})
    statements = [
        {"effect": effect, "resource": "dataset:*", "actions": [action]}
        for effect, action in (("allow", "dataset:read"), ("deny", "dataset:delete"))
    ]
    mixed = PolicyInput("datazone", {"name": "Both", "roles": [READER], "statements": statements})
    policies.create(draft=mixed, by=authorizer.SYSTEM, channel=DOOR)

    def list_names(**query):
        return {row["policy"].name for row in browse("root").get(BASE, query).context["rows"]}

    assert list_names(effect="DENY") == {"Kept out", "Both"}
    assert {"Let in", "Both"} <= list_names(effect="ALLOW", sort="-name")
    assert "Kept out" not in list_names(effect="ALLOW", sort="-name")
    assert list_names(excluded=OTTO) == list_names(excluded="otto") == {"Kept out"}
    assert list_names(excluded=INTERNS, effect="ALLOW") == {"Let in"}
    assert "Kept out" not in list_names(actor=OTTO)
    exported = browse("root").get(f"{BASE}/export", {"effect": "DENY"}).json()["policies"]
    assert {entry["name"] for entry in exported} == {"Kept out", "Both"}
    assert browse("root").get(BASE, {"effect": "PERHAPS"}).context["form"].errors


def test_exceptions_in_the_list_cost_no_further_queries(browse, world, write):
    client, costs = browse("root"), []
    write("first", displayName="Wide", actors={"allUsers": True})
    for number in range(8):
        if number in (0, 1, 7):
            client.get(BASE, {"q": "Wide"})
            with CaptureQueriesContext(connection) as queries:
                assert len(client.get(BASE, {"q": "Wide"}).context["rows"]) == number + 1
            costs.append(len(queries))
        actors = {
            "users": [OTTO],
            "excludedUsers": [f"urn:li:corpuser:u{number}{index}" for index in range(9)],
            "excludedGroups": [INTERNS],
            "excludedRoles": [READER],
        }
        write(f"wide-{number}", displayName=f"Wide {number}", effect="DENY", actors=actors)
    assert costs[1] == costs[2]
    assert costs[1] <= costs[0] + 3, "the names of users, groups and roles are loaded where rows name some"


def test_an_exported_policy_is_imported_unchanged(browse, world, write):
    actors = {"groups": [INTERNS], "excludedUsers": [OTTO], "excludedResourceOwnersTypes": []}
    policy = write("first", effect="DENY", actors=actors)
    body = browse("root").get(f"{BASE}/export", {"effect": "DENY"}).content
    policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel=DOOR)
    plan = import_export.plan_import(body=body, by=authorizer.SYSTEM)
    import_export.apply_import(body=body, expected_fingerprint=plan.fingerprint, by=authorizer.SYSTEM, channel=DOOR)
    assert json.dumps(policy_queries.get_policy(urn=policy.urn).document) == json.dumps(policy.document)


def test_a_deny_for_everybody_gives_nobody_the_management_of_policies(browse, world, write):
    write("first", type="PLATFORM", effect="DENY", privileges=["MANAGE_POLICIES"], actors={"groups": [INTERNS]})
    assert not active_policies.is_open_to_everybody()
    write(
        "second",
        type="PLATFORM",
        effect="DENY",
        privileges=["MANAGE_POLICIES"],
        actors={"allUsers": True, "excludedUsers": ["urn:li:corpuser:datahub"]},
    )
    assert not active_policies.is_open_to_everybody()


def test_the_page_of_a_person_says_how_policies_speak_of_them(browse, world, write):
    write("first", displayName="Kept out", effect="DENY", actors={"users": [OTTO]})
    write("second", displayName="Left out", actors={"allUsers": True, "excludedUsers": [OTTO]}, state="INACTIVE")
    write("third", displayName="Let in", actors={"users": [OTTO]})
    page = browse("root").get(f"/settings/identities/users/{OTTO}")
    mentions = {
        mention.name: (mention.denies, mention.is_excepted, mention.is_giving, mention.is_active)
        for mention in page.context["policies"]
    }
    assert mentions == {
        "Kept out": (True, False, False, True),
        "Left out": (False, True, False, False),
        "Let in": (False, False, True, True),
    }
    assert "Excepted" in page.content.decode()


def test_a_role_that_policies_except_stays_and_revoking_it_says_what_follows(browse, world, write):
    role = roles.create(identifier="Interns", name="Interns", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn=role.urn, actors=[OTTO], by=authorizer.SYSTEM, channel=DOOR)
    write("first", displayName="Left out", actors={"allUsers": True, "excludedRoles": [role.urn]})
    with pytest.raises(Conflict):
        roles.delete(urn=role.urn, by=authorizer.SYSTEM, channel=DOOR)
    write("second", displayName="Kept out", effect="DENY", actors={"roles": [role.urn]})
    page = browse("root").get(reverse("role-take", args=[role.urn]), {"actor": OTTO}).content.decode()
    assert "These policies no longer leave them out as holders of the role: Left out." in page
    assert "What these policies deny the role may be allowed again: Kept out." in page
    assert "What these policies give" not in page
    listed = browse("root").get("/settings/permissions/roles", {"q": "Interns"})
    assert [row["mention"].name for row in listed.context["rows"][0]["policies"]] == ["Kept out", "Left out"]


def test_the_upgrade_derives_the_same_facets(world, write):
    migration = import_module("policies.migrations.0015_effects_of_policies")
    write("first", effect="DENY", actors={"allUsers": True, "excludedUsers": [OTTO], "excludedRoles": [READER]})
    write("second", actors={"users": [STELLA], "excludedGroups": [INTERNS]})
    statements = [{"effect": "deny", "resource": "dataset:*", "actions": ["dataset:read"]}]
    mixed = PolicyInput("datazone", {"name": "Both", "roles": [READER], "statements": statements})
    policies.create(draft=mixed, by=authorizer.SYSTEM, channel=DOOR)
    rows = PolicyFacet.objects.filter(field__in=["EFFECT", "EXCEPTION"])
    before = set(rows.values_list("policy", "field", "value"))
    rows.delete()
    odd = Policy.objects.get(urn="urn:li:dataHubPolicy:second")
    odd.document["actors"] |= {"excludedUsers": {"a": 1}, "excludedRoles": [READER[:-6], 5]}
    Policy.objects.filter(pk=odd.pk).update(document=odd.document)
    migration.derive_facets(apps, SimpleNamespace(connection=connection))
    after = set(rows.values_list("policy", "field", "value"))
    assert after - {(odd.pk, "EXCEPTION", READER[:-6])} == before


def test_removing_a_group_says_what_policies_keep_from_it(browse, world, write):
    groups.create(identifier="interns", name="Interns", by=authorizer.SYSTEM, channel=DOOR)
    write("first", displayName="Kept out", effect="DENY", actors={"groups": [INTERNS]})
    write("second", displayName="Left out", actors={"allUsers": True, "excludedGroups": [INTERNS]})
    write("third", displayName="Asleep", actors={"allUsers": True, "excludedGroups": [INTERNS]}, state="INACTIVE")
    page = browse("root").get(reverse("group-remove", args=[INTERNS])).content.decode()
    assert (
        "It cannot be deleted while these policies deny it something, or exclude it: Asleep, Kept out, Left out."
        in page
    )
