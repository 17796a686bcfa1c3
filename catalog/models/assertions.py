"""What should hold of access, as people wrote it down: every version, the newest one in force."""

from django.db import models
from django.utils import timezone

from policies.models.fields import UrnField


class AssertionText(models.Model):
    """One version of the assertions (docs/assertions.md): the text as it was saved, who saved it and when.

    `number` counts from 1; nobody changes or deletes a version.
    """

    number = models.PositiveIntegerField(unique=True)
    text = models.TextField(blank=True)
    by = UrnField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-number",)

    def __str__(self) -> str:
        return f"assertions {self.number}"
