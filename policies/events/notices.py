"""Notices: made of events and of what ends soon, and handed to the channels in the same transaction.

One cursor says of how many events notices were made. It moves with them in one transaction and one process at a time
holds it, so a worker that is killed has told of nothing, and the next one tells of everything, once.
"""

import hashlib
import logging
import time
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple

from django.db import transaction

from policies.engine.wording import word_time
from policies.events import receivers, sources, stream
from policies.events.channels.email import planning
from policies.events.channels.inbox import storage
from policies.events.sources import Ending, NoticeDraft
from policies.models import EventCursor, Notice, OutboxEvent, User
from policies.models.notice import MAX_NOTICE_LENGTH, MAX_TITLE_LENGTH

log = logging.getLogger(__name__)

#: Events of one transaction.
BATCH_SIZE = 200

_ENDING_BATCH_SIZE = 500


class _Lead(NamedTuple):
    """How long before an end people are told."""

    name: str
    time: timedelta


#: The longest first; of something that ends within several, the shortest counts.
_LEADS = (_Lead("7d", timedelta(days=7)), _Lead("1d", timedelta(days=1)))


def make_all(*, seconds: float) -> int:
    """Make the notices of the events that nobody was told of, for about this long, and return how many are new."""
    deadline, count = time.monotonic() + seconds, 0
    while True:
        event_count, notice_count = make_batch()
        count += notice_count
        if event_count < BATCH_SIZE or time.monotonic() >= deadline:
            return count


def make_batch() -> tuple[int, int]:
    """Make the notices of the next events, and return the numbers of the events and of the new notices."""
    # Looked at first: a transaction that may write keeps other writers waiting on SQLite.
    if not stream.list_after(stream.load_cursor(EventCursor.Name.NOTICES)).exists():
        return 0, 0
    with transaction.atomic():
        cursor = stream.lock_cursor(EventCursor.Name.NOTICES)
        events = list(stream.list_after(cursor.position)[:BATCH_SIZE])
        if not events:
            return 0, 0
        notices = [notice for event in events for notice in _make_notices_of(event)]
        cursor.change_seq, cursor.row = events[-1].position
        cursor.save()
        return len(events), _hand_over(notices)


def remind(*, now: datetime) -> int:
    """Make the notices of what ends within a week or a day, and return how many are new."""
    count = 0
    for shorter, lead in zip((*_LEADS[1:], None), _LEADS, strict=True):
        begin = now if shorter is None else now + shorter.time
        endings = iter(sources.iterate_endings(after=begin, until=now + lead.time))
        while batch := list(islice(endings, _ENDING_BATCH_SIZE)):
            with transaction.atomic():
                stream.lock_cursor(EventCursor.Name.NOTICES)
                count += _hand_over(_make_reminders(batch, lead))
    return count


def _hand_over(notices: list[Notice]) -> int:
    """Have every channel take these notices, and return how many are new."""
    new_notices = storage.store_new(notices)
    planning.plan(new_notices)
    return len(new_notices)


def _make_notices_of(event: OutboxEvent) -> list[Notice]:
    draft = sources.build_draft(event)
    if draft is None:
        return []
    if draft.to_alert_recipients:
        log.warning("alert", extra={"kind": event.type, "subject": event.subject, "detail": draft.title})
    users, addresses = receivers.list_receivers(draft)
    key = str(event.position)
    return [
        *(_build_notice(draft, key=key, type_=event.type, user=user) for user in users),
        *(_build_notice(draft, key=key, type_=event.type, address=address) for address in addresses),
    ]


def _make_reminders(endings: Iterable[Ending], lead: _Lead) -> list[Notice]:
    ending_list = list(endings)
    named_users = NoticeDraft("", user_urns=frozenset(ending.user_urn for ending in ending_list))
    users = {user.urn: user for user in receivers.list_receivers(named_users)[0]}
    return [
        _build_notice(_build_reminder(ending), key=_make_key(ending, lead), type_=f"{ending.noun}.ending", user=user)
        for ending in ending_list
        if (user := users.get(ending.user_urn)) is not None
    ]


def _build_reminder(ending: Ending) -> NoticeDraft:
    when = word_time(ending.at)
    return NoticeDraft(f"{ending.name} ends on {when}", "Ask for it again if you still need it.", ending.path)


def _make_key(ending: Ending, lead: _Lead) -> str:
    """Return a key of the thing, its end and the lead: a later end is told of, too."""
    parts = "\n".join((ending.noun, ending.key, ending.at.isoformat(), lead.name))
    return f"end-{hashlib.sha256(parts.encode()).hexdigest()[:40]}"


def _build_notice(draft: NoticeDraft, *, key: str, type_: str, user: User | None = None, address: str = "") -> Notice:
    title = " ".join(draft.title.split())[:MAX_TITLE_LENGTH]
    text = draft.text[:MAX_NOTICE_LENGTH]
    return Notice(user=user, address=address, key=key, type=type_, title=title, text=text, path=draft.path)
