"""When somebody was last on the home page, for what is new since."""

from django.conf import settings
from django.db import models


class Visit(models.Model):
    """When the latest visit of a user began, and the one before it; null if there was none.

    A visit lasts for VISIT_GAP of `catalog.home.services.visits`.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="visit"
    )
    seen_at = models.DateTimeField()
    previous_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.user_id} at {self.seen_at}"
