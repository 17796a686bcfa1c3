"""Brings the findings of a run together with those of earlier ones, set by set: nothing is asked row by row."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from catalog.models import Finding, FindingEvent, Report, ReportRow
from catalog.reports.spec import Kind
from policies.pdp import authorizer

#: The table of a kind that holds findings, and the columns that it has to have beside its own.
TABLE = "findings"
COLUMNS = ("severity", "type", "sentence", "repair", "key")

_BATCH_ROWS = 5_000
#: What a run says anew; what people say stays.
_SAID = ("severity", "type", "sentence", "repair", "values", "subject", "last_seen", "last_seen_at")

#: Columns whose URN a finding can be about, the first that has one first.
_SUBJECTS = ("policy", "role", "actor", "person", "entity")
#: What a sentence about a policy speaks of without naming it.
_SPOKEN_OF = ("person", "entity", "other")

_UNDECIDED: Mapping[str, Any] = {"assignee": "", "decided_by": "", "accepted_until": None}


def merge(report: Report, kind: Kind) -> None:
    """Take over what a loaded run found: what is new opens, what is gone closes, what was closed and is back opens.

    Whatever was accepted or assigned stays so while it is found. To be called in a transaction.
    """
    now = timezone.now()
    reopen_ended(now)
    mine = Finding.objects.filter(kind=kind.name).order_by()
    back = Exists(ReportRow.objects.filter(report=report, table=TABLE, key=OuterRef("key")))
    _move(mine.filter(back, state=Finding.State.CLOSED), Finding.State.OPEN, now, report)
    found = _found(report, kind)
    while rows := list(islice(found, _BATCH_ROWS)):
        Finding.objects.bulk_create(
            name_subjects(rows), update_conflicts=True, unique_fields=["kind", "key"], update_fields=list(_SAID)
        )
    gone = mine.exclude(last_seen=report).exclude(state=Finding.State.CLOSED)
    _move(gone, Finding.State.CLOSED, now, report)


def reopen_ended(now: datetime) -> int:
    """Open the findings whose acceptance ended before this day (UTC), and return how many there were."""
    with transaction.atomic():
        ended = Finding.objects.filter(state=Finding.State.ACCEPTED, accepted_until__lt=now.date())
        return _move(ended, Finding.State.OPEN, now, None)


def record_events(ids: Iterable[int], **said: Any) -> None:
    """Note one decision about each of these findings."""
    listed = iter(ids)
    while some := list(islice(listed, _BATCH_ROWS)):
        FindingEvent.objects.bulk_create(FindingEvent(finding_id=one, **said) for one in some)


def find_subject(values: Mapping[str, Any]) -> str:
    """Return the URN that a finding with these values is about first, or ''."""
    named = (values.get(name) for name in _SUBJECTS)
    return next((value for value in named if isinstance(value, str) and value.startswith("urn:li:")), "")


def name_subjects(rows: list[Finding]) -> list[Finding]:
    """Return findings whose sentences name the policy that they speak of, and the person or entity beside it."""
    spoken_of = {"policy", *_SPOKEN_OF}
    about = [row for row in rows if row.values.get("policy")]
    urns = {row.values[name] for row in about for name in spoken_of if row.values.get(name)}
    names = authorizer.names(urns=urns) if urns else {}
    for row in about:
        others = [names.get(urn, urn) for name in _SPOKEN_OF if (urn := row.values.get(name))]
        beside = f" ({', '.join(others)})" if others else ""
        policy = names.get(row.values["policy"], row.values["policy"])
        quoted = f"\N{LEFT DOUBLE QUOTATION MARK}{policy}\N{RIGHT DOUBLE QUOTATION MARK}"
        row.sentence = f"{quoted}{beside}: {row.sentence}"
    return rows


def _move(findings: QuerySet[Finding], state: str, now: datetime, report: Report | None) -> int:
    """Put findings into a state without a person, note that, and return how many there were."""
    ids = list(findings.values_list("pk", flat=True))
    for start in range(0, len(ids), _BATCH_ROWS):
        some = ids[start : start + _BATCH_ROWS]
        Finding.objects.filter(pk__among=some).update(state=state, decided_at=now, **_UNDECIDED)
    record_events(ids, state=state, at=now, report=report)
    return len(ids)


def _found(report: Report, kind: Kind) -> Iterator[Finding]:
    (table,) = (table for table in kind.tables if table.name == TABLE)
    names = [column.name for column in table.columns]
    rows = ReportRow.objects.filter(report=report, table=TABLE).order_by("position")
    now = timezone.now()
    for key, listed in rows.values_list("key", "values").iterator(chunk_size=_BATCH_ROWS):
        values = dict(zip(names, listed, strict=True))
        own = {name: values.pop(name) for name in COLUMNS if name != "key"}
        subject = find_subject(values)
        yield Finding(
            kind=kind.name,
            key=key,
            subject=subject,
            values={name: value for name, value in values.items() if name != "key" and value is not None},
            first_seen=report,
            first_seen_at=now,
            last_seen=report,
            last_seen_at=now,
            **own,
        )
