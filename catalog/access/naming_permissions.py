"""Which URNs may be named to a caller, as a condition on a column that holds URNs of anything, stored or not.

Lists that name what entities say of one another filter by it in the database, so that they also count no more than
they may name.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, Value
from django.db.models.functions import StrIndex, Substr

from catalog import urns as urn_room
from catalog.access import view_permissions
from catalog.models import Entity, prefix_range
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked

_COLUMN = "urn:li:schemaField:("
#: What stands between the dataset of a schema field and its path: the end of the one and the comma before the other.
_END_OF_DATASET = "),"


@dataclass(frozen=True, slots=True)
class Nameable:
    """What may be named to one caller, as conditions on columns.

    Users, groups, roles and policies may where their type may be read; entities that are viewed only with a privilege
    where the caller has it; of those that are not stored, where the caller may view what has their type and nothing
    else. A schema field is as visible as its dataset. `closed` are the types of which nothing unstored may be named,
    None where the caller may view everything; `people` those of people and policies that it may not read.
    """

    by: Actor
    people: tuple[str, ...]
    closed: tuple[str, ...] | None

    @classmethod
    def to(cls, by: Actor) -> "Nameable":
        """Ask what holds for every column, once."""
        people = _unreadable(urn_room.PEOPLE_TYPES, by)
        if not view_permissions.limits(by=by):
            return cls(by, people, None)
        return cls(
            by, people, (*_unreadable(view_permissions.RESTRICTED, by), *sorted(view_permissions.listed_types(by=by)))
        )

    def person(self, column: str) -> Q:
        """Return the condition for a column that holds URNs of users, groups, roles and policies only."""
        return ~_of_types(column, self.people) | Q(**{column: self.by.urn})

    def condition(self, column: str) -> Q:
        """Return the condition that the URN in a column (a path from the row) may be named."""
        found = self.person(column)
        if self.closed is None:
            return found
        stored = Entity.objects.order_by()
        seen = view_permissions.viewable(stored, by=self.by)
        is_open = Q(~Exists(stored.filter(urn=OuterRef(column)))) & ~_of_types(column, self.closed)
        found &= Q(Exists(seen.filter(urn=OuterRef(column)))) | is_open
        end = StrIndex(OuterRef(column), Value(_END_OF_DATASET))
        dataset = Substr(OuterRef(column), len(_COLUMN) + 1, end - len(_COLUMN))
        return found & (~_begins(column, [_COLUMN]) | Q(Exists(seen.filter(urn=dataset))))


def nameable_among(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these stored entities and people that may be named to the caller; one query for the entities."""
    types = {urn: urn_room.type_of(urn) for urn in urns}
    closed = set(_unreadable(urn_room.PEOPLE_TYPES & set(types.values()), by))
    people = {urn for urn, type_ in types.items() if type_ in urn_room.PEOPLE_TYPES - closed}
    ordinary = [urn for urn, type_ in types.items() if type_ not in urn_room.PEOPLE_TYPES]
    seen = view_permissions.viewable(Entity.objects.filter(urn__among=ordinary).order_by(), by=by)
    return frozenset({*people, *seen.values_list("urn", flat=True)})


def _unreadable(types: Iterable[str], by: Actor) -> tuple[str, ...]:
    """Return the types of which the caller may not read an entity of which nothing but the type is known."""
    reading, wanted = datahub.groups()["entity.read"], sorted(types)
    asks = [(by, Ask(reading, Asked("", type_))) for type_ in wanted]
    decisions = authorizer.answer_many(asks=asks) if asks else []
    return tuple(type_ for type_, decision in zip(wanted, decisions, strict=True) if not decision.is_allowed)


def _of_types(column: str, types: Iterable[str]) -> Q:
    return _begins(column, [f"urn:li:{type_}:" for type_ in types])


def _begins(column: str, prefixes: Collection[str]) -> Q:
    return prefix_range(column, prefixes) if prefixes else Q(pk__in=[])
