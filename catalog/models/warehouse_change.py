"""Sets of repairs that are applied to a source system: as a whole, or not at all."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone

from catalog.models.report import Report
from policies.models.fields import BytewiseCharField, JsonTextField, UrnField


class WarehouseChange(models.Model):
    """One set of repairs of a run: its statements, who would gain and lose, who confirmed it, and how it ended.

    `statements` are [{finding, statement}], in their order; `identity` is that of the place they are meant for.
    `preview` has who gains and loses what: {"gained": [[holder, privilege, on]], "lost": …}. `done` is the number of
    statements that ran; all of them are in force if it is APPLIED, and else none.
    """

    class Status(models.TextChoices):
        """Status of a set; the last three are final."""

        QUEUED = "QUEUED", "Being previewed"
        PREVIEWED = "PREVIEWED", "Waiting for confirmation"
        CONFIRMED = "CONFIRMED", "Confirmed"
        RUNNING = "RUNNING", "Being applied"
        APPLIED = "APPLIED", "Applied"
        FAILED = "FAILED", "Failed"
        DISCARDED = "DISCARDED", "Discarded"

    FINAL_STATUSES = (Status.APPLIED, Status.FAILED, Status.DISCARDED)
    #: Statuses in which a worker has it, or will.
    WORKER_STATUSES = (Status.QUEUED, Status.CONFIRMED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    connection = BytewiseCharField(max_length=64)
    report = models.ForeignKey(Report, null=True, on_delete=models.SET_NULL, related_name="+")
    identity = models.CharField(max_length=64)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    statements = JsonTextField(default=list)
    preview = JsonTextField(null=True, blank=True)
    done = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True, default="")
    requested_by = UrnField()
    requested_at = models.DateTimeField(default=timezone.now)
    confirmed_by = UrnField(blank=True, default="")
    #: Of its last change of status.
    moved_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-requested_at", "id")
        constraints = [
            models.CheckConstraint(
                condition=Q(status="FAILED") & ~Q(problem="") | ~Q(status="FAILED") & Q(problem=""),
                name="warehouse_change_problem_when_failed",
            ),
            # Two at once of a connection, even for simultaneous requests, are one and a refusal.
            models.UniqueConstraint(
                fields=["connection"],
                condition=Q(status__in=["CONFIRMED", "RUNNING"]),
                name="warehouse_change_one_applied",
            ),
        ]
        indexes = [models.Index(fields=["connection", "-requested_at"], name="warehouse_change_of")]

    def __str__(self) -> str:
        return f"{self.connection} {self.id}: {self.status}"
