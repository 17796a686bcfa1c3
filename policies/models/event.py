"""The change log: one event for each write to an object, with its state before and after."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.fields import JsonTextField, UrnField
from policies.models.people import MAX_NAME_LENGTH

#: Channel of the writes of what begins and ends by itself.
CLOCK_CHANNEL = "clock"


class Verb(models.TextChoices):
    """The kind of write."""

    CREATED = "CREATED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    ACTIVATED = "ACTIVATED"
    DEACTIVATED = "DEACTIVATED"
    RESTORED = "RESTORED"
    BEGAN = "BEGAN"
    ENDED = "ENDED"
    SUSPENDED = "SUSPENDED"
    MEMBERS_CHANGED = "MEMBERS_CHANGED"
    ROLES_CHANGED = "ROLES_CHANGED"
    PASSWORD_SET = "PASSWORD_SET"  # noqa: S105 - a verb
    TOKEN_CREATED = "TOKEN_CREATED"  # noqa: S105 - a verb
    TOKEN_REVOKED = "TOKEN_REVOKED"  # noqa: S105 - a verb
    INVITE_CREATED = "INVITE_CREATED"
    INVITE_REVOKED = "INVITE_REVOKED"
    RESET_CREATED = "RESET_CREATED"


class Event(models.Model):
    """Columns of every event: `before` is null for a created object, `after` for a deleted one.

    `by` is the URN of the actor and `door` the channel. Neither state holds a secret.
    """

    name = models.CharField(max_length=MAX_NAME_LENGTH)
    verb = models.CharField(max_length=16, choices=Verb)
    by = UrnField()
    at = models.DateTimeField(default=timezone.now)
    before = JsonTextField(null=True)
    after = JsonTextField(null=True)
    door = models.CharField(max_length=32)

    class Meta:
        abstract = True
        ordering = ("-id",)


class PolicyEvent(Event):
    """A write to a policy: `version` is that of the policy, `policy_version` that of all policies."""

    policy_urn = UrnField()
    family = models.CharField(max_length=16)
    version = models.PositiveIntegerField()
    policy_version = models.PositiveBigIntegerField()

    class Meta(Event.Meta):
        constraints = [
            models.CheckConstraint(condition=Q(verb__in=Verb.values), name="policy_event_verb_known"),
        ]
        indexes = [models.Index(fields=["policy_urn", "-id"], name="policy_event_of_policy")]

    def __str__(self) -> str:
        return f"{self.verb} {self.policy_urn}"


class ChangeSet(models.Model):
    """The change events and the outbox events of one write, with its number in the order of all changes.

    The number is null until just before the write commits, so no other transaction sees a row without one. It is here
    and not on each event, so that a write of any size updates one row (docs/adr/0020).
    """

    change_seq = models.PositiveBigIntegerField(null=True, unique=True)

    def __str__(self) -> str:
        return f"change {self.change_seq}"


class ChangeEvent(Event):
    """A write to users, groups, roles, tokens, grants or the catalog; its change set has the number of the write."""

    object_urn = UrnField()
    change_set = models.ForeignKey(ChangeSet, on_delete=models.PROTECT, related_name="events")

    class Meta(Event.Meta):
        constraints = [
            models.CheckConstraint(condition=Q(verb__in=Verb.values), name="change_event_verb_known"),
        ]
        indexes = [models.Index(fields=["object_urn", "-id"], name="change_event_of_object")]

    def __str__(self) -> str:
        return f"{self.verb} {self.object_urn}"
