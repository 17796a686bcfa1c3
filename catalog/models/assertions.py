"""Assertions about access as people wrote them: every version, of which the newest applies."""

from django.db import models
from django.utils import timezone

from policies.models.fields import UrnField
from policies.models.managed import ManagedRow
from policies.models.people import MAX_NAME_LENGTH


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


class ManagedAssertion(ManagedRow):
    """The mark of an assertion that is managed as code, by its name; the assertion itself is in the newest text."""

    name = models.CharField(max_length=MAX_NAME_LENGTH, unique=True)

    class Meta(ManagedRow.Meta):
        abstract = False
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
