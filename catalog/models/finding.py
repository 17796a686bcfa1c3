"""Findings of reports, and the decisions about them; they outlive the runs that found them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from catalog.models.report import Report
from policies.models.fields import BytewiseCharField, JsonTextField, UrnField

#: Maximum length of a key, in characters: a type and a hash.
MAX_KEY_LENGTH = 255


class Finding(models.Model):
    """One problem found by a kind of report, identified in every run by its key.

    As in the newest run: `kind` is the kind of the report, `type` the kind of problem, `sentence` its description,
    `values` the columns of its row by name, `subject` the main URN it is about and `repair` the statement that would
    fix it. `state`, `assignee` and `note` are set by people; a run only closes findings that are gone and reopens those
    that return. An acceptance holds through the day `accepted_until` (UTC), if set, and then the finding is open again.
    `decided_by` is '' when no person decided. Old reports are deleted, so the times of both runs are stored as well.
    Every decision is stored as a `FindingEvent`. `alerted_at` is when it was told of as new and critical, which is done
    once.
    """

    class Severity(models.TextChoices):
        """Severity of a finding."""

        CRITICAL = "CRITICAL", "Critical"
        HIGH = "HIGH", "High"
        MEDIUM = "MEDIUM", "Medium"
        LOW = "LOW", "Low"

    class State(models.TextChoices):
        """State of a finding. ACCEPTED: it is intended. CLOSED: it is gone, or somebody says that it will be."""

        OPEN = "OPEN", "Open"
        ACCEPTED = "ACCEPTED", "Accepted"
        ASSIGNED = "ASSIGNED", "Assigned"
        CLOSED = "CLOSED", "Closed"

    kind = BytewiseCharField(max_length=64)
    key = BytewiseCharField(max_length=MAX_KEY_LENGTH)
    type = BytewiseCharField(max_length=64)
    severity = models.CharField(max_length=16, choices=Severity.choices)
    state = models.CharField(max_length=16, choices=State.choices, default=State.OPEN)
    assignee = UrnField(blank=True, default="")
    note = models.TextField(blank=True, default="")
    decided_by = UrnField(blank=True, default="")
    decided_at = models.DateTimeField(null=True, blank=True)
    accepted_until = models.DateField(null=True, blank=True)
    subject = UrnField(blank=True, default="")
    sentence = models.TextField(blank=True, default="")
    repair = models.TextField(blank=True, default="")
    values = JsonTextField(default=dict)
    first_seen = models.ForeignKey(Report, on_delete=models.SET_NULL, null=True, related_name="+")
    first_seen_at = models.DateTimeField(default=timezone.now)
    last_seen = models.ForeignKey(Report, on_delete=models.SET_NULL, null=True, related_name="findings")
    last_seen_at = models.DateTimeField(default=timezone.now)
    alerted_at = models.DateTimeField(null=True, blank=True, editable=False)

    #: Whether what names an entity was taken out for a viewer; never stored.
    is_concealed = False

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
            models.CheckConstraint(
                condition=Q(accepted_until=None) | Q(state="ACCEPTED"), name="finding_until_when_accepted"
            ),
        ]
        indexes = [
            models.Index(fields=["state", "severity", "kind"], name="finding_by_state"),
            models.Index(fields=["accepted_until"], name="finding_by_end", condition=Q(accepted_until__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.type}: {self.sentence}"


class FindingEvent(models.Model):
    """One change of the state of a finding: its author, time and note. These are never changed.

    `by` is '' when a run made the change (`report`, while it is stored), or when an acceptance ended.
    """

    finding = models.ForeignKey(Finding, on_delete=models.CASCADE, related_name="trail")
    at = models.DateTimeField(default=timezone.now)
    by = UrnField(blank=True, default="")
    state = models.CharField(max_length=16, choices=Finding.State.choices)
    assignee = UrnField(blank=True, default="")
    note = models.TextField(blank=True, default="")
    accepted_until = models.DateField(null=True, blank=True)
    report = models.ForeignKey(Report, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ("finding", "pk")

    def __str__(self) -> str:
        return f"{self.finding_id}: {self.state} by {self.by or 'a run'}"
