"""The Django application `authzsite`, with the system checks."""

from django.apps import AppConfig
from django.conf import settings


class SiteConfig(AppConfig):
    """Registers the checks of `check --deploy` for this site's settings, and limits waits for the database."""

    name = "authzsite"
    verbose_name = "Site"

    def ready(self) -> None:
        """Register the checks, and set the wait limit of workers and commands; the web process sets its own."""
        from authzsite import checks, statement_timeout  # noqa: F401  # importing the checks registers them

        statement_timeout.limit_waits(settings.TASK_STATEMENT_SECONDS)
