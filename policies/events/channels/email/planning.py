"""The notices that become mails: one each, or one a day, as their receiver prefers; those of addresses always."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from policies.models import EventCursor, Mail, Notice, NoticePreference, User

#: Users whose daily mails are planned by one transaction.
_BATCH_SIZE = 200

#: What is older when the daily mail is made is left out of it: it stands in the inbox.
_DAILY_REACH = timedelta(days=2)

_FALLBACK_DOMAIN = "authzsite.invalid"


def plan(notices: Sequence[Notice]) -> int:
    """Store a mail for each of these new notices that its receiver wants as one; return their number."""
    people = [notice.user_id for notice in notices if notice.user_id is not None]
    preferences = dict(NoticePreference.objects.filter(user__in=people).values_list("user_id", "by_mail"))
    carried = [notice for notice in notices if _is_wanted(notice, preferences.get(notice.user_id or 0))]
    mails = Mail.objects.bulk_create([_build_mail(notice.key, notice.user, notice.address) for notice in carried])
    for notice, mail in zip(carried, mails, strict=True):
        notice.mail = mail
    Notice.objects.bulk_update(carried, ["mail"], batch_size=_BATCH_SIZE)
    return len(mails)


def plan_daily(*, now: datetime) -> int:
    """Store the daily mails of this day, once its hour (UTC) has come; return their number."""
    hour = now.replace(hour=settings.NOTICE_MAIL_HOUR, minute=0, second=0, microsecond=0)
    if not settings.NOTICE_MAIL or now < hour:
        return 0
    count = 0
    while batch_count := _plan_daily_batch(f"daily-{now:%Y-%m-%d}", hour):
        count += batch_count
    return count


def is_address(text: str) -> bool:
    """Whether mail can be sent to this address."""
    try:
        validate_email(text)
    except ValidationError:
        return False
    return True


def choose_by_mail(*, user_id: int, by_mail: str) -> None:
    """Store whether a user gets notices by mail; `by_mail` is one of NoticePreference.ByMail."""
    now = timezone.now()
    NoticePreference.objects.update_or_create(user_id=user_id, defaults={"by_mail": by_mail, "changed_at": now})


def get_by_mail(*, user_id: int) -> NoticePreference.ByMail:
    """Return whether a user gets notices by mail."""
    preference = NoticePreference.objects.filter(user=user_id).values_list("by_mail", flat=True).first()
    return NoticePreference.ByMail(preference or NoticePreference.ByMail.EACH)


def _plan_daily_batch(key: str, hour: datetime) -> int:
    with transaction.atomic():
        # Two workers do not plan at once.
        EventCursor.objects.get_or_create(pk=EventCursor.Name.NOTICES)
        EventCursor.objects.select_for_update().get(pk=EventCursor.Name.NOTICES)
        users = User.objects.filter(
            notice_preference__by_mail=NoticePreference.ByMail.DAILY, state=User.State.ACTIVE, is_removed=False
        ).annotate(since=F("notice_preference__changed_at"))
        has_mail = Exists(Mail.objects.filter(user=OuterRef("pk"), key=key))
        pending = _list_pending(hour).filter(user=OuterRef("pk"), created_at__gt=OuterRef("since"))
        waiting_users = list(users.filter(~has_mail, Exists(pending)).order_by("pk")[:_BATCH_SIZE])
        for user in waiting_users:
            notices = _list_pending(hour).filter(user=user, created_at__gt=user.since)
            notices.update(mail=Mail.objects.create(**_mail_columns(key, user, "")))
    return len(waiting_users)


def _list_pending(hour: datetime) -> QuerySet[Notice]:
    """Return the notices that no mail carries and nobody has read, up to this hour."""
    rows = Notice.objects.filter(mail__isnull=True, read_at__isnull=True, user__isnull=False)
    return rows.filter(created_at__lte=hour, created_at__gt=hour - _DAILY_REACH)


def _is_wanted(notice: Notice, by_mail: str | None) -> bool:
    if notice.user is None:
        return True
    wants_each = by_mail in (None, NoticePreference.ByMail.EACH)
    return bool(settings.NOTICE_MAIL) and wants_each and is_address(notice.user.email)


def _build_mail(key: str, user: User | None, address: str) -> Mail:
    return Mail(**_mail_columns(key, user, address))


def _mail_columns(key: str, user: User | None, address: str) -> dict[str, object]:
    receiver = f"u{user.pk}" if user is not None else f"a{hashlib.sha256(address.encode()).hexdigest()[:16]}"
    domain = urlsplit(settings.PUBLIC_URL or "").hostname or _FALLBACK_DOMAIN
    return {"user": user, "address": address, "key": key, "message_id": f"<{key}.{receiver}@{domain}>"}
