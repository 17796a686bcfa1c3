"""Merges the findings of a run with those of earlier runs, in statements about batches and never about one row.

The rows are worked out before the transaction, which then changes all findings at once.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import IO, Any

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from catalog.models import Finding, FindingEvent, Report, ReportRow
from catalog.reports import finding_statements, report_events
from catalog.reports.spec import ReportSpec
from catalog.reports.tables import EXPORT_PROBLEM, EXPORTS_TABLE, FINDING_FINGERPRINT, FINDINGS_TABLE, ResultTable
from policies.models import open_event_write
from policies.models.fields import json_text
from policies.pdp import authorizer
from policies.pdp.authorizer import SYSTEM

#: Columns of a table of findings that are columns of a finding; all others are among its values.
_FINDING_COLUMNS = ("severity", "type", "sentence", "repair")

_BATCH_ROWS = 5_000

#: Columns whose URN can be the subject of a finding, in order of precedence.
_SUBJECT_COLUMNS = ("policy", "role", "actor", "person", "entity")
#: URN columns whose names are added to a sentence about a policy.
_RELATED_COLUMNS = ("person", "entity", "other")

_CHANNEL = report_events.REPORTS_CHANNEL

_EMPTY_DECISION: Mapping[str, Any] = {"assignee": "", "decided_by": "", "accepted_until": None}

#: A file with one batch of findings a line: a JSON array of objects.
StagedFindings = IO[bytes]


@contextmanager
def stage(report: Report, spec: ReportSpec, *, on_progress: Callable[[int], object]) -> Iterator[StagedFindings]:
    """Context manager of the findings among the loaded rows of a run; `on_progress` receives how many are written."""
    with tempfile.TemporaryFile() as staged_findings:
        table = next((table for table in spec.tables if table.name == FINDINGS_TABLE), None)
        if table is not None:
            total = 0
            for batch in _iterate_batches(report, table):
                staged_findings.write(json.dumps(batch, ensure_ascii=False).encode() + b"\n")
                total += len(batch)
                on_progress(total)
        staged_findings.seek(0)
        yield staged_findings


def merge(report: Report, spec: ReportSpec, staged_findings: StagedFindings, *, on_batch: Callable[[], object]) -> None:
    """Merge the findings of a loaded run: new ones open, absent ones close, closed ones that are back reopen.

    Findings about an export that this run did not compare are not absent. Findings that are accepted or assigned stay
    so while they are present; an accepted one that stands for several opens when these are others. Call it in a
    write (`open_event_write`); an exception of `on_batch`, which is called after every batch, undoes it.
    """
    now = timezone.now()
    reopen_expired(now)
    kind_findings = Finding.objects.filter(kind=report.kind).order_by()
    is_present = Exists(ReportRow.objects.filter(report=report, table=FINDINGS_TABLE, key=OuterRef("key")))
    _set_state(kind_findings.filter(is_present, state=Finding.State.CLOSED), Finding.State.OPEN, now, report)
    template = Finding(kind=report.kind, first_seen=report, first_seen_at=now, last_seen=report, last_seen_at=now)
    upsert = finding_statements.build_upsert(template)
    accepted = kind_findings.filter(state=Finding.State.ACCEPTED, values__contains=f'"{FINDING_FINGERPRINT.name}"')
    accepted_fingerprints = _read_fingerprints(accepted)
    with connection.cursor() as cursor:
        for batch in staged_findings:
            upsert.execute(cursor, batch.decode())
            on_batch()
    new_findings = kind_findings.filter(first_seen=report, first_seen_at=now)
    report_events.emit_findings(
        list(new_findings.values_list("pk", flat=True)), Finding.State.OPEN, actor=SYSTEM.urn, channel=_CHANNEL
    )
    # Findings of an earlier release have none.
    fingerprints = _read_fingerprints(accepted)
    ids = [id for id, fingerprint in fingerprints.items() if accepted_fingerprints.get(id, fingerprint) != fingerprint]
    _set_state(accepted.filter(pk__among=ids), Finding.State.OPEN, now, report)
    absent_findings = kind_findings.exclude(last_seen=report).exclude(state=Finding.State.CLOSED)
    for name in _list_uncompared_exports(report, spec):
        # Nobody looked: what was found there may still be so.
        absent_findings = absent_findings.exclude(values__contains=json_text({"export": name})[1:-1])
    _set_state(absent_findings, Finding.State.CLOSED, now, report)


def reopen_expired(now: datetime) -> int:
    """Reopen the findings whose acceptance ended before the day of `now` (UTC) and return their number."""
    with open_event_write():
        expired_findings = Finding.objects.filter(state=Finding.State.ACCEPTED, accepted_until__lt=now.date())
        return _set_state(expired_findings, Finding.State.OPEN, now, None)


def note_opened(findings: QuerySet[Finding]) -> None:
    """Store, inside the open write, that these new findings are open."""
    ids = list(findings.values_list("pk", flat=True))
    report_events.emit_findings(ids, Finding.State.OPEN, actor=SYSTEM.urn, channel=_CHANNEL)


def close(findings: QuerySet[Finding], now: datetime) -> int:
    """Close these findings, which are gone, and return how many were not closed."""
    return _set_state(findings.exclude(state=Finding.State.CLOSED), Finding.State.CLOSED, now, None)


def reopen(findings: QuerySet[Finding], now: datetime) -> int:
    """Open those of these findings that were closed, which are back, and return their number."""
    return _set_state(findings.filter(state=Finding.State.CLOSED), Finding.State.OPEN, now, None)


def record_events(ids: Sequence[int], *, channel: str = _CHANNEL, **event_fields: Any) -> None:
    """Store the trail of each of these findings and an event of the outbox; `channel` is where it was decided."""
    template = FindingEvent(**event_fields)
    with open_event_write():
        report_events.emit_findings(ids, template.state, actor=template.by or SYSTEM.urn, channel=channel)
        _insert_trail(ids, template)


def _insert_trail(ids: Iterable[int], template: FindingEvent) -> None:
    id_iterator = iter(ids)
    while batch := list(islice(id_iterator, _BATCH_ROWS)):
        finding_statements.insert_events(batch, template)


def find_subject(values: Mapping[str, Any]) -> str:
    """Return the URN of the subject of a finding with these values, or ""."""
    candidates = (values.get(name) for name in _SUBJECT_COLUMNS)
    return next((value for value in candidates if isinstance(value, str) and value.startswith("urn:li:")), "")


def _set_state(findings: QuerySet[Finding], state: str, now: datetime, report: Report | None) -> int:
    """Set the state of findings without a deciding person, record events and return the number of findings."""
    ids = list(findings.values_list("pk", flat=True))
    for start in range(0, len(ids), _BATCH_ROWS):
        batch = ids[start : start + _BATCH_ROWS]
        Finding.objects.filter(pk__among=batch).update(state=state, decided_at=now, **_EMPTY_DECISION)
    record_events(ids, state=state, at=now, report=report)
    return len(ids)


def _read_fingerprints(findings: QuerySet[Finding]) -> dict[int, str]:
    """Return what tells which findings each of these stands for, by id."""
    rows = findings.values_list("pk", "values").iterator(chunk_size=_BATCH_ROWS)
    # A value of another column can be the name of this one.
    return {id: fingerprint for id, values in rows if (fingerprint := values.get(FINDING_FINGERPRINT.name)) is not None}


def _list_uncompared_exports(report: Report, spec: ReportSpec) -> list[str]:
    """Return the names of the exports that a run could not compare."""
    columns = {table.name: [column.name for column in table.columns] for table in spec.tables}
    names = columns.get(EXPORTS_TABLE, [])
    if EXPORT_PROBLEM.name not in names:
        return []
    rows = ReportRow.objects.filter(report=report, table=EXPORTS_TABLE).order_by("position")
    named_rows = (dict(zip(names, values, strict=True)) for values in rows.values_list("values", flat=True))
    return [row["export"] for row in named_rows if row[EXPORT_PROBLEM.name]]


def _iterate_batches(report: Report, table: ResultTable) -> Iterator[list[dict[str, str]]]:
    """Yield the findings of a run in batches, by column."""
    names = [column.name for column in table.columns]
    rows = ReportRow.objects.filter(report=report, table=FINDINGS_TABLE).order_by("position")
    last_position = -1
    while batch := rows.filter(position__gt=last_position).values_list("position", "key", "values")[:_BATCH_ROWS]:
        values_by_row = [{**dict(zip(names, values, strict=True)), "key": key} for _, key, values in batch]
        prefixes = _load_prefixes(values_by_row)
        yield [_build_row(values, prefix) for values, prefix in zip(values_by_row, prefixes, strict=True)]
        last_position = batch[len(batch) - 1][0]


def _build_row(values: Mapping[str, Any], prefix: str) -> dict[str, str]:
    details = {
        name: value for name, value in values.items() if name not in (*_FINDING_COLUMNS, "key") and value is not None
    }
    return {
        **{name: values[name] for name in ("key", "severity", "type", "repair")},
        "sentence": f"{prefix}{values['sentence']}",
        "subject": find_subject(details),
        "values": json_text(details),
    }


def _load_prefixes(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what precedes the sentence of each row: about a policy its name and the names of related entities."""
    urn_columns = {"policy", *_RELATED_COLUMNS}
    urns = {row[name] for row in rows if row.get("policy") for name in urn_columns if row.get(name)}
    names = authorizer.load_names(urns=urns) if urns else {}
    for row in rows:
        if not row.get("policy"):
            yield ""
            continue
        related_names = [names.get(urn, urn) for name in _RELATED_COLUMNS if (urn := row.get(name))]
        suffix = f" ({', '.join(related_names)})" if related_names else ""
        policy = names.get(row["policy"], row["policy"])
        yield f"\N{LEFT DOUBLE QUOTATION MARK}{policy}\N{RIGHT DOUBLE QUOTATION MARK}{suffix}: "
