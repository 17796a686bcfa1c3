"""What somebody may use a privilege on: entities of the catalog, and users, groups, roles and policies.

The facts of people and policies stand in tables of their own, so each kind of them is a list beside that of the
entities. All are filtered in the database, by the same conditions.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from typing import Any, overload

from django.db.models import Exists, OuterRef, Q, QuerySet

from catalog.access.entity_lists import entities
from catalog.access.naming_permissions import Nameable
from catalog.access.people_conditions import PeopleConditions
from catalog.access.people_records import build_visible_users
from catalog.access.view_permissions import viewable
from catalog.models import prefix_range
from catalog.urns import PEOPLE_TYPES
from policies.authoring.queries import policies
from policies.engine import selectors
from policies.engine.model import Actor, Coverage
from policies.identity.queries import users_groups_roles
from policies.models import GroupProfile, Policy, Role, User
from policies.models.fields import is_storable

_ANYTHING = frozenset({"", "*"})
_URN_PREFIX = "urn:li:"

#: Each kind of people and policies with its table, and as what Datazone's patterns speak of it.
_KINDS: tuple[tuple[str, type[Any], str], ...] = (
    ("corpuser", User, "user"),
    ("corpGroup", GroupProfile, ""),
    ("dataHubRole", Role, "role"),
    ("dataHubPolicy", Policy, ""),
)


@dataclass(frozen=True, slots=True)
class ReachedRow:
    """An entity, user, group, role or policy as lists of what can be reached show it."""

    urn: str
    type: str
    name: str
    object_id: str | None = None
    project: str | None = None
    parent: str | None = None


@dataclass(frozen=True)
class _Part:
    """One list: its rows in order, and the type they are shown with ('' for the one each has)."""

    rows: QuerySet[Any]
    type: str = ""

    def shown(self, start: int, stop: int) -> list[ReachedRow]:
        return [self._row(row) for row in self.rows[start:stop]]

    def _row(self, row: Any) -> ReachedRow:
        if not self.type:
            return ReachedRow(row.urn, row.type, row.name, row.object_id, row.project, row.parent)
        return ReachedRow(row.urn, self.type, row.name, getattr(row, "object_id", None))


class Reachable(Sequence[ReachedRow]):
    """Everything that can be reached: entities by name, then users, groups, roles and policies, each by URN.

    Its length is exact up to `most`; one more stands for all numbers above. Parts are read by slicing.
    """

    def __init__(self, parts: Sequence[_Part], most: int) -> None:
        self._parts = parts
        self._most = most

    def __len__(self) -> int:
        found = 0
        for part in self._parts:
            if found <= self._most:
                found += part.rows.order_by()[: self._most + 1 - found].count()
        return found

    @overload
    def __getitem__(self, index: int) -> ReachedRow: ...

    @overload
    def __getitem__(self, index: slice) -> list[ReachedRow]: ...

    def __getitem__(self, index: int | slice) -> ReachedRow | list[ReachedRow]:
        if isinstance(index, int):
            return self._between(index, index + 1)[0]
        return self._between(index.start or 0, index.stop)

    def total(self) -> int:
        """Return how many there are, exactly."""
        return sum(part.rows.order_by().count() for part in self._parts)

    def urns_after(self, urn: str, count: int) -> list[str]:
        """Return the first URNs behind this one, in their order."""
        lists = (
            part.rows.order_by("urn").filter(urn__gt=urn).values_list("urn", flat=True)[:count] for part in self._parts
        )
        return list(islice(merge(*lists), count))

    def _between(self, start: int, stop: int) -> list[ReachedRow]:
        """Read across the parts; how long a part is, is asked only where all of it lies before the start."""
        found: list[ReachedRow] = []
        offset, missing = start, stop - start
        for part in self._parts:
            if missing <= 0:
                break
            some = part.shown(offset, offset + missing)
            found += some
            missing -= len(some)
            offset = 0 if some or not offset else max(0, offset - part.rows.order_by().count())
        return found


def reachable(
    *, coverage: Coverage, text: str = "", types: Collection[str] = (), viewer: Actor | None = None, most: int
) -> Reachable:
    """Return everything that is there and that a coverage reaches, narrowed by words of the name and by types.

    With a `viewer` it is of that what the viewer may view, and of people and policies those of types that it may read.
    """
    rows = entities(coverage=coverage, text=text, types=types).filter(_is_elsewhere(types))
    parts = [_Part(rows if viewer is None else viewable(rows, by=viewer))]
    may_name = None if viewer is None else Nameable.to(viewer)
    for part in _people(coverage, text, types, viewer):
        rows = part.rows if may_name is None else part.rows.filter(may_name.person("urn"))
        parts.append(_Part(rows, part.type))
    return Reachable(parts, most)


def _is_elsewhere(types: Collection[str]) -> Q:
    """Return the condition that an entity of the catalog is not one of the people and policies listed apart."""
    if types and not PEOPLE_TYPES & set(types):
        return Q()
    apart = Q(pk__in=[])
    for type_, model, _ in _KINDS:
        apart |= Q(type=type_) & Q(Exists(model.objects.order_by().filter(urn=OuterRef("urn"))))
    return ~apart


def _people(coverage: Coverage, text: str, types: Collection[str], viewer: Actor | None) -> Iterator[_Part]:
    """Yield the lists of people and policies; whom only statements about Datazone's type reach is of that type."""
    for type_, model, other in _KINDS:
        sought = [one for one in (type_, other) if one and (not types or one in types)]
        found = _sought(type_, text, viewer) if sought else model.objects.none()
        for one in sought:
            meant = coverage if one == type_ else _naming(coverage, one)
            condition = PeopleConditions(one, model.objects.all()).reached(meant)
            yield _Part(found.filter(condition), one)
            found = found.exclude(pk__in=model.objects.filter(condition).order_by().values("pk"))


def _naming(coverage: Coverage, type_: str) -> Coverage:
    """Return a coverage with those of its allows that name a type."""
    named = (
        cover
        for cover in coverage.allows
        if any(one.field == selectors.TYPE and type_ in one.values for one in cover.selector.criteria)
    )
    return replace(coverage, allows=tuple(named), is_everything=False)


def _sought(type_: str, text: str, viewer: Actor | None) -> QuerySet[Any]:
    """Return the rows that a text finds; addresses of users are searched as far as the viewer sees their records."""
    wanted = text.strip()
    words = "" if wanted in _ANYTHING or wanted.startswith(_URN_PREFIX) else wanted
    seen = None if viewer is None or not words else build_visible_users(by=viewer)
    lists: dict[str, QuerySet[Any]] = {
        "corpuser": users_groups_roles.users(q=words, seen=seen).prefetch_related(None),
        "corpGroup": users_groups_roles.groups(q=words).prefetch_related(None),
        "dataHubRole": users_groups_roles.roles(q=words).prefetch_related(None),
        "dataHubPolicy": policies.policies(q=words).defer("document", "extra"),
    }
    if not is_storable(wanted):
        return lists[type_].none()
    rows = lists[type_].order_by("urn")
    return rows.filter(prefix_range("urn", [wanted])) if wanted.startswith(_URN_PREFIX) else rows
