"""What is held and was not used for some days, as far as the decision log can tell (docs/hygiene.md)."""

import json
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from django.utils import timezone

from catalog.models import Report
from catalog.reports.kinds.effective_access import spec as effective_access_spec
from catalog.reports.spec import Column, ColumnKind, Input, Kind, Parameter, ResultTable
from policies.pdp import decision_log_queries

_SCHEMA = pa.schema([(name, pa.string()) for name in ("person", "privilege", "policy", "last")])


def prepare(report: Report, folder: Path) -> None:
    """Write down who used what, and whether the log would show every use.

    It would when it keeps every answer, keeps them for as long as is looked back, and goes back that far.
    """
    effective_access_spec.say_settings(report, folder)
    days = report.parameters["days"]
    since = timezone.now() - timedelta(days=days)
    last: dict[tuple[str, str, str], str] = {}
    for use in decision_log_queries.uses(since=since):
        for privilege in use.privileges:
            for policy in use.policies or ("",):
                key = (use.actor, privilege, policy)
                last[key] = max(last.get(key, ""), use.last.isoformat(timespec="seconds"))
    columns = zip(*((*key, at) for key, at in sorted(last.items())), strict=True) if last else ([],) * len(_SCHEMA)
    pq.write_table(pa.table(dict(zip(_SCHEMA.names, columns, strict=True)), schema=_SCHEMA), folder / "usage.parquet")
    began = decision_log_queries.decisions_began()
    share, kept = settings.DECISION_LOG_SAMPLE, settings.DECISION_LOG_DAYS
    is_sure = share >= 1 and kept >= days and began is not None and began <= since
    said = {"days": days, "percent": round(100 * share, 2), "is_sure": is_sure}
    (folder / "usage.json").write_text(json.dumps(said), encoding="utf-8")


def _counts() -> tuple[Column, ...]:
    return (
        Column("people", "People", ColumnKind.NUMBER),
        Column("used_by", "Used by", ColumnKind.NUMBER),
        Column("last", "Last use"),
        Column("state", "State", ColumnKind.STATE),
    )


_PERSON = Column("person", "Person", ColumnKind.ACTOR)
_PRIVILEGE = Column("privilege", "Privilege", ColumnKind.PRIVILEGE)
_STATE = Column("state", "State", ColumnKind.STATE)

KIND = Kind(
    name="unused_access",
    title="Unused access",
    description="Policies, privileges and memberships that nobody used for some days, as the decision log tells.",
    module=f"{__package__}.job",
    parameters=(
        Parameter(
            name="days",
            title="Days",
            input=Input.NUMBER,
            help="How far to look back. The log keeps answers for DECISION_LOG_DAYS.",
            default=30,
            is_required=True,
            minimum=1,
            maximum=3650,
        ),
        Parameter(
            name="privileges",
            title="Privileges",
            input=Input.CHOICES,
            help="Without a choice all that policies give to some people and not to everybody.",
            default=[],
            choices=effective_access_spec.privileges,
        ),
    ),
    tables=(
        ResultTable("policies", "Policies", (Column("policy", "Policy", ColumnKind.POLICY), *_counts())),
        ResultTable("privileges", "Privileges", (_PRIVILEGE, *_counts())),
        ResultTable("people", "Not used by", (_PERSON, _PRIVILEGE, _STATE), key=("person", "privilege"), limit=50_000),
        ResultTable(
            "memberships",
            "Memberships",
            (_PERSON, Column("group", "Group", ColumnKind.ACTOR), _STATE),
            key=("person", "group"),
            limit=50_000,
        ),
    ),
    is_nightly=True,
    prepare=prepare,
)
