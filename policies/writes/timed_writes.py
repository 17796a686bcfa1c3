"""The common part of the services of memberships, role assignments and grants that give something for a time.

Each keeps what differs: its rows, the privileges that giving it needs, and what its events name.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Min

from policies.engine.families.validity import Phase, Validity
from policies.models import GroupProfile, User, Verb
from policies.models.timed_rows import ScheduledRow, TimedRow
from policies.models.writes import announce_boundaries
from policies.writes.timed_holders import HolderInput, TimedHolder, describe_times, get_urn
from policies.writes.unit_of_work import UnitOfWork

#: Columns of the time in which a row counts.
TIME_COLUMNS = ("valid_from", "valid_until")


class HolderPlan(NamedTuple):
    """The writes of giving something to holders (by URN).

    `joining` get it now and `scheduled` later on; those of `changed` have it, for another time.
    """

    joining: Mapping[str, TimedHolder]
    scheduled: Mapping[str, TimedHolder]
    changed: Mapping[str, TimedHolder]


def plan_holders(*, holders: Sequence[HolderInput], rows: Mapping[str, TimedRow], now: datetime) -> HolderPlan:
    """Return the writes that holders need, of which those in `rows` (by URN) hold it now.

    A bare URN leaves the times of what the holder has as they are. The last of several inputs for a holder counts.
    """
    joining: dict[str, TimedHolder] = {}
    scheduled: dict[str, TimedHolder] = {}
    changed: dict[str, TimedHolder] = {}
    for urn, holder in {get_urn(holder): holder for holder in holders}.items():
        row = rows.get(urn)
        if isinstance(holder, str):
            if row is None:
                joining[urn] = TimedHolder(urn)
        elif holder.validity.find_phase(now) is Phase.PENDING:
            scheduled[urn] = holder
        elif row is None:
            joining[urn] = holder
        elif row.validity != holder.validity:
            changed[urn] = holder
    return HolderPlan(joining, scheduled, changed)


def set_times(row: TimedRow, validity: Validity) -> None:
    """Set the times of a row that counts now, which the caller stores, and announce when it ends."""
    row.valid_from, row.valid_until = validity.begins, validity.ends
    announce_boundaries(validity.list_boundaries(Phase.CURRENT))


def prepare_scheduled_columns(validity: Validity, *, reason: str, uow: UnitOfWork) -> dict[str, Any]:
    """Return the columns that every kind of ScheduledRow has, and announce when it begins and ends."""
    announce_boundaries(validity.list_boundaries(Phase.PENDING))
    times = dict(zip(TIME_COLUMNS, (validity.begins, validity.ends), strict=True))
    return {**times, "reason": reason, "created_by": uow.by.urn}


def list_next_boundaries(models: Iterable[type[TimedRow]], scheduled_model: type[ScheduledRow]) -> list[datetime]:
    """Return the earliest end in each of these tables, and the earliest beginning of what is scheduled, if any."""
    ends = [
        model._default_manager.filter(valid_until__isnull=False).aggregate(boundary=Min("valid_until"))
        for model in models
    ]
    begins = scheduled_model._default_manager.aggregate(boundary=Min("valid_from"))
    return [item["boundary"] for item in (*ends, begins) if item["boundary"] is not None]


def find_time_obstacle(validity: Validity, now: datetime) -> str:
    """Return why something scheduled cannot begin because of its times; empty if it can."""
    return "It had ended before anything could begin." if validity.find_phase(now) is Phase.ENDED else ""


def describe_new_times(holders: Mapping[str, TimedHolder]) -> dict[str, Any]:
    """Return the times of what is new (by URN) as an event states them; nothing for what is not for a time."""
    times = {
        urn: describe_times(holder.validity, holder.reason)
        for urn, holder in holders.items()
        if holder != TimedHolder(holder.urn)
    }
    return {"times": times} if times else {}


def describe_scheduled(row: ScheduledRow) -> dict[str, str | None]:
    """Return times and reason of a scheduled row as the change log stores them."""
    return describe_times(row.validity, row.reason)


def record_scheduled(
    row: User | GroupProfile,
    verb: Verb,
    *,
    before: Mapping[str, object],
    after: Mapping[str, object],
    uow: UnitOfWork,
    dropped: Mapping[str, str] | None = None,
) -> None:
    """Record what is scheduled of a user or group: URN → times, before and after.

    `dropped` is, for those that cannot begin, URN → the reason.
    """
    uow.audit(
        urn=row.urn,
        name=row.name,
        verb=verb,
        before={"scheduled": dict(before)},
        after={"scheduled": dict(after)} | ({"dropped": dict(dropped)} if dropped else {}),
    )
