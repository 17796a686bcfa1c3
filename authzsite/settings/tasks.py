"""Background tasks: broker and workers. The schedule is in authzsite.task_schedule."""

from typing import Any

from authzsite.settings.applications import TIME_ZONE
from authzsite.settings.paths import VAR_DIR
from authzsite.settings.storage import REDIS_URL

CELERY_BROKER_URL = REDIS_URL or "filesystem://localhost"
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"socket_connect_timeout": 2, "socket_timeout": 2} if REDIS_URL else {}
)
# A task that cannot be queued is logged, and its work is repeated by the schedule; no write waits for it.
CELERY_TASK_PUBLISH_RETRY = False
if not REDIS_URL:
    QUEUE_DIR = VAR_DIR / "broker" / "queue"
    CONTROL_DIR = VAR_DIR / "broker" / "control"
    QUEUE_DIR.mkdir(parents=True, exist_ok=True)
    CONTROL_DIR.mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT = "authzsite.folder_broker:FolderTransport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(QUEUE_DIR),
        "data_folder_out": str(QUEUE_DIR),
        "control_folder": str(CONTROL_DIR),
        # A worker that sleeps longer between polls of the folder would not end in time when it is stopped.
        "polling_interval": 0.5,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Seconds for which the worker's timer may sleep, and so the delay of its end.
CELERY_WORKER_TIMER_PRECISION = 0.25
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "beat-schedule")
CELERY_TIMEZONE = TIME_ZONE
