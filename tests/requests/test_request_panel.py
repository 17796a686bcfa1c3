"""The panel of requests: every kind of item, links into it from refusals, the live outlook, bad input, and giving."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from policies.guardrails.services import guardrails
from policies.identity.services import groups, roles
from policies.models import Policy, SubmittedRequest
from policies.pdp import authorizer
from tests.api.conftest import store_policy
from tests.catalog.conftest import said, tell
from tests.requests.conftest import ADA, BOB, CREW, EVE, FINANCE, ITEMS, JO, ORDERS, own, step
from tests.requests.test_pages import people, text_of

__all__ = ["people"]

People = dict[str, Client]

ANALYST = "urn:li:role:analyst"
SENT = {"duration": "14", "reason": "for the audit"}


def new(**query: str) -> str:
    return reverse("request-new", query=query)


def look(client: Client, url: str, **data: Any) -> str:
    """Return the part of the page that a script loads again after something was typed."""
    answer = client.post(url, {"duration": "14", "reason": "", "go": "look", **data}, headers={"HX-Request": "true"})
    assert answer.status_code == 200, answer.content
    text = text_of(answer)
    assert "<html" not in text
    return text


def last() -> SubmittedRequest:
    return SubmittedRequest.objects.latest("id")


@pytest.mark.parametrize(
    ("what", "fields", "document"),
    [
        ("role", {"target": "reader"}, {"role": "urn:li:dataHubRole:reader"}),
        ("group", {"target": CREW}, {"group": CREW}),
        ("external_role", {"target": "analyst"}, {"external_role": ANALYST}),
        ("policy", {"target": "of-admin"}, {"policy": "urn:li:dataHubPolicy:of-admin"}),
        (
            "scope",
            {"privilege": "EDIT_ENTITY_TAGS", "field": "DOMAIN", "values": FINANCE},
            {
                "privileges": ["EDIT_ENTITY_TAGS"],
                "scope": {"criteria": [{"field": "DOMAIN", "values": [FINANCE]}]},
            },
        ),
        (
            "entity",
            {"privilege": "EDIT_ENTITY_TAGS, EDIT_ENTITY_DOCS", "resource": ORDERS},
            {"any_of": [["EDIT_ENTITY_TAGS", "EDIT_ENTITY_DOCS"]], "resource": {"urn": ORDERS}},
        ),
        ("entity", {"privilege": "MANAGE_TOKENS"}, {}),
    ],
)
def test_items_of_every_kind(people: People, what: str, fields: dict[str, str], document: dict[str, Any]) -> None:
    roles.create(name="Reader", identifier="reader", by=authorizer.SYSTEM, channel="test")
    tell(said(ANALYST, "roleProperties", {"name": "analyst", "type": "READ"}))
    url = new(what=what)
    assert "Privileges by filter" in text_of(people["jo"].get(url))
    if not document:
        refused = people["jo"].post(url, fields | SENT)
        assert (refused.status_code, "There is no privilege" in text_of(refused)) == (422, True)
        return
    shown = look(people["jo"], url, **fields)
    assert "How it can be given" in shown
    assert "Who decides" in shown
    people["jo"].post(url, fields | SENT)
    assert [item.document for item in last().items.all()] == [document]


def test_links_of_refusals_name_everything_that_is_missing(people: People) -> None:
    # A page of an administrator names one privilege; an operation of CDAP may need several on several things.
    refused = people["jo"].get(reverse("policies"))
    link = new(privilege="MANAGE_POLICIES", resource="").replace("resource=", "resource=")
    assert refused.status_code == 403
    assert f'href="{link.replace("&", "&amp;")}"' in refused.content.decode()
    answer = text_of(people["jo"].get(reverse("why"), {"privilege": "EDIT_ENTITY_TAGS", "resource": ORDERS}))
    assert new(privilege="EDIT_ENTITY_TAGS", resource=ORDERS).replace("&", "&amp;") in answer
    assert new(resource=ORDERS) in text_of(people["jo"].get(reverse("entity", args=[ORDERS])))
    pairs = [("privilege", "EDIT_ENTITY_TAGS,EDIT_ENTITY_DOCS"), ("resource", ORDERS)]
    pairs += [("privilege", "EDIT_ENTITY_TAGS"), ("resource", ITEMS), ("privilege", "MANAGE_DOMAINS")]
    url = f"{reverse('request-new')}?{urlencode(pairs)}&reason=filled+in"
    page = text_of(people["jo"].get(url))
    assert "filled in" in page
    assert "Edit Tags, Edit Description on" in page
    assert "Manage Domains on the platform" in page
    people["jo"].post(url, SENT)
    assert [item.document for item in last().items.all()] == [
        {"any_of": [["EDIT_ENTITY_TAGS", "EDIT_ENTITY_DOCS"]], "resource": {"urn": ORDERS}},
        {"privilege": "EDIT_ENTITY_TAGS", "resource": {"urn": ITEMS}},
        {"privilege": "MANAGE_DOMAINS", "resource": None},
    ]


def test_the_outlook_follows_what_is_typed(people: People, make_rule: Callable[..., Any]) -> None:
    url = new(resource=ORDERS)
    assert "How it can be given" not in text_of(people["jo"].get(url))
    shown = look(people["jo"], url, privilege="EDIT_ENTITY_TAGS")
    assert "Gives only this" in shown
    assert "<strong>Owner</strong>: ada" in shown
    assert "There is no privilege" in look(people["jo"], url, privilege="EDIT_ENTITY_TAGZ")
    assert "is suspended" not in shown
    assert "only as an owner" in look(people["jo"], url, privilege="EDIT_ENTITY_TAGS", actor="bob")
    assert "admin" in look(people["jo"], new(what="entity"), privilege="MANAGE_DOMAINS")
    make_rule(
        "short", steps=[step("Crew", groups=[CREW])], longest="P2D", conditions=[{"id": "p", "text": "Only to read."}]
    )
    late = look(people["jo"], url, privilege="EDIT_ENTITY_TAGS")
    assert "The latest end is" in late
    short = look(people["jo"], url, privilege="EDIT_ENTITY_TAGS", duration="1", confirmed="p")
    assert "Only to read." in short
    assert 'value="p" checked' in short
    assert "By the approval rule short." in short
    # A page that is opened takes the first quick end that the rule allows.
    opened = text_of(people["jo"].get(new(resource=ORDERS, privilege="EDIT_ENTITY_TAGS")))
    assert "Only to read." in opened
    missing = people["jo"].post(url, {**SENT, "privilege": "EDIT_ENTITY_TAGS", "duration": "1"})
    assert (missing.status_code, "Confirm" in text_of(missing)) == (422, True)
    assert not SubmittedRequest.objects.exists()


@pytest.mark.parametrize(
    ("query", "data"),
    [
        ({"resource": "\x00"}, {"privilege": "EDIT_ENTITY_TAGS"}),
        ({"resource": "urn:li:\n"}, {"privilege": "EDIT_ENTITY_TAGS"}),
        ({"resource": "javascript:alert(1)", "privilege": "X" * 3000}, {}),
        ({"what": "nothing"}, {"privilege": "EDIT_ENTITY_TAGS", "resource": "no such thing"}),
        ({"role": "\x00"}, {}),
        ({"group": "x"}, {}),
        ({"what": "scope"}, {"privilege": "EDIT_ENTITY_TAGS", "field": "NOTHING", "values": ""}),
        ({"what": "scope"}, {"privilege": "EDIT_ENTITY_TAGS", "field": "TAG", "values": ""}),
        ({"resource": ORDERS}, {"privilege": "EDIT_ENTITY_TAGS", "duration": "date", "date": "9999-12-31"}),
        ({"resource": ORDERS}, {"privilege": "EDIT_ENTITY_TAGS", "duration": "7"}),
        ({"resource": ORDERS}, {"privilege": "EDIT_ENTITY_TAGS", "ticket": "javascript:alert(1)"}),
        ({"resource": ORDERS}, {"privilege": "EDIT_ENTITY_TAGS", "actor": "\x00"}),
    ],
)
def test_bad_input_is_said_and_stores_nothing(people: People, query: dict[str, str], data: dict[str, str]) -> None:
    assert people["jo"].get(new(**query)).status_code == 200
    answer = people["jo"].post(new(**query), SENT | data)
    assert answer.status_code == 422, answer.content
    assert 'role="alert"' in answer.content.decode()
    assert not SubmittedRequest.objects.exists()


def test_an_owner_gives_access_to_anybody(people: People, make_rule: Callable[..., Any]) -> None:
    url = reverse("access-give", query={"resource": ORDERS})
    for query in ({}, {"show": "access"}):
        with override_settings(SHOW_ACCESS_MANAGEMENT=bool(query)):
            pages = [text_of(people[name].get(reverse("entity", args=[ORDERS]), query)) for name in ("ada", "jo")]
        assert [page.count(url) for page in pages] == [1, 0]
    nobody = people["ada"].post(url, {**SENT, "privilege": "EDIT_ENTITY_TAGS"})
    assert (nobody.status_code, "Say who gets it." in text_of(nobody)) == (422, True)
    stranger = people["jo"].post(url, {**SENT, "privilege": "EDIT_ENTITY_TAGS", "actor": "bob"})
    assert (stranger.status_code, "only as an owner" in text_of(stranger)) == (403, True)
    tags = {**SENT, "privilege": "EDIT_ENTITY_TAGS", "actor": "jo"}
    assert "you agree by sending this" in look(people["ada"], url, **tags)
    assert "Access is given." in text_of(people["ada"].post(url, tags, follow=True))
    policy = Policy.objects.get(name__startswith="Edit Tags")
    assert (policy.updated_by, policy.document["actors"]["users"]) == (authorizer.SYSTEM.urn, [JO])
    given = last()
    assert (given.by, given.actor, given.reason, given.state) == (ADA, JO, "for the audit", "done")
    # A rule with another step is not passed by giving, nor a guardrail.
    make_rule(
        "two", steps=[step("Owner", resourceOwners=True), step("Crew", groups=[CREW])], **{"for": {"privileges": []}}
    )
    people["ada"].post(url, {**SENT, "privilege": "EDIT_ENTITY_DOCS", "actor": "jo"})
    assert [one.state for one in last().steps.all()] == ["agreed", "waiting"]
    rule = {"never": {"actors": {"users": [EVE]}, "privileges": ["EDIT_ENTITY_DOCS"]}}
    guardrails.create(name="no", rule=rule, by=authorizer.SYSTEM, channel="test")
    forbidden = look(people["ada"], url, privilege="EDIT_ENTITY_DOCS", actor="eve")
    assert "The guardrail no forbids it." in forbidden


def test_giving_gives_no_more_than_is_owned(people: People, make_rule: Callable[..., Any]) -> None:
    """An owner of a group with privileges of the platform does not agree by asking, whatever a rule says of owners."""
    make_rule("owners", steps=[step("Owner", resourceOwners=True)])
    strong = groups.create(name="Strong", identifier="strong", members=[], by=authorizer.SYSTEM, channel="test")
    plain = groups.create(name="Plain", identifier="plain", members=[], by=authorizer.SYSTEM, channel="test")
    store_policy("strong", type="PLATFORM", privileges=["MANAGE_DOMAINS"], actors={"groups": [strong.urn]})
    tell(own(strong.urn, ADA, BOB), own(plain.urn, ADA))
    for group, state in ((strong.urn, "open"), (plain.urn, "done")):
        people["ada"].post(new(group=group), {**SENT, "actor": "jo"})
        assert (last().actor, last().state) == (JO, state)
    # Of two things the owner of one may not ask for others.
    pairs = [
        ("privilege", "EDIT_ENTITY_TAGS"),
        ("resource", ORDERS),
        ("privilege", "EDIT_ENTITY_TAGS"),
        ("resource", ITEMS),
    ]
    refused = people["ada"].post(f"{reverse('request-new')}?{urlencode(pairs)}", {**SENT, "actor": "eve"})
    assert refused.status_code == 403
