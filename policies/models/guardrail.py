"""Guardrails: rules above policies, as written, and what was last known to break them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.fields import JsonTextField, UrnField
from policies.models.managed import ManagedRow
from policies.models.people import MAX_NAME_LENGTH

GUARDRAIL_PREFIX = "urn:li:guardrail:"

#: The guardrail that is built in: somebody can manage policies. It cannot be changed.
LOCKOUT_URN = f"{GUARDRAIL_PREFIX}__manage_policies"
LOCKOUT_NAME = "Somebody can manage policies"


class Guardrail(ManagedRow):
    """A rule that no policy, role or membership may break.

    `rule` is authoritative. `status` and `breaches` are those of the last judgment, `judged_at` its time; a breach has
    the form of the API. `version` counts the edits from 1.
    """

    class Mode(models.TextChoices):
        """The answer to a write that breaks the rule: it is refused, stored and reported, or nothing."""

        ENFORCE = "enforce"
        WARN = "warn"
        OFF = "off"

    class Status(models.TextChoices):
        """Whether the rule holds."""

        HOLDS = "holds"
        BROKEN = "broken"
        UNKNOWN = "unknown"

    urn = UrnField(unique=True, editable=False)
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    description = models.TextField(blank=True)
    mode = models.CharField(max_length=8, choices=Mode, default=Mode.ENFORCE)
    rule = JsonTextField()
    version = models.PositiveIntegerField(default=1)
    status = models.CharField(max_length=8, choices=Status, default=Status.UNKNOWN)
    breaches = JsonTextField(default=list, blank=True)
    judged_at = models.DateTimeField(default=timezone.now, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_by = UrnField(editable=False)

    class Meta(ManagedRow.Meta):
        abstract = False
        ordering = ("urn",)
        constraints = [
            models.CheckConstraint(condition=Q(mode__in=["enforce", "warn", "off"]), name="guardrail_mode_known"),
            models.CheckConstraint(
                condition=Q(status__in=["holds", "broken", "unknown"]), name="guardrail_status_known"
            ),
            models.CheckConstraint(condition=Q(version__gte=1), name="guardrail_version_from_one"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def breaks_at(self) -> str | None:
        """The earliest later time at which it breaks, as far as is known; None for one that does not hold now."""
        times = [breach["breaks_at"] for breach in self.breaches if breach.get("breaks_at")]
        return min(times, default=None) if self.status == self.Status.HOLDS else None

    @property
    def is_built_in(self) -> bool:
        """Whether it belongs to the product and cannot be changed."""
        return bool(self.urn == LOCKOUT_URN)
