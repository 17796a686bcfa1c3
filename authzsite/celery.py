"""The Celery application: settings, tasks, schedule, and logging of workers.

Web processes import it when they first queue a task (policies.propagation.task_queue).
"""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings
from django.utils.log import configure_logging
from django_structlog.celery.receivers import CeleryReceiver
from django_structlog.celery.steps import DjangoStructLogInitStep

from authzsite.task_schedule import build_schedule

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")

app = Celery("authzsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(
    [f"policies.{room}" for room in ("authoring", "drafts", "events", "guardrails", "pdp", "requests")]
    + [f"catalog.{room}" for room in ("connections", "ingest", "reports")]
)
app.steps["worker"].add(DjangoStructLogInitStep)
# Messages carry the log context of the request that queues them. Signals hold only weak references.
_log_context_receiver = CeleryReceiver()
_log_context_receiver.connect_signals()


@app.on_after_configure.connect
def set_schedule(sender: Celery, **_: Any) -> None:
    """Set what beat repeats."""
    sender.conf.beat_schedule = build_schedule()


@setup_logging.connect
def configure_worker_logging(**_: Any) -> None:
    """Configure logging as in the web process; a receiver keeps Celery from setting up its own."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
