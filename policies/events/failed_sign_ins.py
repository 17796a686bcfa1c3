"""Sign-ins that failed too often for one account."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from policies.models import EventType, OutboxEvent, User, open_event_write
from policies.models.outbox import build_event


def record_lockout(*, username: str, channel: str) -> bool:
    """Store the event that an account is locked out, once in LOCKOUT_MINUTES; return whether it was stored.

    Names without an account are left out: people type passwords into the field of the name.
    """
    urn = User.objects.filter(username=username).values_list("urn", flat=True).first()
    if urn is None:
        return False
    since = timezone.now() - timedelta(minutes=settings.LOCKOUT_MINUTES)
    if OutboxEvent.objects.filter(type=EventType.SIGN_IN_FAILED_OFTEN, subject=urn, time__gt=since).exists():
        return False
    data = {"failures": settings.LOCKOUT_AFTER, "minutes": settings.LOCKOUT_MINUTES}
    with open_event_write() as write:
        write.emit([build_event(EventType.SIGN_IN_FAILED_OFTEN, subject=urn, through=channel, data=data)])
    return True
