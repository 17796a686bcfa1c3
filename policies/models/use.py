"""Daily counts of used privileges, who counts them, and the days for which the counts may be incomplete."""

from django.db import models

from policies.models.fields import BytewiseCharField, UrnField

#: Longest name of a privilege that is stored, in characters.
MAX_PRIVILEGE_LENGTH = 255


class DailyUse(models.Model):
    """How often an actor was allowed a privilege by a policy on one day (UTC), and the last time.

    `policy` is "" for what is allowed without a policy, `actor` "" for everybody who is not a stored user. A decision
    by several policies counts once for each, and so does one about several privileges.
    """

    day = models.DateField()
    policy = UrnField()
    actor = UrnField()
    privilege = BytewiseCharField(max_length=MAX_PRIVILEGE_LENGTH)
    uses = models.PositiveBigIntegerField()
    last_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["day", "policy", "actor", "privilege"], name="daily_use_once"),
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.actor} {self.privilege} {self.uses}"


class UseCounter(models.Model):
    """A process that counts uses; its row is deleted when it ends and has written all of them.

    All that it counted before `counted_until` is written. `batch` is the number of the last batch that it wrote, so
    that one whose commit was not confirmed is not written twice.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    batch = models.PositiveBigIntegerField()
    counted_until = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.id} until {self.counted_until}"


class UseGap(models.Model):
    """Days (UTC) for which uses may be missing, from the first to the last, and why."""

    class Cause(models.TextChoices):
        """Why uses may be missing."""

        STARTED = "STARTED", "Counting began on this day"
        PROCESS_LOST = "PROCESS_LOST", "A process ended before it had written what it counted"
        DROPPED = "DROPPED", "A process could not keep or write what it counted"
        DELETED = "DELETED", "These days were deleted"

    first_day = models.DateField()
    last_day = models.DateField(db_index=True)
    cause = models.CharField(max_length=16, choices=Cause.choices)

    def __str__(self) -> str:
        return f"{self.first_day} to {self.last_day}: {self.cause}"
