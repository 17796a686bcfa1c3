"""The Django application of who may do what."""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as all_apps
from django.apps.registry import Apps
from django.db.models.signals import post_migrate


class PoliciesConfig(AppConfig):
    """Registers models and commands; importing the package itself loads nothing of Django."""

    name = "policies"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """See to it that the row of the policy version is there, also after `manage.py flush`."""
        post_migrate.connect(_ensure_version_row, sender=self)


def _ensure_version_row(*, using: str, apps: Apps = all_apps, **_: Any) -> None:
    # After migrations `apps` is what those that ran have made; going back to none of them takes the table away.
    if "policyversion" in apps.all_models["policies"]:
        apps.get_model("policies", "PolicyVersion").objects.using(using).get_or_create(pk=1)
