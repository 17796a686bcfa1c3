"""Reports: each run of a kind of report, and the rows of its result."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.fields import BytewiseCharField, JsonTextField, UrnField

#: Maximum length of a row key, in characters: two URNs and a privilege.
MAX_KEY_LENGTH = 1280


class Report(models.Model):
    """One run of a kind of report: its parameters, progress and result.

    `stage`, `done` and `total` are the progress (`total` 0: unknown); `log` is the end of the run's output, `problem`
    the sentence with the reason of a failure. `policy_version` and `as_of` are those of the snapshot it was made from.
    `summary` holds the headline numbers and the series of charts. `seen_at` is updated while a process works on the
    run; `attempts` counts the workers that started it, since an interrupted worker is followed by another.
    `late_alerted_at` is when it was told of as late. `unpublished_tables` describes the tables of its results until
    they are in the open tables.
    """

    class Status(models.TextChoices):
        """Status of a run; the last three are final."""

        QUEUED = "QUEUED", "Queued"
        RUNNING = "RUNNING", "Running"
        READY = "READY", "Ready"
        FAILED = "FAILED", "Failed"
        CANCELLED = "CANCELLED", "Cancelled"

    #: Statuses that a run can still leave.
    OPEN_STATUSES = (Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = BytewiseCharField(max_length=64)
    parameters = JsonTextField(default=dict)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    stage = models.CharField(max_length=255, blank=True, default="")
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    log = models.TextField(blank=True, default="")
    problem = models.TextField(blank=True, default="")
    requested_by = UrnField()
    requested_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    seen_at = models.DateTimeField(default=timezone.now)
    attempts = models.PositiveSmallIntegerField(default=0)
    finished_at = models.DateTimeField(null=True, blank=True)
    policy_version = models.PositiveBigIntegerField(null=True, blank=True)
    as_of = models.DateTimeField(null=True, blank=True)
    summary = JsonTextField(default=dict)
    late_alerted_at = models.DateTimeField(null=True, blank=True, editable=False)
    unpublished_tables = JsonTextField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-requested_at", "id")
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["QUEUED", "RUNNING", "READY", "FAILED", "CANCELLED"]),
                name="report_status_known",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["QUEUED", "RUNNING"], finished_at__isnull=True)
                | Q(status__in=["READY", "FAILED", "CANCELLED"], finished_at__isnull=False),
                name="report_finished_when_final",
            ),
            models.CheckConstraint(
                condition=(Q(status="FAILED") & ~Q(problem="")) | (~Q(status="FAILED") & Q(problem="")),
                name="report_problem_when_failed",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=["RUNNING", "READY"]) | Q(started_at__isnull=False),
                name="report_started_when_running",
            ),
            models.CheckConstraint(
                condition=~Q(status="READY") | Q(policy_version__isnull=False, as_of__isnull=False),
                name="report_dated_when_ready",
            ),
            # One open run of a kind at a time, even for simultaneous requests.
            models.UniqueConstraint(
                fields=["kind"], condition=Q(status__in=["QUEUED", "RUNNING"]), name="report_one_open_of_a_kind"
            ),
        ]
        indexes = [models.Index(fields=["kind", "-requested_at"], name="report_of_kind")]

    def __str__(self) -> str:
        return f"{self.kind} {self.id}: {self.status}"


class ReportRow(models.Model):
    """One row of a table of a report.

    `position` is its index in the table, from 0; `key` identifies its subject in every run; `text` is the casefolded
    text that searches match; `values` are the columns in order.
    """

    id = models.BigAutoField(primary_key=True)
    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="rows")
    table = BytewiseCharField(max_length=64)
    position = models.PositiveIntegerField()
    key = BytewiseCharField(max_length=MAX_KEY_LENGTH)
    text = models.TextField(blank=True, default="")
    values = JsonTextField()

    class Meta:
        ordering = ("report", "table", "position")
        indexes = [
            models.Index(fields=["report", "table", "position"], name="report_row_position"),
            models.Index(fields=["report", "table", "key"], name="report_row_key"),
        ]

    def __str__(self) -> str:
        return f"{self.table} {self.position}: {self.key}"
