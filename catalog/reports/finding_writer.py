"""Brings the findings of a run together with those of earlier ones, set by set: nothing is asked row by row."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from catalog.models import Finding, FindingEvent, Report, ReportRow
from catalog.reports.spec import ReportSpec
from policies.pdp import authorizer

#: The table of a kind that holds findings, and the columns that it has to have beside its own.
FINDINGS_TABLE = "findings"
FINDING_COLUMNS = ("severity", "type", "sentence", "repair", "key")

_BATCH_ROWS = 5_000
#: What a run says anew; what people say stays.
_UPDATED_COLUMNS = ("severity", "type", "sentence", "repair", "values", "subject", "last_seen", "last_seen_at")

#: Columns whose URN a finding can be about, the first that has one first.
_SUBJECT_COLUMNS = ("policy", "role", "actor", "person", "entity")
#: What a sentence about a policy speaks of without naming it.
_RELATED_COLUMNS = ("person", "entity", "other")

_EMPTY_DECISION: Mapping[str, Any] = {"assignee": "", "decided_by": "", "accepted_until": None}


def merge(report: Report, spec: ReportSpec) -> None:
    """Take over what a loaded run found: what is new opens, what is gone closes, what was closed and is back opens.

    Whatever was accepted or assigned stays so while it is found. To be called in a transaction.
    """
    now = timezone.now()
    reopen_expired(now)
    kind_findings = Finding.objects.filter(kind=spec.name).order_by()
    is_present = Exists(ReportRow.objects.filter(report=report, table=FINDINGS_TABLE, key=OuterRef("key")))
    _set_state(kind_findings.filter(is_present, state=Finding.State.CLOSED), Finding.State.OPEN, now, report)
    findings = _build_findings(report, spec)
    while rows := list(islice(findings, _BATCH_ROWS)):
        Finding.objects.bulk_create(
            add_policy_names(rows),
            update_conflicts=True,
            unique_fields=["kind", "key"],
            update_fields=list(_UPDATED_COLUMNS),
        )
    absent_findings = kind_findings.exclude(last_seen=report).exclude(state=Finding.State.CLOSED)
    _set_state(absent_findings, Finding.State.CLOSED, now, report)


def reopen_expired(now: datetime) -> int:
    """Open the findings whose acceptance ended before this day (UTC), and return how many there were."""
    with transaction.atomic():
        expired_findings = Finding.objects.filter(state=Finding.State.ACCEPTED, accepted_until__lt=now.date())
        return _set_state(expired_findings, Finding.State.OPEN, now, None)


def record_events(ids: Iterable[int], **event_fields: Any) -> None:
    """Note one decision about each of these findings."""
    id_iterator = iter(ids)
    while batch := list(islice(id_iterator, _BATCH_ROWS)):
        FindingEvent.objects.bulk_create(FindingEvent(finding_id=finding_id, **event_fields) for finding_id in batch)


def find_subject(values: Mapping[str, Any]) -> str:
    """Return the URN that a finding with these values is about first, or ''."""
    candidates = (values.get(name) for name in _SUBJECT_COLUMNS)
    return next((value for value in candidates if isinstance(value, str) and value.startswith("urn:li:")), "")


def add_policy_names(rows: list[Finding]) -> list[Finding]:
    """Return findings whose sentences name the policy that they speak of, and the person or entity beside it."""
    urn_columns = {"policy", *_RELATED_COLUMNS}
    policy_rows = [row for row in rows if row.values.get("policy")]
    urns = {row.values[name] for row in policy_rows for name in urn_columns if row.values.get(name)}
    names = authorizer.load_names(urns=urns) if urns else {}
    for row in policy_rows:
        related_names = [names.get(urn, urn) for name in _RELATED_COLUMNS if (urn := row.values.get(name))]
        suffix = f" ({', '.join(related_names)})" if related_names else ""
        policy = names.get(row.values["policy"], row.values["policy"])
        quoted_policy = f"\N{LEFT DOUBLE QUOTATION MARK}{policy}\N{RIGHT DOUBLE QUOTATION MARK}"
        row.sentence = f"{quoted_policy}{suffix}: {row.sentence}"
    return rows


def _set_state(findings: QuerySet[Finding], state: str, now: datetime, report: Report | None) -> int:
    """Put findings into a state without a person, note that, and return how many there were."""
    ids = list(findings.values_list("pk", flat=True))
    for start in range(0, len(ids), _BATCH_ROWS):
        batch = ids[start : start + _BATCH_ROWS]
        Finding.objects.filter(pk__among=batch).update(state=state, decided_at=now, **_EMPTY_DECISION)
    record_events(ids, state=state, at=now, report=report)
    return len(ids)


def _build_findings(report: Report, spec: ReportSpec) -> Iterator[Finding]:
    (table,) = (table for table in spec.tables if table.name == FINDINGS_TABLE)
    names = [column.name for column in table.columns]
    rows = ReportRow.objects.filter(report=report, table=FINDINGS_TABLE).order_by("position")
    now = timezone.now()
    for key, row_values in rows.values_list("key", "values").iterator(chunk_size=_BATCH_ROWS):
        values = dict(zip(names, row_values, strict=True))
        finding_values = {name: values.pop(name) for name in FINDING_COLUMNS if name != "key"}
        subject = find_subject(values)
        yield Finding(
            kind=spec.name,
            key=key,
            subject=subject,
            values={name: value for name, value in values.items() if name != "key" and value is not None},
            first_seen=report,
            first_seen_at=now,
            last_seen=report,
            last_seen_at=now,
            **finding_values,
        )
