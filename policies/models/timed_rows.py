"""Columns of what people are given for a time: memberships, role assignments and grants.

Only what counts now has a row of its kind: it is deleted when it ends, and what has not begun is a scheduled row of a
table of its own. So nothing that reads memberships, assignments or grants has to know of time.
"""

from django.db import models
from django.utils import timezone

from policies.engine.families.validity import Validity
from policies.models.fields import UrnField

#: Longest reason for which something is given for a time, in characters.
MAX_REASON_LENGTH = 1000


class TimedRow(models.Model):
    """Something that counts, with its times: it has begun, and ends at `valid_until` if that is set."""

    valid_from = models.DateTimeField(null=True, blank=True, editable=False)
    valid_until = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def validity(self) -> Validity:
        """The time in which it counts."""
        return Validity(self.valid_from, self.valid_until)


class ScheduledRow(models.Model):
    """Something that will count from `valid_from` on, with its reason, and who gave it when."""

    valid_from = models.DateTimeField(db_index=True, editable=False)
    valid_until = models.DateTimeField(null=True, blank=True, editable=False)
    reason = models.TextField(blank=True, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = UrnField(editable=False)

    class Meta:
        abstract = True

    @property
    def validity(self) -> Validity:
        """The time in which it will count."""
        return Validity(self.valid_from, self.valid_until)
