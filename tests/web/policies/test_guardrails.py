"""The pages of guardrails: the list, what breaks one in words, the form of each rule, its JSON, and refusals."""

import json

import pytest
from django.urls import reverse

from catalog.models import Finding
from policies.authoring.services import policies, policy_drafts
from policies.engine.guardrails.rules import RuleKind
from policies.guardrails.pages import shapes as guardrail_shapes
from policies.guardrails.services import guardrails
from policies.models import Guardrail
from policies.pdp import authorizer, snapshot_store
from tests.web.conftest import DOOR
from tests.web.policies.writing import Builder

BASE = "/settings/permissions/guardrails"
TAG = "urn:li:tag:PII"
OTTO = "urn:li:corpuser:otto"
PII = {"filter": {"criteria": [{"field": "TAG", "condition": "EQUALS", "values": [TAG]}]}}
ROOT = {"users": ["urn:li:corpuser:datahub"], "roles": ["urn:li:dataHubRole:Admin"]}
RULE = {"never": {"actors": {"everybody_except": ROOT}, "privileges": ["DELETE_ENTITY"], "resources": PII}}
BREAKING = {
    "displayName": "Otto deletes",
    "type": "METADATA",
    "state": "ACTIVE",
    "privileges": ["DELETE_ENTITY"],
    "actors": {"users": [OTTO]},
}

#: A rule of each kind, as the form writes it.
RULES = {
    RuleKind.NEVER: RULE,
    RuleKind.ALWAYS: {
        "always": {"actors": {"users": [OTTO]}, "privileges": ["VIEW_ENTITY_PAGE"], "resources": PII},
    },
    RuleKind.AT_LEAST: {"at_least": {"number": 1, "privileges": ["MANAGE_POLICIES"]}},
    RuleKind.NOT_BOTH: {
        "not_both": {
            "first": {"privileges": ["MANAGE_POLICIES"]},
            "second": {"privileges": ["EDIT_ENTITY"], "resources": PII},
            "except": ROOT,
        }
    },
    RuleKind.NO_POLICY: {
        "no_policy": {"actors": {"allUsers": True}, "privileges": ["EDIT_ENTITY"], "resources": PII},
    },
}


@pytest.fixture
def builder(browse):
    """The form of a new guardrail as root sees it."""
    return lambda query="": Builder(browse("root"), f"{BASE}/new{query}")


def make(rule=RULE, **more):
    return guardrails.create(name="PII stays", rule=rule, by=authorizer.SYSTEM, channel=DOOR, **more)


def test_one_is_written_in_the_form_without_scripts(builder):
    form = builder()
    assert "None of" not in form.text
    form.press("refresh", audience="except", **{"actors-users_pasted": "urn:li:corpuser:datahub"})
    form.press("refresh", **{"actors-roles_pasted": "urn:li:dataHubRole:Admin", "first-privileges": ["DELETE_ENTITY"]})
    form.press("add:first-c", **{"first-c_new": "TAG"})
    form.press("refresh", **{"first-c0_values_pasted": TAG})
    assert "Nobody but" in form.response.context["sentence"]
    assert "may ever Delete on anything tagged" in form.response.context["sentence"]
    saved = form.press("save", name="PII stays", mode="warn")
    assert saved.status_code == 302
    guardrail = Guardrail.objects.get(name="PII stays")
    assert (guardrail.rule, guardrail.mode) == (RULE, "warn")


@pytest.mark.parametrize("kind", list(RuleKind))
def test_a_rule_of_each_kind_is_shown_and_saved_as_it_was(browse, kind):
    rule = RULES[kind]
    guardrail = make(rule)
    form = Builder(browse("root"), f"{BASE}/edit/{guardrail.urn}")
    assert form.response.context["draft"].kind == kind
    form.press("json")
    assert json.loads(form.response.context["draft"].rule_text) == rule
    form.press("form")
    assert form.response.context["draft"].rule_text is None
    # What other kinds use waits until one of them is chosen again.
    for other in RuleKind:
        form.press("refresh", kind=other.value)
        assert form.response.status_code == 200
    form.press("refresh", kind=kind.value)
    assert form.press("save", description="Said again.").status_code == 302
    guardrail.refresh_from_db()
    assert (guardrail.rule, guardrail.description, guardrail.version) == (rule, "Said again.", 2)


@pytest.mark.parametrize("kind", list(RuleKind))
def test_the_form_of_a_new_rule_begins_empty(builder, kind):
    form = builder(f"?kind={kind}")
    assert form.response.context["draft"].kind == kind
    assert "…" in form.response.context["sentence"]
    form.press("save", name="Empty")
    assert form.is_refused
    assert "This cannot be saved yet" in form.text


def test_problems_stand_at_their_fields(builder):
    form = builder("?kind=not_both")
    form.press("save", name="", audience="except", **{"second-privileges": ["NO_SUCH"]})
    context = form.response.context
    first, second = context["scopes"]
    assert first["privilege_notes"]["errors"] == ["Name at least one privilege."]
    assert second["privilege_notes"]["errors"] != []
    assert context["actor_notes"]["errors"] == ["This names nobody."]
    assert context["notes"]["name"]["errors"] != []
    assert context["general"] == []
    form.press("refresh", kind="at_least", number="no number")
    form.press("save", number="no number", **{"first-privileges": ["EDIT_ENTITY"]})
    assert form.response.context["number_notes"]["errors"] == ["This must be a whole number from 1 to 10000."]
    assert form.response.context["scopes"][0]["privilege_notes"]["errors"] != []


def test_a_condition_is_removed_and_everything_is_about_the_platform_too(builder):
    form = builder()
    form.press("add:first-c", **{"first-c_new": "DOMAIN"})
    assert len(form.response.context["scopes"][0]["cards"]) == 1
    assert "MANAGE_POLICIES" not in form.text
    form.press("remove:first-c:0")
    assert form.response.context["scopes"][0]["cards"] == []
    form.press("refresh", **{"first-scope": "any"})
    assert "MANAGE_POLICIES" in form.text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "rule"),
        ("[]", "no place for all of this"),
        ('{"never": {"actors": {"resourceOwners": true}, "privileges": []}}', "no place for all of this"),
    ],
)
def test_json_that_the_form_cannot_show_stays_json(builder, text, sentence):
    form = builder()
    form.press("json")
    form.press("form", rule=text)
    assert form.is_refused
    assert sentence in form.text
    assert form.response.context["draft"].rule_text == text


def test_what_only_json_can_say_is_written_and_edited_as_json(builder, browse):
    rule = {"never": RULE["never"] | {"resources": {"type": "dataset"}}}
    form = builder()
    form.press("json")
    assert form.press("save", name="By type", rule=json.dumps(rule)).status_code == 302
    guardrail = Guardrail.objects.get(name="By type")
    assert guardrail.rule == rule
    again = Builder(browse("root"), f"{BASE}/edit/{guardrail.urn}")
    assert json.loads(again.response.context["draft"].rule_text) == rule


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("{", "rule"), ("[]", "must be an object"), ('{"never": {"privileges": ["EDIT_ENTITY"]}}', "Choose the people")],
)
def test_problems_of_json_stand_at_it(builder, text, sentence):
    form = builder()
    form.press("json")
    form.press("save", name="J", rule=text)
    assert form.is_refused
    assert any(sentence in error for error in form.response.context["notes"]["rule"]["errors"])


def test_owners_are_refused_with_the_reason(builder):
    rule = {"never": {"actors": {"resourceOwners": True}, "privileges": ["EDIT_ENTITY"]}}
    form = builder()
    form.press("json")
    form.press("save", name="Owners", rule=json.dumps(rule))
    (error,) = form.response.context["notes"]["rule"]["errors"]
    assert "anybody could own anything" in error


def test_beside_the_fields_stands_what_breaks_it_already(builder):
    policies.create(draft=policy_drafts.PolicyInput("datahub", BREAKING), by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.mark_stale()
    form = builder()
    form.press("json")
    form.press("refresh", name="PII", rule=json.dumps(RULE))
    assert form.text.index("Broken already") < form.text.index("Summary")
    assert "Otto Outsider: Delete on a dataset tagged" in form.text
    aside = form.press("refresh", headers={"HX-Request": "true", "HX-Target": "builder-aside"})
    assert "Otto Outsider" in aside.content.decode()
    assert "<form" not in aside.content.decode()


def test_somebody_else_s_change_is_not_overwritten_unseen(browse):
    guardrail = make()
    form = Builder(browse("root"), f"{BASE}/edit/{guardrail.urn}")
    guardrails.update(urn=guardrail.urn, mode="off", by=authorizer.SYSTEM, channel=DOOR)
    form.press("save", description="Mine")
    assert form.is_refused
    assert "is at version 2 now, not 1" in form.text
    assert form.press("save").status_code == 302


def test_a_form_that_was_not_made_here_is_refused(browse):
    assert browse("root").post(f"{BASE}/new", {"draft": "x", "go": "save"}).status_code == 400


def test_one_is_shown_and_deleted(browse):
    root, guardrail = browse("root"), make()
    page = root.get(f"{BASE}/{guardrail.urn}").content.decode()
    assert "may ever Delete on anything tagged" in page
    assert "Holds" in page
    assert "PII stays" in root.get(BASE).content.decode()
    assert "no change is refused" in root.get(f"{BASE}/delete/{guardrail.urn}").content.decode()
    assert root.post(f"{BASE}/delete/{guardrail.urn}").status_code == 302
    assert not Guardrail.objects.filter(urn=guardrail.urn).exists()


def test_what_breaks_it_is_told_in_words(browse):
    policies.create(draft=policy_drafts.PolicyInput("datahub", BREAKING), by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.mark_stale()
    page = browse("root").get(f"{BASE}/{make().urn}").content.decode()
    assert "Otto deletes" in page
    assert "Otto Outsider: Delete on a dataset tagged" in page


def test_what_will_break_it_is_told_with_its_time(browse, builder):
    ending = BREAKING | {"type": "PLATFORM", "privileges": ["MANAGE_TAGS"], "validUntil": "2099-01-01T00:00:00Z"}
    policies.create(draft=policy_drafts.PolicyInput("datahub", ending), by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.mark_stale()
    promise = {"always": {"actors": {"users": [OTTO]}, "privileges": ["MANAGE_TAGS"]}}
    form = builder("?kind=always")
    form.press("json")
    form.press("refresh", name="Otto tags", rule=json.dumps(promise))
    assert "Holds for now" in form.text
    assert "Broken already" not in form.text
    assert "From 1 Jan 2099, 00:00 UTC:" in form.text
    root, guardrail = browse("root"), make(promise)
    page = root.get(f"{BASE}/{guardrail.urn}").content.decode()
    assert "What will break it" in page
    assert "From 1 Jan 2099, 00:00 UTC:" in page
    assert "Holds until 1 Jan 2099, 00:00 UTC" in page
    assert "Holds until 1 Jan 2099, 00:00 UTC" in root.get(BASE).content.decode()


def test_the_built_in_one_cannot_be_changed(browse):
    root, urn = browse("root"), "urn:li:guardrail:__manage_policies"
    assert "Somebody can manage policies" in root.get(BASE).content.decode()
    assert root.get(f"{BASE}/edit/{urn}").status_code == 403
    assert root.post(f"{BASE}/delete/{urn}").status_code == 403


def test_a_draft_over_an_older_version_says_so(browse):
    guardrail = make()
    form = Builder(browse("root"), f"{BASE}/edit/{guardrail.urn}")
    form.press("refresh", description="Mine")
    guardrails.update(urn=guardrail.urn, mode="off", by=authorizer.SYSTEM, channel=DOOR)
    request = form.response.request
    form.response = form.client.get(f"{request['PATH_INFO']}?{request['QUERY_STRING']}")
    assert f"{guardrail.name} was changed while you were changing it." in form.text
    form.press("save")
    assert Guardrail.objects.get(urn=guardrail.urn).description == "Mine"


def test_a_guardrail_deleted_meanwhile_can_become_a_new_one(browse):
    guardrail = make()
    form = Builder(browse("root"), f"{BASE}/edit/{guardrail.urn}")
    guardrails.delete(urn=guardrail.urn, by=authorizer.SYSTEM, channel=DOOR)
    form.press("save", description="Still here")
    assert "This guardrail was deleted while you were changing it" in form.text
    assert "Still here" in form.text
    form.press("save", address=f"{BASE}/new")
    assert Guardrail.objects.get(name=guardrail.name).description == "Still here"


def test_a_policy_that_breaks_one_shows_rule_example_and_link(browse):
    root, guardrail = browse("root"), make()
    form = Builder(root, "/settings/permissions/policies/new")
    form.press("2", name="Otto deletes")
    form.press("3", privileges=["DELETE_ENTITY"])
    form.press("save", users_pasted=OTTO)
    assert form.is_refused
    assert "The guardrail PII stays would be broken" in form.text
    assert "For example Otto Outsider" in form.text
    assert f'href="{BASE}/{guardrail.urn}"' in form.text


def test_a_state_that_breaks_one_shows_rule_and_example(browse):
    root = browse("root")
    make()
    policies.create(
        draft=policy_drafts.PolicyInput("datahub", BREAKING | {"state": "INACTIVE"}),
        urn="urn:li:dataHubPolicy:otto",
        by=authorizer.SYSTEM,
        channel=DOOR,
    )
    refused = root.post(
        "/settings/permissions/policies/state/urn:li:dataHubPolicy:otto", {"state": "ACTIVE"}, follow=True
    )
    page = refused.content.decode()
    assert "The guardrail PII stays would be broken" in page
    assert "For example Otto Outsider" in page


def test_a_keeper_who_manages_no_policies_can_use_the_pickers(browse, write):
    write("keeper", type="PLATFORM", privileges=["MANAGE_GUARDRAILS"], actors={"users": [OTTO]})
    keeper = browse("outsider")
    for address in ("options/TAG?q=p", "branches/DOMAIN?name=x"):
        assert keeper.get(f"/settings/permissions/policies/{address}").status_code == 200
    assert keeper.get("/settings/identities/options?kind=group&q=a").status_code == 200


@pytest.mark.parametrize(
    "rule",
    [
        None,
        [],
        {},
        {"never": {}, "always": {}},
        {"ever": {}},
        {"never": []},
        {"never": {"actors": [], "privileges": []}},
        {"never": {"actors": {"allUsers": True, "users": []}, "privileges": []}},
        {"never": {"actors": {"users": "x"}, "privileges": []}},
        {"never": {"actors": {}, "privileges": [1]}},
        {"never": {"actors": {}, "resources": []}},
        {"never": {"actors": {}, "resources": {"filter": {"criteria": [{"field": 1}]}}}},
        {"never": {"actors": {}, "resources": {"filter": {"criteria": [{"field": "TAG", "condition": "LIKE"}]}}}},
        {"always": {"actors": {"groups": []}}},
        {"at_least": {"number": True}},
        {"not_both": {"first": []}},
        {"not_both": {"third": {}}},
    ],
)
def test_what_the_form_has_no_place_for_is_recognized(rule):
    assert not guardrail_shapes.is_showable(rule)


def test_the_list_is_searched_and_filtered(browse):
    root = browse("root")
    make(description="About personal data")
    guardrails.create(name="Sleeping", rule=RULE, mode="off", by=authorizer.SYSTEM, channel=DOOR)

    def find(query):
        page = root.get(f"{BASE}?{query}", headers={"HX-Request": "true", "HX-Target": "guardrails"})
        return [row["guardrail"].name for row in page.context["rows"]]

    assert find("q=personal") == ["PII stays"]
    assert find("mode=off") == ["Sleeping"]
    assert find("status=holds&mode=enforce") == ["PII stays", "Somebody can manage policies"]
    empty = root.get(f"{BASE}?q=nothing+like+this").content.decode()
    assert "No guardrails match" in empty
    assert "There is no such mode." in root.get(f"{BASE}?mode=never").content.decode()


def test_its_finding_leads_to_it(browse):
    policies.create(draft=policy_drafts.PolicyInput("datahub", BREAKING), by=authorizer.SYSTEM, channel=DOOR)
    snapshot_store.mark_stale()
    guardrail = make()
    finding = Finding.objects.get(kind="guardrails", key=guardrail.urn)
    page = browse("root").get(reverse("finding", args=[finding.pk])).content.decode()
    assert f'href="{BASE}/{guardrail.urn}"' in page
    assert "PII stays</a>" in page


def test_one_whose_rule_cannot_be_read_any_more_says_so(browse, settings):
    settings.CUSTOM_PRIVILEGES = ["TODO_READ"]
    guardrail = make({"never": {"actors": {"users": [OTTO]}, "privileges": ["TODO_READ"]}})
    settings.CUSTOM_PRIVILEGES = []
    root = browse("root")
    page = root.get(f"{BASE}/{guardrail.urn}").content.decode()
    assert "Not known" in page
    assert "Its rule cannot be read any more: /rule/never/privileges/0:" in page
    assert "Not known" in root.get(BASE).content.decode()
    assert root.get(f"{BASE}/edit/{guardrail.urn}").status_code == 200
    assert root.post(f"{BASE}/delete/{guardrail.urn}").status_code == 302
