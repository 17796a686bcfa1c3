"""The Celery application: settings, tasks, and logging of workers."""

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
    """Configure logging as in the web process; a receiver keeps Celery from setting up its own."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
