"""The list of grants with their times, also of those that have not begun."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import CharField, Q, QuerySet, Value

from catalog.access.grant_rows import instance_administrators, select_grants, select_scheduled_grants
from catalog.access.paged_list import PagedList
from catalog.models import Entity
from policies.engine.families import cdap
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.families.validity import Phase

#: Columns of a grant in a list with times.
_TIMED_COLUMNS = ("source", "holder", "valid_from", "valid_until", "phase")


class TimedGrant(NamedTuple):
    """A grant in a list, with its times: PENDING if it has not begun, else CURRENT."""

    principal: str
    entity: str
    privileges: tuple[str, ...]
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    phase: str = Phase.CURRENT.value


class TimedGrantList(PagedList[TimedGrant]):
    """The grants of a GrantList, those with other times apart, and those that have not begun."""

    def __init__(
        self, *, entities: QuerySet[Entity] | None, patterns: Collection[str], principal: str, with_instance: bool
    ) -> None:
        admins = instance_administrators()
        instance_admins = sorted(admin for admin in admins if principal in ("", admin)) if with_instance else []
        self._instance_grants = [TimedGrant(admin, INSTANCE_URN, cdap.PRIVILEGES) for admin in instance_admins]
        holders = [principal] if principal else None
        users, groups, pattern_rows = select_grants(holders)
        scheduled_rows = select_scheduled_grants(holders)
        if entities is not None:
            within = entities.order_by()
            users, groups = (rows.filter(content_object__in=within.values("pk")) for rows in (users, groups))
            scheduled_rows = scheduled_rows.filter(
                Q(target__in=within.values("urn")) | Q(target__among=sorted(patterns))
            )
        users, groups = (rows.exclude(source=INSTANCE_URN, holder__in=admins) for rows in (users, groups))
        current = (users, groups, pattern_rows.filter(pattern__among=sorted(patterns)))
        self._parts = [
            rows.annotate(phase=Value(phase.value, output_field=CharField()))
            for rows, phase in (*((rows, Phase.CURRENT) for rows in current), (scheduled_rows, Phase.PENDING))
        ]
        first, *others = (rows.values_list(*_TIMED_COLUMNS) for rows in self._parts)
        self._keys = first.union(*others).order_by("source", "holder", "phase", "valid_from", "valid_until")

    def __len__(self) -> int:
        return len(self._instance_grants) + int(self._keys.count())

    def read_rows(self, start: int, stop: int) -> list[TimedGrant]:
        """Return the grants from `start` to `stop`; two queries."""
        offset = len(self._instance_grants)
        keys = list(self._keys[max(0, start - offset) : max(0, stop - offset)])
        privileges: dict[tuple[Any, ...], set[str]] = {key: set() for key in keys}
        sources, holders = sorted({key[0] for key in keys}), sorted({key[1] for key in keys})
        first, *others = (
            rows.filter(source__in=sources, holder__in=holders).values_list(*_TIMED_COLUMNS, "granted")
            for rows in self._parts
        )
        for *key, privilege in first.union(*others) if keys else ():
            if tuple(key) in privileges:
                privileges[tuple(key)].add(privilege)
        return [
            *self._instance_grants[start:stop],
            *(
                TimedGrant(holder, source, cdap.expand(names), begins, ends, phase)
                for (source, holder, begins, ends, phase), names in privileges.items()
            ),
        ]
