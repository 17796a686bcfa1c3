"""The Django application of the wiring: it brings the system checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    """Registers what `check --deploy` says about this site's own settings."""

    name = "authzsite"
    verbose_name = "Site"

    def ready(self) -> None:
        """Register the checks."""
        from authzsite import checks  # noqa: F401  # importing it registers them
