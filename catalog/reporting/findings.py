"""Brings the findings of a run together with those of earlier ones, set by set: nothing is asked row by row."""

from collections.abc import Iterator
from itertools import islice

from django.db.models import Exists, OuterRef
from django.utils import timezone

from catalog.models import Finding, Report, ReportRow
from catalog.reporting.kind import Kind

#: The table of a kind that holds findings, and the columns that it has to have beside its own.
TABLE = "findings"
COLUMNS = ("severity", "type", "sentence", "repair", "key")

_BATCH_ROWS = 5_000
#: What a run says anew; what people say stays.
_SAID = ("severity", "type", "sentence", "repair", "values", "last_seen", "last_seen_at")


def merge(report: Report, kind: Kind) -> None:
    """Take over what a loaded run found: what is new opens, what is gone closes, what was closed and is back opens.

    Whatever was accepted or assigned stays so while it is found. To be called in a transaction.
    """
    now = timezone.now()
    mine = Finding.objects.filter(kind=kind.name).order_by()
    back = Exists(ReportRow.objects.filter(report=report, table=TABLE, key=OuterRef("key")))
    undecided = {"assignee": "", "decided_by": "", "decided_at": now}
    mine.filter(back, state=Finding.State.CLOSED).update(state=Finding.State.OPEN, **undecided)
    found = _found(report, kind)
    while rows := list(islice(found, _BATCH_ROWS)):
        Finding.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["kind", "key"], update_fields=list(_SAID)
        )
    gone = mine.exclude(last_seen=report).exclude(state=Finding.State.CLOSED)
    gone.update(state=Finding.State.CLOSED, **undecided)


def _found(report: Report, kind: Kind) -> Iterator[Finding]:
    (table,) = (table for table in kind.tables if table.name == TABLE)
    names = [column.name for column in table.columns]
    rows = ReportRow.objects.filter(report=report, table=TABLE).order_by("position")
    now = timezone.now()
    for key, listed in rows.values_list("key", "values").iterator(chunk_size=_BATCH_ROWS):
        values = dict(zip(names, listed, strict=True))
        own = {name: values.pop(name) for name in COLUMNS if name != "key"}
        yield Finding(
            kind=kind.name,
            key=key,
            values={name: value for name, value in values.items() if name != "key" and value is not None},
            first_seen=report,
            first_seen_at=now,
            last_seen=report,
            last_seen_at=now,
            **own,
        )
