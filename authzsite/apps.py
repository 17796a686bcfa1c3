"""The Django application of the wiring: it brings the system checks."""

from django.apps import AppConfig
from django.conf import settings


class SiteConfig(AppConfig):
    """Registers what `check --deploy` says about this site's own settings, and bounds waits for the database."""

    name = "authzsite"
    verbose_name = "Site"

    def ready(self) -> None:
        """Register the checks, and bound waits as workers and commands do; the web process bounds them closer."""
        from authzsite import checks, statement_timeout  # noqa: F401  # importing the checks registers them

        statement_timeout.limit_waits(settings.TASK_STATEMENT_SECONDS)
