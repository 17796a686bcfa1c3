"""Notices: each fact once in the inbox, by mail at least once under one Message-ID, before and after what ends."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone

from policies.authoring.services import policies
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine.families.validity import Validity
from policies.events import notices, refusal_spikes
from policies.events import tasks as event_tasks
from policies.events.channels.email import planning, transport
from policies.events.channels.inbox import storage
from policies.identity.services import groups, roles, users
from policies.models import LoggedDecision, Mail, Notice, NoticePreference, OutboxEvent, User, open_event_write
from policies.models.outbox import build_event
from policies.pdp import due_changes
from policies.pdp.authorizer import SYSTEM
from policies.writes.timed_holders import TimedHolder
from tests.clocks import Move, move_clocks
from tests.worlds import document

DOOR = "test"
DAY = timedelta(days=1)
JO = "urn:li:corpuser:jo"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Move:
    """Set the clocks on or back."""
    return move_clocks(monkeypatch)


@pytest.fixture(autouse=True)
def _mail(settings: Any) -> None:
    settings.NOTICE_MAIL, settings.PUBLIC_URL = True, "https://authz.example"


@pytest.fixture
def jo(user: Callable[..., User]) -> User:
    """A person with an address."""
    return user("jo", email="jo@x.example")


def until(ends: datetime) -> TimedHolder:
    return TimedHolder(JO, Validity(None, ends))


def break_guardrail(name: str) -> None:
    """Store an event that administrators are told of."""
    with open_event_write() as write:
        data = {"name": name, "breaches": 1}
        write.emit([build_event("guardrail.broken", subject=f"urn:li:guardrail:{name}", through=DOOR, data=data)])


def list_titles(urn: str = JO) -> list[str]:
    return list(Notice.objects.filter(user__urn=urn).order_by("pk").values_list("title", flat=True))


@pytest.mark.django_db(transaction=True)
def test_people_are_told_a_week_and_a_day_before_something_ends_and_after(
    clock: Move, jo: User, user: Callable[..., User]
) -> None:
    user("ann", email="ann@x.example")
    ends = timezone.now() + 10 * DAY
    group = groups.create(name="Eng", identifier="eng", by=SYSTEM, channel=DOOR).urn
    role = roles.create(name="Steward", identifier="steward", by=SYSTEM, channel=DOOR).urn
    groups.add_members(urn=group, members=[until(ends), "urn:li:corpuser:ann"], by=SYSTEM, channel=DOOR)
    roles.grant(urn=role, actors=[until(ends - DAY / 24)], by=SYSTEM, channel=DOOR)
    body = document(displayName="Loan", actors={"users": [JO]}, validUntil=(ends - DAY / 12).isoformat())
    policies.create(draft=PolicyInput("datahub", body), by=SYSTEM, channel=DOOR)
    told = []
    for step in (0, 4, 0, 5, 2, 0):
        clock(step * DAY)
        due_changes.apply_due_changes(wait_seconds=5)
        before = len(list_titles())
        event_tasks.remind_of_endings()
        event_tasks.deliver_events()
        told.append([title.partition(" ends on ")[0] for title in list_titles()[before:]])
    soon = ["Your membership of Eng", "Your role Steward", "The policy Loan, which names you,"]
    assert told[0] == told[2] == told[5] == []
    assert told[1] == told[3] == soon
    assert set(told[4]) == {
        "Your membership of Eng has ended",
        "Your role Steward has ended",
        "The policy Loan, which names you, has ended",
    }
    assert list_titles("urn:li:corpuser:ann") == []
    assert len(mail.outbox) == 9
    groups.add_members(urn=group, members=[until(timezone.now() + DAY / 2)], by=SYSTEM, channel=DOOR)
    assert notices.remind(now=timezone.now()) == 1, "a later end is another one"


@pytest.mark.django_db
def test_administrators_are_told_by_one_mail_with_one_message_id(
    jo: User, user: Callable[..., User], holding: Callable[..., Any]
) -> None:
    boss = holding("MANAGE_POLICIES", username="boss")
    users.update(urn=boss.urn, email="boss@x.example", by=SYSTEM, channel=DOOR)
    holding("MANAGE_POLICIES", username="gone")
    users.suspend(urn="urn:li:corpuser:gone", by=SYSTEM, channel=DOOR)
    holding("MANAGE_POLICIES", username="silent")
    break_guardrail("<b>Bad</b>")
    event_tasks.deliver_events()
    assert list_titles(boss.urn) == list_titles("urn:li:corpuser:silent") == ["The guardrail <b>Bad</b> is broken"]
    assert list_titles() == list_titles("urn:li:corpuser:gone") == []
    (message,) = mail.outbox
    event = OutboxEvent.objects.select_related("change_set").get(type="guardrail.broken")
    pk = User.objects.get(urn=boss.urn).pk
    assert message.extra_headers["Message-ID"] == f"<{event.position}.u{pk}@authz.example>"
    assert message.to == ["boss@x.example"]
    assert "https://authz.example/settings/permissions/guardrails/urn:li:guardrail:" in message.body
    assert isinstance(message, EmailMultiAlternatives)
    (html,) = message.alternatives
    assert "&lt;b&gt;Bad&lt;/b&gt;" in str(html[0])
    assert "<b>" not in str(html[0])


@pytest.mark.django_db
def test_a_worker_that_dies_after_sending_sends_again_under_the_same_message_id(
    jo: User, monkeypatch: pytest.MonkeyPatch, clock: Move, settings: Any
) -> None:
    settings.ALERT_RECIPIENTS = []
    with open_event_write() as write:
        data = {"group": "urn:li:corpGroup:eng", "group_name": "Eng"}
        write.emit([build_event("membership.ended", subject=JO, through="clock", data=data)])
    assert notices.make_all(seconds=5) == 1
    assert notices.make_all(seconds=5) == 0

    class Killed(BaseException):
        """The end of a process in the middle of a statement."""

    send = EmailBackend.send_messages

    def send_and_die(*arguments: Any) -> int:
        send(*arguments)
        raise Killed

    monkeypatch.setattr(EmailBackend, "send_messages", send_and_die)
    with pytest.raises(Killed):
        transport.send_due(seconds=5)
    monkeypatch.setattr(EmailBackend, "send_messages", send)
    assert transport.send_due(seconds=5) == 0, "the claim of the first worker holds"
    clock(DAY / 24)
    assert transport.send_due(seconds=5) == 1
    assert transport.send_due(seconds=5) == 0
    assert len({message.extra_headers["Message-ID"] for message in mail.outbox}) == 1
    assert len(mail.outbox) == 2
    assert list_titles() == ["Your membership of Eng has ended"]


@pytest.mark.django_db
def test_mail_comes_for_each_notice_once_a_day_or_not_at_all(
    user: Callable[..., User], clock: Move, settings: Any
) -> None:
    now = timezone.now()
    settings.NOTICE_MAIL_HOUR = now.hour
    people = {name: user(name, email=f"{name}@x.example") for name in ("each", "daily", "none")}
    for name in ("daily", "none"):
        planning.choose_by_mail(user_id=people[name].pk, by_mail=name.upper())
    for group in ("A", "B"):
        with open_event_write() as write:
            data = {"group": f"urn:li:corpGroup:{group}", "group_name": group}
            write.emit(
                [
                    build_event("membership.ended", subject=person.urn, through="clock", data=data)
                    for person in people.values()
                ]
            )
    event_tasks.deliver_events()
    event_tasks.remind_of_endings()
    assert [message.to for message in mail.outbox] == [["each@x.example"]] * 2
    clock(DAY)
    for _ in range(2):
        event_tasks.remind_of_endings()
        event_tasks.deliver_events()
    (daily,) = mail.outbox[2:]
    assert (daily.to, daily.subject) == (["daily@x.example"], "[authzsite] 2 notices")
    assert "Your membership of A has ended" in daily.body
    assert "Your membership of B has ended" in daily.body
    assert [storage.count_unread(user_id=person.pk) for person in people.values()] == [2, 2, 2]
    planning.choose_by_mail(user_id=people["none"].pk, by_mail=NoticePreference.ByMail.DAILY)
    clock(DAY)
    event_tasks.remind_of_endings()
    assert event_tasks.deliver_events() == 0, "what came while no mail was wanted is not sent"


@pytest.mark.django_db
def test_a_mail_is_given_up_after_days_and_dropped_for_somebody_who_is_gone(
    jo: User, clock: Move, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    with open_event_write() as write:
        data = {"group": "urn:li:corpGroup:eng", "group_name": "Eng"}
        write.emit([build_event("membership.ended", subject=JO, through="clock", data=data) for _ in range(2)])
    event_tasks.deliver_events()
    tried = Mail.objects.filter(attempts=1).count()
    assert tried == 1, "the server is not asked again at once"
    users.suspend(urn=JO, by=SYSTEM, channel=DOOR)
    clock(DAY / 2)
    event_tasks.deliver_events()
    assert set(Mail.objects.values_list("state", flat=True)) == {Mail.State.DROPPED}
    users.activate(urn=JO, by=SYSTEM, channel=DOOR)
    Mail.objects.update(state=Mail.State.WAITING, next_attempt_at=timezone.now())
    clock(4 * DAY)
    transport.send_due(seconds=5)
    assert Mail.objects.filter(state=Mail.State.FAILED).count() == 1
    clock(settings.NOTICE_DAYS * DAY)
    event_tasks.forget_events()
    assert (Notice.objects.count(), Mail.objects.filter(state=Mail.State.FAILED).count()) == (0, 0)


@pytest.mark.django_db
def test_a_spike_of_refusals_is_told_of_once_an_hour(settings: Any, clock: Move) -> None:
    settings.REFUSAL_SPIKE_MINIMUM = 20

    def refuse(count: int, ago: timedelta) -> None:
        texts = dict.fromkeys(("actor", "by", "door", "request_id", "operation", "wanted", "resource", "code"), "")
        row = {
            **texts,
            "resource_type": "",
            "sub_resources": [],
            "policy_version": 1,
            "statements": [],
            "milliseconds": 1,
        }
        at = timezone.now() - ago
        LoggedDecision.objects.bulk_create(LoggedDecision(at=at, is_allowed=False, **row) for _ in range(count))

    refuse(19, timedelta())
    assert not refusal_spikes.find_spike(now=timezone.now())
    refuse(1, timedelta())
    assert refusal_spikes.find_spike(now=timezone.now())
    assert not refusal_spikes.find_spike(now=timezone.now())
    (event,) = OutboxEvent.objects.filter(type="decision.refusal_spike")
    assert event.data == {"refusals": 20, "minutes": 15, "usual": 0}
    clock(2 * DAY)
    refuse(96 * 5, DAY / 2)
    refuse(24, timedelta())
    assert not refusal_spikes.find_spike(now=timezone.now()), "five in each quarter of an hour are usual"
    refuse(1, timedelta())
    assert refusal_spikes.find_spike(now=timezone.now())


@pytest.mark.django_db
def test_an_event_that_cannot_be_told_of_holds_up_no_other_one(jo: User, caplog: pytest.LogCaptureFixture) -> None:
    with open_event_write() as write:
        write.emit([build_event("membership.ended", subject=JO, through="clock", data={})])
        data = {"group": "urn:li:corpGroup:eng", "group_name": "Eng"}
        write.emit([build_event("membership.ended", subject=JO, through="clock", data=data)])
    event_tasks.deliver_events()
    assert list_titles() == ["Your membership of Eng has ended"]
    assert "notice_not_made" in caplog.text
