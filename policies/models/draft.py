"""The text that people typed into a form and have not saved yet."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from policies.models.fields import JsonTextField


class Draft(models.Model):
    """The fields of one form as one user last posted them (docs/adr/0047-drafts.md).

    `path` is the page of the form, which also says what it edits. `fields` is a query string; `outcome` is why the page
    shows the form again, as that page wrote it. `page` is the opened page that posted them last; there may be several.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts")
    path = models.TextField()
    fields = models.TextField()
    outcome = JsonTextField(default=dict)
    page = models.UUIDField()
    changed_at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return f"Draft of {self.path}"
