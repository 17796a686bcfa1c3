"""What reports found wrong, and what became of it: outlives the runs that found it."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from catalog.models.report import Report
from policies.models.fields import BytewiseCharField, JsonTextField, UrnField

#: Longest key, in characters: a type and a hash.
KEY_LENGTH = 255


class Finding(models.Model):
    """One thing that a kind of report found, the same in every run by its key.

    `kind` is the kind of the report, `type` what is wrong, `sentence` that in words, `values` the columns of its row by
    name and `repair` the statement that would end it: all of these as the newest run says. `state`, `assignee` and
    `note` are what people say, and no run changes them but to close what is gone and to open again what is back.
    `decided_by` is '' when a run did that. Reports are forgotten in time, so the moments stand beside them.
    """

    class Severity(models.TextChoices):
        """How bad it is."""

        CRITICAL = "CRITICAL", "Critical"
        HIGH = "HIGH", "High"
        MEDIUM = "MEDIUM", "Medium"
        LOW = "LOW", "Low"

    class State(models.TextChoices):
        """What became of it. ACCEPTED: it is meant to be so. CLOSED: it is gone, or somebody says that it will be."""

        OPEN = "OPEN", "Open"
        ACCEPTED = "ACCEPTED", "Accepted"
        ASSIGNED = "ASSIGNED", "Assigned"
        CLOSED = "CLOSED", "Closed"

    kind = BytewiseCharField(max_length=64)
    key = BytewiseCharField(max_length=KEY_LENGTH)
    type = BytewiseCharField(max_length=64)
    severity = models.CharField(max_length=16, choices=Severity.choices)
    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    assignee = UrnField(blank=True, default="")
    note = models.TextField(blank=True, default="")
    decided_by = UrnField(blank=True, default="")
    decided_at = models.DateTimeField(null=True, blank=True)
    sentence = models.TextField(blank=True, default="")
    repair = models.TextField(blank=True, default="")
    values = JsonTextField(default=dict)
    first_seen = models.ForeignKey(Report, on_delete=models.SET_NULL, null=True, related_name="+")
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen = models.ForeignKey(Report, on_delete=models.SET_NULL, null=True, related_name="findings")
    last_seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("kind", "key")
        constraints = [
            models.UniqueConstraint(fields=["kind", "key"], name="finding_key_once"),
            models.CheckConstraint(
                condition=Q(severity__in=["CRITICAL", "HIGH", "MEDIUM", "LOW"]), name="finding_severity_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["OPEN", "ACCEPTED", "ASSIGNED", "CLOSED"]), name="finding_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state="ASSIGNED", assignee__gt="") | (~Q(state="ASSIGNED") & Q(assignee="")),
                name="finding_assignee_when_assigned",
            ),
        ]
        indexes = [models.Index(fields=["state", "severity", "kind"], name="finding_by_state")]

    def __str__(self) -> str:
        return f"{self.type}: {self.sentence}"
