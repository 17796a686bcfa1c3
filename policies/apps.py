"""The Django application `policies`."""

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
        """Have the row of the policy version created after migrations and `manage.py flush`."""
        post_migrate.connect(_ensure_version_row, sender=self)


def _ensure_version_row(*, using: str, apps: Apps = all_apps, **_: Any) -> None:
    # `apps` is the state after the migrations that ran; migrating back to zero removes the table.
    if "policyversion" in apps.all_models["policies"]:
        apps.get_model("policies", "PolicyVersion").objects.using(using).get_or_create(pk=1)
