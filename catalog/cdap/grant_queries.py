"""Grants with grantor and time on an entity, and grants on patterns that reach it."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from catalog.access.grant_rows import select_grants, select_scheduled_grants
from catalog.models import Entity, prefix_range
from policies.engine.families import cdap, cdap_entity_ids
from policies.engine.families.validity import UNLIMITED, Phase, Validity

_COLUMNS = ("holder", "source", "granted", "given_by", "given_at", "valid_from", "valid_until")


#: Holder, source, privilege, grantor, time of the grant, and the times in which it counts.
_Columns = tuple[str, str, str, str, datetime, datetime | None, datetime | None]


@dataclass(frozen=True, slots=True)
class GrantRow:
    """The privileges granted to `holder` at once on `source`, an entity or a pattern, in the order of privileges."""

    holder: str
    source: str
    privileges: tuple[str, ...]
    by: str
    at: datetime
    validity: Validity = UNLIMITED
    phase: Phase = Phase.CURRENT


def list_on_entity(*, urn: str, holders: Collection[str]) -> list[GrantRow]:
    """Return the grants of these holders on exactly this entity, by holder and time; one query."""
    users, groups, _ = select_grants(holders)
    rows = (part.filter(content_object__urn=urn).values_list(*_COLUMNS) for part in (users, groups))
    return _group_privileges(next(rows).union(*rows, all=True))


def list_matching_patterns(*, urn: str, limit: int) -> tuple[list[GrantRow], bool]:
    """Return the grants on patterns that match this entity (CD-5), and whether there are more; one query."""
    name = cdap_entity_ids.parse(urn)
    if name is None:
        return [], False
    prefixes = [name.urn[:length] for length in range(1, len(name.urn) + 1)]
    return _load_pattern_grants(Q(kind=name.kind, prefix__among=prefixes), limit)


def list_patterns_within(*, urn: str, limit: int) -> tuple[list[GrantRow], bool]:
    """Return the grants on patterns that match only entities in this one, and whether there are more; one query.

    For a namespace those of its applications are included; for the instance only patterns that span namespaces.
    """
    condition = Q(within=urn)
    kind, name = urn.split(":", 3)[2:]
    if kind == cdap_entity_ids.NAMESPACE:
        condition |= prefix_range("within", [f"urn:li:{cdap_entity_ids.APPLICATION}:{name}."])
    return _load_pattern_grants(condition, limit)


def list_scheduled(*, urn: str, limit: int, holder: str = "") -> tuple[list[GrantRow], bool]:
    """Return the grants on this entity and on patterns in it that have not begun, and whether there are more.

    Those of one holder, if given; one query.
    """
    rows = select_scheduled_grants([holder] if holder else None).filter(within=urn)
    columns = ("holder", "source", "granted", "created_by", "valid_from", "valid_until")
    found_rows = list(rows.order_by("valid_from", "target", "pk").values_list(*columns)[: limit + 1])
    # Its time is the one from which it counts.
    timed_rows = ((*row[:4], row[4], *row[4:]) for row in found_rows[:limit])
    return _group_privileges(timed_rows, Phase.PENDING), len(found_rows) > limit


def sample_matching_entities(
    *, pattern: cdap_entity_ids.CdapPattern, sample_size: int, limit: int
) -> tuple[int, list[str]]:
    """Return the number of entities that a pattern matches now, up to `limit`, and the names of the first few."""
    rows = Entity.objects.filter(prefix_range("urn", [pattern.prefix]), is_removed=False)
    names = rows.order_by("name", "urn").values_list("name", "urn")[:sample_size]
    return rows.order_by()[:limit].count(), [name or urn for name, urn in names]


def _load_pattern_grants(condition: Q, limit: int) -> tuple[list[GrantRow], bool]:
    _, _, patterns = select_grants()
    rows = list(patterns.filter(condition).order_by("pattern", "pk").values_list(*_COLUMNS)[: limit + 1])
    return _group_privileges(rows[:limit]), len(rows) > limit


def _group_privileges(rows: Iterable[_Columns], phase: Phase = Phase.CURRENT) -> list[GrantRow]:
    """Combine the privileges that were granted at once, for the same time."""
    privileges_by_grant: dict[tuple[str, str, datetime, str, Validity], set[str]] = {}
    for holder, source, privilege, by, at, begins, ends in rows:
        privileges_by_grant.setdefault((holder, source, at, by, Validity(begins, ends)), set()).add(privilege)
    return [
        GrantRow(holder, source, cdap.expand(privileges), by, at, validity, phase)
        for (holder, source, at, by, validity), privileges in sorted(
            privileges_by_grant.items(), key=lambda item: item[0][:4]
        )
    ]
