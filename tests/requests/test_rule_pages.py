"""Approval rules in the browser: list and order, the form with its sentence, past requests, conflicts, deletion."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from policies.models import ApprovalRule, ChangeEvent, User, Verb
from policies.requests.rules.terms import TERM_FIELDS
from tests.requests.conftest import ADA, CREW, ORDERS, TAGS, Company, ask, days
from tests.web.policies.writing import Builder

BASE = "/settings/permissions/approval-rules"

#: A rule that has something in every member.
WHOLE: dict[str, Any] = {
    "for": {
        "privileges": ["EDIT_ENTITY_TAGS", "ADMIN"],
        "resources": {"filter": {"criteria": [{"field": "TYPE", "condition": "EQUALS", "values": ["dataset"]}]}},
        "roles": ["urn:li:dataHubRole:Editor"],
        "groups": [CREW],
        "external_roles": ["urn:li:role:reader"],
        "permanent": False,
    },
    "steps": [
        {
            "name": "Owner",
            "approvers": {
                "resourceOwners": True,
                "domainOwners": True,
                "resourceOwnersTypes": ["urn:li:ownershipType:__system__technical_owner"],
            },
            "needs": 2,
            "within": "P3D",
            "then": "escalate",
        },
        {
            "name": "Law",
            "approvers": {
                "users": [ADA],
                "groups": [CREW],
                "roles": ["urn:li:dataHubRole:Admin"],
                "privilege": "MANAGE_POLICIES",
            },
            "needs": "all",
            "within": "P1DT12H",
            "then": "expire",
        },
    ],
    "auto_approve": True,
    "auto_approve_longest": "PT4H",
    "longest": "P30D",
    "allows_permanent": True,
    "ticket": "required",
    "conditions": [{"id": "purpose", "text": "Only for the audit.\nReally."}],
}


@pytest.fixture
def office(company: Company) -> Client:
    """The browser of somebody who manages policies."""
    return sign_in("admin")


def sign_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def read(client: Client, url: str = BASE, **query: Any) -> str:
    return " ".join(client.get(url, query).content.decode().split())


def test_a_rule_goes_through_the_form_unchanged_in_every_member(office: Client, make_rule: Any) -> None:
    urn = make_rule("Personal data", order=10, **WHOLE)["urn"]
    editor = Builder(office, f"{BASE}/edit/{urn}")
    saved = editor.press("save", name="Renamed")
    assert saved.headers["Location"] == reverse("approval-rule", args=[urn])
    rule = ApprovalRule.objects.get(urn=urn)
    assert (rule.name, rule.order, rule.version) == ("Renamed", 10, 2)
    assert rule.terms == WHOLE
    assert set(TERM_FIELDS) - set(WHOLE) == {"requestable"}
    page = read(office, reverse("approval-rule", args=[urn]))
    sentence = (
        "Requests for Edit Tags, Administer, the role urn:li:dataHubRole:Editor or 2 more on anything of the type"
    )
    assert sentence in page
    assert "2 people agree, each of them an owner of the entity" in page
    assert "within 36 hours, else the request ends" in page
    assert "Only for the audit." in page


def test_a_new_rule_is_written_without_scripts_step_by_step(office: Client) -> None:
    assert "Without rules the owners of an entity decide" in read(office)
    editor = Builder(office, f"{BASE}/new")
    assert "All requests: an owner of the entity decides. At most 90 days." in " ".join(editor.text.split())
    editor.press("save", name="")
    assert "This cannot be saved yet" in editor.text
    editor.press("add-step", **{"for-scope": "some", "for-privileges": ["EDIT_ENTITY_TAGS"]})
    editor.press("add:for-c", **{"for-c_new": "DOMAIN", "s1-name": "Law", "s1-users_pasted": ADA})
    editor.press("add-condition", **{"for-c0_values_pasted": "urn:li:domain:finance", "longest": "7"})
    editor.press("raise-step:1", name="Finance", condition0_text="Only for the audit.", ticket="optional")
    editor.press("save", **{"s0-within": "0"})
    assert "A duration is longer than nothing." in editor.text
    editor.press("save", **{"s0-within": "4", "s0-within_unit": "hour"})
    rule = ApprovalRule.objects.get()
    assert (rule.name, rule.order) == ("Finance", 10)
    criteria = [{"field": "DOMAIN", "condition": "EQUALS", "values": ["urn:li:domain:finance"]}]
    assert rule.terms == {
        "for": {"privileges": ["EDIT_ENTITY_TAGS"], "resources": {"filter": {"criteria": criteria}}},
        "steps": [
            {"name": "Law", "approvers": {"users": [ADA]}, "needs": 1, "within": "PT4H"},
            {"name": "Owner", "approvers": {"resourceOwners": True}, "needs": 1},
        ],
        "longest": "P7D",
        "ticket": "optional",
        "conditions": [{"id": "condition-1", "text": "Only for the audit."}],
    }
    listed = read(office)
    assert "Requests for Edit Tags on anything in the domain Finance: ada decides within 4 hours" in listed


def test_the_aside_counts_the_requests_that_a_draft_would_have_decided(
    office: Client, company: Company, make_rule: Any
) -> None:
    first = make_rule("First", order=10, steps=WHOLE["steps"][:1], **{"for": {"permanent": True}})
    ask(company["jo"], TAGS, until=days(3))
    ask(company["bob"], TAGS, until=days(3))
    ask(company["jo"], {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}})
    editor = Builder(office, f"{BASE}/new")
    assert "It would have decided 3 of the 3 requests of the last 30 days." in editor.text
    aside = {"HX-Request": "true", "HX-Target": "builder-aside"}
    counted = editor.press("refresh", headers=aside, **{"for-privileges": ["EDIT_ENTITY_TAGS"]})
    assert "It would have decided 2 of the 3 requests" in counted.content.decode()
    closed = editor.press("refresh", headers=aside, state="INACTIVE", **{"for-privileges": ["EDIT_ENTITY_TAGS"]})
    assert "If it were active, it would have decided 2 of the 3" in closed.content.decode()
    # A rule that comes first takes them.
    wide = Builder(office, f"{BASE}/edit/{first['urn']}")
    wide.press("save", **{"for-ends": "any"})
    behind = editor.press("refresh", headers=aside, **{"for-privileges": ["EDIT_ENTITY_TAGS"]})
    assert "It would have decided 0 of the 3 requests" in behind.content.decode()
    unread = editor.press("refresh", headers=aside, order="many")
    assert "compared once the rule is complete" in unread.content.decode()


def test_rules_are_placed_one_before_another_at_the_version_that_was_seen(office: Client, make_rule: Any) -> None:
    terms = {"steps": [{"name": "Owner", "approvers": {"resourceOwners": True}}]}
    first, second, third = (
        make_rule(name, order=order, **terms)["urn"] for name, order in (("A", 1), ("B", 2), ("C", 9))
    )

    def place(urn: str, **members: Any) -> Any:
        return office.post(f"{BASE}/place/{urn}", {"version": "1", "q": "", **members})

    def find_order() -> str:
        return "".join(ApprovalRule.objects.values_list("name", flat=True))

    answer = place(third, before=second)
    assert answer.headers["Location"].startswith(f"{BASE}?moved=")
    assert "C is number 2 now." in read(office, answer.headers["Location"])
    # No number is free between 1 and 2, so all rules are numbered anew; each is an entry of the change log.
    assert list(ApprovalRule.objects.values_list("name", "order")) == [("A", 10), ("C", 20), ("B", 30)]
    assert ChangeEvent.objects.filter(object_urn__in=[first, second, third], verb=Verb.UPDATED).count() == 3
    assert place(third, before=first).status_code == 412
    assert place(third, before=first, version="2").status_code == 302
    assert (find_order(), ApprovalRule.objects.get(urn=first).version) == ("CAB", 2)
    assert place(third, before=third, version="3").status_code == 302
    assert place(third, before="", version="3").status_code == 302
    assert place(third, after="urn:li:approvalRule:none", version="3").status_code == 404
    ApprovalRule.objects.filter(urn=second).update(is_managed=True, source="https://example.org/rules")
    assert place(second, before=third, version="2").status_code == 409
    assert place(third, after=second, version="3").status_code == 302
    assert find_order() == "ABC"


def test_conflicts_keep_what_was_typed_and_deletion_asks_first(office: Client, make_rule: Any) -> None:
    urn = make_rule("Personal data", **WHOLE)["urn"]
    slow, fast = Builder(office, f"{BASE}/edit/{urn}"), Builder(office, f"{BASE}/edit/{urn}")
    fast.press("save", name="Fast")
    slow.press("save", name="Slow")
    assert "Saving again replaces it" in slow.text
    assert 'value="Slow"' in slow.text
    slow.press("save")
    assert ApprovalRule.objects.get().name == "Slow"
    delete = f"{BASE}/delete/{urn}"
    question = read(office, delete)
    assert "Delete Slow?" in question
    assert "Open requests keep their steps." in question
    assert office.post(delete, {"version": "2"}).status_code == 412
    assert office.post(delete, {"version": "3"}).status_code == 302
    assert not ApprovalRule.objects.exists()
    gone = slow.press("save")
    assert gone.status_code == 404 or "was deleted while you were changing it" in slow.text
    assert office.post(f"{BASE}/new", {"draft": "forged"}).status_code == 400


def test_only_who_manages_policies_sees_rules_and_files_are_left_alone(company: Company, make_rule: Any) -> None:
    urn = make_rule("Personal data", **WHOLE)["urn"]
    paths = [BASE, f"{BASE}/new", *(f"{BASE}/{action}{urn}" for action in ("", "edit/", "delete/"))]
    jo, admin = sign_in("jo"), sign_in("admin")
    assert {jo.get(path).status_code for path in paths} == {403}
    assert jo.post(f"{BASE}/place/{urn}", {"before": urn}).status_code == 403
    ApprovalRule.objects.update(is_managed=True, source="https://example.org/rules")
    assert [admin.get(path).status_code for path in paths] == [200, 200, 200, 409, 409]
    listed = read(admin)
    assert "Managed" in listed
    assert "Compare Personal data earlier" not in listed
