"""The report of unused access, as the daily counts of uses show it (docs/hygiene.md)."""

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice

from django.utils import timezone

from catalog.models import Report
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.kinds.unused_access import tables
from catalog.reports.kinds.unused_access.usage import UsageRow
from catalog.reports.spec import Parameter, ParameterType, ReportSpec
from catalog.reports.storage import StorageFolder
from policies.pdp.log import use_queries

_ROWS_PER_GROUP = 50_000


def prepare(report: Report, folder: StorageFolder) -> None:
    """Write usage.parquet (uses by person, privilege and policy) and usage.json (whether every use is counted)."""
    days, now = report.parameters["days"], timezone.now()
    since = now.date() - timedelta(days=days)
    # In this order: what is written, lost or deleted meanwhile makes the answer less sure and never wrong.
    use_queries.close_gaps(now=now)
    counted_until = use_queries.find_counted_until(now=now)
    _write_uses(
        (
            UsageRow(use.actor, use.privilege, use.policy, use.last_at.isoformat(timespec="seconds"))
            for use in use_queries.iterate_uses(since=since)
        ),
        folder,
    )
    complete_since = use_queries.find_complete_since()
    document = {
        "days": days,
        "since": since.isoformat(),
        "complete_since": None if complete_since is None else complete_since.isoformat(),
        "counted_until": counted_until.isoformat(timespec="seconds"),
        "is_sure": complete_since is not None and complete_since <= since,
    }
    folder.write_text("usage.json", json.dumps(document))


def _write_uses(rows: Iterator[UsageRow], folder: StorageFolder) -> None:
    # Only the process that runs the report needs this library, and web processes import every kind.
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.string()) for name in UsageRow._fields])
    with folder.open_output("usage.parquet") as stream, pq.ParquetWriter(stream, schema) as writer:
        while group := list(islice(rows, _ROWS_PER_GROUP)):
            writer.write_table(pa.Table.from_pylist([row._asdict() for row in group], schema=schema))


SPEC = ReportSpec(
    name="unused_access",
    title="Unused access",
    description="Policies, privileges and memberships that nobody used for some days; every use is counted.",
    module=f"{__package__}.job",
    parameters=(
        Parameter(
            name="days",
            title="Days",
            input=ParameterType.NUMBER,
            help="How far to look back. Uses are kept for DECISION_USE_DAYS.",
            default=30,
            is_required=True,
            minimum=1,
            maximum=3650,
        ),
        Parameter(
            name="privileges",
            title="Privileges",
            input=ParameterType.CHOICES,
            help="Without a choice all that policies give to some people and not to everybody.",
            default=[],
            choices=effective_access_spec.privilege_labels,
        ),
    ),
    tables=(tables.POLICIES, tables.PRIVILEGES, tables.PEOPLE, tables.MEMBERSHIPS),
    is_nightly=True,
    prepare=prepare,
)
