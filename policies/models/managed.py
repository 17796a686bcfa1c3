"""The mark of what is managed as code: it is changed in a folder of files and applied from there."""

from django.db import models

MAX_SOURCE_LENGTH = 1024


class ManagedRow(models.Model):
    """A row that may be managed as code (docs/policies-as-code.md); `source` is the address of its files, if given."""

    is_managed = models.BooleanField(default=False, db_default=False, editable=False)
    source = models.CharField(max_length=MAX_SOURCE_LENGTH, blank=True, default="", db_default="", editable=False)

    class Meta:
        abstract = True

    @property
    def managed(self) -> dict[str, str] | None:
        """Return the mark as the API answers it; None for a row that is not managed."""
        return {"source": str(self.source)} if self.is_managed else None
