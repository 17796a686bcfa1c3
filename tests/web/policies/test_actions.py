"""Switching on and off, deleting, duplicating, history and restoring."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape
from django.utils.http import urlencode

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Report
from policies.authoring.changes import SetState
from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.changes import comparison
from policies.changes.net_change import KeptAccess, NetChange
from policies.changes.pages.net_change_wording import NOBODY, NOT_EXACT, describe_net_change
from policies.changes.pages.verdict_wording import describe_policy_changes
from policies.engine.families import datahub
from policies.guardrails.services import guardrails
from policies.models import Policy
from policies.pdp import authorizer
from policies.writes.preview_disclosure import PreviewDisclosure
from tests.web.conftest import DOOR, document_of

BASE = "/settings/permissions/policies"
OTTO = "urn:li:corpuser:otto"
HTMX = {"HX-Request": "true"}
HOSTILE = "<script>alert(1)</script>"
DATAZONE = {
    "name": "Readers of one project",
    "statements": [
        {"resource": "project:5f4b8c1d2e3f4a5b6c7d8e9f:dataset:*", "actions": ["dataset:read"], "effect": "allow"},
        {"resource": "dataset", "actions": ["dataset:*"], "effect": "deny"},
    ],
    "roles": ["urn:li:dataHubRole:Reader"],
}


def said(response):
    return [str(message) for message in response.wsgi_request._messages]


def change(policy, **changes):
    draft = policy_drafts.PolicyInput("datahub", {**policy_queries.get_policy(urn=policy.urn).document, **changes})
    return policies.update(urn=policy.urn, draft=draft, by=authorizer.SYSTEM, channel=DOOR).policy


def test_a_policy_is_switched_off_and_on_and_one_comes_back(browse, world, write):
    policy = write("one", displayName="One")
    client = browse("root")
    page = client.get(BASE, {"q": "One"}).content.decode()
    assert f'hx-get="{BASE}/state/{policy.urn}?state=INACTIVE&amp;version=1&amp;back=' in page
    back = f"{BASE}?q=One&page=1"
    response = client.post(f"{BASE}/state/{policy.urn}", {"state": "INACTIVE", "version": "1", "back": back})
    assert response.headers["Location"] == back
    assert said(response)[0] == "One is inactive now."
    assert policy_queries.get_policy(urn=policy.urn).state == "INACTIVE"
    response = client.post(
        f"{BASE}/state/{policy.urn}", {"state": "ACTIVE", "version": "1", "back": "https://x.example/"}
    )
    assert response.headers["Location"] == f"{BASE}/{policy.urn}"
    assert "is at version 2 now, not 1" in said(response)[-1]
    assert policy_queries.get_policy(urn=policy.urn).state == "INACTIVE"


@pytest.mark.parametrize("body", [{}, {"state": "BOGUS"}, {"state": "ACTIVE", "version": "x" * 30}])
def test_a_state_that_is_none_changes_nothing(browse, world, write, body):
    policy = write("one", state="ACTIVE")
    assert browse("root").post(f"{BASE}/state/{policy.urn}", body).status_code == 302
    assert policy_queries.get_policy(urn=policy.urn).state == "ACTIVE"


MANAGING_TAGS = {"type": "PLATFORM", "privileges": ["MANAGE_TAGS"]}


@pytest.mark.parametrize("headers", [HTMX, {}], ids=["dialog", "page"])
def test_a_question_about_too_much_starts_the_report_in_its_place(browse, world, write, monkeypatch, headers):
    policy = write("one", displayName="One", actors={"users": ["urn:li:corpuser:otto"]}, **MANAGING_TAGS)
    change(policy, description="again")
    client = browse("root")
    urls = {
        f"{BASE}/delete/{policy.urn}": ("removed", "INACTIVE"),
        f"{BASE}/state/{policy.urn}?state=INACTIVE": ("proposed", "INACTIVE"),
        f"{BASE}/restore/1/{policy.urn}": ("proposed", "ACTIVE"),
    }
    for url in urls:
        assert "Start impact report" not in client.get(url, headers=headers).content.decode()
    monkeypatch.setattr(comparison, "MAX_STEPS", -1)
    for url, (name, state) in urls.items():
        question = client.get(url, headers=headers)
        assert NOT_EXACT in question.context["effect"]
        parameter = question.context["impact_report"]
        assert parameter["name"] == name
        text = question.content.decode()
        assert f'name="{name}"' in text
        assert 'hx-post="/reports/new/policy_impact"' in text
        assert '<div id="impact-report"' in text
        place = {"HX-Request": "true", "HX-Target": "impact-report"}
        started = client.post("/reports/new/policy_impact", {name: parameter["value"]}, headers=place, follow=True)
        assert "Waiting for a worker" in started.content.decode()
        report = Report.objects.get()
        if name == "removed":
            assert report.parameters["removed"] == [policy.urn]
        else:
            assert [(entry["urn"], entry["state"]) for entry in report.parameters["proposed"]] == [(policy.urn, state)]
        report.delete()


def test_deactivating_and_activating_ask_first_and_say_who_loses_and_gets_what(browse, world, write):
    policy = write("one", displayName="One", actors={"users": ["urn:li:corpuser:otto"]}, **MANAGING_TAGS)
    client = browse("root")
    url = f"{BASE}/state/{policy.urn}?{urlencode({'state': 'INACTIVE', 'version': '1', 'back': f'{BASE}?q=One'})}"
    question = client.get(url, headers=HTMX)
    text = question.content.decode()
    assert "<html" not in text
    assert question.context["effect"][0] == "Otto Outsider loses the platform privilege Manage Tags."
    assert policy_queries.get_policy(urn=policy.urn).state == "ACTIVE", "asking changes nothing"
    assert client.post(url).headers["Location"] == f"{BASE}?q=One"
    assert policy_queries.get_policy(urn=policy.urn).state == "INACTIVE"
    question = client.get(f"{BASE}/state/{policy.urn}?state=ACTIVE&version=2")
    assert question.context["effect"][0] == "Otto Outsider gains the platform privilege Manage Tags."
    assert client.post(f"{BASE}/state/{policy.urn}?state=ACTIVE&version=1").status_code == 302
    assert policy_queries.get_policy(urn=policy.urn).state == "INACTIVE", "somebody saw an older version"
    assert client.get(f"{BASE}/state/{policy.urn}?state=BOGUS").status_code == 404
    assert client.get(f"{BASE}/state/{policy.urn}").status_code == 404


def test_deleting_says_who_loses_what_and_then_does_it(browse, world, write):
    users = ["urn:li:corpuser:otto", "urn:li:corpuser:stella"]
    policy = write("doomed", displayName=HOSTILE, actors={"users": users}, **MANAGING_TAGS)
    write("other", displayName="Other", actors={"users": users[1:]}, **MANAGING_TAGS)
    client = browse("root")
    url = f"{BASE}/delete/{policy.urn}?version=1"
    question = client.get(url, headers=HTMX).content.decode()
    assert "<html" not in question
    assert "Otto Outsider loses the platform privilege Manage Tags." in question
    assert "Stella Steward" not in question, "another policy gives her the same"
    assert HOSTILE not in question
    assert client.post(url).headers["Location"] == BASE
    assert not Policy.objects.filter(urn=policy.urn).exists()
    assert client.post(url).status_code == 404


def test_a_stale_question_and_fixed_policies_delete_nothing(browse, world, write):
    policy = write("one", displayName="One")
    client = browse("root")
    change(policy, description="Newer")
    response = client.post(f"{BASE}/delete/{policy.urn}?version=1")
    assert "Nothing was changed; look at it again." in said(response)[0]
    fixed = f"{BASE}/delete/urn:li:dataHubPolicy:0"
    assert client.post(fixed).status_code == 302
    assert Policy.objects.filter(urn="urn:li:dataHubPolicy:0").exists()
    assert "/delete/" not in client.get(f"{BASE}/urn:li:dataHubPolicy:0").content.decode()


def test_an_inactive_policy_takes_nothing_from_anybody(browse, world, write):
    policy = write("off", state="INACTIVE", actors={"allUsers": True})
    assert "No one&#x27;s access changes today" in browse("root").get(f"{BASE}/delete/{policy.urn}").content.decode()


def test_history_tells_each_change_in_words(browse, world, write):
    policy = write("one", displayName="One", privileges=["EDIT_ENTITY_TAGS", "VIEW_ENTITY_PAGE"])
    change(policy, displayName="Two", privileges=["VIEW_ENTITY_PAGE", "EDIT_ENTITY_DOCS"])
    change(policy, actors={"users": ["urn:li:corpuser:otto"]}, resources={"filter": {"criteria": []}})
    change(policy, privileges=["EDIT_ENTITY_DOCS", "VIEW_ENTITY_PAGE"], lastUpdatedTimestamp=7)
    client = browse("root")
    rows = client.get(f"{BASE}/history/{policy.urn}").context["rows"]
    labels = [[change["label"] for change in row["changes"]] for row in rows]
    assert labels == [["Privileges", "Field lastUpdatedTimestamp"], ["Resources", "Users"], ["Name", "Privileges"], []]
    assert rows[0]["changes"][0]["change"].is_reordered
    assert rows[1]["changes"][1]["gained"] == [{"text": "urn:li:corpuser:otto", "name": "Otto Outsider"}]
    assert rows[2]["changes"][1]["lost"] == [{"text": "EDIT_ENTITY_TAGS", "name": "Edit Tags"}]
    assert rows[3]["by"] == "the system"
    page = client.get(f"{BASE}/versions/2/{policy.urn}")
    text = page.content.decode()
    assert "<del>-   &quot;displayName&quot;: &quot;One&quot;,</del>" in text
    assert "<ins>+   &quot;displayName&quot;: &quot;Two&quot;,</ins>" in text


def test_a_version_is_taken_up_again_after_a_question(browse, world, write):
    policy = write("one", displayName="One", lastUpdatedTimestamp=1)
    first = policy_queries.get_policy(urn=policy.urn).document
    change(policy, displayName="Two", lastUpdatedTimestamp=None)
    client = browse("root")
    url = f"{BASE}/restore/1/{policy.urn}?version=2"
    question = client.get(url, headers=HTMX)
    assert question.context["losses"] == [
        "“Name” changes from “Two” to “One”.",
        "“Field lastUpdatedTimestamp” changes from “null” to “1”.",
    ]
    assert question.context["effect"][0] == NOBODY
    response = client.post(url)
    assert said(response)[0] == "Version 1 of One was restored. Decisions follow it from now on."
    now = policy_queries.get_policy(urn=policy.urn)
    assert (now.document, now.version) == (first, 3)
    assert "is at version 3 now, not 2" in said(client.post(url))[-1]
    page = client.get(f"{BASE}/versions/3/{policy.urn}")
    assert "Nothing: the policy is the same now." in page.content.decode()


def test_the_history_of_a_deleted_policy_stays_and_can_begin_a_new_one(browse, world, write):
    policy = write("gone", displayName="Gone")
    policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel=DOOR)
    client = browse("root")
    page = client.get(f"{BASE}/history/{policy.urn}")
    assert "This policy is deleted; its history is kept." in page.content.decode()
    assert [row["event"].verb for row in page.context["rows"]] == ["DELETED", "CREATED"]
    for number in (1, 2):
        assert client.get(f"{BASE}/versions/{number}/{policy.urn}").status_code == 200
    assert client.get(f"{BASE}/restore/1/{policy.urn}").status_code == 404
    assert client.get(f"{BASE}/new?like={policy.urn}&version=1").status_code == 200
    assert client.get(f"{BASE}/new?like={policy.urn}&version=2").status_code == 404
    assert client.get(f"{BASE}/versions/{10**30}/{policy.urn}").status_code == 404


@pytest.fixture
def zone(world):
    draft = policy_drafts.PolicyInput("datazone", DATAZONE, description="Reads")
    return policies.create(draft=draft, by=authorizer.SYSTEM, channel=DOOR).policy


def test_a_datazone_policy_goes_through_every_page_that_is_for_all_families(browse, zone):
    client = browse("root")
    text = client.get(f"{BASE}/{zone.urn}").content.decode()
    assert "project:5f4b8c1d2e3f4a5b6c7d8e9f:dataset:*" in text
    assert "Holders of Reader may do what 1 statement allows and 1 denies." in text
    assert client.get(f"{BASE}/edit/{zone.urn}").status_code == 404
    client.post(f"{BASE}/state/{zone.urn}", {"state": "INACTIVE", "version": "1"})
    rows = client.get(f"{BASE}/history/{zone.urn}").context["rows"]
    assert [change["label"] for change in rows[0]["changes"]] == ["State"]
    client.post(f"{BASE}/duplicate/{zone.urn}")
    copy = Policy.objects.get(name="Copy of Readers of one project")
    assert (copy.family, copy.state, copy.document["statements"]) == ("datazone", "INACTIVE", DATAZONE["statements"])
    assert copy.description == "Reads"
    client.post(f"{BASE}/state/{zone.urn}", {"state": "ACTIVE", "version": "2"})
    assert escape(NOBODY) in client.get(f"{BASE}/delete/{zone.urn}").content.decode()
    file = client.get(f"{BASE}/export/{zone.urn}").content.decode()
    client.post(f"{BASE}/delete/{zone.urn}")
    seen = client.post(f"{BASE}/import", {"text": file})
    client.post(f"{BASE}/import", {"text": file, "seen": seen.context["seen"]})
    again = policy_queries.get_policy(urn=zone.urn)
    assert (again.document, again.state, again.description) == (DATAZONE, "ACTIVE", "Reads")
    listed = client.get(BASE, {"family": "datazone", "q": "Readers of one"})
    assert [row["policy"].urn for row in listed.context["rows"]].count(zone.urn) == 1


def test_history_costs_the_same_whatever_its_length(browse, world, write):
    client = browse("root")
    costs = []
    for size in (3, 19):
        policy = write(f"busy-{size}")
        for number in range(size):
            users = [f"urn:li:corpuser:{size}-{number}-{place}" for place in range(size)]
            change(policy, description=str(number), actors={"users": users, "groups": [f"urn:li:corpGroup:{number}"]})
        client.get(f"{BASE}/history/{policy.urn}")
        with CaptureQueriesContext(connection) as found:
            client.get(f"{BASE}/history/{policy.urn}")
        costs.append(len(found))
    assert costs[0] == costs[1] <= 35


def test_every_family_has_a_presenter():
    from policies.authoring.pages.presenters import PRESENTERS
    from policies.engine import families

    assert PRESENTERS.keys() == families.FAMILIES.keys()


def test_documents_of_any_family_are_described_without_markup(browse, zone):
    hostile = {**DATAZONE, "name": HOSTILE}
    draft = policy_drafts.PolicyInput("datazone", hostile, description=HOSTILE)
    policies.update(urn=zone.urn, draft=draft, by=authorizer.SYSTEM, channel=DOOR)
    for path in ("", "history/", "versions/2/", "delete/"):
        assert HOSTILE not in browse("root").get(f"{BASE}/{path}{zone.urn}").content.decode()


def test_a_post_without_the_right_changes_nothing(browse, world, write):
    policy = write("one", displayName="One")
    posts = {
        "state": {"state": "INACTIVE", "version": "1"},
        "duplicate": {},
        "delete": {},
        "edit": {"go": "save"},
        "restore/1": {},
    }
    for person, status in (("anonymous", 302), ("outsider", 403), ("steward", 403)):
        client = browse(person)
        for path, body in posts.items():
            assert client.post(f"{BASE}/{path}/{policy.urn}", body).status_code == status
        for path in ("new", "import"):
            assert client.post(f"{BASE}/{path}", {"text": "{}"}).status_code == status
    now = policy_queries.get_policy(urn=policy.urn)
    assert (now.version, now.document) == (1, document_of(displayName="One"))


def test_a_repeated_name_that_goes_is_no_other_order(browse, world, write):
    policy = write("twice", privileges=["EDIT_ENTITY_TAGS", "EDIT_ENTITY_TAGS", "EDIT_ENTITY"])
    change(policy, privileges=["EDIT_ENTITY_TAGS", "EDIT_ENTITY"])
    page = browse("root").get(f"{BASE}/versions/2/{policy.urn}").content.decode()
    assert "in another order" not in page
    assert "the same, some of it more or less often" in page
    page = browse("root").get(f"{BASE}/restore/1/{policy.urn}").content.decode()
    assert "names the same, some of it more or less often." in page


def test_a_long_difference_says_what_it_leaves_out(browse, world, write):
    policy = write("long")
    change(policy, actors={"users": [f"urn:li:corpuser:u{number:04}" for number in range(3000)]})
    page = browse("root").get(f"{BASE}/versions/2/{policy.urn}")
    assert len(page.context["lines"]) == 2000
    assert "more lines" in page.content.decode()


def test_a_question_without_its_parameter_says_what_to_choose(browse, world, write):
    policy = write("asked", displayName="Asked")
    root = browse("root")
    for address, sentence in (
        (f"{BASE}/state/{policy.urn}", "Choose on the page of the policy Asked whether it shall be active."),
        (f"{BASE}/state/{policy.urn}?state=", "Choose on the page of the policy Asked whether it shall be active."),
        (f"{BASE}/state/{policy.urn}?state=DRAFT", "A policy is ACTIVE or INACTIVE, and not DRAFT."),
        ("/settings/permissions/roles/times/urn:li:dataHubRole:Admin", "Choose a user or group"),
    ):
        page = root.get(address)
        assert (page.status_code, "&#x27;&#x27;" in page.content.decode()) == (404, False)
        assert sentence in page.content.decode(), address


def test_a_preview_shows_what_people_know_and_a_broken_guardrail_first(browse, world, write):
    privileges = ["DELETE_ENTITY", "EDIT_ENTITY_DOCS", "EDIT_ENTITY"]
    policy = write(
        "everything", displayName="Everything", privileges=privileges, actors={"users": [OTTO]}, state="INACTIVE"
    )
    names = {f"urn:li:tag:t{number}": ("tagProperties", f"Tag {number}") for number in range(3)} | {
        f"urn:li:dataset:(urn:li:dataPlatform:hive,t{number},PROD)": ("datasetProperties", f"Table {number}")
        for number in range(4)
    }
    described = [Proposal(urn, aspect, json.dumps({"name": name})) for urn, (aspect, name) in names.items()]
    apply.apply(proposals=described, by=authorizer.SYSTEM, channel=DOOR)
    rule = {"never": {"actors": {"users": [OTTO]}, "privileges": ["DELETE_ENTITY"]}}
    guardrails.create(name="Otto deletes nothing", rule=rule, mode="warn", by=authorizer.SYSTEM, channel=DOOR)
    activation = SetState(policy.urn, "ACTIVE")
    sentences = describe_policy_changes(changes=[activation], by=authorizer.SYSTEM).sentences
    assert "Otto deletes nothing" in sentences[0]
    (gained,) = [sentence for sentence in sentences if sentence.startswith("Otto Outsider gains Delete")]
    assert gained.startswith("Otto Outsider gains Delete and Edit Entity on ")
    assert gained.endswith(", for example Table 0, Table 1, Table 2.")


def test_policies_that_are_not_stored_have_their_name(world):
    kept = KeptAccess(OTTO, "EDIT_ENTITY", 1, (datahub.VIEW_SELF.policy,))
    disclosure = PreviewDisclosure.load(authorizer.SYSTEM)
    change = NetChange(policy_version=1, is_exact=False, disclosure=disclosure, kept_items=[kept])
    (sentence,) = describe_net_change(change)[:1]
    assert sentence == "Otto Outsider keeps Edit Entity on 1 entity, through View Self."
