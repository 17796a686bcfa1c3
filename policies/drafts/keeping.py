"""Keeping drafts: each user has a few, which only they find, and which expire."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone

from policies.drafts.tickets import TICKET_FIELD, DraftTicket
from policies.models import Draft, User

#: Most drafts of one user; the oldest makes room.
MAX_DRAFTS = 20

#: Longest draft, as a query string: the longest body of a page. A longer form is shown again without a draft.
MAX_DRAFT_LENGTH = 2 * 1024 * 1024

#: What forms carry beside what somebody typed.
_CARRIED_FIELDS = ("csrfmiddlewaretoken", TICKET_FIELD)


def keep(
    ticket: DraftTicket, data: QueryDict, *, outcome: Mapping[str, Any] | None = None, without: tuple[str, ...] = ()
) -> Draft | None:
    """Keep what a form posted for the user of its ticket; None if it is too long or the user may not act.

    `outcome` is why the form is shown again. Fields named in `without` are left out.
    """
    fields = data.copy()
    for name in (*_CARRIED_FIELDS, *without):
        fields.pop(name, None)
    text = fields.urlencode()
    user = User.objects.filter(pk=ticket.user_id).first()
    if len(text) > MAX_DRAFT_LENGTH or user is None or not user.is_active:
        return None
    last_page = Draft.objects.filter(pk=ticket.draft_id, user=user).values_list("page", flat=True).first()
    draft = Draft(
        id=ticket.resolve_id(last_page),
        user=user,
        path=ticket.path,
        fields=text,
        outcome=dict(outcome or {}),
        page=ticket.page,
        changed_at=timezone.now(),
    )
    Draft.objects.bulk_create(
        [draft],
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["path", "fields", "outcome", "page", "changed_at"],
    )
    _delete_surplus(user)
    return draft


def find_draft(*, user_id: int, path: str, draft_id: UUID) -> Draft | None:
    """Return this draft of this user for this path, None if there is none."""
    return list_drafts(user_id=user_id, path=path).filter(pk=draft_id).first()


def list_drafts(*, user_id: int, path: str) -> QuerySet[Draft]:
    """Return the drafts of a user for a path, the newest first."""
    return Draft.objects.filter(user=user_id, path=path, changed_at__gte=_find_oldest_time()).order_by(
        "-changed_at", "id"
    )


def delete_draft(*, user_id: int, draft_id: UUID) -> str | None:
    """Delete a draft of a user and return its path; None if there is no such draft."""
    draft = Draft.objects.filter(user=user_id, pk=draft_id).first()
    if draft is None:
        return None
    draft.delete()
    return draft.path


def delete_saved_draft(ticket: DraftTicket) -> None:
    """Delete the draft that the page of a ticket keeps, because its form was saved."""
    last_page = Draft.objects.filter(pk=ticket.draft_id, user=ticket.user_id).values_list("page", flat=True).first()
    Draft.objects.filter(pk=ticket.resolve_id(last_page), user=ticket.user_id).delete()


def delete_expired(*, batch: int) -> int:
    """Delete up to `batch` drafts that nobody changed for DRAFT_DAYS; return their number."""
    expired = Draft.objects.filter(changed_at__lt=_find_oldest_time()).order_by("changed_at")
    count, _ = Draft.objects.filter(pk__in=list(expired.values_list("pk", flat=True)[:batch])).delete()
    return count


def _find_oldest_time() -> datetime:
    return timezone.now() - timedelta(days=settings.DRAFT_DAYS)


def _delete_surplus(user: User) -> None:
    newest = Draft.objects.filter(user=user).order_by("-changed_at", "id").values_list("pk", flat=True)
    surplus = list(newest[MAX_DRAFTS:])
    if surplus:
        Draft.objects.filter(user=user, pk__in=surplus).delete()
