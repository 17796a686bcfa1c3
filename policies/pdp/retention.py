"""Deletes what was kept long enough, a batch at a time: each call is one short statement that holds up nobody."""

from datetime import datetime

from django.contrib.sessions.models import Session
from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from policies.models import ChangeEvent, ChangeSet, Policy, PolicyEvent


def delete_expired_sessions(*, now: datetime, batch: int) -> int:
    """Delete up to `batch` sessions that have run out; return how many were deleted."""
    return _delete(Session.objects.filter(expire_date__lt=now).order_by("expire_date"), batch)


def delete_changes(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` records of changes to people, tokens, grants and the catalog made before this time.

    Returns how many were deleted. A change set goes with the last of its events.
    """
    old_rows = ChangeEvent.objects.filter(at__lt=before).order_by("id").values_list("pk", "change_set_id")
    rows = list(old_rows[:batch])
    deleted_count, _ = ChangeEvent.objects.filter(pk__in=[event for event, _ in rows]).delete()
    events = ChangeEvent.objects.filter(change_set=OuterRef("pk"))
    ChangeSet.objects.filter(~Q(Exists(events)), pk__in={change_set for _, change_set in rows}).delete()
    return deleted_count


def delete_policy_changes(*, before: datetime, batch: int) -> int:
    """Delete up to `batch` records of changes to policies made before this time; return how many were deleted.

    The newest one of a policy that is there stays, since it says who wrote the text that is in force.
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
