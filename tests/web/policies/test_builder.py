"""The builder: every field of a document, nothing lost, and what stands in the way said beside the fields."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import empty_reach, policies, policy_drafts
from policies.changes import comparison
from policies.changes.pages.net_change_wording import NOBODY, SAMPLED
from policies.models import Policy
from policies.pdp import authorizer
from tests.web.conftest import DOOR, document_of
from tests.web.policies.writing import BASE, Builder
from tests.worlds import criterion, matching_all

OTTO = "urn:li:corpuser:otto"

FULL: dict[str, Any] = {
    "lastUpdatedTimestamp": 12,
    "displayName": "Everything there is",
    "description": "Two\nlines",
    "type": "METADATA",
    "state": "DRAFT",
    "resources": {
        "filter": {
            "criteria": [
                {"field": "TYPE", "condition": "EQUALS", "values": ["dataset", "chart", "something"]},
                {"field": "URN", "values": [f"urn:li:dataset:{number}" for number in range(40)], "condition": "EQUALS"},
                {"field": "URN", "condition": "STARTS_WITH", "values": ["urn:li:dataset:(", "", " padded "]},
                {"field": "DOMAIN", "condition": "NOT_EQUALS", "values": ["urn:li:domain:b", "urn:li:domain:a"]},
                {"values": ["urn:li:tag:x", "urn:li:tag:x"], "field": "TAG"},
                {"field": "RESOURCE_URN", "condition": None, "values": ["two\nlines"]},
                {"field": "OWNER", "condition": "EQUALS", "values": []},
                {"field": "GLOSSARY", "condition": "EQUALS", "values": ["urn:li:glossaryNode:g"]},
                {"field": "CONTAINER", "condition": "EQUALS", "values": ["urn:li:container:c"]},
                {"field": "DATA_PLATFORM_INSTANCE", "condition": "EQUALS", "values": ["urn:li:dataPlatformInstance:i"]},
                {"field": "GROUP_MEMBERSHIP", "condition": "EQUALS", "values": ["urn:li:corpGroup:g"]},
            ]
        },
        "privilegeConstraints": {"criteria": [{"field": "URN", "condition": "EQUALS", "values": ["urn:li:tag:ok"]}]},
        "type": "dataset",
    },
    "privileges": ["EDIT_ENTITY_TAGS", "MANAGE_TAGS", "VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS"],
    "actors": {
        "roles": ["urn:li:dataHubRole:Reader"],
        "users": ["urn:li:corpuser:z", "urn:li:corpuser:a"],
        "groups": None,
        "resourceOwners": True,
        "resourceOwnersTypes": ["urn:li:ownershipType:x"],
        "allUsers": False,
    },
}
DEPRECATED = {"type": "dataset", "resources": ["urn:li:dataset:1"], "allResources": False}


def stored(urn):
    return policy_queries.get_policy(urn=urn).document


def exactly(document):
    return json.dumps(document, ensure_ascii=False)


def edit(client, policy):
    return Builder(client, f"{BASE}/edit/{policy.urn}")


def test_a_policy_is_written_in_three_steps(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new")
    assert "Not finished: choose people and privileges." in builder.text
    builder.press("next", name="Analysts tag", description="Why not")
    assert builder.response.context["work"].step == 2
    builder.press("refresh", scope="some")
    builder.press("add:c", c_new="TYPE")
    builder.press("next", c0_values=["dataset"], privileges=["EDIT_ENTITY_TAGS"])
    assert builder.response.context["work"].step == 3
    response = builder.press("save", users=["urn:li:corpuser:otto"], roles_pasted="urn:li:dataHubRole:Reader\r\n\r\n")
    policy = Policy.objects.get(name="Analysts tag")
    assert response.headers["Location"] == f"{BASE}/{policy.urn}"
    assert policy.document["actors"]["users"] == ["urn:li:corpuser:otto"]
    assert policy.document["actors"]["roles"] == ["urn:li:dataHubRole:Reader"]
    assert policy.document["resources"] == {
        "filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": ["dataset"]}]}
    }
    page = browse("root").get(response.headers["Location"])
    assert (
        "Saved. Decisions follow it from now on." in builder.client.get(response.headers["Location"]).content.decode()
    )
    assert "Otto Outsider and holders of the role Reader may Edit Tags on datasets." in page.content.decode()


@pytest.mark.parametrize("changes", [FULL, {**FULL, "resources": DEPRECATED}, {**FULL, "resources": None}])
def test_going_through_every_step_and_saving_changes_nothing(browse, world, write, changes):
    policy = write("full", **changes)
    before = exactly(policy.document)
    builder = edit(browse("root"), policy)
    for go in ("next", "next", "previous", "1", "2", "3"):
        builder.press(go)
        assert builder.response.status_code == 200
    assert builder.response.context["is_dirty"] is False
    builder.press("save")
    assert builder.response.status_code == 302
    assert exactly(stored(policy.urn)) == before
    assert policy_queries.get_policy(urn=policy.urn).version == 2


def test_one_change_changes_one_thing(browse, world, write):
    policy = write("full", **FULL)
    builder = edit(browse("root"), policy)
    builder.press("2")
    builder.press(
        "next", without=[("privileges", "MANAGE_TAGS")], c3_condition="EQUALS", c6_values_pasted="urn:li:corpuser:o"
    )
    assert builder.response.context["is_dirty"] is True
    builder.press("save", allGroups="on")
    expected = json.loads(exactly(policy.document))
    expected["privileges"] = ["EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE", "EDIT_ENTITY_TAGS"]
    expected["resources"]["filter"]["criteria"][3]["condition"] = "EQUALS"
    expected["resources"]["filter"]["criteria"][6]["values"] = ["urn:li:corpuser:o"]
    expected["actors"]["allGroups"] = True
    assert exactly(stored(policy.urn)) == exactly(expected)


def test_conditions_come_and_go_and_the_switch_forgets_nothing(browse, world, write):
    policy = write("full", **FULL)
    builder = edit(browse("root"), policy)
    builder.press("2")
    builder.press("remove:c:0")
    builder.press("remove:c:99")
    builder.press("remove:x:0")
    builder.press("add:s", s_new="TAG")
    builder.press("add:s", s_new="NOTHING")
    builder.press("refresh", scope="any")
    assert "on everything" in builder.response.context["sentence"]
    builder.press("refresh", scope="some")
    builder.press("save")
    found = stored(policy.urn)["resources"]
    assert found["filter"]["criteria"] == FULL["resources"]["filter"]["criteria"][1:]
    assert [one["field"] for one in found["privilegeConstraints"]["criteria"]] == ["URN", "TAG"]


def test_the_deprecated_form_is_shown_and_converted_when_asked(browse, world, write):
    policy = write("old", resources=DEPRECATED)
    builder = edit(browse("root"), policy)
    builder.press("2")
    assert "Deprecated form" in builder.text
    assert "add:c" not in builder.form.buttons
    builder.press("convert")
    builder.press("save")
    assert stored(policy.urn)["resources"] == {
        "filter": {
            "criteria": [
                {"field": "TYPE", "values": ["dataset"], "condition": "EQUALS"},
                {"field": "URN", "values": ["urn:li:dataset:1"], "condition": "EQUALS"},
            ]
        }
    }


def test_types_choose_what_is_offered_and_what_is_ticked_stays(browse, world, write):
    policy = write("some", privileges=["EDIT_ENTITY_TAGS", "MANAGE_TAGS"], resources={"filter": {"criteria": []}})
    builder = edit(browse("root"), policy)
    builder.press("2")

    def offered():
        return {one["name"]: one for group in builder.response.context["privileges"] for one in group["members"]}

    assert "EDIT_DATASET_COL_TAGS" in offered()
    assert offered()["MANAGE_TAGS"]["notes"] == ["Not offered for these types"]
    builder.press("add:c", c_new="TYPE")
    builder.press("refresh", c0_values=["domain"])
    assert "EDIT_DATASET_COL_TAGS" not in offered()
    assert offered()["EDIT_ENTITY_TAGS"]["is_ticked"]
    builder.press("refresh", find="owner")
    assert {"EDIT_ENTITY_TAGS", "MANAGE_TAGS", "EDIT_ENTITY_OWNERS"} <= offered().keys()
    assert "VIEW_ENTITY_PAGE" not in offered()
    builder.press("1")
    builder.press("2", type="PLATFORM")
    assert "MANAGE_POLICIES" in offered()
    assert offered()["EDIT_ENTITY_TAGS"]["is_ticked"]


# -- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("go", ["next", "2", "3", "save"])
def test_a_blank_name_is_said_beside_it_and_nothing_is_lost(browse, world, go):
    builder = Builder(browse("root"), f"{BASE}/new")
    before = Policy.objects.count()
    builder.press(go, name="  ", description="Kept & <b>safe</b>")
    assert builder.is_refused
    assert builder.response.context["work"].step == 1
    assert builder.response.context["notes"]["displayName"]["errors"] == ["This must not be blank."]
    assert "Kept &amp; &lt;b&gt;safe&lt;/b&gt;" in builder.text
    assert "This is your draft of" in builder.text
    assert Policy.objects.count() == before


@pytest.mark.parametrize(
    ("changes", "place"),
    [({"name": "x" * 256}, "displayName"), ({"name": "a\x00b"}, "displayName"), ({"type": "ODD"}, "type")],
)
def test_what_cannot_be_stored_is_said_beside_its_field(browse, world, changes, place):
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press("save", **{"name": "Fine", **changes})
    assert builder.is_refused
    assert builder.response.context["notes"][place]["errors"]


def test_a_urn_in_the_wrong_list_is_an_error_and_an_unknown_one_a_note(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new?template=ownership")
    builder.press("3")
    builder.press("save", users_pasted="urn:li:corpuser:unheard-of\r\nurn:li:corpGroup:wrong\r\nbob")
    assert builder.is_refused
    errors = builder.response.context["pickers"]["users"]["notes"]["errors"]
    assert len(errors) == 2
    assert "'bob'" in "".join(errors)
    builder.press("save", without=[("users", "bob"), ("users", "urn:li:corpGroup:wrong")])
    assert builder.response.status_code == 302


def test_five_thousand_lines_are_taken_and_more_are_given_back(browse, world):
    lines = "\r\n".join(f"urn:li:dataset:{number}" for number in range(5000))
    builder = Builder(browse("root"), f"{BASE}/new?template=domains")
    builder.press("2")
    builder.press("add:c", c_new="URN")
    builder.press("refresh", c1_values_pasted=f"{lines}\r\nurn:li:dataset:more")
    card = builder.response.context["criteria"][1]
    assert "At most 5,000 lines at once, not 5,001." in "".join(card["notes"]["errors"])
    assert "urn:li:dataset:more" in builder.text
    builder.press("save", c1_values_pasted=lines)
    policy = Policy.objects.get(name="See the domains")
    assert len(policy.document["resources"]["filter"]["criteria"][1]["values"]) == 5000
    again = edit(browse("root"), policy)
    again.press("2")
    again.press("next")
    assert len(again.form.fields) < 1000
    again.press("save")
    assert again.response.status_code == 302
    assert stored(policy.urn) == policy.document


def test_a_form_that_was_tampered_with_is_refused(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press("save", draft="eyJ9:x", name="No")
    assert builder.response.status_code == 400
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press("frobnicate", step="17", version="9" * 40, name="Odd")
    assert builder.response.status_code == 200


HOSTILE = "<script>alert(1)</script>\"'&{{ 7*7 }}"


def test_hostile_names_stay_text_everywhere(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new")
    builder.press("2", name=HOSTILE, description=HOSTILE)
    builder.press("add:c", scope="some", c_new="TAG")
    builder.press("refresh", c0_values_pasted=f"urn:li:tag:{HOSTILE}", find=HOSTILE)
    assert "<script>alert" not in builder.text
    builder.press("3", users=[f"urn:li:corpuser:{HOSTILE}"])
    assert "<script>alert" not in builder.text
    builder.press("save")
    policy = Policy.objects.get(name=HOSTILE)
    for path in ("edit/", "delete/", "history/", "versions/1/", ""):
        text = browse("root").get(f"{BASE}/{path}{policy.urn}").content.decode()
        assert "<script>alert" not in text
        assert "{{ 7*7 }}" in text


# -- two people -------------------------------------------------------------------------------------------------------


def test_the_second_is_told_and_may_take_over(browse, world, write):
    policy = write("shared", displayName="Shared", actors={"users": ["urn:li:corpuser:otto"]})
    mine = edit(browse("root"), policy)
    theirs = edit(browse("admin"), policy)
    theirs.press("save", name="Shared by Ada")
    mine.press("save", description="Mine")
    assert mine.is_refused
    assert policy_queries.get_policy(urn=policy.urn).version == 2
    text = mine.text
    assert "Somebody else saved version 2 in the meantime" in text
    assert "Ada Admin" in text
    conflict = mine.response.context["conflict"]
    assert [row["label"] for row in conflict["they"]] == ["Name"]
    assert [row["label"] for row in conflict["you"]] == ["Description"]
    assert "save" not in mine.form.buttons
    mine.press("2")
    assert "Somebody else saved version 2 in the meantime" in mine.text
    mine.press("takeover")
    assert mine.response.status_code == 302
    after = policy_queries.get_policy(urn=policy.urn)
    assert (after.name, after.description, after.version) == ("Shared", "Mine", 3)


def test_taking_over_is_checked_as_well(browse, world, write):
    policy = write("shared")
    mine = edit(browse("root"), policy)
    for number in range(2):
        edit(browse("admin"), policy).press("save", description=str(number))
    mine.press("takeover", newest="2")
    assert mine.is_refused


def test_a_policy_deleted_meanwhile_can_become_a_new_one(browse, world, write):
    policy = write("doomed", displayName="Doomed")
    builder = edit(browse("root"), policy)
    policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel=DOOR)
    builder.press("save", description="Still here")
    assert builder.is_refused
    assert "the system deleted it" in builder.text
    assert "Still here" in builder.text
    builder.press("save", address=f"{BASE}/new")
    assert Policy.objects.get(name="Doomed").description == "Still here"


def test_a_policy_fixed_meanwhile_is_refused_with_the_text_kept(browse, world, write):
    policy = write("fixing")
    builder = edit(browse("root"), policy)
    policies.update(
        urn=policy.urn,
        draft=policy_drafts.PolicyInput("datahub", document_of(editable=False)),
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    builder.press("takeover", newest="2", description="Typed")
    assert builder.is_refused
    assert "cannot be changed. Nothing was saved." in builder.text
    assert "Typed" in builder.text


# -- beside the fields ------------------------------------------------------------------------------------------------


@pytest.fixture
def catalog(world):
    listed = [Proposal(f"urn:li:dataset:{name}", "datasetProperties", json.dumps({"name": name})) for name in "abc"]
    owner = {"owners": [{"owner": "urn:li:corpuser:stella", "type": "DATAOWNER"}]}
    listed.append(Proposal("urn:li:dataset:a", "ownership", json.dumps(owner)))
    parent = {"name": "Parent", "description": ""}
    child = {"name": "Child", "description": "", "parentDomain": "urn:li:domain:parent"}
    listed.append(Proposal("urn:li:domain:parent", "domainProperties", json.dumps(parent)))
    listed.append(Proposal("urn:li:domain:child", "domainProperties", json.dumps(child)))
    apply.apply(proposals=listed, by=authorizer.SYSTEM, channel=DOOR)


def test_the_effect_names_who_gains_and_who_loses(browse, catalog, write):
    policy = write(
        "some",
        actors={"users": ["urn:li:corpuser:otto", "urn:li:corpuser:unknown"]},
        resources={"filter": {"criteria": [{"field": "URN", "values": ["urn:li:dataset:a", "urn:li:dataset:b"]}]}},
    )
    builder = edit(browse("root"), policy)
    assert builder.response.context["net_change"] == [NOBODY]
    builder.press("3")
    builder.press("refresh", allUsers="on")
    assert builder.response.context["net_change"] == [
        "1 person gains access to 1 entity.",
        "Stella Steward gains Edit Tags on 1 entity, b.",
    ], "she owns the other one"
    assert "Stella Steward gains Edit Tags" in builder.text
    builder.press("refresh", allUsers=None, users=[], resourceOwners="on")
    assert builder.response.context["net_change"] == [
        "1 person loses access to 2 entities.",
        "Otto Outsider loses Edit Tags on 2 entities, a, b.",
    ]
    builder.press("1")
    builder.press("refresh", state="INACTIVE")
    assert builder.response.context["net_change"] == [
        "1 person loses access to 2 entities.",
        "Otto Outsider loses Edit Tags on 2 entities, a, b.",
    ]


def test_a_changed_list_of_privileges_shows(browse, catalog, write):
    builder = edit(browse("root"), write("some", actors={"users": ["urn:li:corpuser:otto"]}))
    assert builder.response.context["net_change"] == [NOBODY]
    builder.press("2")
    builder.press("refresh", privileges=["DELETE_ENTITY"])
    lost, gained = builder.response.context["net_change"][1::2]
    assert lost.startswith("Otto Outsider loses Edit Tags on ")
    assert gained.startswith("Otto Outsider gains Delete on ")


def test_while_somebody_types_a_sample_comes_before_the_exact_answer(browse, catalog, write, monkeypatch):
    headers = {"HX-Request": "true", "HX-Target": "builder-aside"}
    builder = edit(browse("root"), write("some", actors={"allUsers": True}))
    builder.press("2")
    drawn = builder.press("refresh", privileges=["DELETE_ENTITY"], headers=headers)
    assert not drawn.context["is_sampled"]
    exact = drawn.context["net_change"]
    monkeypatch.setattr(comparison, "SAMPLED_ENTITIES", 1)
    sampled = builder.press("refresh", privileges=["DELETE_ENTITY"], headers=headers)
    assert sampled.context["net_change"][-1] == SAMPLED
    assert "1 entity" in sampled.context["net_change"][0]
    assert """hx-vals='{"go": "exact"}'""" in sampled.content.decode()
    final = builder.press("exact", privileges=["DELETE_ENTITY"], headers=headers)
    assert final.context["net_change"] == exact
    assert """hx-vals='{"go": "exact"}'""" not in final.content.decode()


def test_htmx_gets_what_stands_beside_the_fields_alone(browse, world):
    builder = Builder(browse("root"), f"{BASE}/new")
    response = builder.press("refresh", name="Live", headers={"HX-Request": "true", "HX-Target": "builder-aside"})
    assert response.content.decode().strip().startswith('<div id="builder-aside"')
    assert "<form" not in response.content.decode()


def test_trees_open_with_and_without_scripts(browse, catalog):
    client = browse("root")
    part = client.get(f"{BASE}/branches/DOMAIN", {"name": "c0_values"}).content.decode()
    assert "Parent" in part
    assert "Child" not in part
    part = client.get(
        f"{BASE}/branches/DOMAIN", {"name": "c0_values", "parent": "urn:li:domain:parent"}
    ).content.decode()
    assert 'name="c0_values"' in part
    assert "Child" in part
    builder = Builder(client, f"{BASE}/new?template=domains")
    builder.press("2")
    builder.press("add:c", c_new="DOMAIN")
    builder.press("open:c1_values:")
    assert "open:c1_values:urn:li:domain:parent" in builder.form.buttons
    builder.press("open:c1_values:urn:li:domain:parent")
    assert 'value="urn:li:domain:child"' in builder.text
    builder.press("save", c1_values=["urn:li:domain:child"])
    policy = Policy.objects.get(name="See the domains")
    assert policy.document["resources"]["filter"]["criteria"][1]["values"] == ["urn:li:domain:child"]


def test_searches_answer_with_what_the_field_holds(browse, catalog):
    page = browse("root").get(f"{BASE}/options/DOMAIN", {"q": "par", "name": "c0_values"})
    assert 'value="urn:li:domain:parent"' in page.content.decode()
    assert "dataset" not in page.content.decode()
    for q in ("\x00", "%", "x" * 5000):
        assert browse("root").get(f"{BASE}/options/URN", {"q": q}).status_code == 200


@pytest.mark.parametrize("template", ["", "ownership", "domains", "platform-team", "nonsense"])
def test_every_pattern_can_be_saved_as_it_is(browse, world, template):
    builder = Builder(browse("root"), f"{BASE}/new?template={template}")
    builder.press("save", name="From a pattern")
    assert builder.response.status_code == 302
    assert Policy.objects.filter(name="From a pattern").exists()


def test_a_copy_begins_inactive_under_another_name(browse, world, write):
    policy = write("one", displayName="One", actors={"users": ["urn:li:corpuser:otto"]}, lastUpdatedTimestamp=1)
    builder = Builder(browse("root"), f"{BASE}/new?like={policy.urn}")
    builder.press("save")
    copy = Policy.objects.get(name="Copy of One")
    assert copy.state == "INACTIVE"
    assert {**copy.document, "displayName": "One", "state": "ACTIVE"} == policy.document


def test_a_step_costs_the_same_whatever_the_document_holds(browse, world, write):
    costs = []
    for size in (5, 50):
        users = [f"urn:li:corpuser:u{number}" for number in range(size)]
        criteria = [{"field": "TAG", "values": [f"urn:li:tag:{number}-{size}"]} for number in range(size)]
        policy = write(f"cost-{size}", actors={"users": users}, resources={"filter": {"criteria": criteria}})
        for step in ("1", "2", "3"):
            builder = edit(browse("root"), policy)
            with CaptureQueriesContext(connection) as found:
                builder.press(step)
            assert builder.response.context["work"].step == int(step)
            costs.append(len(found))
    assert costs[:3] == costs[3:]
    # The form is kept, and then shown by the address of its draft; six are the turn of the preview without Redis.
    assert max(costs) <= 62


def test_fields_that_are_unknown_here_are_shown_and_removed_before_it_is_saved(browse, world):
    """As DataHub's doors store them: the policy is inactive, and neither its switch nor the builder changes that."""
    raw = document_of(displayName="From elsewhere") | {"quota": "TEN"}
    raw["actors"] = raw["actors"] | {"a/b": [1]}
    client, urn = browse("root"), "urn:li:dataHubPolicy:elsewhere"
    aspect = Proposal(urn, "dataHubPolicyInfo", json.dumps(raw))
    apply.apply(proposals=[aspect], by=authorizer.SYSTEM, channel=DOOR)
    client.post(f"{BASE}/state/{urn}", {"state": "ACTIVE"})
    page = client.get(f"{BASE}/{urn}").content.decode()
    assert "There is no field &#x27;quota&#x27; here." in page
    assert "<code>/actors/a~1b</code>" in page
    builder = edit(client, policy_queries.get_policy(urn=urn))
    builder.press("save", state="ACTIVE")
    assert builder.is_refused
    builder.press("drop:/displayName")
    for pointer in ("/quota", "/actors/a~1b"):
        assert f'value="drop:{pointer}"' in builder.text
        builder.press(f"drop:{pointer}")
    assert "drop:" not in builder.text
    assert builder.press("save", state="ACTIVE").status_code == 302
    assert stored(urn) == document_of(displayName="From elsewhere")
    assert policy_queries.get_policy(urn=urn).state == "ACTIVE"


@pytest.mark.parametrize("index", ["0000000001", "0" * 5000, "1", "-1", "x", ""])
def test_a_crafted_place_of_a_value_keeps_nothing(browse, world, write, index):
    policy = write("kept", actors={"users": ["urn:li:corpuser:two\nlines"]})
    builder = edit(browse("root"), policy)
    builder.press("3")
    builder.press("save", users_kept=[index])
    assert builder.response.status_code == 302
    assert stored(policy.urn)["actors"]["users"] == []


@pytest.mark.parametrize(("count", "is_more"), [(200, False), (201, True)])
def test_a_tree_says_that_there_is_more_where_there_is(browse, world, count, is_more):
    listed = [
        Proposal(f"urn:li:domain:d{number:03}", "domainProperties", json.dumps({"name": f"D{number:03}"}))
        for number in range(count)
    ]
    apply.apply(proposals=listed, by=authorizer.SYSTEM, channel=DOOR)
    client = browse("root")
    branches = client.get(f"{BASE}/branches/DOMAIN", {"name": "c0_values"}).content.decode()
    assert (branches.count('name="c0_values"'), "There is more" in branches) == (200, is_more)
    builder = Builder(client, f"{BASE}/new?template=domains")
    builder.press("2")
    builder.press("add:c", c_new="DOMAIN")
    builder.press("open:c1_values:")
    assert ("There is more" in builder.text) is is_more


@pytest.mark.parametrize(
    ("changes", "sentences"),
    [
        ({"actors": {}}, [empty_reach.NOBODY]),
        ({"actors": {"users": ["urn:li:corpuser:never-registered"]}}, [empty_reach.NOBODY]),
        ({"actors": {"groups": ["urn:li:corpGroup:never-made"]}}, [empty_reach.NOBODY]),
        ({"actors": {"users": [OTTO], "excludedUsers": [OTTO]}}, [empty_reach.NOBODY]),
        ({"resources": matching_all(criterion("DOMAIN", "urn:li:domain:nowhere"))}, [empty_reach.NOTHING]),
        ({"resources": matching_all(criterion("TAG"))}, [empty_reach.NOTHING]),
        ({"actors": {}, "privileges": []}, [empty_reach.NOBODY, empty_reach.NO_PRIVILEGES]),
        ({"actors": {}, "state": "INACTIVE"}, []),
        ({"actors": {"resourceOwners": True}}, []),
        ({"resources": matching_all(criterion("TYPE", "corpuser"))}, []),
        ({"resources": matching_all()}, []),
        ({}, []),
    ],
)
def test_an_active_policy_that_reaches_nobody_or_nothing_is_asked_about(browse, world, write, changes, sentences):
    whole = {"displayName": "Asked", "privileges": ["EDIT_ENTITY_TAGS"], "actors": {"users": [OTTO]}, **changes}
    policy = write("asked", **whole)
    builder = Builder(browse("root"), f"{BASE}/edit/{policy.urn}")
    response = builder.press("save", is_sure=False, description="Said anew")
    assert list(response.context["work"].questions if sentences else ()) == sentences
    assert all(sentence in builder.text for sentence in sentences)
    assert builder.is_refused == bool(sentences)
    assert (policy_queries.get_policy(urn=policy.urn).description == "Said anew") == (not sentences)
    if sentences:
        assert builder.press("save:anyway").status_code == 302
        assert policy_queries.get_policy(urn=policy.urn).description == "Said anew"


def test_somebody_elses_change_is_told_before_anything_is_asked(browse, world, write):
    policy = write("asked", displayName="Asked", actors={})
    builder = Builder(browse("root"), f"{BASE}/edit/{policy.urn}")
    theirs = policy_drafts.PolicyInput("datahub", {**stored(policy.urn), "description": "Theirs"})
    policies.update(urn=policy.urn, draft=theirs, by=authorizer.SYSTEM, channel=DOOR)
    builder.press("save", is_sure=False, description="Mine")
    assert "Somebody else saved version 2" in builder.text
    assert empty_reach.NOBODY not in builder.text
    builder.press("takeover", is_sure=False)
    assert empty_reach.NOBODY in builder.text
    assert builder.press("save:anyway").status_code == 302
