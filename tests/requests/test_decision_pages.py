"""Deciding in the browser: the list, ways and standing on the page of a decision, equal requests, links of notices."""

import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core import signing
from django.test import Client, override_settings
from django.urls import reverse

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.events import notices
from policies.identity.services import groups
from policies.models import Notice, RequestDecision, SubmittedRequest, User
from policies.pdp import authorizer
from policies.requests.decision_links import MAX_AGE, build_path
from tests.api.conftest import document_of, store_policy
from tests.requests.conftest import ADA, BOB, CREW, EVE, ITEMS, JO, ORDERS, TAGS, Company, ask, days, step

LIST = "/requests/to-decide"
TOGETHER = "/requests/together"
DOCS = {"privilege": "EDIT_ENTITY_DOCS", "resource": {"urn": ORDERS}}


def sign_in(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def read(answer: Any) -> str:
    """Return the words of a page, without its tags."""
    text = re.sub(r"<[^>]+>", " ", answer.content.decode())
    return " ".join(text.split())


@pytest.fixture
def ada(company: Company) -> Client:
    """The browser of the owner of orders."""
    return sign_in("ada")


def test_the_list_is_by_due_date_filtered_paged_and_names_equal_requests(
    company: Company, ada: Client, make_rule: Callable[..., Any]
) -> None:
    make_rule("quick", steps=[step("Owner", resourceOwners=True, within="PT12H")], **{"for": {"roles": []}})
    make_rule(
        "slow",
        order=1,
        steps=[step("Owner", resourceOwners=True, within="P5D")],
        **{"for": {"privileges": ["EDIT_ENTITY_DOCS"]}},
    )
    assert "Nothing waits for you" in read(ada.get(LIST))
    ask(company["jo"], DOCS, until=days(3))
    requests = [ask(company[name], TAGS, until=days(3)).json()["urn"] for name in ("jo", "bob", "eve")]
    answer = ada.get(LIST)
    text = read(answer)
    assert text.index("Edit Tags") < text.index("Edit Description")
    assert text.count("2 equal") == 3
    together = re.findall(r'href="(/requests/together\?[^"]+)"', answer.content.decode())[0].replace("&amp;", "&")
    assert all(urn in read(ada.get(together)) or urn in ada.get(together).content.decode() for urn in requests)
    assert "Edit Description" not in read(ada.get(LIST, {"due_days": "1"}))
    only_bob = read(ada.get(LIST, {"actor": "bob", "entity": ORDERS}))
    assert ("1 of 1" in only_bob, "jo" in only_bob.split()) == (True, False)
    assert "No requests match" in read(ada.get(LIST, {"entity": ITEMS}))
    assert "There is no such time." in read(ada.get(LIST, {"due_days": "soon"}))
    fragment = ada.get(LIST, {"size": "10"}, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in fragment
    # A request that is never due comes last.
    SubmittedRequest.objects.filter(urn=requests[0]).update(due_at=None)
    listed = re.findall(r'name="urn"\s+value="([^"]+)"', ada.get(LIST).content.decode())
    assert (len(listed), listed[-1]) == (4, requests[0])


def test_the_page_of_a_decision_compares_ways_and_says_what_the_actor_and_its_peers_have(
    company: Company, ada: Client
) -> None:
    groups.create(name="Readers", identifier="readers", members=[JO, BOB, EVE], by=authorizer.SYSTEM, channel="test")
    readers = "urn:li:corpGroup:readers"
    views = document_of(displayName="Readers view", privileges=["VIEW_ENTITY_PAGE"], actors={"groups": [readers]})
    tags = document_of(displayName="Bob tags", privileges=["EDIT_ENTITY_TAGS"], actors={"users": [BOB]})
    crew = document_of(displayName="Crew tags", privileges=["EDIT_ENTITY_TAGS"], actors={"groups": [CREW]})
    for document in (views | {"validUntil": days(20)}, tags, crew):
        policies.create(draft=PolicyInput("datahub", document), by=authorizer.SYSTEM, channel="test")
    request = ask(company["jo"], TAGS, until=days(10)).json()
    page = reverse("request", args=[request["urn"]])
    shown = read(ada.get(page))
    assert "Gives only this" in shown
    assert "Crew" not in shown
    assert "jo has already" in shown
    assert re.search(r"View Entity Page.* through a policy that you may not see · until \d+ \w+ 20", shown), shown
    assert "2 of the 2 other people in the same groups have it" not in shown
    admin = sign_in("admin")
    assert "Approve" not in read(admin.get(page))
    with override_settings(VIEW_AUTHORIZATION_ENABLED=True):
        hidden = read(ada.get(page))
        assert "through" not in hidden[hidden.index("jo has already") :][:80]
    # Whoever may ask about others is told names.
    store_policy("ada-manages", type="PLATFORM", privileges=["MANAGE_POLICIES"], actors={"users": [ADA]})
    told = read(ada.get(page))
    assert re.search(r"Membership in Crew +Gives \d+ more", told), told
    assert "through Readers view" in told
    assert "In the group Readers." in told
    assert "2 of the 2 other people in the same groups have it: bob and eve." in told


def test_a_decision_is_about_the_version_that_was_shown_and_a_denial_says_why(company: Company, ada: Client) -> None:
    request = ask(company["jo"], TAGS, until=days(10)).json()
    page = reverse("request", args=[request["urn"]])
    comment = {"go": "comment", "note": "wait", "version": "1"}
    assert ada.post(page, comment).status_code == 302
    SubmittedRequest.objects.update(version=2)
    stale = ada.post(page, {"go": "approve", "version": "1", "until": "2027-01-01"})
    assert (stale.status_code, "is at version 2 now" in read(stale)) == (412, True)
    empty = ada.post(page, {"go": "deny", "version": "2", "note": " "})
    assert (empty.status_code, "Write a note" in read(empty)) == (400, True)
    later = ada.post(page, {"go": "approve", "version": "2", "until": days(30)[:10]})
    assert (later.status_code, "can only shorten the time" in read(later)) == (400, True)
    assert ada.post(page, {"go": "approve", "version": "2", "until": days(2)[:10]}).status_code == 302
    assert str(SubmittedRequest.objects.get().items.get().ends_at)[:10] == days(2)[:10]
    assert sign_in("bob").post(page, {"go": "deny", "note": "n"}).status_code == 404


def test_equal_requests_are_previewed_in_sum_and_decided_each_by_itself(company: Company, ada: Client) -> None:
    urns = [ask(company[name], TAGS, until=days(3)).json()["urn"] for name in ("jo", "bob", "eve")]
    other = ask(company["jo"], DOCS, until=days(3)).json()["urn"]
    unequal = ada.get(TOGETHER, {"urn": [urns[0], other]})
    assert (unequal.status_code, "ask for different things" in read(unequal)) == (422, True)
    assert ada.get(TOGETHER, {"urn": ["u"] * 26 + [str(number) for number in range(26)]}).status_code == 422
    assert "Nothing waits for you" in read(sign_in("bob").get(TOGETHER, {"urn": urns}))
    shown = read(ada.get(TOGETHER, {"urn": urns}))
    assert "Together they give 3 privileges on 1 entity to 3 people today." in shown, shown
    assert RequestDecision.objects.count() == 0
    versions = {f"version:{urn}": "1" for urn in urns}
    refused = ada.post(TOGETHER, {"urn": urns, "go": "deny", "note": " ", **versions})
    assert (refused.status_code, "Write a note" in read(refused)) == (422, True)
    # One of them moves on between the preview and the decision: the others are decided, and it is said.
    SubmittedRequest.objects.filter(urn=urns[1]).update(version=5)
    results = read(ada.post(TOGETHER, {"urn": urns, "go": "approve", "note": "all", **versions}))
    assert re.search(r"jo Granted .*bob Not decided .*is at version 5 now, not 1\. .*eve Granted", results), results
    states = {row.urn: row.state for row in SubmittedRequest.objects.all()}
    assert [states[urn] for urn in urns] == ["done", "open", "done"]
    # Sent once more, what is decided is decided.
    again = read(ada.post(TOGETHER, {"urn": urns, "go": "deny", "note": "no", **versions, f"version:{urns[1]}": "5"}))
    assert "2 of the requests did not wait for you any more." in again
    assert SubmittedRequest.objects.get(urn=urns[1]).state == "denied"
    assert RequestDecision.objects.count() == 3


def test_the_link_of_a_notice_opens_the_page_once_for_its_receiver(
    company: Company, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = ask(company["jo"], TAGS, until=days(3)).json()
    page = reverse("request", args=[request["urn"]])
    notices.make_all(seconds=10)
    notice = Notice.objects.get(user__urn=ADA, type="request.step")
    assert notice.path.startswith("/requests/open/")
    anonymous = Client().get(notice.path)
    assert anonymous.headers["Location"].startswith("/login?next=/requests/open/")
    assert sign_in("bob").get(notice.path).status_code == 404
    assert sign_in("jo").get(notice.path).status_code == 404
    assert ada.get(f"{notice.path}x").status_code == 404
    assert ada.post(notice.path).status_code == 405
    foreign = reverse("request-open", args=[signing.dumps([request["urn"], notice.key], salt="another")])
    assert ada.get(foreign).status_code == 404
    opened = ada.get(notice.path)
    assert (opened.status_code, opened.headers["Location"]) == (302, page)
    notice.refresh_from_db()
    assert (notice.opened_at is None, notice.read_at is None) == (False, False)
    assert (RequestDecision.objects.count(), SubmittedRequest.objects.get().state) == (0, "open")
    again = ada.get(notice.path, follow=True)
    assert "This link was opened before." in read(again)
    Notice.objects.update(opened_at=None)
    now = time.time()
    with monkeypatch.context() as clock:
        clock.setattr("django.core.signing.time.time", lambda: now - MAX_AGE.total_seconds() - 60)
        old_path = build_path(request=request["urn"], key=notice.key)
    assert ada.get(old_path).status_code == 404
    assert ada.get(build_path(request=request["urn"], key=notice.key)).headers["Location"] == page
