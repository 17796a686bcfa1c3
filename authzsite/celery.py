"""The Celery application: where tasks wait, and how a worker logs."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings
from django.utils.log import configure_logging
from django_structlog.celery.steps import DjangoStructLogInitStep

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")

app = Celery("authzsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["policies.pdp", "catalog.ingest", "catalog.reports"])
app.steps["worker"].add(DjangoStructLogInitStep)


@setup_logging.connect
def configure_worker_logging(**_: Any) -> None:
    """Keep Celery from setting up logging of its own."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
