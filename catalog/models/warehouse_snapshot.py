"""Snapshots of source systems that can be reached: each has the files of an export."""

import uuid

from django.db import models
from django.db.models import Q
from django.utils import timezone

from policies.models.fields import BytewiseCharField, JsonTextField, UrnField


class WarehouseSnapshot(models.Model):
    """One snapshot of a connection: its progress, what it is of, and how old it is at most.

    `taken_at` is before the state that was read began: the snapshot is never older. `stage`, `done` and `total` are the
    progress; `problem` is the sentence about a failure. `reading` of a good one says what was read, and by whom: host,
    database, role, version, identity, rights and the numbers of rows.
    """

    class Status(models.TextChoices):
        """Status of a snapshot; the last two are final."""

        QUEUED = "QUEUED", "Queued"
        RUNNING = "RUNNING", "Running"
        READY = "READY", "Ready"
        FAILED = "FAILED", "Failed"

    OPEN_STATUSES = (Status.QUEUED, Status.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    connection = BytewiseCharField(max_length=64)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.QUEUED)
    stage = models.CharField(max_length=255, blank=True, default="")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    problem = models.TextField(blank=True, default="")
    requested_by = UrnField()
    requested_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True, blank=True)
    taken_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    reading = JsonTextField(null=True, blank=True)

    class Meta:
        ordering = ("-requested_at", "id")
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["QUEUED", "RUNNING"], finished_at__isnull=True, problem="")
                | Q(status="READY", finished_at__isnull=False, taken_at__isnull=False, problem="")
                | (Q(status="FAILED", finished_at__isnull=False) & ~Q(problem="")),
                name="snapshot_status_fits",
            ),
            # One at a time of a connection, even for simultaneous requests.
            models.UniqueConstraint(
                fields=["connection"], condition=Q(status__in=["QUEUED", "RUNNING"]), name="snapshot_one_open"
            ),
        ]
        indexes = [models.Index(fields=["connection", "-requested_at"], name="snapshot_of_connection")]

    def __str__(self) -> str:
        return f"{self.connection} {self.id}: {self.status}"
