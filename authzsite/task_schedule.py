"""The schedule of background tasks, which beat keeps. It repeats the work of messages that may be lost."""

from typing import Any

from celery.schedules import crontab
from django.conf import settings

FORGET_EVERY_SECONDS = 3600

#: A deletion queues its task; this finds what a lost message left.
DELETED_NAMES_EVERY_SECONDS = 60

#: What facts break is found within a minute, the judgment itself included.
GUARDRAILS_EVERY_SECONDS = 45

#: What another system was asked for, and what is taken away before its end, is noticed within a minute.
REQUEST_SOURCES_EVERY_SECONDS = 60

#: Notices stand in the inbox, and mails are sent, within seconds.
DELIVER_EVERY_SECONDS = 10

#: What ends is told of days before.
REMIND_EVERY_SECONDS = 600

WATCH_REFUSALS_EVERY_SECONDS = 300


def build_schedule() -> dict[str, dict[str, Any]]:
    """Return the entries by name. Each expires before the next of its kind: an absent worker finds one, not many."""
    refresh_seconds = settings.POLICY_CACHE_REFRESH_INTERVAL_SECONDS
    watch_seconds = settings.WATCH_REPORTS_EVERY_SECONDS
    return {
        "refresh-policy-cache": _build_entry("policies.refresh_policy_cache", refresh_seconds),
        "forget-decisions": _build_entry("policies.forget_decisions", FORGET_EVERY_SECONDS),
        "forget-uses": _build_entry("policies.forget_uses", FORGET_EVERY_SECONDS),
        "forget-sessions": _build_entry("policies.forget_sessions", FORGET_EVERY_SECONDS),
        "forget-drafts": _build_entry("policies.forget_drafts", FORGET_EVERY_SECONDS),
        "forget-changes": _build_entry("policies.forget_changes", FORGET_EVERY_SECONDS),
        "forget-aspect-versions": _build_entry("catalog.forget_aspect_versions", FORGET_EVERY_SECONDS),
        "forget-request-tasks": _build_entry("policies.forget_request_tasks", FORGET_EVERY_SECONDS),
        "forget-events": _build_entry("policies.forget_events", FORGET_EVERY_SECONDS),
        "deliver-events": _build_entry("policies.deliver_events", DELIVER_EVERY_SECONDS),
        "remind-of-endings": _build_entry("policies.remind_of_endings", REMIND_EVERY_SECONDS),
        "watch-refusals": _build_entry("policies.watch_refusals", WATCH_REFUSALS_EVERY_SECONDS),
        "judge-guardrails": _build_entry("policies.judge_guardrails", GUARDRAILS_EVERY_SECONDS),
        "settle-request-sources": _build_entry("policies.settle_request_sources", REQUEST_SOURCES_EVERY_SECONDS),
        "end-taken-access": _build_entry("policies.end_taken_access", REQUEST_SOURCES_EVERY_SECONDS),
        "remove-deleted-names": _build_entry("policies.remove_deleted_names", DELETED_NAMES_EVERY_SECONDS),
        "watch-reports": _build_entry("catalog.watch_reports", watch_seconds),
        "reopen-findings": _build_entry("catalog.reopen_findings", 600),
        # Before the reports that read them.
        "nightly-snapshots": {
            "task": "catalog.take_nightly_snapshots",
            "schedule": crontab(hour=(settings.REPORTS_NIGHTLY_HOUR - 1) % 24, minute=30),
            "options": {"expires": 3600},
        },
        "nightly-reports": {
            "task": "catalog.run_nightly_reports",
            "schedule": crontab(hour=settings.REPORTS_NIGHTLY_HOUR % 24, minute=0),
            "options": {"expires": 3600},
        },
    }


def _build_entry(task: str, seconds: float) -> dict[str, Any]:
    return {"task": task, "schedule": seconds, "options": {"expires": seconds}}
