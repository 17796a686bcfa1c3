"""Everything that ends soon: of one person's access, and in the house."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import CharField, F, QuerySet, Value
from django.db.models.functions import Coalesce

from catalog.access.grant_rows import select_grants
from policies.engine.families.validity import Phase
from policies.engine.model import Actor
from policies.models import Membership, Policy, RequestItem, RoleAssignment, SubmittedRequest
from policies.models.request import RequestState

#: Most grants, and most items of requests, that are looked at for one person.
MAX_LISTED = 200

#: Members of a change in JSON that say what it gives.
_GIVEN_KEYS = ("urn", "group", "role", "entity", "resource")

_NO_TEXT = Value("", output_field=CharField())


@dataclass(frozen=True, slots=True)
class HouseEnding:
    """Something that ends: its kind (membership, role, policy, grant), holder, source and end.

    The holder of a policy is ''. The source is the URN of the group, role or policy, or the grant's
    entity or pattern.
    """

    kind: str
    holder: str
    source: str
    ends: datetime


@dataclass(frozen=True, slots=True)
class GrantEnding:
    """A grant on an entity or pattern that ends: the holder by which somebody has it, and its privileges."""

    entity: str
    holder: str
    privileges: tuple[str, ...]
    ends: datetime


class HouseEndings(Sequence[HouseEnding]):
    """All that ends in the house until a time, the earliest first; the database counts and cuts it."""

    def __init__(self, *, until: datetime) -> None:
        first, *others = _list_house_parts(until)
        self._rows: QuerySet[Any, Any] = first.union(*others).order_by("ends", "sort", "who", "given")

    def __len__(self) -> int:
        return int(self._rows.count())

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [HouseEnding(row["sort"], row["who"], row["given"], row["ends"]) for row in self._rows[index]]
        return self[index : index + 1][0]


def _list_house_parts(until: datetime) -> list[QuerySet[Any, Any]]:
    group = F("group__profile__urn")
    parts = [
        _select(Membership.objects.filter(group__profile__is_removed=False), "membership", F("user__urn"), group),
        _select(RoleAssignment.objects.all(), "role", Coalesce(F("user__urn"), group), F("role__urn")),
        _select(
            Policy.objects.filter(state=Policy.State.ACTIVE, phase=Phase.CURRENT.value), "policy", _NO_TEXT, F("urn")
        ),
        *(_select(rows, "grant", F("holder"), F("source")) for rows in select_grants()),
    ]
    # A union leaves out what several privileges of one grant repeat.
    return [part.filter(ends__lte=until) for part in parts]


def _select(rows: QuerySet[Any], kind: str, holder: Any, source: Any) -> QuerySet[Any, Any]:
    columns = {"sort": Value(kind, output_field=CharField()), "who": holder, "given": source, "ends": F("valid_until")}
    return rows.order_by().values(**columns)


def list_ending_grants(*, actor: Actor, until: datetime) -> list[GrantEnding]:
    """Return the grants of an actor, of its groups and roles, that end until a time, the earliest first."""
    parts = (rows.filter(valid_until__lte=until) for rows in select_grants(sorted(actor.holders | actor.roles)))
    first, *others = (rows.order_by().values_list("valid_until", "source", "holder", "granted") for rows in parts)
    privileges: dict[tuple[datetime, str, str], list[str]] = {}
    for ends, source, holder, privilege in first.union(*others).order_by("valid_until")[: 4 * MAX_LISTED]:
        privileges.setdefault((ends, source, holder), []).append(privilege)
    rows = sorted(privileges.items())[:MAX_LISTED]
    return [GrantEnding(source, holder, tuple(names), ends) for (ends, source, holder), names in rows]


def list_granted_items(*, actor: Actor, until: datetime) -> list[RequestItem]:
    """Return the items of requests that an actor was given and that end until a time, the earliest first."""
    items = RequestItem.objects.filter(request__actor=actor.urn, state=RequestState.DONE, ends_at__lte=until)
    return list(items.select_related("request").order_by("ends_at", "pk")[:MAX_LISTED])


def find_renewed(*, items: Collection[RequestItem]) -> frozenset[int]:
    """Return the ids of the requests of these items for which more time is asked for already; one query."""
    renewals = SubmittedRequest.objects.filter(
        renews__in={item.request_id for item in items}, state=RequestState.OPEN
    ).order_by()
    return frozenset(pk for pk in renewals.values_list("renews_id", flat=True) if pk is not None)


def list_given_urns(item: RequestItem) -> frozenset[str]:
    """Return the policies, groups, roles and entities that the changes of a granted item gave."""
    changes: Collection[Mapping[str, Any]] = (item.granted or {}).get("changes") or ()
    values = [value for change in changes for value in change.values()]
    return frozenset(
        str(value[key]) for value in values for key in _GIVEN_KEYS if isinstance(value.get(key), str) and value[key]
    )
