"""Faults around a decision: others who write at once, clocks and mail servers that fail, and what is far too much."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from policies.events import tasks as event_tasks
from policies.identity.services import groups, users
from policies.models import (
    Gate,
    Mail,
    Notice,
    Policy,
    RequestTrail,
    SubmittedRequest,
    User,
    open_write,
)
from policies.pdp import authorizer, database_clock, snapshot_store
from tests.api.conftest import make_client, store_policy
from tests.catalog.conftest import tell
from tests.clocks import move_own_clock
from tests.overtaking import overtake
from tests.requests.conftest import (
    ADA,
    ADMIN,
    BOB,
    CREW,
    EVE,
    ITEMS,
    JO,
    ORDERS,
    REQUESTS,
    TAGS,
    Company,
    act,
    ask,
    days,
    get,
    own,
    step,
)

DOOR = "test"
#: Privileges of which each is asked for once, so that no request hinders another one.
PRIVILEGES = ("TAGS", "DOCS", "OWNERS", "DOC_LINKS", "STATUS", "INCIDENTS", "GLOSSARY_TERMS")


@pytest.fixture
def together(transactional_db: None, company: Company) -> Company:
    """The company, with rows that other threads see."""
    return company


@pytest.fixture
def ask_next(company: Company) -> Callable[..., dict[str, Any]]:
    """What asks for something on an entity that nobody has asked for yet."""
    numbers = count()

    def ask_for_jo(urn: str = ORDERS) -> dict[str, Any]:
        item = {"privilege": f"EDIT_ENTITY_{PRIVILEGES[next(numbers)]}", "resource": {"urn": urn}}
        answer = ask(company["jo"], item)
        assert answer.status_code == 201, answer.content
        return dict(answer.json())

    return ask_for_jo


def run_at_once(*calls: Callable[[], Any]) -> list[Any]:
    """Return what calls answer that begin at the same moment, in threads of their own."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        try:
            barrier.wait(10)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def check_told_once(request: dict[str, Any], granted: int) -> None:
    """Check that as much was written as the trails say, and that each fact stands in this trail once."""
    whats = Counter(line["what"] for line in request["trail"])
    assert set(whats.values()) == {1}, whats
    assert whats["done"] == whats["approved"] == (request["state"] == "done")
    assert granted == RequestTrail.objects.filter(what="done").count()


def count_granted() -> int:
    """Return how many policies were written for requests: no others here have an end."""
    return Policy.objects.filter(valid_until__isnull=False).count()


def test_of_two_at_once_one_decides_and_nothing_is_given_twice(
    together: Company, ask_next: Callable[..., dict[str, Any]]
) -> None:
    tell(own(ORDERS, ADA, EVE))
    ada, eve, jo = together["ada"], together["eve"], together["jo"]
    rivals: list[Callable[[dict[str, Any]], Any]] = [
        lambda request: act(eve, request, "approve"),
        lambda request: act(ada, request, "approve"),
        lambda request: act(eve, request, "deny", note="no"),
        lambda request: act(jo, request, "withdraw"),
    ]
    for rival in rivals:
        request = ask_next()
        answers = run_at_once(lambda: act(ada, request, "approve"), lambda: rival(request))  # noqa: B023 - runs here
        assert sorted(answer.status_code for answer in answers) == [200, 409], [one.content for one in answers]
        (refusal,) = [answer.json() for answer in answers if answer.status_code == 409]
        assert refusal["code"] == "request.state"
        ended = get(jo, request)
        check_told_once(ended, count_granted())
        assert ended["state"] == refusal["state"]
    item = {"privilege": "EDIT_ENTITY", "resource": {"urn": ORDERS}}
    asked = run_at_once(*[lambda: ask(jo, item)] * 3)
    assert sorted(answer.status_code for answer in asked) == [201, 409, 409]
    assert SubmittedRequest.objects.filter(state="open").count() == 1


def test_what_changes_while_a_decision_waits_its_turn_counts(
    together: Company, ask_next: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change comes after the decision was looked at, and before it passes the gate of people."""
    # As with writes of other processes, of which this one hears within a second only.
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 600.0)
    bob, admin = together["bob"], together["admin"]
    make_client("second", "MANAGE_POLICIES")
    store_policy("owners", privileges=["EDIT_ENTITY_DOCS"], actors={"resourceOwners": True})

    def withdraw() -> None:
        act(together["jo"], request, "withdraw")

    def lose_power() -> None:
        with open_write(Gate.PEOPLE) as write:
            write.bump_version()
            Policy.objects.filter(urn="urn:li:dataHubPolicy:of-admin").delete()

    changes: list[tuple[str, APIClient, tuple[int, str], Callable[[], Any]]] = [
        (ITEMS, bob, (409, "request.state"), withdraw),
        (ITEMS, bob, (409, "request.actor_suspended"), lambda: suspend(JO)),
        (ITEMS, bob, (404, "not_found"), lambda: leave(BOB)),
        (ITEMS, together["eve"], (403, "request.not_yours"), lambda: suspend(EVE)),
        ("", admin, (404, "not_found"), lose_power),
    ]
    for urn, client, refusal, change in changes:
        request = ask_next(urn) if urn else ask(together["jo"], {"privilege": "MANAGE_TAGS"}).json()
        with overtake_once('"policies_requeststep"', change):
            answer = act(client, request, "approve")
        assert (answer.status_code, answer.json().get("code", "not_found")) == refusal, answer.content
        users.activate(urn=JO, by=authorizer.SYSTEM, channel=DOOR)
        assert get(together["jo"], request)["steps"][0]["decisions"] == []
        assert count_granted() == 0


def suspend(urn: str) -> None:
    users.suspend(urn=urn, by=authorizer.SYSTEM, channel=DOOR)


def leave(urn: str) -> None:
    groups.remove_members(urn=CREW, members=[urn], by=authorizer.SYSTEM, channel=DOOR)


def overtake_once(part: str, write: Callable[[], Any]) -> Any:
    """Let another thread write once, after the first statement with this part."""
    writes = iter([write])

    def write_first() -> None:
        try:
            next(writes, int)()
        finally:
            connection.close()

    return overtake(part, write_first)


def test_nobody_agrees_to_a_way_that_another_approver_chose_meanwhile(
    together: Company, make_rule: Callable[..., Any]
) -> None:
    store_policy("owners", privileges=["EDIT_ENTITY_TAGS"], actors={"resourceOwners": True})
    make_rule("two", steps=[step("Two", users=[ADA, BOB], privilege="MANAGE_POLICIES", needs=2)])
    preview = together["jo"].post(f"{REQUESTS}preview/", {"items": [TAGS], "reason": "r"}, format="json").json()
    ways = {way["kind"]: way["id"] for way in preview["items"][0]["ways"]}
    request = ask(together["jo"], TAGS, way=ways["policy"]).json()
    # It passes the gate of the catalog, which the approval that names no way does not.
    choose_owner = partial(act, together["admin"], request, "approve", way=ways["owner"])
    with overtake_once('"policies_requeststep"."state" = ', choose_owner):
        answer = act(together["ada"], request, "approve")
    assert (answer.status_code, answer.json().get("code")) == (409, "request.changed"), answer.content
    open_request = get(together["jo"], request)
    assert [one["by"] for one in open_request["steps"][0]["decisions"]] == [ADMIN]
    done = act(together["bob"], request, "approve", way=ways["owner"])
    assert (done.json()["state"], done.json()["items"][0]["ways"][0]["kind"]) == ("done", "owner"), done.content


@pytest.mark.usefixtures("_clocks_compared_anew")
def test_by_a_clock_that_is_wrong_nobody_asks_or_decides(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("a database in a file has the clock of whoever reads it")
    request = ask(company["jo"], TAGS, until=days(1)).json()
    move = move_own_clock(monkeypatch)
    move(timedelta(hours=-30))
    database_clock.note_time(None, asked_at=0)
    snapshot_store.mark_stale()
    refused = [
        ask(company["jo"], {**TAGS, "privilege": "EDIT_ENTITY_DOCS"}, until=days(9)),
        act(company["ada"], request, "approve"),
    ]
    assert [answer.status_code for answer in refused] == [503, 503], [answer.content for answer in refused]
    assert (SubmittedRequest.objects.get().state, count_granted()) == ("open", 0)
    # One that is a little behind is made good: what was given begins and ends by the database.
    move(timedelta(hours=30, seconds=-4))
    database_clock.compare_clock()
    done = act(company["ada"], request, "approve").json()
    assert done["state"] == "done"
    times = [datetime.fromisoformat(line["time"]) for line in done["trail"]]
    assert times == sorted(times)
    assert times[-1] - timezone.now() > timedelta(seconds=2)


@pytest.fixture
def _clocks_compared_anew() -> Iterator[None]:
    yield
    database_clock.note_time(None, asked_at=0)


def test_without_a_mail_server_everything_is_decided_and_told_later(company: Company, settings: Any) -> None:
    User.objects.filter(urn=ADA).update(email="ada@x.example")
    settings.NOTICE_MAIL, settings.PUBLIC_URL = True, "https://authz.example"
    # Nothing listens there.
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    request = ask(company["jo"], TAGS).json()
    event_tasks.deliver_events()
    assert act(company["ada"], request, "approve").json()["state"] == "done"
    event_tasks.deliver_events()
    assert Notice.objects.filter(user__urn=ADA, title__contains="asks for access").count() == 1
    assert Notice.objects.filter(user__urn=JO, title="Your request is granted").count() == 1
    waiting = Mail.objects.get()
    assert (waiting.state, bool(waiting.problem)) == (Mail.State.WAITING, True)
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    Mail.objects.update(next_attempt_at=timezone.now(), claimed_until=None)
    event_tasks.deliver_events()
    waiting.refresh_from_db()
    assert waiting.state == Mail.State.SENT


def test_lists_ask_as_many_queries_for_many_requests_as_for_few(
    company: Company, ask_next: Callable[..., dict[str, Any]]
) -> None:
    counts: list[list[int]] = []
    # The first round fills what processes keep.
    for more in (1, 0, 6):
        for _ in range(more):
            ask_next()
        addresses = [("jo", "?mine=true"), ("ada", "?to_decide=true"), ("admin", ""), ("ada", "")]
        counts.append([count_queries(company[name], f"{REQUESTS}{query}") for name, query in addresses])
    assert counts[1] == counts[2]


def count_queries(client: APIClient, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(address)
    assert answer.json()["count"] > 0
    return len(captured)
