"""The outbox: an event for every fact that others are told of, stored in the transaction that makes it true."""

from typing import Any, NamedTuple

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.event import ChangeSet
from policies.models.fields import BytewiseCharField, JsonTextField, UrnField

#: Longest type of an event, in characters.
MAX_TYPE_LENGTH = 48

#: Name of the shape of an event in the API.
SCHEMA = "authzsite.events/1"


class EventType(models.TextChoices):
    """The type of an event: its noun, and what happened to it."""

    POLICY_CREATED = "policy.created"
    POLICY_UPDATED = "policy.updated"
    POLICY_DELETED = "policy.deleted"
    POLICY_STATE = "policy.state"
    MEMBERSHIP_ADDED = "membership.added"
    MEMBERSHIP_REMOVED = "membership.removed"
    MEMBERSHIP_ENDED = "membership.ended"
    MEMBERSHIP_CHANGED = "membership.changed"
    MEMBERSHIP_SCHEDULED = "membership.scheduled"
    MEMBERSHIP_CANCELLED = "membership.cancelled"
    ROLE_CREATED = "role.created"
    ROLE_UPDATED = "role.updated"
    ROLE_DELETED = "role.deleted"
    ROLE_ASSIGNED = "role.assigned"
    ROLE_UNASSIGNED = "role.unassigned"
    ROLE_ENDED = "role.ended"
    ROLE_CHANGED = "role.changed"
    ROLE_SCHEDULED = "role.scheduled"
    ROLE_CANCELLED = "role.cancelled"
    GRANT_ADDED = "grant.added"
    GRANT_REMOVED = "grant.removed"
    GRANT_ENDED = "grant.ended"
    GRANT_CHANGED = "grant.changed"
    GRANT_SCHEDULED = "grant.scheduled"
    GRANT_CANCELLED = "grant.cancelled"
    TOKEN_CREATED = "token.created"  # noqa: S105 - a type
    TOKEN_REVOKED = "token.revoked"  # noqa: S105 - a type
    INVITATION_CREATED = "invitation.created"
    INVITATION_REVOKED = "invitation.revoked"
    USER_CREATED = "user.created"
    USER_UPDATED = "user.updated"
    USER_DELETED = "user.deleted"
    USER_ACTIVATED = "user.activated"
    USER_SUSPENDED = "user.suspended"
    USER_PASSWORD_SET = "user.password_set"  # noqa: S105 - a type
    USER_RESET_CREATED = "user.reset_created"
    GROUP_CREATED = "group.created"
    GROUP_UPDATED = "group.updated"
    GROUP_DELETED = "group.deleted"
    GUARDRAIL_CREATED = "guardrail.created"
    GUARDRAIL_UPDATED = "guardrail.updated"
    GUARDRAIL_DELETED = "guardrail.deleted"
    GUARDRAIL_BROKEN = "guardrail.broken"
    GUARDRAIL_REFUSED = "guardrail.refused"
    FINDING_OPENED = "finding.opened"
    FINDING_CLOSED = "finding.closed"
    FINDING_ASSIGNED = "finding.assigned"
    FINDING_ACCEPTED = "finding.accepted"
    REPORT_READY = "report.ready"
    REPORT_FAILED = "report.failed"
    REPORT_LATE = "report.late"
    REQUEST_ASKED = "request.asked"
    REQUEST_STEP = "request.step"
    REQUEST_APPROVED = "request.approved"
    REQUEST_DENIED = "request.denied"
    REQUEST_DONE = "request.done"
    REQUEST_WAITING = "request.waiting"
    REQUEST_WITHDRAWN = "request.withdrawn"
    REQUEST_EXPIRED = "request.expired"
    REQUEST_ENDED = "request.ended"
    SIGN_IN_FAILED_OFTEN = "sign_in.failed_often"
    REFUSAL_SPIKE = "decision.refusal_spike"


class Position(NamedTuple):
    """A place in the order of all events: the number of the write, and the row within it."""

    change_seq: int
    row: int

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Return the position that a text states; raises ValueError for any other text."""
        parts = text.split("-")
        if len(parts) != 2 or not all(part.isascii() and part.isdigit() and len(part) <= 18 for part in parts):
            raise ValueError(text)
        return cls(*map(int, parts))

    def __str__(self) -> str:
        return f"{self.change_seq}-{self.row}"


#: Before every event.
BEGINNING = Position(0, 0)


class OutboxEvent(models.Model):
    """A fact: its type, the thing or person it is about, who brought it about, and the channel through which.

    `subject` is a URN, or `finding:<id>` or `report:<id>`; `actor` is the URN of an account, "" where nobody is known.
    `data` holds what a type says beside that, and never a secret. The order of events is that of their change sets,
    whose numbers follow the commits, and then that of the rows: a reader who has seen an event never misses one that is
    committed later (docs/adr/0056).
    """

    id = models.BigAutoField(primary_key=True)
    type = BytewiseCharField(max_length=MAX_TYPE_LENGTH)
    subject = UrnField(blank=True)
    actor = UrnField(blank=True)
    through = models.CharField(max_length=32)
    time = models.DateTimeField(default=timezone.now)
    data = JsonTextField(default=dict)
    change_set = models.ForeignKey(ChangeSet, on_delete=models.PROTECT, related_name="outbox_events")

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(type=""), name="outbox_event_has_type")]
        indexes = [models.Index(fields=["time"], name="outbox_event_time")]

    def __str__(self) -> str:
        return f"{self.type} {self.subject}"

    @property
    def position(self) -> Position:
        """Its place in the order of all events; `change_set` has to be loaded."""
        return Position(self.change_set.change_seq or 0, self.pk)


def build_event(
    type_: str, *, subject: str, actor: str = "", through: str = "", data: dict[str, Any] | None = None, **columns: Any
) -> OutboxEvent:
    """Return an event that is not stored yet (`policies.models.writes.WriteTransaction.emit` stores it).

    Without a channel `through` becomes that of the event before it in its write.
    """
    return OutboxEvent(type=type_, subject=subject, actor=actor, through=through, data=data or {}, **columns)


class EventCursor(models.Model):
    """A named place in the order of events: how far a reader inside the product has come, or retention has deleted."""

    class Name(models.TextChoices):
        """Who moves the cursor."""

        NOTICES = "NOTICES"
        RETENTION = "RETENTION"

    name = models.CharField(max_length=16, choices=Name, primary_key=True)
    change_seq = models.PositiveBigIntegerField(default=0)
    row = models.PositiveBigIntegerField(default=0)
    updated_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(name__in=["NOTICES", "RETENTION"]), name="event_cursor_name_known")
        ]

    def __str__(self) -> str:
        return f"{self.name} at {self.position}"

    @property
    def position(self) -> Position:
        """Its place: every event up to here, this one included, is behind it."""
        return Position(self.change_seq, self.row)
