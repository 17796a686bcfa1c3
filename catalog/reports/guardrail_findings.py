"""Findings about guardrails: one for each that is broken, opened and closed as it is judged."""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from catalog.models import Finding
from catalog.reports import finding_writer
from policies.models import Guardrail, open_event_write

#: The kind of these findings; no report makes them.
KIND = "guardrails"

FINDING_TYPE = "GUARDRAIL_BROKEN"
_UPDATED_COLUMNS = ["severity", "type", "sentence", "values", "subject", "last_seen_at"]


def record_breaches(*, guardrail: Guardrail, breaches: Sequence[dict[str, Any]]) -> None:
    """Open the finding of a guardrail that is broken, or close it; a guardrail that is off has none."""
    with open_event_write():
        _record(guardrail, breaches)


def _record(guardrail: Guardrail, breaches: Sequence[dict[str, Any]]) -> None:
    now = timezone.now()
    findings = Finding.objects.filter(kind=KIND, key=guardrail.urn).order_by()
    if not breaches or guardrail.mode == Guardrail.Mode.OFF:
        finding_writer.close(findings, now)
        return
    is_new = not findings.exists()
    finding_writer.reopen(findings, now)
    policy = next((breach["policy"] for breach in breaches if breach["policy"]), None)
    count = len(breaches)
    ways = f"in {count} {'way' if count == 1 else 'ways'}"
    is_unknown = guardrail.status == Guardrail.Status.UNKNOWN
    outcome = f"could not be shown to hold {ways}" if is_unknown else f"is broken {ways}"
    if guardrail.breaks_at is not None:
        outcome = f"will be broken {ways}, first at {guardrail.breaks_at}"
    finding = Finding(
        kind=KIND,
        key=guardrail.urn,
        type=FINDING_TYPE,
        severity=Finding.Severity.HIGH,
        subject=policy or guardrail.urn,
        sentence=f"The guardrail {guardrail.name} {outcome}.",
        values={"guardrail": guardrail.urn},
        first_seen_at=now,
        last_seen_at=now,
    )
    Finding.objects.bulk_create(
        [finding], update_conflicts=True, unique_fields=["kind", "key"], update_fields=_UPDATED_COLUMNS
    )
    if is_new:
        finding_writer.note_opened(findings)
