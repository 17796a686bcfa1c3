"""Assertions about access as people wrote them: every version, of which the newest applies."""

from django.db import models
from django.utils import timezone

from policies.models.fields import UrnField


class AssertionText(models.Model):
    """One version of the assertions (docs/assertions.md): the saved text, its author and time.

    `number` counts from 1; versions are never changed or deleted.
    """

    number = models.PositiveIntegerField(unique=True)
    text = models.TextField(blank=True)
    by = UrnField()
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-number",)

    def __str__(self) -> str:
        return f"assertions {self.number}"
