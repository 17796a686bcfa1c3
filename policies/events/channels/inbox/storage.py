"""Notices as rows: each fact once for each receiver, whatever is tried again."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from policies.errors import NotFound
from policies.models import Notice

#: Most unread notices that are counted.
MAX_COUNTED = 99

_BATCH_SIZE = 500


def store_new(notices: Sequence[Notice]) -> list[Notice]:
    """Store those of these notices of which the receiver has none with the same key; return them.

    Called by one transaction at a time (`policies.events.notices`); the database refuses a second one all the same.
    """
    stored_notices: list[Notice] = []
    for start in range(0, len(notices), _BATCH_SIZE):
        batch = {_build_key(notice): notice for notice in notices[start : start + _BATCH_SIZE]}
        keys = {key for _, _, key in batch}
        stored_keys = set(Notice.objects.filter(key__in=keys).order_by().values_list("user_id", "address", "key"))
        stored_notices += Notice.objects.bulk_create(
            [notice for key, notice in batch.items() if key not in stored_keys]
        )
    return stored_notices


def list_notices(*, user_id: int, is_unread: bool = False) -> QuerySet[Notice]:
    """Return the notices of a user, newest first."""
    condition = Q(read_at__isnull=True) if is_unread else Q()
    return Notice.objects.filter(condition, user=user_id).order_by("-id")


def count_unread(*, user_id: int) -> int:
    """Return how many notices a user has not read, MAX_COUNTED + 1 for more than MAX_COUNTED."""
    return list_notices(user_id=user_id, is_unread=True).order_by()[: MAX_COUNTED + 1].count()


def mark(*, user_id: int, number: int, is_read: bool) -> Notice:
    """Mark a notice of a user as read or unread and return it. Raises NotFound, also for a notice of others."""
    notice = Notice.objects.filter(user=user_id, pk=number).first()
    if notice is None:
        raise NotFound("There is no such notice.")
    if is_read != (notice.read_at is not None):
        notice.read_at = timezone.now() if is_read else None
        Notice.objects.filter(pk=notice.pk).update(read_at=notice.read_at)
    return notice


def open_once(*, user_id: int, key: str) -> bool:
    """Mark the notice with this key as opened and read, and return whether it was opened for the first time.

    Raises NotFound where the user has no such notice.
    """
    notices = Notice.objects.filter(user=user_id, key=key)
    if not notices.exists():
        raise NotFound("There is no such notice.")
    now = timezone.now()
    # One statement: of two at once only one opens it.
    is_first = bool(notices.filter(opened_at__isnull=True).update(opened_at=now))
    notices.filter(read_at__isnull=True).update(read_at=now)
    return is_first


def mark_all_read(*, user_id: int) -> int:
    """Mark all notices of a user as read, and return how many were not."""
    return list_notices(user_id=user_id, is_unread=True).order_by().update(read_at=timezone.now())


def delete_old(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` notices from before a time; return their number."""
    old_notices = Notice.objects.filter(created_at__lt=before).order_by("created_at")
    deleted_count, _ = Notice.objects.filter(pk__in=list(old_notices.values_list("pk", flat=True)[:batch])).delete()
    return deleted_count


def _build_key(notice: Notice) -> tuple[int | None, str, str]:
    return notice.user_id, notice.address, notice.key
