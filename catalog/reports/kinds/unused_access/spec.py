"""The report of unused access, as far as the decision log shows it (docs/hygiene.md)."""

import json
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from catalog.models import Report
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.kinds.unused_access import tables
from catalog.reports.kinds.unused_access.usage import ANY, UsageRow
from catalog.reports.spec import Parameter, ParameterType, ReportSpec
from policies.pdp import decision_log_queries


def prepare(report: Report, folder: Path) -> None:
    """Write usage.parquet (uses by person, privilege and policy) and usage.json (whether the log is complete).

    It is when it samples every answer, retains answers for `days` or longer, and begins before these days.
    """
    days = report.parameters["days"]
    since = timezone.now() - timedelta(days=days)
    last_use_by_key: dict[tuple[str, str, str], str] = {}
    for use in decision_log_queries.iterate_privilege_uses(since=since):
        for privilege in (*use.privileges, *((ANY,) if use.has_more_privileges else ())):
            for policy in (*(use.policies or ("",)), *((ANY,) if use.has_more_policies else ())):
                key = (use.actor, privilege, policy)
                last_use_by_key[key] = max(last_use_by_key.get(key, ""), use.last_at.isoformat(timespec="seconds"))
    _write_uses(
        [UsageRow(*key, last_use) for key, last_use in sorted(last_use_by_key.items())], folder / "usage.parquet"
    )
    log_start = decision_log_queries.find_first_decision_time()
    sample_share, log_days = settings.DECISION_LOG_SAMPLE, settings.DECISION_LOG_DAYS
    is_sure = sample_share >= 1 and log_days >= days and log_start is not None and log_start <= since
    document = {"days": days, "percent": round(100 * sample_share, 2), "is_sure": is_sure}
    (folder / "usage.json").write_text(json.dumps(document), encoding="utf-8")


def _write_uses(rows: list[UsageRow], path: Path) -> None:
    # Only the process that runs the report needs this library, and web processes import every kind.
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.string()) for name in UsageRow._fields])
    pq.write_table(pa.Table.from_pylist([row._asdict() for row in rows], schema=schema), path)


SPEC = ReportSpec(
    name="unused_access",
    title="Unused access",
    description="Policies, privileges and memberships that nobody used for some days, as the decision log tells.",
    module=f"{__package__}.job",
    parameters=(
        Parameter(
            name="days",
            title="Days",
            input=ParameterType.NUMBER,
            help="How far to look back. The log keeps answers for DECISION_LOG_DAYS.",
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
