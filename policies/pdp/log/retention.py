"""Deletion of rows past their retention time, a batch per call, so that each call is one short statement."""

from collections.abc import Collection
from datetime import datetime

from django.contrib.sessions.models import Session
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from policies.models import ChangeEvent, ChangeSet, OutboxEvent, Policy, PolicyEvent


def delete_expired_sessions(*, now: datetime, batch: int) -> int:
    """Delete up to `batch` expired sessions; return the number of deleted rows."""
    return _delete(Session.objects.filter(expire_date__lt=now).order_by("expire_date"), batch)


def delete_changes(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` change events (people, tokens, grants, catalog) made before this time; return their number.

    A change set is deleted with the last of its events and outbox events.
    """
    old_rows = ChangeEvent.objects.filter(at__lt=before).order_by("id").values_list("pk", "change_set_id")
    rows = list(old_rows[:batch])
    deleted_count, _ = ChangeEvent.objects.filter(pk__in=[event for event, _ in rows]).delete()
    delete_empty_change_sets({change_set for _, change_set in rows})
    return deleted_count


def delete_empty_change_sets(ids: Collection[int]) -> None:
    """Delete those of these change sets that no row belongs to any more."""
    change_events = ChangeEvent.objects.filter(change_set=OuterRef("pk"))
    outbox_events = OutboxEvent.objects.filter(change_set=OuterRef("pk"))
    ChangeSet.objects.filter(~Q(Exists(change_events)), ~Q(Exists(outbox_events)), pk__in=ids).delete()


def delete_policy_changes(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` policy events made before this time; return their number.

    The newest event of an existing policy stays, since it records the author of the current text.
    """
    later_events = PolicyEvent.objects.filter(policy_urn=OuterRef("policy_urn"), id__gt=OuterRef("id"))
    existing_policies = Policy.objects.filter(urn=OuterRef("policy_urn"))
    old_events = PolicyEvent.objects.filter(Q(Exists(later_events)) | ~Q(Exists(existing_policies)), at__lt=before)
    return _delete(old_events.order_by("id"), batch)


def _delete(rows: QuerySet[Model], batch: int) -> int:
    deleted_count, _ = rows.model._default_manager.filter(
        pk__in=list(rows.values_list("pk", flat=True)[:batch])
    ).delete()
    return deleted_count
