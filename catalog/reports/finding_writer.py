"""Merges the findings of a run with those of earlier runs, in bulk statements and not row by row."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from catalog.models import Finding, FindingEvent, Report, ReportRow
from catalog.reports.spec import ReportSpec
from catalog.reports.tables import FINDINGS_TABLE
from policies.pdp import authorizer

#: Columns of a table of findings that are columns of a finding; all others are among its values.
_FINDING_COLUMNS = ("severity", "type", "sentence", "repair")

_BATCH_ROWS = 5_000
#: Columns that a run overwrites; decisions of people are retained.
_UPDATED_COLUMNS = ("severity", "type", "sentence", "repair", "values", "subject", "last_seen", "last_seen_at")

#: Columns whose URN can be the subject of a finding, in order of precedence.
_SUBJECT_COLUMNS = ("policy", "role", "actor", "person", "entity")
#: URN columns whose names are added to a sentence about a policy.
_RELATED_COLUMNS = ("person", "entity", "other")

_EMPTY_DECISION: Mapping[str, Any] = {"assignee": "", "decided_by": "", "accepted_until": None}


def merge(report: Report, spec: ReportSpec) -> None:
    """Merge the findings of a loaded run: new ones open, absent ones close, closed ones that are back reopen.

    Findings that are accepted or assigned stay so while they are present. Call it in a transaction.
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
    """Reopen the findings whose acceptance ended before the day of `now` (UTC) and return their number."""
    with transaction.atomic():
        expired_findings = Finding.objects.filter(state=Finding.State.ACCEPTED, accepted_until__lt=now.date())
        return _set_state(expired_findings, Finding.State.OPEN, now, None)


def close(findings: QuerySet[Finding], now: datetime) -> int:
    """Close these findings, which are gone, and return how many were not closed."""
    return _set_state(findings.exclude(state=Finding.State.CLOSED), Finding.State.CLOSED, now, None)


def reopen(findings: QuerySet[Finding], now: datetime) -> int:
    """Open those of these findings that were closed, which are back, and return their number."""
    return _set_state(findings.filter(state=Finding.State.CLOSED), Finding.State.OPEN, now, None)


def record_events(ids: Iterable[int], **event_fields: Any) -> None:
    """Insert one event for each of these findings."""
    id_iterator = iter(ids)
    while batch := list(islice(id_iterator, _BATCH_ROWS)):
        FindingEvent.objects.bulk_create(FindingEvent(finding_id=finding_id, **event_fields) for finding_id in batch)


def find_subject(values: Mapping[str, Any]) -> str:
    """Return the URN of the subject of a finding with these values, or ""."""
    candidates = (values.get(name) for name in _SUBJECT_COLUMNS)
    return next((value for value in candidates if isinstance(value, str) and value.startswith("urn:li:")), "")


def add_policy_names(rows: list[Finding]) -> list[Finding]:
    """Prefix the sentences of findings about a policy with its name and the names of related entities."""
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
    """Set the state of findings without a deciding person, record events and return the number of findings."""
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
        finding_values = {name: values.pop(name) for name in _FINDING_COLUMNS}
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
