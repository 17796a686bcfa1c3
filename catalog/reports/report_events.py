"""Events about runs of reports and findings, stored in the transactions that make them true, and what is told of them.

The first critical findings of a run are told of once, with the event that the run is ready.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from catalog.models import Finding, Report
from catalog.reports import finding_statements, registry
from catalog.reports.finding_labels import finding_type_label
from policies.engine.model import SYSTEM_ACTOR
from policies.events.sources import NoticeDraft, RuleSource
from policies.models import EventType, OutboxEvent, open_event_write
from policies.models.outbox import build_event
from policies.models.people import GROUP_PREFIX
from policies.models.writes import get_open_write

#: Channel of the events of runs and of what they find.
REPORTS_CHANNEL = "reports"

#: New critical findings that an event names at most; it counts all of them.
MAX_FINDINGS = 20

#: Characters of a sentence in a notice at most.
_MAX_SENTENCE_LENGTH = 500

#: Findings whose events are stored by one statement.
_BATCH_SIZE = 5_000

_CURRENT_STATES = (Finding.State.OPEN, Finding.State.ASSIGNED)

_TYPES_BY_STATE = {
    Finding.State.OPEN: EventType.FINDING_OPENED,
    Finding.State.CLOSED: EventType.FINDING_CLOSED,
    Finding.State.ASSIGNED: EventType.FINDING_ASSIGNED,
    Finding.State.ACCEPTED: EventType.FINDING_ACCEPTED,
}


def emit_end(report: Report, status: Report.Status) -> None:
    """Store, inside the open write, that a run is READY or FAILED; for other states nothing is stored."""
    if status == Report.Status.READY:
        data = _claim_critical_findings(report)
        type_ = EventType.REPORT_READY
    elif status == Report.Status.FAILED:
        data = {"problem": Report.objects.values_list("problem", flat=True).get(pk=report.pk)}
        type_ = EventType.REPORT_FAILED
    else:
        return
    get_open_write().emit([_build_report_event(type_, report, data)])


def emit_late() -> int:
    """Store an event for each nightly run that is late and was not told of, and return their number."""
    cutoff = timezone.now() - timedelta(minutes=settings.NIGHTLY_LATE_MINUTES)
    late_reports = Report.objects.filter(
        status__in=Report.OPEN_STATUSES, requested_by=SYSTEM_ACTOR, requested_at__lt=cutoff, late_alerted_at=None
    )
    count = 0
    for report in late_reports.order_by("requested_at"):
        with open_event_write() as write:
            if late_reports.filter(pk=report.pk).update(late_alerted_at=timezone.now()):
                data = {"minutes": settings.NIGHTLY_LATE_MINUTES}
                write.emit([_build_report_event(EventType.REPORT_LATE, report, data)])
                count += 1
    return count


def emit_findings(ids: Sequence[int], state: str, *, actor: str, channel: str) -> None:
    """Store, inside the open write, that these findings are in a state now."""
    template = build_event(_TYPES_BY_STATE[Finding.State(state)], subject="", actor=actor, through=channel)
    for start in range(0, len(ids), _BATCH_SIZE):
        template.change_set_id = get_open_write().ensure_change_set()
        finding_statements.insert_outbox_events(ids[start : start + _BATCH_SIZE], template)


def _claim_critical_findings(report: Report) -> dict[str, Any]:
    """Return the number and the first of the critical findings of a run that were not told of, and claim them."""
    findings = Finding.objects.filter(
        last_seen=report, severity=Finding.Severity.CRITICAL, state__in=_CURRENT_STATES, alerted_at=None
    )
    first_ids = list(findings.order_by("type", "key").values_list("pk", flat=True)[:MAX_FINDINGS])
    return {"new_critical": findings.order_by().update(alerted_at=timezone.now()), "findings": first_ids}


def _build_report_event(type_: EventType, report: Report, data: Mapping[str, Any]) -> OutboxEvent:
    run_data = {"kind": report.kind, "requested_at": report.requested_at.isoformat()}
    return build_event(
        type_,
        subject=f"report:{report.pk}",
        actor=report.requested_by,
        through=REPORTS_CHANNEL,
        data=run_data | dict(data),
    )


def _describe_ready(event: OutboxEvent) -> NoticeDraft | None:
    """Return the notice of new critical findings, if a run has any."""
    if not (count := event.data["new_critical"]):
        return None
    noun = "critical finding" if count == 1 else "critical findings"
    findings = Finding.objects.filter(pk__in=event.data["findings"]).order_by("type", "key")
    lines = [
        f"- {finding_type_label(finding.type)}: {' '.join(finding.sentence.split())[:_MAX_SENTENCE_LENGTH]}"
        for finding in findings
    ]
    if count > len(lines):
        lines.append(f"- and {count - len(lines):,} more")
    path = f"{reverse('findings')}?kind={event.data['kind']}&severity={Finding.Severity.CRITICAL}"
    title = f"{_get_title(event)}: {count:,} new {noun}"
    return NoticeDraft(title, "\n".join(lines), path, to_alert_recipients=True)


def _describe_failed(event: OutboxEvent) -> NoticeDraft:
    """Return the notice of a failed run: a nightly one to administrators, another to the person who asked for it."""
    is_nightly = event.actor == SYSTEM_ACTOR
    return NoticeDraft(
        f"{_get_title(event)} failed",
        str(event.data["problem"])[:_MAX_SENTENCE_LENGTH],
        _find_path(event),
        user_urns=frozenset() if is_nightly else frozenset({event.actor}),
        to_administrators=is_nightly,
        to_alert_recipients=is_nightly,
    )


def _describe_late(event: OutboxEvent) -> NoticeDraft:
    text = f"It has not ended after {event.data['minutes']} minutes (NIGHTLY_LATE_MINUTES)."
    return NoticeDraft(
        f"{_get_title(event)} is late", text, _find_path(event), to_administrators=True, to_alert_recipients=True
    )


def _describe_assigned(event: OutboxEvent) -> NoticeDraft | None:
    assignee = event.data.get("assignee")
    if assignee is None:
        return None
    urns, is_group = frozenset({assignee}), assignee.startswith(GROUP_PREFIX)
    whom = "a group of yours" if is_group else "you"
    return NoticeDraft(
        f"A finding is assigned to {whom}: {finding_type_label(event.data['type'])}",
        path=reverse("finding", args=[event.subject.removeprefix("finding:")]),
        user_urns=frozenset() if is_group else urns,
        group_urns=urns if is_group else frozenset(),
    )


def _get_title(event: OutboxEvent) -> str:
    spec = registry.KINDS.get(event.data["kind"])
    return event.data["kind"] if spec is None else spec.title


def _find_path(event: OutboxEvent) -> str:
    return reverse("report", args=[event.subject.removeprefix("report:")])


_RULES: Mapping[str, Callable[[OutboxEvent], NoticeDraft | None]] = {
    EventType.REPORT_READY: _describe_ready,
    EventType.REPORT_FAILED: _describe_failed,
    EventType.REPORT_LATE: _describe_late,
    EventType.FINDING_ASSIGNED: _describe_assigned,
}

#: What the registry `notice_sources` names.
SOURCE = RuleSource(_RULES)
