"""Asking a finished run: who could, on what, who gained and lost since; as it was then, and only what may be viewed."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from authzsite.celery import app
from catalog.models import Report
from catalog.reports import tasks as report_tasks
from catalog.reports.run import access_answers, launcher, run_state
from catalog.reports.run.access_answers import AccessQuestion
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import groups, users
from policies.models import User
from policies.pdp import snapshot_store
from tests.catalog.conftest import said, tags, tell
from tests.catalog.test_extracts import ANN, BY, JO, ORDERS, PII, PUBLIC, TEAM, VIEW, company, run_of_now
from tests.web.test_markup import check

__all__ = ["company"]
pytestmark = pytest.mark.django_db(transaction=True)

BOSS = "urn:li:corpuser:boss"


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions in the queue; a worker answers each at once, unless a test takes it away."""
    questions: list[str] = []

    def work(name: str, arguments: tuple[str, ...], **_: Any) -> None:
        if name == access_answers.ANSWER_TASK:
            questions.append(arguments[0])
            report_tasks.answer_access_question(*arguments)

    cache.clear()
    monkeypatch.setattr(app, "send_task", work)
    return questions


@pytest.fixture
def boss(company: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:  # the fixture itself
    """Give the browser of somebody who manages policies and views nothing."""
    monkeypatch.setattr(snapshot_store, "VERSION_CHECK_SECONDS", 0.0)
    snapshot_store.reset()
    users.create(username="boss", **BY)
    document = {
        "displayName": "Boss",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["MANAGE_POLICIES"],
        "actors": {"users": [BOSS]},
    }
    policies.create(draft=policy_drafts.PolicyInput("datahub", document), **BY)
    client = Client()
    client.force_login(User.objects.get(urn=BOSS), "django.contrib.auth.backends.ModelBackend")
    yield client
    snapshot_store.reset()


def counted() -> Report:
    """Return a run of now that counted one privilege."""
    run = run_of_now()
    Report.objects.filter(pk=run.pk).update(parameters={"privileges": [VIEW]})
    return run


def answered(client: Client, run: Report, **asked: str) -> Any:
    answer = client.get(f"/reports/runs/{run.pk}/access", {"privilege": VIEW, **asked})
    check(answer)
    return answer


def cells(answer: Any) -> list[list[Any]]:
    return [[cell.get("value") for cell in row] for row in answer.context["rows"]]


def test_a_run_is_asked_and_answers_as_it_was_then(boss):
    then = counted()
    groups.add_members(urn=TEAM, members=[ANN], **BY)
    tell(said(PUBLIC, "globalTags", tags("pii")))
    now = counted()
    assert cells(answered(boss, then, ask="who", urn=ORDERS)) == [[JO]]
    assert cells(answered(boss, now, ask="who", urn=ORDERS)) == [[ANN], [JO]]
    assert cells(answered(boss, then, ask="what", urn=JO)) == [[ORDERS]]
    assert cells(answered(boss, now, ask="what", urn=ANN)) == [[ORDERS], [PUBLIC]]
    changes = answered(boss, now, ask="changed", urn=PII, since=str(then.pk))
    assert cells(changes) == [[ANN, "2", "0"], [JO, "1", "0"]]
    text = changes.content.decode()
    assert f'href="/reports/runs/{now.pk}/access"' in text
    fragment = boss.get(
        f"/reports/runs/{now.pk}/access",
        {"privilege": VIEW, "ask": "who", "urn": ORDERS},
        headers={"hx-request": "true"},
    )
    assert "<html" not in fragment.content.decode()


def test_what_may_not_be_viewed_is_not_named(boss, settings):
    run = counted()
    settings.VIEW_AUTHORIZATION_ENABLED = True
    answer = answered(boss, run, ask="what", urn=JO)
    assert cells(answer) == [[None]]
    assert "orders" not in answer.content.decode()


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"ask": "who", "urn": "orders"}, "A URN begins with urn:li:"),
        ({"ask": "who", "urn": "urn:li:x:\x00"}, "Null characters are not allowed."),
        ({"ask": "changed", "urn": ORDERS}, "Name a tag, domain, container, term, platform instance or owner."),
        ({"ask": "changed", "urn": PII}, "There is no earlier run to compare with yet."),
        ({"ask": "fly", "urn": PII}, "Select a valid choice."),
        ({"ask": "who", "urn": PII, "privilege": "FLY"}, "Select a valid choice."),
        ({"ask": "changed", "urn": PII, "since": "x"}, "Select a valid choice."),
    ],
)
def test_a_question_that_makes_no_sense_is_said_beside_its_field(boss, asked, sentence):
    answer = answered(boss, counted(), **asked)
    assert answer.status_code == 200
    assert sentence in answer.content.decode()
    assert "rows" not in answer.context


def test_an_earlier_run_is_offered_however_many_later_ones_there_are(boss, settings):
    settings.REPORTS_KEPT = 3
    runs = [counted() for _ in range(4)]
    offered = answered(boss, runs[1]).context["form"].fields["since"].choices
    assert [value for value, _ in offered] == [str(runs[0].pk)]


def test_a_long_answer_is_cut_and_says_so(boss, monkeypatch):
    monkeypatch.setattr(access_answers, "MAX_ROWS", 1)
    groups.add_members(urn=TEAM, members=[ANN], **BY)
    answer = answered(boss, counted(), ask="who", urn=ORDERS)
    assert cells(answer) == [[ANN]]
    assert "These are the first of 2" in answer.content.decode()


def test_nobody_and_nothing_are_said(boss):
    run = counted()
    for asked in ({"ask": "who", "urn": PUBLIC}, {"ask": "what", "urn": ANN}):
        assert "No results" in answered(boss, run, **asked).content.decode()
    assert "The run keeps a snapshot of the data" in answered(boss, run).content.decode()


def test_a_run_whose_files_are_gone_says_so(boss):
    run = counted()
    (run_state.report_folder(run.pk) / "input").delete()
    assert "This run did not keep what it was made from." in answered(boss, run, ask="who", urn=ORDERS).content.decode()


def test_a_question_that_cannot_be_asked_is_said_beside_the_answer(boss):
    run = counted()
    fragment = boss.get(
        f"/reports/runs/{run.pk}/access",
        {"ask": "who", "privilege": VIEW, "urn": "orders"},
        headers={"HX-Request": "true"},
    )
    text = fragment.content.decode()
    assert "<html" not in text
    assert 'role="alert"' in text
    assert "URN: " in text
    unknown = answered(boss, run, ask="who", urn="urn:li:tag:none")
    assert "There was no entity urn:li:tag:none when this report was made." in unknown.content.decode()
    assert "No earlier run yet" in unknown.content.decode()


def leave_queued(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Take the worker away, and return what is in the queue."""
    queued: list[tuple[Any, ...]] = []
    monkeypatch.setattr(app, "send_task", lambda _, arguments, **__: queued.append(arguments))
    return queued


def test_a_page_waits_for_the_worker_which_is_asked_once(boss, monkeypatch):
    queued = leave_queued(monkeypatch)
    run = counted()
    for _ in range(3):
        text = answered(boss, run, ask="who", urn=ORDERS).content.decode()
        assert "The question waits for a worker." in text
        assert f'hx-get="/reports/runs/{run.pk}/access?' in text
    assert len(queued) == 1
    # What a worker notes as it begins.
    cache.set(AccessQuestion(**json.loads(queued[0][0])).start_key, 1.0)
    text = answered(boss, run, ask="who", urn=ORDERS).content.decode()
    assert "A worker reads the snapshot of this run." in text
    report_tasks.answer_access_question(*queued[0])
    assert cells(answered(boss, run, ask="who", urn=ORDERS)) == [[JO]]
    report_tasks.answer_access_question(*queued[0])


def test_a_worker_that_does_not_come_is_said(boss, monkeypatch, settings):
    leave_queued(monkeypatch)
    run = counted()
    answered(boss, run, ask="who", urn=ORDERS)
    settings.REPORT_ANSWER_SECONDS = -1
    text = answered(boss, run, ask="who", urn=ORDERS).content.decode()
    assert "No worker has begun with this question within -1 seconds: none is running, or all are busy" in text


def test_a_question_that_takes_too_long_ends(boss, settings):
    run = counted()
    settings.REPORT_ANSWER_SECONDS = 0
    assert "There was no answer within 0 seconds" in answered(boss, run, ask="what", urn=JO).content.decode()


def test_a_worker_that_is_stopped_leaves_the_question_to_another(boss, monkeypatch):
    queued = leave_queued(monkeypatch)
    run = counted()
    answered(boss, run, ask="what", urn=JO)
    launcher.STOP_EVENT.set()
    try:
        report_tasks.answer_access_question(*queued[0])
    finally:
        launcher.STOP_EVENT.clear()
    answered(boss, run, ask="what", urn=JO)
    assert len(queued) == 2
