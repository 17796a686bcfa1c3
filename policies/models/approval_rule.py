"""Approval rules: which requests they are for, who decides in which steps, and how long access may last."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.fields import JsonTextField, UrnField
from policies.models.managed import ManagedRow
from policies.models.people import MAX_NAME_LENGTH

APPROVAL_RULE_PREFIX = "urn:li:approvalRule:"


class ApprovalRule(ManagedRow):
    """A rule about requests, as written: `terms` is authoritative, with the members of the API but name and order.

    The first active rule in `order` that fits an item of a request decides the whole request. `version` counts the
    edits from 1.
    """

    class State(models.TextChoices):
        """Whether requests are compared with the rule."""

        ACTIVE = "ACTIVE"
        INACTIVE = "INACTIVE"

    urn = UrnField(unique=True, editable=False)
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    order = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=State, default=State.ACTIVE)
    terms = JsonTextField()
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_by = UrnField(editable=False)

    class Meta(ManagedRow.Meta):
        abstract = False
        ordering = ("order", "urn")
        constraints = [
            models.CheckConstraint(condition=Q(state__in=["ACTIVE", "INACTIVE"]), name="approval_rule_state_known"),
            models.CheckConstraint(condition=Q(version__gte=1), name="approval_rule_version_from_one"),
        ]

    def __str__(self) -> str:
        return self.name
