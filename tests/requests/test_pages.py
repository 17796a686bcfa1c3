"""Pages of requests: asking from a refusal, deciding, and what each of them shows to whom."""

from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from policies.models import SubmittedRequest, User
from tests.requests.conftest import ADA, JO, ORDERS, TAGS, Company, ask


@pytest.fixture
def people(company: Company) -> dict[str, Client]:
    """Browsers in which the people of the company are signed in."""
    clients: dict[str, Client] = {}
    for name in company:
        clients[name] = Client()
        clients[name].force_login(User.objects.get(username=name))
    return clients


def text_of(answer: Any) -> str:
    return " ".join(answer.content.decode().split())


def test_a_request_goes_from_the_form_to_the_owner_and_is_granted(people: dict[str, Client]) -> None:
    url = reverse("request-new")
    empty = text_of(people["jo"].get(url))
    assert "Privileges by filter" in empty
    opened = text_of(people["jo"].get(url, {"privilege": "EDIT_ENTITY_TAGS", "resource": ORDERS}))
    assert "Gives only this" in opened
    assert "Owner" in opened
    form = {"privilege": "EDIT_ENTITY_TAGS", "resource": ORDERS, "duration": "14", "reason": ""}
    refused = people["jo"].post(url, form)
    assert (refused.status_code, "Say why" in text_of(refused)) == (422, True)
    looked = people["jo"].post(url, {**form, "go": "look"})
    assert (looked.status_code, SubmittedRequest.objects.count()) == (200, 0)
    sent = people["jo"].post(url, {**form, "reason": "for the audit"}, follow=True)
    assert "The request is sent." in text_of(sent)
    request = SubmittedRequest.objects.get()
    again = text_of(people["jo"].get(url, {"privilege": "EDIT_ENTITY_TAGS", "resource": ORDERS}))
    assert "Open the request" in again
    page = reverse("request", args=[request.urn])
    assert "Approve" not in text_of(people["jo"].get(page))
    assert people["bob"].get(page).status_code == 404
    assert "Edit Tags" in text_of(people["ada"].get(reverse("requests-to-decide")))
    assert "Nothing waits for you" in text_of(people["bob"].get(reverse("requests-to-decide")))
    shown = text_of(people["ada"].get(page))
    assert all(word in shown for word in ("Approve", "Deny", "Hand over", "for the audit"))
    kept = people["ada"].post(page, {"go": "deny", "note": " "})
    assert (kept.status_code, "Write a note" in text_of(kept)) == (400, True)
    done = people["ada"].post(page, {"go": "approve", "note": "fine"}, follow=True)
    assert "You agreed." in text_of(done)
    assert "Access was granted." in text_of(people["jo"].get(page))
    assert "Granted" in text_of(people["jo"].get(reverse("requests")))


def test_what_one_may_not_view_is_asked_for_without_a_hint(people: dict[str, Client], company: Company) -> None:
    with override_settings(VIEW_AUTHORIZATION_ENABLED=True):
        opened = text_of(
            people["jo"].get(reverse("request-new"), {"privilege": "EDIT_ENTITY_TAGS", "resource": ORDERS})
        )
        assert "what you may not view" in opened
        request = ask(company["jo"], TAGS).json()
        page = text_of(people["jo"].get(reverse("request", args=[request["urn"]])))
    assert ADA not in page
    assert "Who decides" not in page


def test_withdrawing_commenting_and_more_time(people: dict[str, Client], company: Company) -> None:
    request = ask(company["jo"], TAGS).json()
    page = reverse("request", args=[request["urn"]])
    assert "comment is added" in text_of(people["jo"].post(page, {"go": "comment", "note": "please"}, follow=True))
    withdraw = reverse("request-withdraw", args=[request["urn"]])
    assert "Withdraw this request?" in text_of(people["jo"].get(withdraw))
    assert "is withdrawn" in text_of(people["jo"].post(withdraw, follow=True))
    second = ask(company["ada"], TAGS, actor=JO).json()
    page = reverse("request", args=[second["urn"]])
    assert "Ask for more time" in text_of(people["jo"].get(page))
    answer = people["jo"].post(page, {"go": "renew", "note": "more"})
    assert (answer.status_code, "give an end" in text_of(answer)) == (400, True)
