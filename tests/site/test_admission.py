"""How many requests work at once, and what is said to those that get no turn."""

import pytest
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.test import RequestFactory

from authzsite import admission
from authzsite.admission import NoFreeSlot, RequestSlots
from policies import deadlines


def test_more_than_work_and_wait_are_turned_away_at_once() -> None:
    places = RequestSlots(max_running=1, max_waiting=0)
    # Without a budget this would wait for ever if it waited at all.
    with places.acquire(is_decision=True), pytest.raises(NoFreeSlot), places.acquire(is_decision=True):
        pytest.fail("There was one place.")
    with places.acquire(is_decision=False):
        pass


def test_who_waits_for_a_turn_waits_no_longer_than_its_budget() -> None:
    places = RequestSlots(max_running=1, max_waiting=1)
    with (
        places.acquire(is_decision=True),
        deadlines.open_budget(0.05) as budget,
        pytest.raises(NoFreeSlot),
        places.acquire(is_decision=True),
    ):
        pytest.fail("There was one place.")
    assert budget.seconds_left <= 0


def test_a_quarter_of_the_places_is_for_decisions() -> None:
    places = RequestSlots(max_running=4, max_waiting=10)
    with (
        places.acquire(is_decision=False),
        places.acquire(is_decision=False),
        places.acquire(is_decision=False),
        deadlines.open_budget(0.05),
    ):
        with pytest.raises(NoFreeSlot), places.acquire(is_decision=False):
            pytest.fail("This place is for decisions.")
        with places.acquire(is_decision=True):
            pass


@pytest.mark.parametrize(
    ("path", "kind", "seconds"),
    [
        ("/api/v1/authorize", "application/problem+json", 2),
        ("/api/v1/authorize/batch", "application/problem+json", 2),
        ("/api/v1/who", "application/problem+json", 2),
        ("/access/v1/evaluation", "text/plain; charset=utf-8", 2),
        ("/api/v1/policies/", "application/problem+json", 60),
        ("/scim/v2/Users", "application/scim+json", 60),
        ("/aspects", "application/json", 60),
    ],
)
def test_a_request_without_a_turn_is_503_in_the_form_of_its_door(settings, path: str, kind: str, seconds: int) -> None:
    settings.REQUESTS_AT_ONCE, settings.REQUESTS_WAITING = 1, 0
    asked: list[float | None] = []

    def answer(request: HttpRequest) -> HttpResponseBase:
        asked.append(deadlines.find_seconds_left())
        # The one place is taken: by this request.
        return handle(request) if len(asked) == 1 and request.path == path else HttpResponse("Done")

    handle = admission.admit(answer)
    refused = handle(RequestFactory().post(path))
    assert (refused.status_code, refused["Content-Type"], refused["Retry-After"]) == (503, kind, "1")
    assert asked == [seconds]
    # Whoever asks for health needs no place.
    assert handle(RequestFactory().get("/health/live")).status_code == 200
