"""Background tasks: broker, workers and schedule."""

from typing import Any

from celery.schedules import crontab

from authzsite.settings.access import POLICY_CACHE_REFRESH_INTERVAL_SECONDS
from authzsite.settings.applications import TIME_ZONE
from authzsite.settings.paths import VAR_DIR
from authzsite.settings.reports import REPORTS_NIGHTLY_HOUR, WATCH_REPORTS_EVERY_SECONDS
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


FORGET_EVERY_SECONDS = 3600
# The schedule repeats the work of messages that may be lost.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "refresh-policy-cache": {
        "task": "policies.refresh_policy_cache",
        "schedule": POLICY_CACHE_REFRESH_INTERVAL_SECONDS,
        # A worker that was away finds one queued refresh, not many.
        "options": {"expires": POLICY_CACHE_REFRESH_INTERVAL_SECONDS},
    },
    **{
        name: {"task": task, "schedule": FORGET_EVERY_SECONDS, "options": {"expires": FORGET_EVERY_SECONDS}}
        for name, task in (
            ("forget-decisions", "policies.forget_decisions"),
            ("forget-sessions", "policies.forget_sessions"),
            ("forget-changes", "policies.forget_changes"),
            ("forget-aspect-versions", "catalog.forget_aspect_versions"),
        )
    },
    "watch-reports": {
        "task": "catalog.watch_reports",
        "schedule": WATCH_REPORTS_EVERY_SECONDS,
        "options": {"expires": WATCH_REPORTS_EVERY_SECONDS},
    },
    "reopen-findings": {"task": "catalog.reopen_findings", "schedule": 600, "options": {"expires": 600}},
    "nightly-reports": {
        "task": "catalog.run_nightly_reports",
        "schedule": crontab(hour=REPORTS_NIGHTLY_HOUR % 24, minute=0),
        "options": {"expires": 3600},
    },
}
